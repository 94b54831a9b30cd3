"""Requirements and costs that several measurements share; without JAX, because the configuration uses them."""

from scaling_limits.cells import AlgorithmSpec, Cell
from scaling_limits.errors import ConfigurationError


def lacking(measurement: str, lack: str) -> ConfigurationError:
    """Return the error to raise for a measurement that is not defined for a cell."""
    return ConfigurationError(f"measurements.{measurement}", lack)


def linear_equilibrium(measurement: str, cell: Cell) -> None:
    """Reject cells without a closed form of predictive coding's equilibrium.

    Raises:
        ConfigurationError: the message says for which cells the measurement is defined, and what differs.
    """
    network, loss = cell.network, cell.algorithm.loss
    if (network.name, network.activation, loss) != ("mlp", "linear", "mean_squared_error"):
        raise lacking(
            measurement,
            "is of the equilibrium of linear mlps with mean_squared_error, network is "
            f"'{network.name}', activation '{network.activation}', loss '{loss}'",
        )
    if network.layer_norm:
        raise lacking(
            measurement, "is of the equilibrium of linear mlps; layer_norm should be false"
        )


def activity_hessian(measurement: str, cell: Cell) -> None:
    """Reject cells without an activity Hessian of predictive coding's energy, or with too little precision for it.

    Raises:
        ConfigurationError: the message says for which cells the measurement is defined, and what differs.
    """
    if cell.network.name != "mlp":
        raise lacking(
            measurement, f"is of layers of one size, network: mlp, this is '{cell.network.name}'"
        )
    if cell.dtype != "float64":
        raise lacking(
            measurement,
            f"needs dtype: float64, as eigenvalues far apart do, this is '{cell.dtype}'",
        )


def stepwise_inference(measurement: str, cell: Cell) -> None:
    """Reject algorithms without inference by steps, and inference that may end before its last step.

    Raises:
        ConfigurationError: naming the measurement and what is required.
    """
    inference = getattr(cell.algorithm, "inference", None)
    if inference not in ("gradient_descent", "adam"):
        result = "" if inference is None else f" with inference '{inference}'"
        raise lacking(
            measurement,
            "is of algorithm: predictive_coding with inference: gradient_descent or adam, this is "
            f"'{cell.algorithm.name}'{result}",
        )
    if getattr(cell.algorithm, "inference_tolerance", None) is not None:
        raise lacking(measurement, "is of all steps; leave inference_tolerance out")


def exact_inference(loss: str) -> AlgorithmSpec:
    """Return the options of the algorithm whose errors are those of the closed form, for estimates of costs."""
    from scaling_limits.algorithms.predictive_coding import Options

    return Options(name="predictive_coding", loss=loss, inference="exact")
