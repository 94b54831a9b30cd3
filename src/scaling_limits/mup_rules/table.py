"""The table of a parameterisation for the parameters of one model."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from scaling_limits.mup_rules.scaler import Scaler


def as_table(scaler: Scaler) -> pd.DataFrame:
    """Return a row for each parameter and for each multiplier of the forward pass (`Scaler.table`)."""
    import pandas as pd

    quantities = ["init_std", "learning_rate", "epsilon", "weight_decay"]
    if scaler.update_rule == "sgd":
        quantities.remove("epsilon")
    rows: list[dict[str, object]] = [
        {
            "parameter": path,
            "shape": parameter.shape,
            "role": parameter.role,
            "in_branch": parameter.in_branch,
            **{name: str(getattr(parameter.rule, name)) for name in quantities},
            "multiplier": "",
        }
        for path, parameter in scaler.parameters.items()
    ]
    columns = list(rows[0])
    empty: dict[str, object] = dict.fromkeys(columns, "")
    rows += [
        empty | {"parameter": place, "role": "forward pass", "multiplier": str(power)}
        for place, power in scaler.forward.items()
    ]
    return pd.DataFrame(rows, columns=columns)
