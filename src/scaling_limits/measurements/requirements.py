"""What measurements need of a cell: asked when the configuration is read, and so apart from the measurements
themselves, which import JAX.
"""

from collections.abc import Callable, Mapping

from scaling_limits.cells import Cell
from scaling_limits.errors import ConfigurationError


def refuse(cell: Cell) -> None:
    """Refuse measurements that are not defined for a cell.

    Raises:
        ConfigurationError: names the measurement, what it is for, and what it found.
    """
    for spec in cell.measurements:
        for requirement in REQUIREMENTS.get(spec.name, ()):
            lack = requirement(cell)
            if lack is not None:
                raise ConfigurationError(f"measurements.{spec.name}: {lack}")


def _linear(cell: Cell) -> str | None:
    network, loss = cell.network, cell.algorithm.loss
    if network.name == "mlp" and network.activation == "linear" and loss == "mean_squared_error":
        return None
    return (
        "is of the equilibrium of linear mlps with mean_squared_error, network is "
        f"'{network.name}', activation '{network.activation}', loss '{loss}'"
    )


def _known_mean(cell: Cell) -> str | None:
    if cell.init_distribution == "orthogonal":
        return "its expected value is that of normal or uniform draws, those here are orthogonal"
    if cell.network.mean_subtraction:
        return "its expected value is that without mean_subtraction"
    return None


def _equal_layers(cell: Cell) -> str | None:
    if cell.network.name == "mlp":
        return None
    return f"is for layers of one size, as those of an mlp, network is '{cell.network.name}'"


def _no_pooling_before_output(cell: Cell) -> str | None:
    if cell.network.name != "cnn":
        return None
    return "is for output weights without pooling before them, as those of mlp and vgg5, network is 'cnn'"


def _feedback(cell: Cell) -> str | None:
    if cell.network.feedback is not None:
        return None
    return f"is of feedback weights, algorithm '{cell.algorithm.name}' trains none"


REQUIREMENTS: Mapping[str, tuple[Callable[[Cell], str | None], ...]] = {
    "equilibrium_alignment": (_linear,),
    "feature_increments": (_equal_layers,),
    "feedback_reconstruction": (_feedback,),
    "output_alignment": (_no_pooling_before_output,),
    "rescaling": (_linear, _known_mean),
}
"""For each measurement that is not of every cell: functions that say what a cell lacks, None if nothing."""
EQUILIBRIA = frozenset(name for name, needed in REQUIREMENTS.items() if _linear in needed)
"""Those of predictive coding's equilibrium, whatever the algorithm is."""
