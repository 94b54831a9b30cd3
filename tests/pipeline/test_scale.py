"""The line under a figure that gives its scale, with the paper's where it differs."""

import re
from pathlib import Path
from typing import Any

import pytest

from published import on_published, published
from scaling_limits.configuration import Configuration, load
from scaling_limits.pipeline.figures import _cells as pipeline_cells
from scaling_limits.pipeline.scale import scale_line
from toys import FIGURE, PAPER, as_yaml, write_project

PROJECT = Path(__file__).parents[2]
EXPERIMENT = "hyperparameter_transfer_tanh"
DASH = "\N{EN DASH}"

pytestmark = on_published


def line(configuration: Configuration, paper: str = "mupc", name: str = "fig5") -> str:
    experiment = configuration.figure(paper, name).experiment
    return scale_line(
        configuration, paper, name, pipeline_cells(configuration.points(paper, experiment))
    )


def scale(name: str) -> str:
    """The line of a figure of depth-mup at the preset `laptop`."""
    return line(published("laptop"), "depth-mup", name)


def changed(settings: dict[str, Any], **paper: Any) -> str:
    """The line of mupc Figure 5 at the preset `paper` with other settings."""
    own = {"experiments": {EXPERIMENT: settings}, **paper}
    return line(load(PROJECT, {"preset": "paper", "papers": {"mupc": own}}))


def of_width(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings of one of the figure's grids."""
    return {"grids": {"width": settings}}


def test_the_papers_values_are_in_parentheses_and_are_called_so_once() -> None:
    assert line(published("smoke")) == (
        f"Scale (smoke): $N$ = 16{DASH}128 (paper: 64{DASH}1024), $H$ = 8{DASH}32 (8{DASH}128), "
        "40 updates (937), handwritten digits of scikit-learn (paper: MNIST), one seed (3)."
    )


def test_the_papers_own_scale_has_no_parentheses() -> None:
    assert line(published("paper")) == (
        f"Scale (paper): $N$ = 64{DASH}1024, $H$ = 8{DASH}128, 937 updates, MNIST, mean of 3 seeds."
    )


def test_what_the_paper_does_not_state_is_not_compared() -> None:
    stated = load(PROJECT, {"preset": "paper"}).stated("mupc", "fig5")["width"]
    assert {"width", "depth", "num_steps", "batch_size"} <= set(stated)
    assert "num_train" not in stated
    grids = {"width": {"width": [128, 256]}, "control_width": {"width": [128, 256]}}
    text = changed({"grids": grids, "num_train": 1000, "batch_size": 32})
    assert f"$N$ = 128{DASH}512 (paper: 64{DASH}1024), $H$ = 8{DASH}128, 937 updates" in text
    assert text.endswith("batch size 32 (64), 1000 training samples, MNIST, mean of 3 seeds.")
    smoke = line(published("smoke"), "pcn-limits", "fig4")
    assert f"$N$ = 16{DASH}32, $L$ = 4{DASH}8 (paper: 10{DASH}32)" in smoke
    assert f"5 updates (100), batch size 16{DASH}64 (64{DASH}128)" in smoke
    assert f"20{DASH}100 inference steps (200{DASH}100,000)" in smoke


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"num_steps": 12_345}, "12,345 updates (paper: 937)"),
        (of_width({"batch_size": 32}), f"batch size 32{DASH}64 (paper: 64)"),
        ({"num_inference_steps": 5}, "5 inference steps (paper: $H$)"),
        (of_width({"num_inference_steps": 5}), "5 or $H$ inference steps (paper: $H$)"),
        ({"input_shape": [14, 14]}, "14\N{MULTIPLICATION SIGN}14 pixels, "),
        (
            {"num_train": 100, **of_width({"num_train": 20_000})},
            f"100{DASH}20,000 training samples, ",
        ),
        (of_width({"num_train": 100}), "100 or all training samples, "),
    ],
)
def test_settings_that_differ_are_named(settings: dict[str, Any], words: str) -> None:
    assert words in changed(settings)


def test_rows_of_other_scale_are_named_with_what_they_do_not_share() -> None:
    assert line(published("laptop"), "second-order", "figS10").startswith(
        f"Scale (laptop): $L$ = 3, 60 updates. MLP: $M$ = 64{DASH}512, "
        f"14\N{MULTIPLICATION SIGN}14 pixels, MNIST"
    )
    text = line(published("laptop"), "second-order", "fig1")
    assert "; Myrtle-5: " in text
    rest = text.partition("; Myrtle-5: ")[2]
    assert "batch size 4 (paper: 256), 4 training samples (256)" in rest


def test_epochs_channels_and_augmentation_are_named() -> None:
    text = line(published("laptop"), "second-order", "figS13")
    assert "$L$ = 4 (8), 6 epochs (300), batch size 64, 512 training samples (paper: all)" in text
    assert "4 channels per unit of width, no augmentation" in text
    assert "updates" not in text


def test_rows_of_the_same_scale_are_not_named() -> None:
    """The rows of mupc Figure 1 differ in the number of seeds only."""
    text = line(published("laptop"), "mupc", "fig1")
    assert "tanh" not in text
    assert f"mean of 2{DASH}3 seeds" in text


def test_a_setting_that_names_the_rows_is_not_repeated() -> None:
    text = line(published("laptop"), "pcn-limits", "figA4")
    assert f"$N$ = 2{DASH}16, $L$ = 4{DASH}12, 1000 updates" in text
    assert "$L = 4$" not in text
    text = line(published("laptop"), "pc-tp", "figS18")
    assert (
        "Fashion-MNIST: 14\N{MULTIPLICATION SIGN}14 pixels; CIFAR-10: 8\N{MULTIPLICATION SIGN}8 pixels."
        in text
    )


def test_the_paper_s_dataset_is_named_where_the_files_give_another() -> None:
    assert "paper: ImageNet" in line(published("laptop"), "second-order", "tableS1")
    text = line(published("laptop"), "second-order", "table3")
    assert [part.count("ImageNet") for part in text.split("; ") if ": $M$" in part] == [0, 0, 1]


def test_widths_of_the_same_ends_have_no_parentheses() -> None:
    text = changed({"grids": {"width": {"width": [64, 1024]}}})
    assert f"$N$ = 64{DASH}1024, $H$" in text


def test_a_figure_and_a_grid_withdraw_what_the_paper_states_elsewhere() -> None:
    """In depth-mup, Figure 4 withdraws the width of Figure 2, and the second row of Figure 7 the depth of the first."""
    assert f"$n$ = 64 (paper: 256), $k L$ = 8{DASH}128, 600 updates (39,050)" in scale("fig2")
    assert f"$n$ = 64, $k L$ = 8{DASH}128, 600 updates, 3840 training" in scale("fig4")
    text = scale("fig7")
    assert re.search(rf"block depth 2: \$L\$ = 2{DASH}32 \((paper: )?2{DASH}1024\)", text)
    assert text.endswith(f"block depth 1: $L$ = 8{DASH}64.")
    grids = published("laptop").stated("depth-mup", "fig7")
    assert grids["two"]["depth"] == "Sec. 9.2"
    assert "depth" not in grids["one"]


@pytest.mark.parametrize(
    "name", ["claim7_6", "completep_blocks", "coordinate_check", "first_layer_rate"]
)
def test_a_figure_that_is_not_in_the_paper_has_no_values_of_the_paper(name: str) -> None:
    assert "paper" not in scale(name)
    assert "paper" not in line(published("smoke"), "depth-mup", name)


def test_a_limit_has_no_width() -> None:
    assert f"$n$ = 128{DASH}2048 (paper: 128{DASH}8192)" in scale("fig8")
    assert "$n$" not in scale("fig9")


def test_networks_that_are_not_trained_have_no_updates() -> None:
    text = line(published("smoke"), "mupc", "figA7")
    assert "not trained, " in text
    assert "updates" not in text


def test_networks_that_are_measured_before_their_only_update_are_not_trained() -> None:
    text = line(published("laptop"), "pc-tp", "figS9")
    assert f"$M$ = 16{DASH}256, $L$ = 3, not trained, " in text
    assert "linear: $M$ = 32" in (text := line(published("laptop"), "pc-tp", "fig3"))
    assert "not trained, " in text.partition("; tanh: ")[0]
    assert "1 update" not in text


def test_seeds_are_those_of_each_grid() -> None:
    grids = {"control_width": {"seed": [0]}}
    assert changed({"grids": grids}).endswith(f"mean of 1{DASH}3 seeds (paper: 3).")


def test_every_data_set_is_named_with_those_that_it_stands_for() -> None:
    assert line(published("smoke"), "pcn-limits", "fig4").endswith(
        "handwritten digits of scikit-learn (paper: CIFAR-10, ImageNet), "
        "generated sentences (paper: Tiny Shakespeare), one seed."
    )


def test_the_statistic_over_seeds_is_the_plots() -> None:
    assert "median of 5 seeds" in line(published("smoke"), "pcn-limits", "figA4")
    assert "mean of 4 seeds" in line(published("smoke"), "pcn-limits", "figA1")


def test_sizes_have_the_symbols_of_the_paper() -> None:
    assert "$M$ = " in line(published("smoke"), "pc-tp", "fig3")
    assert "$L$ = " in line(published("smoke"), "pcn-limits", "fig4")


def test_a_figure_of_the_users_own_has_no_scale_to_compare_with(tmp_path: Path) -> None:
    own = PAPER["transfer"] | {
        "quantities": PAPER["paper"]["quantities"],
        "grids": {"main": PAPER["transfer"]["grids"]["main"]},
        "figures": {"mine": FIGURE | {"title": "Mine"}},
    }
    write_project(tmp_path, main={"preset": "whole"}, preset={"caps": {"width": 8, "seeds": 1}})
    path = tmp_path / "config/experiments/mine.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(as_yaml(own), encoding="utf-8")
    text = line(load(tmp_path), "own", "mine")
    assert text.startswith("Scale (whole): $N$ = ")
    assert text.endswith("mean of 2 seeds.")
    assert "paper" not in text


def test_smaller_widths_and_rarer_decompositions_are_named_at_paper() -> None:
    assert line(published("paper"), "second-order", "figS13") == (
        f"Scale (paper): $L$ = 8, 300 epochs, CIFAR-10, one seed. K-FAC: $M$ = 1{DASH}8 (paper: 1{DASH}16), "
        f"preconditioners recomputed every 10 updates; Shampoo: $M$ = 1{DASH}16."
    )
    assert "every 1 or 10 updates" in line(published("paper"), "second-order", "figS14")
    for preset in ("laptop", "full"):
        assert "preconditioners" not in line(published(preset), "second-order", "figS13")


def test_landscapes_show_the_first_seed() -> None:
    assert line(published("smoke"), "mupc", "figA20").endswith("first of 5 seeds.")
