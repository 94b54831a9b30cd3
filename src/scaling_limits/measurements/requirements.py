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
            "requires network: mlp, activation: linear and loss: mean_squared_error, not network: "
            f"{network.name}, activation: {network.activation} and loss: {loss}",
        )
    if network.layer_norm:
        raise lacking(measurement, "requires linear nodes; use layer_norm: false")


def activity_hessian(measurement: str, cell: Cell) -> None:
    """Reject cells without an activity Hessian of predictive coding's energy, or with too little precision for it.

    Raises:
        ConfigurationError: the message says for which cells the measurement is defined, and what differs.
    """
    if cell.network.name != "mlp":
        raise lacking(
            measurement,
            f"requires layers of equal size, as in network: mlp, not '{cell.network.name}'",
        )
    if cell.dtype != "float64":
        raise lacking(
            measurement,
            f"requires dtype: float64, not '{cell.dtype}', because eigenvalues differ by orders of magnitude",
        )


def stepwise_inference(measurement: str, cell: Cell) -> None:
    """Reject algorithms without inference by steps, and inference that may end before its last step.

    Raises:
        ConfigurationError: naming the measurement and what is required.
    """
    inference = getattr(cell.algorithm, "inference", None)
    if inference not in ("gradient_descent", "adam"):
        inference_text = "" if inference is None else f" with inference '{inference}'"
        raise lacking(
            measurement,
            "requires algorithm: predictive_coding with inference: gradient_descent or adam, not "
            f"'{cell.algorithm.name}'{inference_text}",
        )
    if getattr(cell.algorithm, "inference_tolerance", None) is not None:
        raise lacking(
            measurement, "requires that inference takes all its steps; remove inference_tolerance"
        )


def exact_inference(loss: str) -> AlgorithmSpec:
    """Return the options of the algorithm whose errors are those of the closed form, for estimates of costs."""
    from scaling_limits.algorithms.predictive_coding import Options

    return Options(name="predictive_coding", loss=loss, inference="exact")
