"""The arms and controls of every paper are those of its specification.

A rule is a pattern of the end of `<experiment>/<grid>` and the settings of all grids with such names. Every grid that
changes an exponent is listed: these are the controls and the paper's own counterexamples.
"""

import re
from functools import cache
from typing import Any

import pytest

from published import on_published, published

Settings = dict[str, Any]

pytestmark = on_published

HEURISTIC = {"optimiser": "kfac", "damping_rule": "heuristic"}
RESCALED = {"optimiser": "kfac", "damping_rule": "rescaled"}
SP, MUP = {"parameterisation": "sp_gaussian"}, {"parameterisation": "preconditioned_mup"}

ARMS: dict[str, dict[str, Settings]] = {
    # Eqs. 13 to 15 and Table 1: heuristic damping belongs to SP, rescaled damping to muP; Fisher by samples
    "second-order": {
        r"[/_]sgd_sp": {"optimiser": "sgd", **SP},
        r"[/_]sgd_mup": {"optimiser": "sgd", **MUP},
        r"[/_]sgd_lazy": {"optimiser": "sgd", "parameterisation": "lazy"},
        r"^(?!wide_).*[/_]kfac_sp": {**HEURISTIC, **SP, "fisher": "sampled"},
        # Table 3: at width 1 SP and muP are the same, so both have one damping
        r"^wide_\w+/\w+_kfac_sp": {**RESCALED, **SP, "fisher": "sampled"},
        r"[/_]kfac_mup": {**RESCALED, **MUP, "fisher": "sampled"},
        r"[/_]heuristic_sp": {**HEURISTIC, **SP},
        r"[/_]heuristic_mup": {**HEURISTIC, **MUP},
        r"[/_]rescaled_sp": {**RESCALED, **SP},
        r"[/_]rescaled_mup": {**RESCALED, **MUP},
    },
    # Theorem 4.2: (b) and (c) with gamma_L ~ M^0 or M^-1; Theorem 5.1 for target propagation
    "pc-tp": {
        r"[/_]sp": SP,
        r"[/_](?<!bp_)ntk": {"parameterisation": "pc_ntk", "energy_weight_exponent": 0},
        r"[/_]mup_weighted": {"parameterisation": "pc_mup", "energy_weight_exponent": -1},
        r"(forward|zeros|cnn|slow|fast)_mup": {
            "parameterisation": "pc_mup",
            "energy_weight_exponent": 0,
        },
        r"bp_mup": {"parameterisation": "mup", "algorithm": "backpropagation"},
        r"bp_ntk": {"parameterisation": "ntk", "algorithm": "backpropagation"},
        r"(fashion|cifar)_mup": {"parameterisation": "tp_mup", "algorithm": "target_propagation"},
    },
    # Table 1 of the paper: (alpha, gamma) of each parametrisation
    "depth-mup": {
        r"[/_]depth_mup": {"depth_exponent": 0.5, "depth_lr_exponent": 0.5},
        r"[/_]blocks_only": {"depth_exponent": 0.5, "depth_lr_exponent": 0},
        r"[/_]standard": {"depth_exponent": 0, "depth_lr_exponent": 0},
        r"[/_]ode": {"depth_exponent": 1, "depth_lr_exponent": 0},
        r"[/_]rate_only": {"depth_exponent": 0, "depth_lr_exponent": 1},
    },
    # Table 1 of the paper, and PyTorch's uniform draws
    "mupc": {
        r"[/_]mupc(_(linear|tanh|relu|forward_\w+|random_\w+))?": {"parameterisation": "mupc"},
        r"[/_]gaussian": {"parameterisation": "sp_gaussian"},
        r"[/_]uniform": {"parameterisation": "sp_uniform"},
        r"[/_]orthogonal(_(linear|tanh|relu))?": {"parameterisation": "orthogonal"},
    },
    # Sec. 4: mean field; with skips the branches scale as L^-1/2
    "pcn-limits": {
        r"^(?!linear_toy_standard).*[/_](main|networks|control|predictive_coding)": {
            "parameterisation": "mean_field"
        },
        r"[/_]residual": {"depth_exponent": 0.5},
        r"[/_]backpropagation": {"algorithm": "backpropagation"},
    },
}

ALL = ("input", "hidden", "output")


def rates(**exponents: float) -> Settings:
    return {role: {"learning_rate": exponents} for role in ALL}


TRANSFER = {
    "control_width": rates(width=0.5) | {"inference": {"step": {"width": 0.5}}},
    "control_depth": rates(depth=0.5) | {"inference": {"step": {"depth": 0.5}}},
}
OUTPUT_OFF = {"output": {"multiplier": {"width": 0.5}}}
DEPTH_OFF = {"hidden": {"multiplier": {"depth": 0.25}}}
VANISHING = {
    "input": {"output_damping": {"width": -1}},
    "hidden": {"input_damping": {"width": -1}, "output_damping": {"width": -1}},
    "output": {"input_damping": {"width": -1}},
}

CHANGED: dict[str, Settings] = {
    "depth-mup/exponent_plane/wrong_branch": {"hidden": {"branch": {"depth": 0.5}}},
    "depth-mup/exponent_plane/wrong_rate": {"hidden": {"learning_rate": {"depth": 0.5}}},
    "depth-mup/first_layer_rate/unscaled": {"hidden_1": {"learning_rate": {"depth": 0.5}}},
    "depth-mup/linear_limit/control": {"hidden": {"learning_rate": {"width": 0.5}}},
    **{
        f"mupc/hyperparameter_transfer_{activation}/{name}": change
        for activation in ("linear", "relu", "tanh")
        for name, change in TRANSFER.items()
    },
    "pc-tp/alignment/control": {"output": {"init_std": {"width": 0.5}}},
    "pc-tp/long_inference_cnn/change_input_control": {"input": {"learning_rate": {"width": -0.5}}},
    # (S.72): the output's feedback rate grows as the width, the hidden one's is constant
    **{
        f"pc-tp/feedback_transfer/{activation}_{name}": {
            f"feedback_{role}": {"learning_rate": {"width": power}}
        }
        for activation in ("tanh", "relu")
        for name, role, power in (("constant", "output", -1), ("grown", "hidden", 1))
    },
    **{
        f"pcn-limits/{experiment}/control": OUTPUT_OFF
        for experiment in (
            *("deep_mlp", "deep_residual", "learning_regimes", "learning_regimes_residual"),
            *("linear_mlp_cifar10", "linear_mlp_fashion_mnist", "linear_residual_cifar10"),
            *("linear_residual_fashion_mnist", "linear_toy", "linear_toy_residual"),
            *("nonlinear_mlp", "nonlinear_mlp_relu", "nonlinear_residual"),
            *("nonlinear_residual_relu", "sixteen_layers"),
        )
    },
    **{
        f"pcn-limits/nonlinear_networks/{network}_control": OUTPUT_OFF
        for network in ("mlp", "cnn", "transformer")
    },
    **{
        f"pcn-limits/linear_{network}_{dataset}/control_depth": DEPTH_OFF
        for network in ("mlp", "residual")
        for dataset in ("cifar10", "fashion_mnist")
    },
    "second-order/bottleneck_rates/control_kfac": rates(width=0.5),
    "second-order/damping_transfer_mlp/control_rescaled_mup": VANISHING,
    # over a fourfold width one half stays within an octave
    "second-order/learning_rate_transfer/cnn_faster_kfac_mup": rates(width=1),
    **{
        f"second-order/learning_rate_transfer_{optimiser}/faster_{network}": rates(width=0.5)
        for optimiser in ("foof", "shampoo")
        for network in ("mlp", "cnn")
    },
    **{
        f"second-order/learning_rate_transfer_losses/{activation}_entropy_faster_{arm}": rates(
            width=0.5
        )
        for activation in ("tanh", "relu")
        for arm in ("sgd_mup", "kfac_mup")
    },
    # Figure S.15: first weights that vanish
    "second-order/preconditioner_orders_mlp/faint": {"input": {"init_std": {"width": -0.5}}},
}


@cache
def grids(preset: str) -> dict[str, Settings]:
    """The settings of every grid by `<paper>/<experiment>/<grid>`."""
    configuration = published(preset)
    return {
        f"{slug}/{name}/{grid}": spec.settings
        for slug in configuration.papers
        for name in sorted(
            {configuration.figure(slug, f).experiment for f in configuration.figures(slug)} - {None}
        )
        for grid, spec in configuration.experiment(slug, name).grids.items()
    }


@pytest.mark.parametrize("preset", ["paper", "laptop"])
@pytest.mark.parametrize(
    ("paper", "pattern"), [(paper, pattern) for paper, rules in ARMS.items() for pattern in rules]
)
def test_an_arm_has_its_settings_in_every_experiment(paper: str, pattern: str, preset: str) -> None:
    expected = ARMS[paper][pattern]
    named = {
        name: settings
        for name, settings in grids(preset).items()
        if name.startswith(f"{paper}/") and re.search(f"{pattern}$", name.partition("/")[2])
    }
    assert named
    wrong = {
        f"{name}: {key}": settings.get(key)
        for name, settings in named.items()
        for key, value in expected.items()
        if settings.get(key) != value
    }
    assert wrong == {}


@pytest.mark.parametrize("preset", ["paper", "laptop"])
def test_exponents_are_changed_in_controls_only(preset: str) -> None:
    changed = {
        name: settings["exponent_changes"]
        for name, settings in grids(preset).items()
        if settings.get("exponent_changes")
    }
    assert changed == CHANGED
