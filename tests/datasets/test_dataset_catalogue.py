import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from published_files import Evil

from scaling_limits.datasets import catalogue, keras_npz
from scaling_limits.errors import ConfigurationError, DatasetError
from scaling_limits.source import closure


def save(path: Path, **changes: object) -> Path:
    rng = np.random.default_rng(0)
    arrays = {
        "x_train": rng.integers(0, 256, (6, 5, 4)).astype(np.uint8),
        "y_train": np.array([[0], [1], [2], [0], [1], [2]]),
        "x_test": rng.integers(0, 256, (3, 5, 4)).astype(np.uint8),
        "y_test": np.array([[3], [1], [0]]),
    }
    np.savez(path, **{key: value for key, value in (arrays | changes).items() if value is not None})
    return path


def with_value(value: float) -> np.ndarray:
    """Training images in which two values are this one."""
    x = np.zeros((6, 5, 4))
    x[4, 0, 3] = x[5, 0, 0] = value
    return x


@pytest.mark.parametrize("name", catalogue.names({}))
def test_every_dataset_describes_itself(name: str) -> None:
    info = catalogue.info(name, {})
    assert info.name == name
    # without its file nothing is known of an archive's content, and another dataset takes its place
    assert len(info.checksum) == (0 if name == "imagenet" else 64)
    assert info.stand_in in (None, *catalogue.names({}))


def test_info_imports_nothing_heavy() -> None:
    code = (
        "import sys; from scaling_limits.datasets import catalogue\n"
        "for name in catalogue.names({}): catalogue.info(name, {})\n"
        "print(*({'sklearn', 'jax', 'pandas', 'urllib.request'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


@pytest.mark.parametrize("name", catalogue.names({}))
def test_numbers_do_not_depend_on_downloads_or_other_datasets(name: str) -> None:
    sources = closure(["scaling_limits.datasets.loading", catalogue.module(name, {})])
    for other in ("fetch", "preparation", "verify", "local", "catalogue"):
        assert f"scaling_limits.datasets.{other}" not in sources
    shared = {"fashion_mnist": {"mnist"}}.get(name, set())
    others = {
        f"scaling_limits.datasets.{other}" for other in set(catalogue.names({})) - {name} - shared
    }
    assert not others & set(sources)


def test_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigurationError, match="did you mean 'mine'"):
        catalogue.info("mime", {"mine": Path("mine.npz")})


def test_user_dataset_may_not_take_a_name() -> None:
    with pytest.raises(ConfigurationError, match="'mnist' is already the name of a dataset"):
        catalogue.names({"mnist": Path("mine.npz")})


def test_user_dataset_is_described_from_its_file(tmp_path: Path) -> None:
    path = save(tmp_path / "mine.npz")
    info = catalogue.info("mine", {"mine": path})
    assert (info.shape, info.num_classes, info.num_train, info.num_test) == ((5, 4), 4, 6, 3)
    save(path, y_test=np.array([9, 1, 0]))
    assert catalogue.info("mine", {"mine": path}).num_classes == 10


def test_binary_labels_are_two_classes(tmp_path: Path) -> None:
    labels = {"y_train": np.array([1, -1, 1, 1, -1, 1]), "y_test": np.array([1, 1, -1])}
    assert catalogue.info("mine", {"mine": save(tmp_path / "mine.npz", **labels)}).num_classes == 2


@pytest.mark.parametrize("shape", [(), (1,), (2,)])
def test_floats_are_real_targets(tmp_path: Path, shape: tuple[int, ...]) -> None:
    y = {
        "y_train": np.random.default_rng(0).normal(size=(6, *shape)),
        "y_test": np.ones((3, *shape)),
    }
    path = save(tmp_path / "mine.npz", **y)
    info = catalogue.info("mine", {"mine": path})
    width = shape[0] if shape else 1
    assert (info.num_classes, info.num_targets) == (0, width)
    np.testing.assert_array_equal(keras_npz.read(path).y_train, y["y_train"].reshape(6, width))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"x_train": with_value(1e39)}, r"'x_train' is 1e\+39 at index \(4, 0, 3\); .*float32"),
        ({"x_test": np.full((3, 5, 4), np.inf)}, r"'x_test' is inf at index \(0, 0, 0\)"),
        (
            {"x_test": np.zeros((3, 4, 4))},
            r"shape \(5, 4\), but samples of 'x_test' have shape \(4, 4\)",
        ),
        ({"x_train": np.zeros(6)}, "'x_train' must contain numbers"),
        ({"y_train": np.full(6, np.nan)}, "'y_train' is nan at index 0; "),
        ({"y_test": np.full((3, 2), -np.inf)}, r"'y_test' is -inf at index \(0, 0\)"),
        ({"y_train": np.ones((6, 1, 1))}, r"'y_train' must contain .*not float64 \(6, 1, 1\)"),
        ({"y_train": np.ones((6, 2), int)}, r"'y_train' must contain .*not int64 \(6, 2\)"),
        (
            {"y_train": np.ones(6, bool)},
            r"'y_train' contains bool \(6,\); expected integers, .*: y_train\.astype\(int\)",
        ),
        *(
            (
                {"y_train": np.eye(3, dtype=kind)[[0, 1, 2, 0, 1, 2]]},
                r"'y_train' contains one-hot rows \(6, 3\); expected .*: y_train\.argmax\(axis=1\)",
            )
            for kind in (bool, int, float)
        ),
        (
            {"y_train": np.arange(1, 7), "y_test": np.arange(4, 7)},
            "labels in 'y_train' and 'y_test' range from 1 to 6; expected .* from 0: subtract 1",
        ),
        (
            {"y_train": np.zeros(6, int), "y_test": np.zeros(3, int)},
            "all labels in 'y_train' and 'y_test' are 0; expected at least two classes",
        ),
        (
            {"y_train": np.array([1, -1] * 3), "y_test": np.array([0, 1, 2])},
            "'y_train' and 'y_test' must both contain labels from 0, or both only -1 and 1",
        ),
        *(
            (
                {"y_train": np.array([0, 1, 2, 0, 1, large], np.uint64)},
                f"'y_train' is {large} at index 5",
            )
            for large in (2**31, 2**32, 2**32 + 1, 2**63)
        ),
        ({"y_train": np.ones((6, 0))}, r"'y_train' must contain .*not float64 \(6, 0\)"),
        (
            {"y_train": np.ones(6)},
            "'y_train' contains 1 real targets .* but 'y_test' contains classes",
        ),
        (
            {"y_train": np.ones((6, 2)), "y_test": np.ones((3, 3))},
            "'y_train' contains 2 real targets of each sample, but 'y_test' contains 3",
        ),
        (
            {"y_train": np.ones(5), "y_test": np.ones(3)},
            "'x_train' has 6 samples, but 'y_train' has 5",
        ),
    ],
)
def test_invalid_user_dataset_is_refused(
    tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    path = save(tmp_path / "mine.npz", **changes)
    with pytest.raises(DatasetError, match=message) as caught:
        catalogue.info("mine", {"mine": path})
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("key", ["x_train", "y_test"])
def test_pickled_objects_are_named_and_not_unpickled(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], key: str
) -> None:
    path = save(tmp_path / "mine.npz", **{key: np.array([Evil()] * 6, dtype=object)})
    content = path.read_bytes()
    with pytest.raises(DatasetError) as caught:
        catalogue.info("mine", {"mine": path})
    assert f"{path}: '{key}' cannot be read as an array of numbers: Object arrays" in str(
        caught.value
    )
    assert capsys.readouterr().out == ""
    assert path.read_bytes() == content


def test_availability_goes_by_names(tmp_path: Path) -> None:
    assert catalogue.available_locally("digits", None)
    assert not catalogue.available_locally("cifar10", None)
    assert not catalogue.available_locally("cifar10", tmp_path)
    (tmp_path / "cifar10").mkdir()
    (tmp_path / "cifar10" / "cifar10_standin.npz").touch()
    assert catalogue.available_locally("cifar10_standin", tmp_path)
    assert not catalogue.available_locally("cifar10", tmp_path)
    (tmp_path / "cifar-10-python.tar.gz").touch()
    assert catalogue.available_locally("cifar10", tmp_path)


def test_an_archive_is_read_as_the_users_own_under_the_projects_title(tmp_path: Path) -> None:
    assert catalogue.archives(None) == catalogue.archives(tmp_path) == {}
    (tmp_path / "imagenet").mkdir()
    path = save(tmp_path / "imagenet" / "imagenet.npz")
    user = catalogue.archives(tmp_path)
    assert user == {"imagenet": path}
    info = catalogue.info("imagenet", user)
    assert info.title == "ImageNet"
    assert info == replace(keras_npz.info("imagenet", path), title="ImageNet")
    assert catalogue.module("imagenet", user) == keras_npz.__name__
    assert not catalogue.published("imagenet")
    assert catalogue.published("cifar10")


def test_digests_of_generated_datasets_are_pinned() -> None:
    from sklearn.datasets import load_digits

    from scaling_limits.datasets import digits, gaussian_binary, prepared, scalar_regression

    for module in (digits, gaussian_binary, scalar_regression):
        assert prepared.digest(module.decode({})) == module.INFO.checksum
    samples = digits.decode({})
    images = np.concatenate([samples.x_train, samples.x_test])
    assert images.max() == samples.maximum == 16
    assert sorted(map(bytes, images)) == sorted(map(bytes, load_digits().images.astype(np.uint8)))
    assert np.bincount(samples.y_test).min() > 15
    toy = gaussian_binary.decode({})
    assert set(toy.y_train) == {-1, 1}
    assert abs(toy.x_train.std() - 1) < 0.1


def test_scalar_regression_is_a_line_with_noise() -> None:
    """mupc Fig. A.10: x has mean and variance 1, y + x the variance 1/2 and nothing of x in it."""
    from scaling_limits.datasets import scalar_regression

    samples = scalar_regression.decode({})
    x, noise = samples.x_train[:, 0], samples.x_train[:, 0] + samples.y_train[:, 0]
    error = 4 / np.sqrt(len(x))
    assert x.mean() == pytest.approx(1, abs=error)
    assert x.var() == pytest.approx(1, abs=2**0.5 * error)
    assert noise.mean() == pytest.approx(0, abs=error)
    assert noise.var() == pytest.approx(0.5, abs=error)
    assert abs(np.corrcoef(x, noise)[0, 1]) < error
