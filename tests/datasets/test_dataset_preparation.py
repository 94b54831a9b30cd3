import errno
import gzip
import os
from pathlib import Path

import numpy as np
import pytest
from published_files import (
    cifar_batches,
    cifar_binary,
    cifar_pickled,
    evil_pickle,
    idx_files,
    md5,
    payloads,
    serve,
    tar,
    write,
)

from scaling_limits.datasets import cifar10, fashion_mnist, mnist, prepared
from scaling_limits.datasets.description import Samples, Source
from scaling_limits.datasets.fetch import ROUNDS
from scaling_limits.datasets.preparation import prepare
from scaling_limits.errors import DatasetError
from scaling_limits.files import WriteError

FILES = idx_files()


class Runner:
    """`prepare` in a temporary folder, without pauses; remembers what was said and waited."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.downloads = folder / "downloads"
        self.output = folder / "out" / "data.npz"
        self.pauses: list[float] = []
        self.said: list[str] = []

    def __call__(self, name: str, data_path: Path | None = None, **user: Path) -> Samples:
        prepare(
            name,
            data_path=data_path,
            downloads=self.downloads,
            output=self.output,
            user=user,
            wait=self.pauses.append,
            report=self.said.append,
        )
        return prepared.read(self.output)[0]


@pytest.fixture
def run(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


def use_idx(
    monkeypatch: pytest.MonkeyPatch, *mirrors: str, module: object = mnist, **changes: object
) -> None:
    source = Source(payloads(FILES, **changes), places=("mnist",), mirrors=mirrors)  # type: ignore[arg-type]
    monkeypatch.setattr(module, "SOURCES", (source,))


def use_cifar(monkeypatch: pytest.MonkeyPatch, *mirrors: str) -> None:
    binary, pickled = cifar_binary(), cifar_pickled()
    names = (
        ("cifar-10-binary.tar.gz", "cifar-10-batches-bin"),
        ("cifar-10-python.tar.gz", "cifar-10-batches-py"),
    )
    sources = tuple(
        Source(
            payloads(files),
            places=("cifar10",),
            mirrors=mirrors if files is binary else (),
            archive=archive,
            archive_checksum=md5(tar(files, folder, "w")),
            folder=folder,
        )
        for files, (archive, folder) in zip((binary, pickled), names, strict=True)
    )
    monkeypatch.setattr(cifar10, "SOURCES", sources)


def leftovers(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


# local copies


@pytest.mark.parametrize("place", ["mnist", "."])
@pytest.mark.parametrize("gz", [False, True])
def test_local_idx_files(
    run: Runner, monkeypatch: pytest.MonkeyPatch, place: str, gz: bool
) -> None:
    use_idx(monkeypatch)
    write(run.folder / "local" / place, FILES, gz=gz)
    samples = run("mnist", run.folder / "local")
    assert samples.x_train.shape == (6, 28, 28)
    assert samples.x_train.tobytes() == FILES["train-images-idx3-ubyte"][16:]
    assert samples.y_test.tobytes() == FILES["t10k-labels-idx1-ubyte"][8:]


@pytest.mark.parametrize("place", ["cifar10", "."])
@pytest.mark.parametrize("form", ["binary", "pickled"])
@pytest.mark.parametrize("packing", ["w:gz", "w", "folder", "loose"])
def test_local_cifar(
    run: Runner, monkeypatch: pytest.MonkeyPatch, place: str, form: str, packing: str
) -> None:
    use_cifar(monkeypatch)
    files = cifar_binary() if form == "binary" else cifar_pickled()
    source = cifar10.SOURCES[form == "pickled"]
    folder = run.folder / "local" / place
    if packing in ("folder", "loose"):
        write(folder / (source.folder if packing == "folder" else "."), files)
    else:
        name = source.archive if packing == "w:gz" else source.archive.removesuffix(".gz")
        write(folder, {name: tar(files, source.folder, packing)})
    samples = run("cifar10", run.folder / "local")
    pixels, labels = cifar_batches()["data_batch_1"]
    assert samples.x_train.shape == (10, 32, 32, 3)
    assert samples.x_test.shape == (2, 32, 32, 3)
    np.testing.assert_array_equal(samples.x_train[0, :, :, 1].ravel(), pixels[0, 1024:2048])
    np.testing.assert_array_equal(samples.y_train[:2], labels)


def test_pickle_with_anything_but_arrays_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(DatasetError, match="print is not allowed"):
        cifar10.decode({"data_batch_1": evil_pickle()})
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "content", [b"", b"\x80\x02}.", b"\x80\x02](J", cifar_pickled()["test_batch"][:500]]
)
def test_pickle_that_is_no_batch(content: bytes) -> None:
    with pytest.raises(DatasetError, match="data_batch_1 is no batch of images"):
        cifar10.decode({"data_batch_1": content})


def test_corrupt_local_file_is_named_and_moved_aside(
    run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_idx(monkeypatch)
    local = write(run.folder / "mnist", FILES)
    name, bad = "t10k-labels-idx1-ubyte", FILES["t10k-labels-idx1-ubyte"][:-1] + b"\x0b"
    for aside in (f"{name}.corrupt", f"{name}.corrupt-2"):
        (local / name).write_bytes(bad)
        with pytest.raises(DatasetError) as caught:
            run("mnist", run.folder)
        message = str(caught.value)
        for part in (str(local / name), md5(FILES[name]), md5(bad), f"moved aside to {aside}"):
            assert part in message
        assert not (local / name).exists()
        assert (local / aside).read_bytes() == bad
    assert not run.output.exists()


def test_corrupt_file_in_a_read_only_folder_stays(
    run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_idx(monkeypatch)
    local = write(run.folder / "mnist", FILES | {"t10k-labels-idx1-ubyte": b"bad"})
    local.chmod(0o555)
    try:
        with pytest.raises(DatasetError, match="folder is read-only"):
            run("mnist", run.folder)
        assert (local / "t10k-labels-idx1-ubyte").read_bytes() == b"bad"
    finally:
        local.chmod(0o755)


def test_gzip_that_breaks_off(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    use_idx(monkeypatch)
    local = write(run.folder / "mnist", FILES, gz=True)
    path = local / "train-images-idx3-ubyte.gz"
    path.write_bytes(path.read_bytes()[:-20])
    found = md5(path.read_bytes())
    with pytest.raises(DatasetError, match="cannot be decompressed") as caught:
        run("mnist", run.folder)
    assert found in str(caught.value)
    assert (local / f"{path.name}.corrupt").exists()


def test_archives_that_break_off_lack_a_member_or_hold_a_wrong_one(
    run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_cifar(monkeypatch)
    files = cifar_binary()
    lacking = {name: files[name] for name in list(files)[:-1]}
    wrong = files | {"test_batch.bin": bytes(3073)}
    for content, message in (
        (tar(files, "f")[:-50], "cannot be read"),
        (tar(lacking, "f"), r"without test_batch\.bin"),
        (tar(wrong, "f"), md5(bytes(3073))),
    ):
        write(run.folder, {"cifar-10-binary.tar.gz": content})
        with pytest.raises(DatasetError, match=message) as caught:
            run("cifar10", run.folder)
        assert md5(content) in str(caught.value)
        assert not (run.folder / "cifar-10-binary.tar.gz").exists()


def test_namesake_of_another_dataset_is_left_alone(
    run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = idx_files(seed=1)
    with serve({f"{name}.gz": gzip.compress(content) for name, content in FILES.items()}) as (
        address,
        _,
    ):
        use_idx(monkeypatch, address, module=fashion_mnist, namesakes=others)
        write(run.folder / "local", others)
        samples = run("fashion_mnist", run.folder / "local")
    assert samples.x_train.tobytes() == FILES["train-images-idx3-ubyte"][16:]
    assert leftovers(run.folder / "local") == sorted(others)
    assert any("another dataset" in message for message in run.said)


def test_dataset_without_download_says_what_is_missing(run: Runner) -> None:
    with pytest.raises(
        DatasetError, match=r"no download: cifar10_standin\.npz not found under data\.path"
    ):
        run("cifar10_standin", run.folder)


@pytest.mark.parametrize("name", ["digits", "gaussian_binary", "scalar_regression"])
def test_bundled_datasets_need_no_files(run: Runner, name: str) -> None:
    run(name)
    first = run.output.read_bytes()
    run(name)
    assert run.output.read_bytes() == first
    assert leftovers(run.folder) == ["data.npz"]


def test_bundled_data_that_changed_are_refused(
    run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scaling_limits.datasets.digits._SPLIT_KEY", 0)
    with pytest.raises(DatasetError, match=r"digits: expected .*, found"):
        run("digits")


def test_user_dataset(run: Runner) -> None:
    x, y = np.linspace(0, 1, 12).reshape(4, 3), np.array([0, 1, 1, 0])
    np.savez(run.folder / "mine.npz", x_train=x, y_train=y, x_test=x[:2], y_test=y[:2])
    samples = run("mine", mine=run.folder / "mine.npz")
    np.testing.assert_array_equal(samples.x_train, x)
    assert samples.maximum == 0


# downloads


GZ = {f"{name}.gz": gzip.compress(content) for name, content in FILES.items()}


def test_download_and_reuse(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve(GZ) as (address, asked):
        use_idx(monkeypatch, address)
        run("mnist")
        assert asked == [f"/{name}" for name in GZ]
        assert leftovers(run.downloads) == sorted(GZ)
        run("mnist")
        assert len(asked) == len(GZ)
    assert run.pauses == []
    assert any("100 %" in message for message in run.said)


def test_archive_download(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    content = tar(cifar_binary(), "cifar-10-batches-bin")
    with serve({"cifar-10-binary.tar.gz": content}) as (address, _):
        use_cifar(monkeypatch, address)
        assert run("cifar10").x_test.shape == (2, 32, 32, 3)


def test_second_mirror_when_the_first_lacks_the_file(
    run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve({}) as (empty, asked_empty), serve(GZ) as (full, _):
        use_idx(monkeypatch, empty, full)
        run("mnist")
    assert len(asked_empty) == len(GZ)
    assert run.pauses == []


def test_body_that_breaks_off(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve(GZ, short=7) as (address, asked):
        use_idx(monkeypatch, address)
        with pytest.raises(
            DatasetError, match=r"could not be downloaded(.|\n)*the connection broke off"
        ):
            run("mnist")
    assert len(asked) == ROUNDS
    assert run.pauses == [1.0, 2.0, 4.0]
    assert leftovers(run.folder) == []


def test_body_that_breaks_off_unannounced(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve(GZ, short=7, length=False) as (address, asked):
        use_idx(monkeypatch, address)
        with pytest.raises(DatasetError, match="cannot be decompressed") as caught:
            run("mnist")
    first = next(iter(GZ))
    assert asked == [f"/{first}"]
    assert f"{first} is corrupt" in str(caught.value)
    assert leftovers(run.folder) == [f"{first}.corrupt"]


def test_what_was_downloaded_before_a_failure_is_kept(
    run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, *rest = GZ
    with serve({first: GZ[first], second: GZ[second]}) as (address, _):
        use_idx(monkeypatch, address)
        with pytest.raises(DatasetError, match=f"{rest[0]} could not be downloaded"):
            run("mnist")
    assert leftovers(run.folder) == sorted([first, second])
    with serve(GZ) as (address, asked):
        use_idx(monkeypatch, address)
        run("mnist")
    assert asked == [f"/{name}" for name in rest]


def test_wrong_checksum_is_moved_aside_and_the_next_mirror_asked(
    run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = {name: gzip.compress(b"not this") for name in GZ}
    with serve(wrong) as (bad, asked), serve(GZ) as (good, _):
        use_idx(monkeypatch, bad, good)
        run("mnist")
        assert len(asked) == len(GZ)
        use_idx(monkeypatch, bad)
        for name in GZ:
            (run.downloads / "mnist" / name).unlink()
        with pytest.raises(
            DatasetError, match=f"(?s)expected {md5(FILES['train-images-idx3-ubyte'])}, found"
        ):
            run("mnist")
        assert len(asked) == len(GZ) + 1
    first = "train-images-idx3-ubyte.gz.corrupt"
    assert {first, f"{first}-2"} <= set(leftovers(run.downloads))


def test_corrupt_download_of_before_is_not_used(
    run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve(GZ) as (address, _):
        use_idx(monkeypatch, address)
        write(run.downloads / "mnist", {"train-images-idx3-ubyte.gz": gzip.compress(b"old")})
        with pytest.raises(
            DatasetError, match=r"moved aside to train-images-idx3-ubyte\.gz\.corrupt"
        ):
            run("mnist")
        run("mnist")


def test_server_errors_and_absence_are_retried_within_bounds(
    run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve(GZ, status=503) as (address, asked):
        use_idx(monkeypatch, address)
        with pytest.raises(DatasetError, match=f"{ROUNDS} attempts(.|\n)*503"):
            run("mnist")
        assert len(asked) == ROUNDS
    run.pauses.clear()
    with pytest.raises(DatasetError, match=rf"{ROUNDS} attempts(.|\n)*refused"):
        run("mnist")  # the server is down now
    assert run.pauses == [1.0, 2.0, 4.0]


# places and disks


def test_a_path_with_spaces_and_other_letters(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    use_idx(monkeypatch)
    place = run.folder / "Räume & Maße"
    run.output = place / "vorbereitete Daten" / "data.npz"
    write(place / "dáta" / "mnist", FILES, gz=True)
    assert run("mnist", place / "dáta").x_train.shape == (6, 28, 28)
    x, y = np.zeros((4, 3)), np.array([0, 1, 1, 0])
    np.savez(place / "mein Satz.npz", x_train=x, y_train=y, x_test=x, y_test=y)
    assert run("größe", größe=place / "mein Satz.npz").x_train.shape == (4, 3)


def fill_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)


def test_a_full_disk_leaves_the_prepared_dataset_of_before(
    run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("digits")
    before = run.output.read_bytes()
    fill_disk(monkeypatch)
    for output in (run.output, run.output.with_name("new.npz")):
        run.output = output
        with pytest.raises(WriteError) as caught:
            run("digits")
        assert f"cannot write {output}: No space left on device" in str(caught.value)
    assert leftovers(run.folder) == ["data.npz"]
    assert run.output.with_name("data.npz").read_bytes() == before


def test_a_full_disk_ends_a_download_at_once(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    fill_disk(monkeypatch)
    with serve(GZ) as (address, asked):
        use_idx(monkeypatch, address, address)
        with pytest.raises(WriteError, match=r"idx3-ubyte\.gz: No space left on device"):
            run("mnist")
    assert len(asked) == 1
    assert run.pauses == []
    assert leftovers(run.folder) == []


# real data


def test_real_mnist(run: Runner, shared_data: Path) -> None:
    samples = run("mnist", shared_data)
    assert samples.x_train.shape == (mnist.INFO.num_train, *mnist.INFO.shape)
    assert samples.x_test.shape == (mnist.INFO.num_test, *mnist.INFO.shape)
    assert samples.y_train[:5].tolist() == [5, 0, 4, 1, 9]


def test_real_mnist_is_not_taken_for_fashion_mnist(
    run: Runner, shared_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (source,) = fashion_mnist.SOURCES
    with serve({}) as (address, _):
        changed = Source(source.payloads, places=source.places, mirrors=(address,))
        monkeypatch.setattr(fashion_mnist, "SOURCES", (changed,))
        with pytest.raises(DatasetError, match="could not be downloaded"):
            run("fashion_mnist", shared_data / "mnist")
    assert any("another dataset" in message for message in run.said)


def test_real_stand_in(run: Runner, shared_data: Path) -> None:
    samples = run("cifar10_standin", shared_data)
    assert samples.x_train.shape == (10000, 32, 32, 3)
    assert samples.x_test.shape == (2000, 32, 32, 3)
    assert run("cifar10_standin", shared_data / "cifar10").maximum == 255


def test_progress_goes_to_stderr(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], shared_data: Path
) -> None:
    relative = Path(os.path.relpath(shared_data))
    prepare(
        "cifar10_standin",
        data_path=relative,
        downloads=tmp_path,
        output=tmp_path / "x.npz",
        user={},
    )
    assert "cifar10_standin: using" in capsys.readouterr().err
