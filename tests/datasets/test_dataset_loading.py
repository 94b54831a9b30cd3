import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from scaling_limits.cells import DatasetSpec
from scaling_limits.datasets import (
    digits,
    gaussian_binary,
    preparation,
    prepared,
    scalar_regression,
)
from scaling_limits.datasets.description import Samples
from scaling_limits.datasets.loading import load
from scaling_limits.datasets.resample import bilinear_weights, resample
from scaling_limits.errors import DatasetError

SPEC = DatasetSpec(
    name="made",
    checksum="made",
    input_shape=(6, 5, 3),
    num_classes=10,
    num_train=40,
    num_test=7,
    normalisation="none",
    targets="one_hot",
    target_dim=10,
)


def made(shape: tuple[int, ...] = (6, 5, 3), dtype: type = np.uint8) -> Samples:
    rng = np.random.default_rng(0)
    return Samples(
        x_train=rng.integers(0, 256, (50, *shape)).astype(dtype),
        y_train=rng.integers(0, 10, 50).astype(np.uint8),
        x_test=rng.integers(0, 256, (9, *shape)).astype(dtype),
        y_test=rng.integers(0, 10, 9).astype(np.uint8),
        maximum=255.0 if dtype is np.uint8 else 0.0,
    )


def write(folder: Path, samples: Samples) -> Path:
    preparation.write(folder / "made.npz", samples, "made")
    return folder / "made.npz"


def spec(**changes: object) -> DatasetSpec:
    return DatasetSpec.model_validate(SPEC.model_dump() | changes)


def test_first_samples_unchanged(tmp_path: Path) -> None:
    samples = made()
    arrays = load(SPEC, write(tmp_path, samples))
    assert arrays.x_train.dtype == arrays.y_train.dtype == np.float32
    np.testing.assert_array_equal(arrays.x_train, samples.x_train[:40].reshape(40, -1))
    np.testing.assert_array_equal(arrays.x_test, samples.x_test[:7].reshape(7, -1))
    np.testing.assert_array_equal(arrays.labels_train, samples.y_train[:40])
    np.testing.assert_array_equal(arrays.y_test, np.eye(10)[samples.y_test[:7]])
    assert load(SPEC, tmp_path / "made.npz", "float64").x_train.dtype == np.float64
    assert load(spec(num_test=0), tmp_path / "made.npz").y_test.shape == (0, 10)


@pytest.mark.parametrize("normalisation", ["none", "unit_interval"])
def test_a_sample_does_not_depend_on_how_many_there_are(tmp_path: Path, normalisation: str) -> None:
    path = write(tmp_path, made())
    change = {"normalisation": normalisation, "input_shape": (9, 4, 3)}
    few, many = (load(spec(num_train=count, **change), path) for count in (3, 50))
    np.testing.assert_array_equal(few.x_train, many.x_train[:3])


def test_unit_interval(tmp_path: Path) -> None:
    arrays = load(spec(normalisation="unit_interval"), write(tmp_path, made()))
    assert arrays.x_train.min() == 0
    assert arrays.x_train.max() == 1
    with pytest.raises(DatasetError, match="unit_interval requires 8-bit images"):
        load(spec(normalisation="unit_interval"), write(tmp_path, made(dtype=np.float64)))


@pytest.mark.parametrize("input_shape", [(6, 5, 3), (8, 8, 3)])
def test_standardise_is_per_channel_of_the_training_samples_in_use(
    tmp_path: Path, input_shape: tuple[int, ...]
) -> None:
    path = write(tmp_path, made())
    change = {"normalisation": "standardise", "input_shape": input_shape}
    x = load(spec(num_train=20, **change), path, "float64").x_train.reshape(20, -1, 3)
    np.testing.assert_allclose(x.mean((0, 1)), 0, atol=1e-12)
    np.testing.assert_allclose(x.std((0, 1)), 1, atol=1e-12)
    other = load(spec(num_train=40, **change), path, "float64").x_train.reshape(40, -1, 3)
    assert abs(other[:20].mean()) > 1e-6


@pytest.mark.parametrize(
    ("normalisation", "shift", "scale"), [("standardise", 2, 2), ("unit_interval", 0, 10)]
)
def test_the_test_set_is_normalised_as_the_training_set_is(
    tmp_path: Path, normalisation: str, shift: float, scale: float
) -> None:
    """Training samples have mean 2 and standard deviation 2 in both channels, test samples 6 and 1."""
    train, test = np.array([[0.0, 4.0], [4.0, 0.0]]), np.array([[5.0, 7.0], [7.0, 5.0]])
    labels = np.zeros(2, np.uint8)
    samples = Samples(train[:, None, None], labels, test[:, None, None], labels, maximum=10.0)
    sizes = {"input_shape": (1, 1, 2), "num_train": 2, "num_test": 2}
    path = write(tmp_path, samples)
    arrays = load(spec(**sizes, normalisation=normalisation), path, "float64")
    np.testing.assert_allclose(arrays.x_train, (train - shift) / scale, rtol=1e-15)
    np.testing.assert_allclose(arrays.x_test, (test - shift) / scale, rtol=1e-15)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("value", [7, 0.7])
def test_standardise_refuses_a_constant_channel(tmp_path: Path, value: float, dtype: str) -> None:
    """Rounding leaves the standard deviation of 120 numbers 0.7 above zero."""
    samples = made(dtype=np.float64)
    samples.x_train[..., 1] = value
    path = write(tmp_path, samples)
    with pytest.raises(DatasetError, match="made: channel 1 of the training samples is constant"):
        load(spec(normalisation="standardise"), path, dtype)


@pytest.mark.parametrize("smallest", [1e-44, 1e-170])
def test_standardise_refuses_a_deviation_that_is_zero_in_the_dtype(
    tmp_path: Path, smallest: float
) -> None:
    """One value differs, by so little that the standard deviation underflows: in float32, and when it is squared."""
    samples = made(dtype=np.float64)
    samples.x_train[..., 1] = 0
    samples.x_train[0, 0, 0, 1] = smallest
    dtype = "float32" if smallest > 1e-100 else "float64"
    with pytest.raises(DatasetError, match="channel 1"):
        load(spec(normalisation="standardise"), write(tmp_path, samples), dtype)


def test_grey_fills_the_channels(tmp_path: Path) -> None:
    path = write(tmp_path, made((6, 5)))
    grey = load(spec(input_shape=(6, 5)), path).x_train
    np.testing.assert_array_equal(load(spec(input_shape=(6, 5, 1)), path).x_train, grey)
    colour = load(SPEC, path).x_train.reshape(40, 30, 3)
    np.testing.assert_array_equal(colour, np.repeat(grey[..., None], 3, axis=2))


@pytest.mark.parametrize(
    ("held", "wanted"), [((6, 5, 3), (6, 5)), ((6, 5, 3), (90,)), ((30,), (6, 5)), ((30,), (31,))]
)
def test_shapes_that_do_not_fit(
    tmp_path: Path, held: tuple[int, ...], wanted: tuple[int, ...]
) -> None:
    with pytest.raises(DatasetError, match="cannot be resampled to shape"):
        load(spec(input_shape=wanted), write(tmp_path, made(held)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_train": 51}, "51 training samples are requested, but the dataset has 50"),
        ({"num_test": 10}, "10 test samples are requested, but the dataset has 9"),
        ({"num_classes": 4}, "labels from 0 to 3"),
        ({"targets": "scalar"}, "scalar requires the labels -1 and 1"),
        ({"checksum": "other"}, "prepared from other data: expected checksum other, found made"),
    ],
)
def test_what_cannot_be_given_is_refused(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    path = write(tmp_path, made())
    with pytest.raises(DatasetError, match=message):
        load(spec(**change), path)
    assert path.exists()


def test_one_hot_rows_of_many_classes_take_no_table_of_classes(tmp_path: Path) -> None:
    samples = made()
    samples = replace(samples, y_train=samples.y_train.astype(np.int32) * 500)
    path = write(tmp_path, samples)
    tracemalloc.start()
    try:
        arrays = load(spec(num_classes=20_000, num_test=1), path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert arrays.y_train.shape == (40, 20_000)
    np.testing.assert_array_equal(arrays.y_train.argmax(axis=1), samples.y_train[:40])
    assert (arrays.y_train.sum(axis=1) == 1).all()
    assert peak < 4 * arrays.y_train.nbytes


def test_scalar_targets_of_the_toy_task(tmp_path: Path) -> None:
    samples, info = gaussian_binary.decode({}), gaussian_binary.INFO
    path = write(tmp_path, samples)
    change = {"input_shape": info.shape, "num_classes": 2, "num_train": 20, "targets": "scalar"}
    arrays = load(spec(**change), path)
    assert arrays.y_train.shape == (20, 1)
    np.testing.assert_array_equal(arrays.y_train[:, 0], samples.y_train)
    np.testing.assert_array_equal(arrays.x_train, samples.x_train)
    with pytest.raises(DatasetError, match="one_hot requires labels"):
        load(spec(**(change | {"targets": "one_hot"})), path)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_real_targets_are_taken_as_they_are(tmp_path: Path, dtype: str) -> None:
    samples, info = scalar_regression.decode({}), scalar_regression.INFO
    path = write(tmp_path, samples)
    change = {"input_shape": info.shape, "num_classes": 0, "num_train": 20, "targets": "real"}
    arrays = load(spec(**change), path, dtype)
    assert arrays.y_train.dtype == dtype
    np.testing.assert_array_equal(arrays.y_train, samples.y_train[:20].astype(dtype))
    np.testing.assert_array_equal(arrays.y_test, samples.y_test[: len(arrays.y_test)].astype(dtype))
    assert not len(arrays.labels_train)


def test_digits_at_the_shape_of_mnist(tmp_path: Path) -> None:
    change = {"input_shape": (28, 28), "num_train": 1024, "normalisation": "unit_interval"}
    arrays = load(spec(**change), write(tmp_path, digits.decode({})))
    assert arrays.x_train.shape == (1024, 784)
    assert 0 <= arrays.x_train.min() < arrays.x_train.max() <= 1


# the prepared file


def test_prepared_file_is_the_same_for_the_same_samples(tmp_path: Path) -> None:
    first = write(tmp_path, made()).read_bytes()
    assert write(tmp_path, made()).read_bytes() == first
    order = made()
    fortran = Samples(
        np.asfortranarray(order.x_train), order.y_train, order.x_test, order.y_test, 255.0
    )
    assert write(tmp_path, fortran).read_bytes() == first
    assert [path.name for path in tmp_path.iterdir()] == ["made.npz"]


def test_digest_sees_every_part() -> None:
    samples = made()
    parts = {
        "x_train": samples.x_train,
        "y_train": samples.y_train,
        "x_test": samples.x_test,
        "y_test": samples.y_test,
    }
    digests = {prepared.digest(samples), prepared.digest(Samples(**parts, maximum=16.0))}
    for name, array in parts.items():
        changed = array.copy()
        changed.flat[-1] += 1
        digests.add(prepared.digest(Samples(**(parts | {name: changed}), maximum=255.0)))
    assert len(digests) == 6


def damage_arrays(path: Path) -> None:
    with np.load(path) as archive:
        arrays = dict(archive)
    arrays["x_test"][0] += 1
    with path.open("wb") as file:
        np.savez(file, **arrays)


def damage_keys(path: Path) -> None:
    with path.open("wb") as file:
        np.savez(file, x_train=np.array([None]))


@pytest.mark.parametrize("damage", [damage_arrays, damage_keys])
def test_corrupt_prepared_file_is_moved_aside(tmp_path: Path, damage) -> None:
    path = write(tmp_path, made())
    damage(path)
    with pytest.raises(
        DatasetError, match=r"made\.npz is corrupt: expected .*, found .*moved aside"
    ):
        load(SPEC, path)
    assert [file.name for file in tmp_path.iterdir()] == ["made.npz.corrupt"]
    with pytest.raises(DatasetError, match="has not been prepared"):
        load(SPEC, path)


# resampling


@pytest.mark.parametrize(
    ("num_in", "num_out"), [(8, 28), (28, 8), (28, 32), (5, 5), (1, 4), (4, 1)]
)
def test_constant_images_stay_constant(num_in: int, num_out: int) -> None:
    images = np.full((2, num_in, num_in, 1), 7.0)
    np.testing.assert_allclose(resample(images, num_out, num_out), 7.0, rtol=1e-14)


def test_equal_shapes_are_the_identity() -> None:
    np.testing.assert_array_equal(bilinear_weights(9, 9), np.eye(9))
    images = made().x_train
    np.testing.assert_array_equal(resample(images, 6, 5), images)


def test_upsampling_by_two_interpolates_between_centres() -> None:
    image = np.array([0.0, 4.0]).reshape(1, 1, 2, 1)
    assert resample(image, 1, 4).ravel().tolist() == [0, 1, 3, 4]


@pytest.mark.parametrize("shape", [(28, 28), (4, 3), (6, 9), (11, 5)])
def test_resampling_agrees_with_jax(shape: tuple[int, int]) -> None:
    import jax

    images = made().x_train[:4]
    theirs = jax.image.resize(images.astype(np.float32), (4, *shape, 3), "bilinear", antialias=True)
    np.testing.assert_allclose(resample(images, *shape), theirs, atol=1e-3)


def test_gaussian_targets_do_not_depend_on_the_data(tmp_path: Path) -> None:
    path = write(tmp_path, made())
    y = {
        size: load(spec(targets="gaussian", target_dim=size, num_train=40), path, "float64")
        for size in (1, 200)
    }
    assert y[200].y_train.shape == (40, 200)
    np.testing.assert_array_equal(y[1].y_train, y[200].y_train[:, :1])
    assert abs(y[200].y_train.mean()) < 0.05
    assert abs(y[200].y_train.std() - 1) < 0.05
    assert abs(np.vdot(y[200].y_train[:7], y[200].y_test)) / (7 * 200) < 0.1
