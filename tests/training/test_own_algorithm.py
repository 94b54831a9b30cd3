"""An algorithm in a file of one's own: what it gives is looked at before anything is compiled."""

from pathlib import Path

import numpy as np
import pytest

from scaling_limits.cells import AlgorithmSpec, Cell
from scaling_limits.datasets.loading import Arrays, load
from scaling_limits.errors import ConfigurationError
from scaling_limits.pipeline.jobs import computation
from toys import BACKPROPAGATION, cell

CELL = cell(**BACKPROPAGATION)

RIGHT = """
from scaling_limits.algorithms.layerwise import backward_pass, weight_gradients
from scaling_limits.networks.network import Weights


def init(problem):
    return ()


def errors(problem):
    forward = problem.activities()
    return backward_pass(problem, problem.inputs(forward), problem.output_error(forward[-1][0]))


def update(problem, state):
    forward = problem.activities()
    gradients = weight_gradients(problem, problem.inputs(forward), errors(problem))
    loss = problem.loss(forward[-1][0])
    return Weights(gradients), state, {"train_loss": loss}
"""
FAULTS = {
    "a list of errors": (
        "return backward_pass(problem, problem.inputs(forward), problem.output_error(forward[-1][0]))",
        "return list(backward_pass(problem, problem.inputs(forward), problem.output_error(forward[-1][0])))",
        r"errors returns errors of shapes \[\[.* instead of \(\[",
    ),
    "the output's error alone": (
        "return backward_pass(problem, problem.inputs(forward), problem.output_error(forward[-1][0]))",
        "return (problem.output_error(forward[-1][0]),)",
        "errors returns errors of shapes",
    ),
    "bare gradients": (
        "Weights(gradients), state, {",
        "gradients, state, {",
        r"update must return its gradients as Weights\(forward, feedback\)",
    ),
    "gradients of one segment": (
        "Weights(gradients)",
        "Weights(gradients[:1])",
        "update returns forward gradients of shapes",
    ),
    "two things": ("state, {", "{", "update must return three values"),
    "another state": ("state, {", "loss, {", "update returns the next state of shapes"),
    "no train_loss": (
        '"train_loss": loss',
        '"loss": loss',
        "must return the metric train_loss; its metrics are: loss",
    ),
    "a loss per sample": (
        '"train_loss": loss',
        '"train_loss": forward[-1][0]',
        r"metric train_loss as a number, not as an array of shape \[",
    ),
}


@pytest.fixture
def arrays(datasets_folder: Path) -> Arrays:
    return load(CELL.dataset, datasets_folder / "digits.npz", CELL.dtype)


def own(folder: Path, text: str) -> Cell:
    """The cell with an algorithm of this text."""
    file = folder / "mine.py"
    file.write_text(text)
    return CELL.model_copy(update={"algorithm": AlgorithmSpec(name="mine", file=str(file))})


def test_a_right_one_trains_as_the_projects_own(tmp_path: Path, arrays: Arrays) -> None:
    mine = own(tmp_path, RIGHT)
    ((ours,), (theirs,)) = (computation(c, arrays)([c]) for c in (mine, CELL))
    np.testing.assert_allclose(
        ours["train_loss"].values, theirs["train_loss"].values, rtol=1e-5, atol=0
    )


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_not_as_asked_for_is_said(tmp_path: Path, arrays: Arrays, fault: str) -> None:
    before, after, words = FAULTS[fault]
    assert before in RIGHT
    mine = own(tmp_path, RIGHT.replace(before, after))
    with pytest.raises(ConfigurationError, match=words) as raised:
        computation(mine, arrays)
    assert str(raised.value).startswith(f"algorithms.mine: {mine.algorithm.file}: ")
