"""What several measurements ask of a cell; without JAX, as it is asked when the configuration is read."""

from scaling_limits.cells import Cell
from scaling_limits.errors import ConfigurationError


def lacking(measurement: str, lack: str) -> ConfigurationError:
    """The error to raise for a measurement that is not defined for a cell."""
    return ConfigurationError(f"measurements.{measurement}: {lack}")


def linear_equilibrium(measurement: str, cell: Cell) -> None:
    """Refuse cells without the closed form of predictive coding's equilibrium.

    Raises:
        ConfigurationError: says what the measurement is for, and what it found.
    """
    network, loss = cell.network, cell.algorithm.loss
    if (network.name, network.activation, loss) != ("mlp", "linear", "mean_squared_error"):
        raise lacking(
            measurement,
            "is of the equilibrium of linear mlps with mean_squared_error, network is "
            f"'{network.name}', activation '{network.activation}', loss '{loss}'",
        )
