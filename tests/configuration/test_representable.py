"""Numbers that keep within their bounds as double, and not as the cell's dtype, are refused by their key."""

from typing import Any

import numpy as np
import pytest

from scaling_limits.errors import ConfigurationError
from scaling_limits.parameterisations.rows import TABLE
from scaling_limits.parameterisations.table import Power, RolePowers, Row
from toys import BACKPROPAGATION, cell

PLAIN: dict[str, Any] = {
    **BACKPROPAGATION,
    "skip": None,
    "parameterisation": "mup",
    "width": 16,
    "optimiser": "sgd",
}
ADAM = {**PLAIN, "optimiser": "adam"}
SHAMPOO = {**PLAIN, "optimiser": "shampoo", "parameterisation": "preconditioned_mup"}
KFAC = {**SHAMPOO, "optimiser": "kfac", "damping_rule": "fixed"}
NORMAL = r"1\.17549435e-38 to 3\.40282347e\+38"


def changed(quantity: str, power: float) -> dict[str, Any]:
    return {"exponent_changes": {"output": {quantity: {"width": power}}}}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {**ADAM, "beta2": 0.99999999},
            r"beta2: 0\.99999999 counts as 1 in float32\. Valid: 0 to 0\.99999994",
        ),
        ({**ADAM, "beta1": 0.99999999}, r"beta1: 0\.99999999 counts as 1 in float32"),
        ({**PLAIN, "momentum": 0.99999999}, r"momentum: 0\.99999999 counts as 1 in float32"),
        (
            {**ADAM, "epsilon": 1e-37},
            r"epsilon: 1e-37 times 0\.0625, the row's factor of the role input, counts as 0 in float32\. "
            r"Valid: 1\.88079096e-37 to",
        ),
        ({**ADAM, "epsilon": 1e-39}, f"epsilon: 1e-39 counts as 0 in float32. Valid: {NORMAL}"),
        ({**SHAMPOO, "damping": 1e-50}, f"damping: 1e-50 counts as 0 in float32. Valid: {NORMAL}"),
        ({**KFAC, "damping": 1e-37}, r"damping: 1e-37 times \S+, the row's factor of the role"),
        (
            {**PLAIN, "learning_rate": 1e-46},
            f"learning_rate: 1e-46 counts as 0 in float32. Valid: {NORMAL}",
        ),
        (
            {**PLAIN, "learning_rate": 1e39},
            r"learning_rate: 1e\+39 counts as inf in float32\. Valid: ",
        ),
        (
            {**PLAIN, "learning_rate": 1e38},
            r"learning_rate: 1e\+38 times 16, the row's factor of the role input, counts as inf",
        ),
        ({**PLAIN, "init_scale": 1e39}, r"init_scale: 1e\+39 counts as inf in float32\. Valid: "),
        (
            {**PLAIN, "init_scale": 1e38, "output_init_scale": 1e3},
            r"init_scale or output_init_scale: init_std of the role output: \S+ counts as inf",
        ),
        (
            {**PLAIN, **changed("multiplier", -40)},
            r"exponent_changes: multiplier of the role output: \S+ counts as 0",
        ),
        ({**PLAIN, **changed("multiplier", -400)}, r"mup: multiplier of the role output is 0 in d"),
        ({**PLAIN, **changed("init_std", 400)}, r"mup: init_std of the role output is infinite"),
        (
            {
                **SHAMPOO,
                "damping": 1e-3,
                "accumulation": "averaged",
                "averaging_weight": 1e-9,
            },
            r"averaging_weight: 1e-09 leaves all of 1 in float32\. Valid: 5\.96046448e-08 to 1",
        ),
        ({"activity_learning_rate": 1e-39}, "activity_learning_rate: 1e-39 counts as 0"),
    ],
)
def test_refused(settings: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"^(parameterisation: )?{message}"):
        cell(**settings)


@pytest.mark.parametrize(
    "settings",
    [
        {**ADAM, "beta2": float(np.nextafter(np.float32(1), np.float32(0)))},
        {**ADAM, "beta2": 0.99999996},  # rounds to the largest number below 1
        {**ADAM, "beta1": 0.0, "epsilon": 1e-36},
        {**ADAM, "epsilon": 1e-300, "beta2": 1 - 1e-15, "dtype": "float64"},
        {**SHAMPOO, "damping": 1e-30},
        {**PLAIN, "momentum": 1e-50},  # 0 is valid
        {**PLAIN, **changed("init_std", -40)},  # initial weights of 0 are
        {**PLAIN, **changed("init_std", -400)},
        {**PLAIN, "num_steps": 0, "learning_rate": None, "measure": {"performance": [0]}},
        # a rate of what is not trained is never read
        {**PLAIN, "learning_rate": 1e-37, **changed("learning_rate", -2), "frozen": ["output"]},
    ],
)
def test_valid(settings: Any) -> None:
    cell(**settings)


def test_limits_compute_in_float64() -> None:
    own = {
        **PLAIN,
        "parameterisation": "mean_field",
        "activation": "linear",
        "learning_rate": 1e-46,
    }
    own |= {"batch_size": 64, "limit": "linear_dmft", "depth_kind": "weight_layers", "depth": 3}
    assert 0 < cell(**own).scaling["hidden"].learning_rate < 1e-40
    with pytest.raises(ConfigurationError, match="learning_rate: 1e-46 counts as 0"):
        cell(**{**own, "limit": None})


def test_a_row_may_say_zero() -> None:
    usual = next(r for r in TABLE if (r.scheme, r.update_rule) == ("sp_gaussian", "sgd"))
    zero = RolePowers(init_std=Power(scale=0.0), multiplier=usual.output.multiplier)
    row: Row = usual.model_copy(update={"scheme": "zero_output", "output": zero})
    own = cell(**{**PLAIN, "parameterisation": "zero_output"}, rows=[row])
    assert own.scaling["output"].init_std == 0
