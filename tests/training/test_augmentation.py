"""Training images that are changed at random."""

from typing import Any

import jax
import numpy as np
import pytest

from scaling_limits.datasets.loading import Arrays
from scaling_limits.errors import ConfigurationError
from scaling_limits.training.augmentation import augmented
from scaling_limits.training.loop import compile_shard
from toys import BACKPROPAGATION, cell

SHAPE = (8, 12, 3)
COUNT = 64


def images(*names: str, seed: int = 0, shape: tuple[int, ...] = SHAPE) -> Any:
    """Images of which every number is another one, before and after."""
    x = 1.0 + np.arange(COUNT * np.prod(shape), dtype=float).reshape(COUNT, -1)
    changed = augmented(x, shape, names, jax.random.key(seed))
    return x.reshape(COUNT, *shape), np.asarray(changed).reshape(COUNT, *shape)


def test_a_flip_mirrors_about_half_of_the_images_left_and_right() -> None:
    before, after = images("flip")
    mirrored = [np.array_equal(new, old[:, ::-1]) for old, new in zip(before, after, strict=True)]
    same = [np.array_equal(new, old) for old, new in zip(before, after, strict=True)]
    assert all(a != b for a, b in zip(mirrored, same, strict=True))
    assert 16 < sum(mirrored) < 48


@pytest.mark.parametrize("shape", [SHAPE, (8, 12)])
def test_a_crop_moves_by_an_eighth_of_a_side_at_most(shape: tuple[int, ...]) -> None:
    """One row of 8, two columns of 12, each way; what comes in is zero."""
    before, after = images("crop", shape=shape)
    seen = set()
    for old, new in zip(before, after, strict=True):
        padded = np.pad(old, [(1, 1), (2, 2)] + [(0, 0)] * (old.ndim - 2))
        places = [
            (row, column)
            for row in range(3)
            for column in range(5)
            if np.array_equal(new, padded[row : row + 8, column : column + 12])
        ]
        assert len(places) == 1
        seen |= set(places)
    assert {row for row, _ in seen} == set(range(3))
    assert {column for _, column in seen} == set(range(5))


def test_a_cutout_blanks_one_square_of_a_quarter_of_a_side() -> None:
    """2 rows of 8 by 3 columns of 12 of all channels, or what of it is inside."""
    before, after = images("cutout")
    sizes = set()
    for old, new in zip(before, after, strict=True):
        blank = (new == 0).all(axis=-1)
        assert np.array_equal(new[~blank], old[~blank])
        rows, columns = np.flatnonzero(blank.any(axis=1)), np.flatnonzero(blank.any(axis=0))
        assert blank.sum() == len(rows) * len(columns) > 0
        assert rows.max() - rows.min() < 2
        assert columns.max() - columns.min() < 3
        sizes.add(int(blank.sum()))
    assert max(sizes) == 6


def test_changes_are_drawn_anew_by_the_key_and_in_one_order() -> None:
    _, once = images("crop", "flip")
    assert np.array_equal(images("flip", "crop")[1], once)
    assert not np.array_equal(images("crop", "flip", seed=1)[1], once)
    # what one of them does, it does beside others
    assert np.array_equal(images()[1], images()[0])


IMAGES: dict[str, Any] = {
    **BACKPROPAGATION,
    "optimiser": "sgd",
    "parameterisation": "sp_gaussian",
    "skip": None,
    "batch_size": 4,
    "num_train": 4,
    "num_test": 4,
    "num_steps": 3,
}


def losses(rate: float, **changes: Any) -> Any:
    own = cell(**IMAGES | changes, learning_rate=rate)
    shape = own.dataset.input_shape
    rng = np.random.default_rng(0)
    x = rng.normal(size=(8, int(np.prod(shape))))
    labels = np.arange(8, dtype=np.int32)
    y = np.eye(10)[labels]
    arrays = Arrays(x[:4], y[:4], labels[:4], x[4:], y[4:], labels[4:])
    (measured,) = compile_shard(own, arrays)([own])
    return measured["train_loss"].values


def test_every_step_of_training_draws_anew() -> None:
    """At a rate of almost zero and the whole set in each batch, losses differ by the changes alone."""
    plain = losses(1e-30)
    assert np.ptp(plain) < 1e-6 * plain[0]
    changed = losses(1e-30, augmentation=["crop", "cutout"])
    assert len(set(changed.round(4).tolist())) == 3
    # drawn by the seed
    assert np.array_equal(changed, losses(1e-30, augmentation=["cutout", "crop"]))
    assert not np.array_equal(changed, losses(1e-30, augmentation=["crop", "cutout"], seed=1))


def test_what_is_not_said_changes_no_cell() -> None:
    assert "augmentation" not in cell(**IMAGES).canonical()
    assert cell(**IMAGES, augmentation=[]) == cell(**IMAGES)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"augmentation": ["crops"]}, "augmentation.0: .* did you mean 'crop'"),
        (
            {"augmentation": ["flip"], "dataset": "gaussian_binary", "normalisation": "none"},
            "augmentation: is of images",
        ),
    ],
)
def test_refusals(changes: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        cell(**IMAGES | changes)
