"""What is written on and under a figure, and all that differs from the paper's setting."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from scaling_limits.configuration import load
from scaling_limits.datasets import catalogue
from scaling_limits.errors import ConfigurationError
from scaling_limits.pipeline.figures import _cells as pipeline_cells
from scaling_limits.pipeline.figures import _defaults as pipeline_defaults
from scaling_limits.pipeline.notes import differences, of_machines, on_the_picture, repeated
from scaling_limits.pipeline.placeholders import filled

PROJECT = Path(__file__).parents[2]
EXPERIMENT = "hyperparameter_transfer_tanh"


def notes(settings: dict[str, Any] | None = None, **main: Any) -> str:
    changes = {"mupc": {"experiments": {EXPERIMENT: settings or {}}}}
    configuration = load(PROJECT, {**main, "papers": changes})
    return " ".join(differences(configuration, "mupc", "fig5"))


CELLS = pd.DataFrame(
    {
        "width": [8, 16, 32],
        "learning_rate": [0.001, 0.001, 0.001],
        "num_inference_steps": [4, 4, 20],
        "activation": ["relu", "tanh", "linear"],
        "dataset": ["digits", "digits", "mnist"],
        "energy_weight": [np.nan] * 3,
    }
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("after {num_inference_steps} steps", "after 4 and 20 steps"),
        ("widths {width}", "widths 8 to 32"),
        ("{learning_rate}", "0.001"),
        ("{activation} networks", "linear and relu and tanh networks"),
        ("on {dataset}", "on handwritten digits and MNIST"),
        ("weights: {energy_weight}", "weights: no"),
        (r"$\mathrm{width}^{width}_{width}$", r"$\mathrm{width}^{width}_{width}$"),
        (r"$\frac{width}{depth}$ and $e^{-1}$", r"$\frac{width}{depth}$ and $e^{-1}$"),
        ("nothing", "nothing"),
    ],
)
def test_settings_in_braces_are_those_of_the_cells(text: str, expected: str) -> None:
    assert filled(text, CELLS, {"digits": "handwritten digits", "mnist": "MNIST"}) == expected


def test_a_note_names_the_kinds_of_machine_only_if_there_are_several() -> None:
    assert of_machines([]) == of_machines(["Some CPU, 1f3a90c2"]) == []
    [line] = of_machines(["NVIDIA H100", "Some CPU, 1f3a90c2"])
    assert line.startswith("Computed on 2 kinds of machine (NVIDIA H100; Some CPU, 1f3a90c2)")


def test_a_column_of_words_and_numbers_is_a_column_of_words() -> None:
    """As many inference steps as hidden layers in one grid, one step in another, none in backpropagation."""
    points = load(PROJECT).points("mupc", "accuracy")
    found = pipeline_cells(points)
    found.to_parquet()
    assert set(found["num_inference_steps"].dropna()) == {"num_hidden_layers", "1"}
    assert found.loc[found["grid"] == "relu_bp", "num_inference_steps"].isna().all()
    assert found["depth"].dtype == int


def test_a_setting_at_its_default_is_so_in_all_cells() -> None:
    grids = {"width": {"init_scale": 2, "output_scale": 1, "augmentation": []}}
    papers = {"mupc": {"experiments": {EXPERIMENT: {"skip": False, "grids": grids}}}}
    points = load(PROJECT, {"papers": papers}).points("mupc", EXPERIMENT)
    settings = [point.settings for point in points if point.grid in ("width", "depth")]
    assert {one.init_scale for one in settings} == {1, 2}
    usual = set(pipeline_defaults(settings))
    assert usual >= {"skip", "output_scale", "augmentation", "exponent_changes", "input_shape"}
    # one is not what it would be in some cells only, one has no default, one a value that had to be given
    assert not usual & {"init_scale", "width", "batch_size"}
    assert pipeline_defaults([]) == []


@pytest.mark.parametrize(
    ("preset", "seeds"), [("smoke", "one seed (3)"), ("paper", "mean of 3 seeds")]
)
def test_one_line_under_the_picture_gives_its_scale(preset: str, seeds: str) -> None:
    configuration = load(PROJECT, {"preset": preset})
    cells = pipeline_cells(configuration.points("mupc", EXPERIMENT))
    (scale,) = on_the_picture(configuration, "mupc", "fig5", cells)
    assert scale.startswith(f"Scale ({preset}): $N$ = ")
    assert ("(paper: MNIST)" in scale) == (preset == "smoke")
    assert scale.endswith(f"{seeds}.")
    # it names no file that is not beside the picture
    assert "summary" not in scale
    assert on_the_picture(configuration, "mupc", "table1", cells) == []


def test_a_setting_of_words_and_numbers_is_a_column_of_words(tmp_path: Path) -> None:
    changes = {"num_inference_steps": [3, "num_hidden_layers"]}
    configuration = load(PROJECT, {"papers": {"mupc": {"experiments": {EXPERIMENT: changes}}}})
    cells = pipeline_cells(configuration.points("mupc", EXPERIMENT))
    cells.to_parquet(tmp_path / "cells.parquet")
    assert set(cells["num_inference_steps"]) == {"3", "num_hidden_layers"}


def test_what_the_paper_states_is_told_from_what_was_chosen() -> None:
    changes = {"mupc": {"experiments": {EXPERIMENT: {"batch_size": 32, "activation": "relu"}}}}
    stated = {"mupc": {"stated": {"batch_size": "section 5"}}}
    merged = {"mupc": {**changes["mupc"], **stated["mupc"]}}
    configuration = load(PROJECT, {"preset": "paper", "papers": merged})
    assert configuration.stated("mupc", "fig5")["width"]["batch_size"] == "section 5"
    assert differences(configuration, "mupc", "fig5") == [
        "Differs from the paper: batch_size 32 instead of 64 (section 5).",
        'Differs from the preset "full", where the paper does not say: activation relu instead of tanh.',
        "Mean over 3 seeds.",
    ]
    wrong = {"mupc": {"stated": {"batch_sise": "section 5"}}}
    with pytest.raises(ConfigurationError, match="'batch_sise'; did you mean 'batch_size'"):
        load(PROJECT, {"papers": wrong}).stated("mupc", "fig5")


def test_a_picture_of_the_same_cells_under_a_substitution_says_so() -> None:
    configuration = load(PROJECT, {"preset": "smoke"})
    experiment = "conditioning_in_training_fashion_mnist"
    cells = pipeline_cells(configuration.points("mupc", experiment))
    assert repeated(configuration, "mupc", "figA22") == "mupc Fig. 3"
    _, twin = on_the_picture(configuration, "mupc", "figA22", cells)
    assert twin == "The runs are those of mupc Fig. 3."
    assert repeated(configuration, "mupc", "fig3") is None
    assert len(on_the_picture(configuration, "mupc", "fig3", cells)) == 1
    # with its own data it is no repetition
    assert repeated(load(PROJECT, {"preset": "paper"}), "mupc", "figA22") is None
    assert repeated(configuration, "mupc", "table1") is None


def test_the_papers_own_setting_has_only_its_seeds() -> None:
    assert notes(preset="paper") == "Mean over 3 seeds."


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"activation": "relu"}, "activation relu instead of tanh"),
        ({"input_shape": [14, 14]}, "input_shape 14 x 14 instead of the data's own"),
        # three digits would read alike
        ({"init_scale": 1.0001}, "init_scale 1.0001 instead of 1.0"),
        # the paper's file does not name this one
        ({"num_train": 1000}, "num_train 1000 instead of all"),
    ],
)
def test_a_changed_setting_is_said(settings: dict[str, Any], expected: str) -> None:
    assert expected in notes(settings, preset="paper")


def test_reduced_sizes_seeds_and_other_data_are_said() -> None:
    text = notes(preset="smoke")
    assert "Data: handwritten digits of scikit-learn in place of MNIST." in text
    assert "num_steps 40 instead of 937" in text
    assert "One seed instead of 3." in text


def test_a_stand_in_with_fewer_classes_is_said_and_gives_the_outputs(tmp_path: Path) -> None:
    (tmp_path / "cifar10").mkdir()
    (tmp_path / "cifar10" / "cifar10_standin.npz").touch()
    main = {"preset": "paper", "data": {"path": str(tmp_path)}}
    text = notes({"dataset": "cifar100"}, **main)
    expected = "CIFAR-10 (subset) in place of CIFAR-100, with 10 classes instead of 100."
    assert f"Data: {expected} Subset of CIFAR-10" in text
    changes = {"mupc": {"experiments": {EXPERIMENT: {"dataset": "cifar100"}}}}
    for path, outputs in ((str(tmp_path), 10), (None, 100)):
        configuration = load(
            PROJECT, {"preset": "paper", "data": {"path": path}, "papers": changes}
        )
        cell = configuration.points("mupc", EXPERIMENT)[0].cell
        assert cell.network.output_dim == cell.dataset.num_classes == outputs


def test_an_archive_below_the_path_is_used_and_another_dataset_takes_its_place_without(
    tmp_path: Path,
) -> None:
    (tmp_path / "cifar10").mkdir()
    (tmp_path / "cifar10" / "cifar10_standin.npz").touch()
    changes = {"dataset": "imagenet", "num_train": 16, "num_test": 8}
    for path, used in ((tmp_path, "cifar10_standin"), (None, "cifar10")):
        main = {"preset": "paper", "data": {"path": path and str(path)}}
        configuration = load(
            PROJECT, main | {"papers": {"mupc": {"experiments": {EXPERIMENT: changes}}}}
        )
        assert configuration.points("mupc", EXPERIMENT)[0].cell.dataset.name == used
        title = catalogue.info(used, {}).title
        assert f"Data: {title} in place of ImageNet, with 10 classes instead of 1000." in notes(
            changes, **main
        )
    images, labels = np.zeros((16, 8, 8, 3), np.uint8), np.arange(16)
    np.savez(
        tmp_path / "imagenet.npz", x_train=images, y_train=labels, x_test=images, y_test=labels
    )
    configuration = load(
        PROJECT,
        {
            "preset": "paper",
            "data": {"path": str(tmp_path)},
            "papers": {"mupc": {"experiments": {EXPERIMENT: changes}}},
        },
    )
    found = configuration.points("mupc", EXPERIMENT)[0].cell.dataset
    assert (found.name, found.num_classes, found.input_shape) == ("imagenet", 16, (8, 8, 3))
    assert "in place of" not in notes(changes, preset="paper", data={"path": str(tmp_path)})


def test_grids_of_other_figures_are_left_out() -> None:
    """Figures 8 and 9 of depth-mup share an experiment; only 8 shows networks."""
    configuration = load(PROJECT, {"preset": "laptop"})
    shown = {
        figure: " ".join(differences(configuration, "depth-mup", figure))
        for figure in ("fig8", "fig9")
    }
    values = "width 128 to 2048 (5 values) instead of 128 to 8192 (7 values)"
    assert f"Differs from the paper in networks: {values} (Sec. 10.1)." in shown["fig8"]
    assert shown["fig9"] == "Mean over 10 seeds instead of 3."


def test_grids_that_differ_alike_stand_together() -> None:
    changes: dict[str, Any] = {
        "batch_size": 32,
        "grids": {
            "width": {"num_steps": 10},
            "depth": {"num_steps": 10, "width": 8},
            "control_width": {"num_steps": 10, "seed": [0]},
        },
    }
    papers = {"mupc": {"experiments": {EXPERIMENT: changes}}}
    configuration = load(PROJECT, {"preset": "paper", "papers": papers})
    differs = "Differs from the paper"
    assert differences(configuration, "mupc", "fig5") == [
        f"{differs}: batch_size 32 instead of 64 (Sec. A.4).",
        f"{differs} in depth: width 8 instead of 512 (captions).",
        f"{differs}, except in control_depth: num_steps 10 instead of 937 (Sec. A.4).",
        "Seeds: mean over 3 seeds in width, depth, control_depth; one seed instead of 3 in control_width.",
    ]


def test_lists_of_the_same_range_are_told_apart() -> None:
    """A range stands for more than four numbers, unless both would read alike."""
    experiment = load(PROJECT, {"preset": "paper"}).experiment("mupc", EXPERIMENT)
    wide = experiment.grids["width"].settings["width"]
    assert len(wide) > 4
    moved = [wide[0], wide[1] + 1, *wide[2:]]
    changes = {"grids": {"width": {"width": moved}}}
    papers = {"mupc": {"experiments": {EXPERIMENT: changes}}}
    text = " ".join(
        differences(load(PROJECT, {"preset": "paper", "papers": papers}), "mupc", "fig5")
    )
    before, after = (", ".join(map(str, values)) for values in (wide, moved))
    assert f"in width: width {after} instead of {before} (captions)." in text


@pytest.mark.parametrize(
    ("figure", "line"),
    [
        ("pc-tp/fig1", ["Claims are judged by the training loss, not by the test accuracy."]),
        # accuracy is judged as well, or is not shown first
        ("pc-tp/fig5", []),
        ("mupc/fig5", []),
        ("mupc/fig1", []),
    ],
)
def test_a_line_says_that_claims_judge_another_quantity_than_the_first_one(
    figure: str, line: list[str]
) -> None:
    configuration = load(PROJECT)
    paper, name = figure.split("/")
    experiment = configuration.figure(paper, name).experiment
    cells = pipeline_cells(configuration.points(paper, experiment))
    assert on_the_picture(configuration, paper, name, cells)[1:] == line


def test_a_note_says_over_which_part_of_training_a_quantity_is_averaged() -> None:
    configuration = load(PROJECT, {"preset": "laptop"})
    cells = pd.DataFrame(
        {"grid": ["main"], "cell_id": ["a"], "dataset": ["cifar10"], "seed": [0], "width": [64]}
    )
    _, parts, *_ = on_the_picture(configuration, "depth-mup", "fig21", cells)
    assert parts == "Means over parts of training: late training loss 85–100 %."
