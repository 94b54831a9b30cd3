"""CIFAR-100 in both published forms, of made files."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from published_files import (
    cifar100_batches,
    cifar100_binary,
    cifar100_pickled,
    md5,
    parquet,
    payloads,
    serve,
    tar,
    write,
)

from scaling_limits.datasets import catalogue, cifar100, prepared
from scaling_limits.datasets.description import Samples
from scaling_limits.datasets.preparation import prepare
from scaling_limits.errors import DatasetError

FORMS = {
    "pickled": (cifar100_pickled(), "cifar-100-python"),
    "binary": (cifar100_binary(), "cifar-100-binary"),
}


@pytest.fixture(autouse=True)
def mirrors(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sources have the checksums of the made files, and mirrors that a test may add to."""
    mirrors: list[str] = []
    sources = tuple(
        replace(
            official,
            payloads=payloads(files),
            mirrors=mirrors if official.mirrors else (),
            archive_checksum=md5(tar(files, folder, "w")),
        )
        for official, (files, folder) in zip(cifar100.SOURCES, FORMS.values(), strict=True)
    )
    monkeypatch.setattr(cifar100, "SOURCES", sources)
    return mirrors


def run(folder: Path, data_path: Path | None) -> Samples:
    output = folder / "data.npz"
    prepare(
        "cifar100",
        data_path=data_path,
        downloads=folder / "downloads",
        output=output,
        user={},
        wait=lambda _: None,
        report=lambda _: None,
    )
    return prepared.read(output)[0]


def check(samples: Samples) -> None:
    """All images in order, with their fine labels."""
    batches = cifar100_batches()
    for x, y, stem in (
        (samples.x_train, samples.y_train, "train"),
        (samples.x_test, samples.y_test, "test"),
    ):
        pixels, _, fine = batches[stem]
        assert x.shape == (len(fine), 32, 32, 3)
        np.testing.assert_array_equal(x.transpose(0, 3, 1, 2).reshape(-1, 3072), pixels)
        np.testing.assert_array_equal(y, fine)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("place", ["cifar100", "."])
@pytest.mark.parametrize("packing", ["w:gz", "w", "folder"])
def test_local_copies(tmp_path: Path, form: str, place: str, packing: str) -> None:
    files, folder = FORMS[form]
    local = tmp_path / "local"
    if packing == "folder":
        write(local / place / folder, files)
    else:
        suffix = ".gz" if packing == "w:gz" else ""
        write(local / place, {f"{folder}.tar{suffix}": tar(files, folder, packing)})
    assert catalogue.available_locally("cifar100", local)
    check(run(tmp_path, local))


@pytest.mark.parametrize("form", FORMS)
def test_files_beside_each_other_in_its_own_folder(tmp_path: Path, form: str) -> None:
    check(run(tmp_path, write(tmp_path / "local" / "cifar100", FORMS[form][0]).parent))


def test_files_called_train_and_test_may_be_anything(tmp_path: Path) -> None:
    other = dict.fromkeys(("train", "test", "train.bin", "test.bin"), b"of somebody else")
    local = write(tmp_path / "local", other)
    assert not catalogue.available_locally("cifar100", local)
    with pytest.raises(DatasetError):
        run(tmp_path, local)
    assert {path.name: path.read_bytes() for path in local.iterdir()} == other


def test_download(tmp_path: Path, mirrors: list[str]) -> None:
    files, folder = FORMS["pickled"]
    with serve({"cifar-100-python.tar.gz": tar(files, folder)}) as (address, asked):
        mirrors.append(address)
        check(run(tmp_path, None))
    assert asked == ["/cifar-100-python.tar.gz"]


@pytest.mark.parametrize("form", FORMS)
def test_a_damaged_archive_is_named_and_stays(tmp_path: Path, form: str) -> None:
    files, folder = FORMS[form]
    name = next(iter(files))
    damaged = files | {name: files[name][:-1] + b"?"}
    write(tmp_path, {f"{folder}.tar.gz": tar(damaged, folder)})
    with pytest.raises(DatasetError, match=rf"{folder}\.tar\.gz: expected {name} with md5:"):
        run(tmp_path, tmp_path)
    assert (tmp_path / f"{folder}.tar.gz").exists()


def test_the_table_of_hugging_face(tmp_path: Path) -> None:
    """Its columns are `img`, `fine_label` and `coarse_label`."""
    files = {
        f"{stem}-00000-of-00001.parquet": parquet(
            "img",
            pixels.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1),
            fine_label=fine,
            coarse_label=coarse,
        )
        for stem, (pixels, coarse, fine) in cifar100_batches().items()
    }
    local = tmp_path / "local"
    write(local / "cifar100", files)
    assert not catalogue.available_locally("cifar10", local)
    check(run(tmp_path, local))


def test_incomplete_records_are_refused() -> None:
    content = cifar100_binary()["train.bin"]
    with pytest.raises(DatasetError, match="not a whole number of images"):
        cifar100.decode({"train.bin": content[:-1], "test.bin": content})
