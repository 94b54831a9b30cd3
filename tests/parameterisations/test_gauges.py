"""Forms of a row against the papers' own conditions on their exponents."""

import pytest

from scaling_limits.errors import ConfigurationError
from scaling_limits.parameterisations.gauges import init_and_rate, output_scaled
from scaling_limits.parameterisations.table import ROLES, TABLE, Exponent, find_row


@pytest.mark.parametrize("scheme", ["mean_field", "mup"])
@pytest.mark.parametrize("gauge", [0.0, 0.5, 0.75])
def test_feature_learning_is_a_family_of_one_dimension(scheme, gauge):
    """pcn-limits Eq. 15 at any a_l, by either of its rows."""
    found = {
        name: exponent.constant
        for name, exponent in vars(output_scaled(find_row(scheme, "sgd"), gauge)).items()
    }
    assert found["a_l"] == gauge
    assert 2 * found["a_l"] + found["b_l"] == 2 * found["a_l"] + found["c"] == 1
    assert 2 * found["a_1"] + found["b_1"] == 2 * found["a_1"] + found["c"] == 0
    assert found["d"] == 0.5


@pytest.mark.parametrize("scheme", [row.scheme for row in TABLE if row.update_rule == "sgd"])
def test_moving_powers_between_weights_and_multipliers_changes_nothing(scheme):
    """pc-tp Sec. 2.2: a + k, c - 2k, and with it b - k."""

    def moved(powers, k):
        changes = {"multiplier": -k, "init_std": k, "learning_rate": 2 * k}
        changed = {}
        for name, change in changes.items():
            power = powers.power(name)
            width = power.exponent("width", skip=False) + Exponent(constant=change)
            changed[name] = power.model_copy(update={"width": width})
        return powers.model_copy(update=changed)

    row = find_row(scheme, "sgd")
    other = row.model_copy(
        update={
            role: moved(row.role(role), k) for role, k in zip(ROLES, (0.5, -1.0, 0.25), strict=True)
        }
    )
    assert [init_and_rate(row, role) for role in ROLES] == [
        init_and_rate(other, role) for role in ROLES
    ]


def test_refusals():
    with pytest.raises(ConfigurationError, match="defined for sgd"):
        init_and_rate(find_row("mup", "adam"), "hidden")
    with pytest.raises(
        ConfigurationError, match="gnt_mup: the output weights are not hidden weights"
    ):
        output_scaled(find_row("gnt_mup", "sgd"), 0.0)
