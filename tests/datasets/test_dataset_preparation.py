import errno
import gzip
import os
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from published_files import (
    cifar_batches,
    cifar_binary,
    cifar_pickled,
    evil_pickle,
    idx_files,
    md5,
    npz,
    parquet,
    payloads,
    serve,
    tar,
    write,
)

from scaling_limits.datasets import (
    catalogue,
    cifar10,
    fashion_mnist,
    idx,
    local,
    mnist,
    preparation,
    prepared,
)
from scaling_limits.datasets.description import Samples
from scaling_limits.datasets.fetch import ROUNDS
from scaling_limits.datasets.preparation import prepare
from scaling_limits.errors import DatasetError
from scaling_limits.files import WriteError

FILES = idx_files()
NOWHERE = "http://127.0.0.1:9/"
CIFAR_FOLDERS = {"binary": "cifar-10-batches-bin", "pickled": "cifar-10-batches-py"}


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
    monkeypatch: pytest.MonkeyPatch, *mirrors: str, module: ModuleType = mnist, seed: int = 0
) -> None:
    """Let a dataset have the checksums of made files, and other mirrors."""
    (official,) = module.SOURCES
    changed = replace(official, payloads=payloads(idx_files(seed)), mirrors=mirrors)
    monkeypatch.setattr(module, "SOURCES", (changed,))


def use_cifar(monkeypatch: pytest.MonkeyPatch, *mirrors: str) -> None:
    """The same for CIFAR-10."""
    files = (cifar_binary(), cifar_pickled())
    forms = zip(cifar10.SOURCES, files, CIFAR_FOLDERS.values(), strict=True)
    sources = tuple(
        replace(
            official,
            payloads=payloads(files),
            mirrors=mirrors if official.mirrors else (),
            archive_checksum=md5(tar(files, folder, "w")),
        )
        for official, files, folder in forms
    )
    monkeypatch.setattr(cifar10, "SOURCES", sources)


def leftovers(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


# local copies

ARRAYS = {name: idx.decode(name, content) for name, content in FILES.items()}
TRAIN, TEST = (
    {"images": ARRAYS[f"{split}-images-idx3-ubyte"], "label": ARRAYS[f"{split}-labels-idx1-ubyte"]}
    for split in ("train", "t10k")
)
GZIPPED = {f"{name}.gz": gzip.compress(content) for name, content in FILES.items()}
DOTTED = {name.replace("-idx", ".idx"): content for name, content in FILES.items()}
KERAS = npz(
    x_train=TRAIN["images"], y_train=TRAIN["label"], x_test=TEST["images"], y_test=TEST["label"]
)
SHARDS = {
    "train-00000-of-00002.parquet": parquet("image", TRAIN["images"][:4], label=TRAIN["label"][:4]),
    "train-00001-of-00002.parquet": parquet("image", TRAIN["images"][4:], label=TRAIN["label"][4:]),
    "test-00000-of-00001.parquet": parquet("image", **TEST),
}
UNLABELLED = parquet("image", TEST["images"], digit=TEST["label"])
TEXTS = dict.fromkeys(("x_train", "y_train", "x_test", "y_test"), np.array(["a"]))
REVISION = "datasets--ylecun--mnist/snapshots/77f3279092a1c1579b2250db8eafed0ad422088c/mnist"


def inside(folder: str, files: dict[str, bytes]) -> dict[str, bytes]:
    return {f"{folder}/{name}": content for name, content in files.items()}


# by what people call them: the files below data.path
LAYOUTS = {
    "raw": FILES,
    "gzip": GZIPPED,
    "raw, named .gz": GZIPPED | {"train-images-idx3-ubyte.gz": FILES["train-images-idx3-ubyte"]},
    "gzip, named as if raw": {n.removesuffix(".gz"): content for n, content in GZIPPED.items()},
    "dotted": DOTTED,
    "dotted, gzip": {f"{name}.gz": gzip.compress(content) for name, content in DOTTED.items()},
    "the project's folder": inside("mnist", GZIPPED),
    "torchvision": inside("MNIST/raw", FILES),
    "any name that fits": inside("My MNIST (1998)", FILES),
    "a folder in a folder": inside("mnist/archive/mnist", DOTTED),
    "a folder for each file": {f"{name}/{name}": content for name, content in FILES.items()},
    "Keras": {"mnist.npz": KERAS},
    "Keras, in a folder": {"mnist/mnist.npz": KERAS},
    "Hugging Face": inside("mnist", SHARDS),
    "Hugging Face's cache": inside(REVISION, SHARDS),
    "another dataset beside it": inside("mnist", FILES) | inside("fashion_mnist", idx_files(1)),
    "another dataset's files first": inside("a_mnist", idx_files(1)) | inside("mnist", FILES),
    "one copy intact, one broken": inside("mnist", FILES) | {"mnist.npz": KERAS[:-100]},
    "one file in two forms, one broken": {**FILES, "t10k-labels.idx1-ubyte.gz": b"broken"},
}


def place(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def content(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_gives_the_same_prepared_file(
    run: Runner, monkeypatch: pytest.MonkeyPatch, layout: str
) -> None:
    use_idx(monkeypatch)
    local = place(run.folder / "local", LAYOUTS[layout])
    samples = run("mnist", local)
    assert samples.x_train.tobytes() == FILES["train-images-idx3-ubyte"][16:]
    assert samples.y_test.tobytes() == FILES["t10k-labels-idx1-ubyte"][8:]
    preparation.write(run.folder / "expected.npz", mnist.decode(FILES), mnist.INFO.checksum)
    assert run.output.read_bytes() == (run.folder / "expected.npz").read_bytes()
    assert content(local) == LAYOUTS[layout]
    assert not run.downloads.exists()


@pytest.mark.parametrize(
    "folder", ["fashion_mnist", "fashion-mnist", "FashionMNIST/raw", "dataset-fashion-mnist", "."]
)
def test_layouts_of_fashion_mnist(
    run: Runner, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    """As Keras (`fashion-mnist/*.gz`), Debian (the same below `/usr/share/datasets`) and torchvision have it."""
    use_idx(monkeypatch, module=fashion_mnist)
    local = place(run.folder / "local", inside("mnist", idx_files(1)) | inside(folder, GZIPPED))
    assert run("fashion_mnist", local).x_train.tobytes() == FILES["train-images-idx3-ubyte"][16:]


def test_the_folder_of_the_dataset_itself(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    use_idx(monkeypatch)
    place(run.folder / "mnist", inside("raw", FILES))
    assert run("mnist", run.folder / "mnist").x_train.shape == (6, 28, 28)


BATCHES = cifar_batches()
IMAGES = {
    stem: pixels.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    for stem, (pixels, _) in BATCHES.items()
}
TEST_BATCH = BATCHES["test_batch"][1]
TRAIN_IMAGES, TRAIN_LABELS = (
    np.concatenate([each[stem] for stem in BATCHES if stem != "test_batch"])
    for each in (IMAGES, {stem: labels for stem, (_, labels) in BATCHES.items()})
)
CIFAR_LAYOUTS = {
    "Keras 2": inside("cifar-10-batches-py", cifar_pickled()),
    "Keras 3": inside("cifar-10-batches-py-target/cifar-10-batches-py", cifar_pickled()),
    "Keras' arrays": {
        "cifar10.npz": npz(
            x_train=TRAIN_IMAGES,
            y_train=TRAIN_LABELS[:, None],
            x_test=IMAGES["test_batch"],
            y_test=TEST_BATCH[:, None],
        )
    },
    "Hugging Face": {
        "cifar10/plain_text/train-00000-of-00001.parquet": parquet(
            "img", TRAIN_IMAGES, label=TRAIN_LABELS
        ),
        "cifar10/plain_text/test-00000-of-00001.parquet": parquet(
            "img", IMAGES["test_batch"], label=TEST_BATCH
        ),
    },
}


@pytest.mark.parametrize("layout", CIFAR_LAYOUTS)
def test_layouts_of_cifar10_give_the_same_prepared_file(
    run: Runner, monkeypatch: pytest.MonkeyPatch, layout: str
) -> None:
    use_cifar(monkeypatch)
    local = place(run.folder / "local", CIFAR_LAYOUTS[layout])
    assert catalogue.available_locally("cifar10", local)
    run("cifar10", local)
    samples = cifar10.decode(cifar_binary())
    preparation.write(run.folder / "expected.npz", samples, cifar10.INFO.checksum)
    assert run.output.read_bytes() == (run.folder / "expected.npz").read_bytes()


def test_other_images_in_a_known_layout_are_refused(
    run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_idx(monkeypatch)
    changed = TRAIN | {"label": TRAIN["label"][::-1]}
    shards = {
        "train.parquet": parquet("image", **changed),
        "test.parquet": parquet("image", **TEST),
    }
    with pytest.raises(
        DatasetError, match=r"not used: .*test\.parquet: expected images and labels"
    ):
        run("mnist", place(run.folder / "local" / "mnist", shards))


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"mnist.npz": KERAS[:-100]}, r"mnist\.npz cannot be read as x_train, "),
        ({"mnist.npz": npz(x_train=TRAIN["images"])}, r"mnist\.npz cannot be read .*y_train"),
        ({"mnist.npz": b"text"}, r"mnist\.npz is neither an \.npz nor a Parquet file"),
        ({"mnist.npz": npz(**TEXTS)}, r"mnist\.npz does not contain images with labels"),
        (
            inside("mnist", SHARDS | {"train-00000-of-00002.parquet": b"PAR1"}),
            r"train-00000-of-00002\.parquet cannot be read as images and labels",
        ),
        (
            {"mnist/train.parquet": UNLABELLED, "mnist/test.parquet": UNLABELLED},
            r"test\.parquet has no column 'label'",
        ),
        (
            inside("mnist", SHARDS | {"train-00000-of-00002.parquet": UNLABELLED}),
            "are not parts of one table",
        ),
        (
            GZIPPED | {"t10k-labels-idx1-ubyte.gz": b"\x1f\x8bbroken"},
            r"t10k-labels-idx1-ubyte\.gz: expected .*cannot be decompressed",
        ),
        (
            {name: FILES[name] for name in list(FILES)[:2]},
            "missing: t10k-images-idx3-ubyte, t10k-labels-idx1-ubyte",
        ),
    ],
)
def test_a_folder_that_does_not_serve(
    run: Runner,
    monkeypatch: pytest.MonkeyPatch,
    files: dict[str, bytes],
    message: str,
) -> None:
    """It says why, what was looked for and where; nothing is downloaded, and no file is changed."""
    with serve(GZIPPED) as (address, asked):
        use_idx(monkeypatch, address)
        local = place(run.folder / "local", files)
        with pytest.raises(DatasetError, match=message) as caught:
            run("mnist", local)
        assert asked == []
    said = str(caught.value)
    assert said.startswith(f"mnist: no complete copy in {local}, and nothing was downloaded\n")
    for part in (*FILES, "an .npz file", "train*.parquet", "or remove data.path"):
        assert part in said
    searched = ", ".join(str(each) for each in (local / "mnist", local) if each.exists())
    assert f"looked in {searched}: there, and in folders there named after the dataset\n" in said
    assert content(local) == files
    assert not run.downloads.exists()


def test_downloads_of_before_serve_where_the_folder_does_not(
    run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_idx(monkeypatch, NOWHERE)
    write(run.downloads / "mnist", FILES, gz=True)
    (run.folder / "local").mkdir()
    assert run("mnist", run.folder / "local").x_train.shape == (6, 28, 28)
    assert run.said == [
        f"mnist: no complete copy in {run.folder / 'local'}; using {run.downloads / 'mnist'}"
    ]


def test_folders_of_many_classes_are_not_searched(run: Runner) -> None:
    """Images by class, as ImageNet's, are a thousand folders of a thousand files; `data.path` may hold many itself."""
    (source,) = mnist.SOURCES
    for index in range(101):
        (run.folder / "mnist" / f"class_{index}").mkdir(parents=True)
        (run.folder / f"other_{index}").mkdir()
    assert local.find(source, run.folder).folders == (run.folder / "mnist", run.folder)


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
        write(folder / (CIFAR_FOLDERS[form] if packing == "folder" else "."), files)
    else:
        name = source.archive if packing == "w:gz" else source.archive.removesuffix(".gz")
        write(folder, {name: tar(files, CIFAR_FOLDERS[form], packing)})
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
    with pytest.raises(DatasetError, match="data_batch_1 is not a batch of images"):
        cifar10.decode({"data_batch_1": content})


def test_a_corrupt_copy_is_named_and_stays(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    use_idx(monkeypatch)
    name, bad = "t10k-labels-idx1-ubyte", FILES["t10k-labels-idx1-ubyte"][:-1] + b"\x0b"
    files = FILES | {name: bad}
    local = place(run.folder / "mnist", files)
    with pytest.raises(DatasetError) as caught:
        run("mnist", run.folder)
    assert f"{local / name}: expected {md5(FILES[name])}, found {md5(bad)}" in str(caught.value)
    assert content(local) == files
    assert not run.output.exists()


def test_corrupt_download_in_a_read_only_folder_stays(
    run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_idx(monkeypatch, NOWHERE)
    files = GZIPPED | {"t10k-labels-idx1-ubyte.gz": b"bad"}
    folder = place(run.downloads / "mnist", files)
    folder.chmod(0o555)
    try:
        with pytest.raises(DatasetError, match="folder is read-only"):
            run("mnist")
        assert content(folder) == files
    finally:
        folder.chmod(0o755)


def test_gzip_that_breaks_off(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    use_idx(monkeypatch)
    local = write(run.folder / "mnist", FILES, gz=True)
    path = local / "train-images-idx3-ubyte.gz"
    path.write_bytes(path.read_bytes()[:-20])
    found = md5(path.read_bytes())
    with pytest.raises(DatasetError, match="cannot be decompressed") as caught:
        run("mnist", run.folder)
    assert found in str(caught.value)
    assert path.exists()


def test_archives_that_break_off_lack_a_member_or_hold_a_wrong_one(
    run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_cifar(monkeypatch)
    files = cifar_binary()
    lacking = {name: files[name] for name in list(files)[:-1]}
    wrong = files | {"test_batch.bin": bytes(3073)}
    for content, message in (
        (tar(files, "f")[:-50], "unreadable archive"),
        (tar(lacking, "f"), r"without test_batch\.bin"),
        (tar(wrong, "f"), md5(bytes(3073))),
    ):
        write(run.folder, {"cifar-10-binary.tar.gz": content})
        with pytest.raises(DatasetError, match=message) as caught:
            run("cifar10", run.folder)
        assert md5(content) in str(caught.value)
        assert (run.folder / "cifar-10-binary.tar.gz").read_bytes() == content


def test_dataset_without_download_says_what_is_missing(run: Runner) -> None:
    with pytest.raises(DatasetError, match=r"(?s)no complete copy in .*expected cifar10_standin"):
        run("cifar10_standin", run.folder)
    with pytest.raises(
        DatasetError, match=r"(?s)cannot be downloaded: .*data\.path .*cifar10_standin"
    ):
        run("cifar10_standin")


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
            DatasetError, match=r"could not be downloaded(.|\n)*the connection was closed"
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


def test_real_mnist_is_not_taken_for_fashion_mnist(run: Runner, shared_data: Path) -> None:
    with pytest.raises(DatasetError, match=r"expected md5:f4a8712d.*, found md5:6bbc9ace"):
        run("fashion_mnist", shared_data / "mnist")


def test_real_mnist_as_keras_has_it(run: Runner, shared_data: Path) -> None:
    samples = run("mnist", shared_data)
    expected = run.output.read_bytes()
    arrays = {name: getattr(samples, name) for name in ("x_train", "y_train", "x_test", "y_test")}
    run("mnist", place(run.folder / "keras", {"mnist.npz": npz(**arrays)}))
    assert run.output.read_bytes() == expected


def test_real_fashion_mnist_as_debian_has_it(run: Runner, shared_data: Path) -> None:
    (run.folder / "fashion-mnist").symlink_to(shared_data / "fashion_mnist")
    assert run("fashion_mnist", run.folder).y_train[:5].tolist() == [9, 0, 0, 3, 0]


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
