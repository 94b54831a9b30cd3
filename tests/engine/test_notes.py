"""Whatever differs from the paper's setting is written under the figure."""

from pathlib import Path
from typing import Any

import pytest

from scaling_limits.configuration import load
from scaling_limits.pipeline.keys import cell_source
from scaling_limits.pipeline.notes import figure_notes

PROJECT = Path(__file__).parents[2]
EXPERIMENT = "hyperparameter_transfer_tanh"


def notes(settings: dict[str, Any] | None = None, meta: Any = None, **main: Any) -> str:
    changes = {"mupc": {"experiments": {EXPERIMENT: {"settings": settings or {}}}}}
    configuration = load(PROJECT, {**main, "papers": changes})
    return " ".join(figure_notes(configuration, "mupc", "fig5", meta or {}))


def test_the_papers_own_setting_has_only_its_seeds() -> None:
    assert notes(preset="paper") == "Mean over 3 seeds."


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"activation": "relu"}, "activation relu instead of tanh"),
        # the paper's file does not name this one
        ({"num_train": 1000}, "num_train 1000 instead of unset"),
    ],
)
def test_a_changed_setting_is_said(settings: dict[str, Any], expected: str) -> None:
    assert expected in notes(settings, preset="paper")


def test_reduced_sizes_seeds_and_other_data_are_said() -> None:
    text = notes(preset="smoke")
    assert "Data: handwritten digits of scikit-learn in place of MNIST." in text
    assert "num_steps 40 instead of 937" in text
    assert "One seed." in text


def test_a_stand_in_with_fewer_classes_is_said_and_gives_the_outputs(tmp_path: Path) -> None:
    (tmp_path / "cifar10").mkdir()
    (tmp_path / "cifar10" / "cifar10_standin.npz").touch()
    main = {"preset": "paper", "data": {"path": str(tmp_path)}}
    text = notes({"dataset": "cifar100"}, **main)
    expected = "CIFAR-10 (stand-in) in place of CIFAR-100, with 10 classes instead of 100."
    assert f"Data: {expected} Stand-in for CIFAR-10" in text
    changes = {"mupc": {"experiments": {EXPERIMENT: {"settings": {"dataset": "cifar100"}}}}}
    for path, outputs in ((str(tmp_path), 10), (None, 100)):
        configuration = load(
            PROJECT, {"preset": "paper", "data": {"path": path}, "papers": changes}
        )
        cell = configuration.points("mupc", EXPERIMENT)[0].cell
        assert cell.network.output_dim == cell.dataset.num_classes == outputs


def test_cells_of_an_accepted_older_source_are_said() -> None:
    cell = load(PROJECT, {"preset": "paper"}).points("mupc", EXPERIMENT)[0].cell
    meta = {"a": {"source": cell_source(cell)}, "b": {"source": "0123456789abcdef"}}
    assert "accepted older source: 0123456789abcdef" in notes(meta=meta, preset="paper")


def test_grids_of_other_figures_are_left_out() -> None:
    """Figures 8 and 9 of depth-mup share an experiment; only 8 shows networks."""
    configuration = load(PROJECT, {"preset": "laptop"})
    cells = [p.cell for p in configuration.points("depth-mup", "linear_limit")]
    meta = {str(index): {"source": cell_source(cell)} for index, cell in enumerate(cells)}
    shown = {
        figure: " ".join(figure_notes(configuration, "depth-mup", figure, meta))
        for figure in ("fig8", "fig9")
    }
    assert "width 128, 256, 512, 1024, 2048 instead of" in shown["fig8"]
    assert shown["fig9"] == "Mean over 3 seeds."
