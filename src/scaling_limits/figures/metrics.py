"""Labels, scales and directions of metrics: the defaults of plots in all papers."""

from typing import Literal, NamedTuple

from scaling_limits.figures.quantities import Quantity

Scale = Literal["linear", "log"]
Centre = Literal["mean", "median"]
Best = Literal["min", "max"]


class MetricInfo(NamedTuple):
    """A metric's label, the scale of its axis, whether small or large values are best, and its largest possible value.

    `best` is None if no value is best, as for sizes or for the agreement of two quantities. A share of samples has the
    setting `samples` with their number.
    """

    label: str
    scale: Scale = "log"
    best: Best | None = "min"
    top: float | None = None
    samples: str | None = None

    @property
    def percent(self) -> bool:
        """Whether tables print the metric in percent: a fraction that should be large."""
        return (self.best, self.top) == ("max", 1.0)


_COSINE = MetricInfo("cosine similarity", "linear", None, 1.0)
_RMS = MetricInfo("root mean square", best=None)

METRICS: dict[str, MetricInfo] = {
    "train_loss": MetricInfo("training loss"),
    "test_loss": MetricInfo("test loss"),
    "train_accuracy": MetricInfo("training accuracy", "linear", "max", 1.0, "num_train"),
    "test_accuracy": MetricInfo("test accuracy", "linear", "max", 1.0, "num_test"),
    "analogy_accuracy": MetricInfo("accuracy of analogies", "linear", "max", 1.0),
    "inferred_loss": MetricInfo("loss after inference"),
    "energy": MetricInfo("energy"),
    "inference_steps": MetricInfo("steps of inference", "linear", None),
    "inference_residual": MetricInfo(r"$\max |\partial F / \partial z|$", best=None),
    "inference_unreached": MetricInfo("share of samples without equilibrium", "linear", None),
    "activity_distance": MetricInfo("distance from equilibrium"),
    "gradient_distance": MetricInfo("distance of gradients from equilibrium"),
    "other_equilibria": MetricInfo("share of samples in other equilibria", "linear", None),
    "equilibrium_residual": MetricInfo(r"$\max |\partial F / \partial z|$", best=None),
    "feedback_reconstruction": MetricInfo("reconstruction loss"),
    "activity_change": MetricInfo("change", best=None),
    "activity_rms": _RMS,
    "block_rms": _RMS,
    "output_rms": _RMS,
    "mean_absolute_activity": MetricInfo(r"mean $|z_\ell|$", best=None),
    "activity_norm": MetricInfo(r"norm of activities $\|z_\ell\|$", best=None),
    "activity_mean": MetricInfo(r"mean activity $\overline{z_\ell}$", "linear", None),
    "inference_change": MetricInfo(r"$\|z - z^0\| / \|z^0\|$", best=None),
    "equilibrium_activity_norm": MetricInfo(r"norm of activities $\|z_\ell^*\|$", best=None),
    "equilibrium_activity_mean": MetricInfo(r"mean activity $\overline{z_\ell^*}$", "linear", None),
    "equilibrium_distance": MetricInfo(r"$\|z - z^*\| / \|z^*\|$", best=None),
    "feature_increment": MetricInfo(r"relative distance $d(\epsilon)$", best=None),
    "output_alignment_exponent": MetricInfo(r"$\omega_L$", "linear", None),
    "gradient_cosine": MetricInfo("cosine similarity of PC and BP gradients", "linear", None, 1.0),
    "error_cosine_bp": _COSINE,
    "error_cosine_gn": _COSINE,
    "error_cosine_gn_damped": _COSINE,
    "error_cosine_bp_gn": _COSINE,
    "error_cosine_equilibrium": _COSINE,
    "preconditioned_ratio": MetricInfo("preconditioned gradient over gradient", best=None),
    "input_trace": MetricInfo("trace of $A_{l-1}$", best=None),
    "output_trace": MetricInfo("trace of $B_l$", best=None),
    "input_damping": MetricInfo("damping of $A_{l-1}$", best=None),
    "output_damping": MetricInfo("damping of $B_l$", best=None),
    "weight_change": MetricInfo(r"$\|W_t - W_0\| / \|W_0\|$", best=None),
    "weight_change_spectral": MetricInfo(r"$\|W_t - W_0\|_2 / \|W_0\|_2$", best=None),
    "linearisation_distance": MetricInfo("relative distance from linearisation", best=None),
    "kernel_distance": MetricInfo("distance from kernel regression", best=None),
    "condition_number": MetricInfo(r"condition number $\kappa(H_z)$", best=None),
    "hessian_largest": MetricInfo(r"largest eigenvalue of $H_z$", best=None),
    "hessian_smallest": MetricInfo(r"smallest eigenvalue of $H_z$", best=None),
    "hessian_negative": MetricInfo(r"negative eigenvalues of $H_z$", "linear", None),
    "hessian_eigenvalue": MetricInfo(r"eigenvalue of $H_z$", "linear", None),
    "diagonal_eigenvalue": MetricInfo(r"eigenvalue of $D$", "linear", None),
    "coupling_eigenvalue": MetricInfo(r"eigenvalue of $O$", "linear", None),
    "landscape_curvature": MetricInfo(r"$\lambda$", best=None),
    "landscape_path": MetricInfo("distance from the equilibrium", "linear", None),
    "loss_over_energy": MetricInfo("loss over equilibrated energy", best=None),
    "rescaling_excess": MetricInfo("$s - 1$", best=None),
    "rescaling_excess_expected": MetricInfo("$s - 1$", best=None),
}


def metric_info(quantity: Quantity) -> MetricInfo:
    """Return label, scale and direction of a quantity, from its metric or from its name and the defaults.

    A label of the quantity takes precedence. A ratio of two metrics has no best value. A complement reverses the
    direction and is small. For the number of steps until a value is small, the smallest number is best.
    """
    info, *divisors = (
        METRICS.get(metric, MetricInfo(metric.replace("_", " "))) for metric in quantity.metrics
    )
    for divisor in divisors:
        info = MetricInfo(f"{info.label} over {divisor.label}", best=None)
    if quantity.growth:
        info = info._replace(label=f"{info.label}, over the first")
    if quantity.complement:
        best: dict[Best | None, Best] = {"min": "max", "max": "min"}
        info = MetricInfo(f"1 - {info.label}", "log", best.get(info.best))
    if quantity.below is not None:
        info = MetricInfo(f"updates until {info.label} < {quantity.below:g}")
    return info if quantity.label is None else info._replace(label=quantity.label)
