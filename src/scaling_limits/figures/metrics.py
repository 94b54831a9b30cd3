"""The words of metrics: what plots say of one if they do not say it themselves, for all papers."""

from typing import Literal, NamedTuple

from scaling_limits.figures.quantities import Quantity

Scale = Literal["linear", "log"]
Best = Literal["min", "max"]


class Words(NamedTuple):
    """A metric's name on an axis, the axis's scale, which value is best, and the largest possible one.

    `best` is None where none is: of a size, or of how well two things agree.
    """

    label: str
    scale: Scale = "log"
    best: Best | None = "min"
    top: float | None = None

    @property
    def percent(self) -> bool:
        """Whether tables write it in percent: a share that is best large."""
        return (self.best, self.top) == ("max", 1.0)


_COSINE = Words("cosine similarity", "linear", None, 1.0)
_RMS = Words("root mean square", best=None)

METRICS: dict[str, Words] = {
    "train_loss": Words("training loss"),
    "test_loss": Words("test loss"),
    "train_accuracy": Words("training accuracy", "linear", "max", 1.0),
    "test_accuracy": Words("test accuracy", "linear", "max", 1.0),
    "analogy_accuracy": Words("accuracy of analogies", "linear", "max", 1.0),
    "inferred_loss": Words("loss after inference"),
    "energy": Words("energy"),
    "inference_steps": Words("steps of inference", "linear", None),
    "inference_residual": Words(r"$\max |\partial F / \partial z|$", best=None),
    "inference_unreached": Words("share of samples without equilibrium", "linear", None),
    "activity_distance": Words("distance from equilibrium"),
    "gradient_distance": Words("distance of gradients from equilibrium"),
    "other_equilibria": Words("share of samples in other equilibria", "linear", None),
    "equilibrium_residual": Words(r"$\max |\partial F / \partial z|$", best=None),
    "feedback_reconstruction": Words("reconstruction loss"),
    "activity_change": Words("change", best=None),
    "activity_rms": _RMS,
    "block_rms": _RMS,
    "output_rms": _RMS,
    "mean_absolute_activity": Words(r"mean $|z_\ell|$", best=None),
    "activity_norm": Words(r"norm of activities $\|z_\ell\|$", best=None),
    "activity_mean": Words(r"mean activity $\overline{z_\ell}$", "linear", None),
    "inference_change": Words(r"$\|z - z^0\| / \|z^0\|$", best=None),
    "equilibrium_activity_norm": Words(r"norm of activities $\|z_\ell^*\|$", best=None),
    "equilibrium_activity_mean": Words(r"mean activity $\overline{z_\ell^*}$", "linear", None),
    "equilibrium_distance": Words(r"$\|z - z^*\| / \|z^*\|$", best=None),
    "feature_increment": Words(r"relative distance $d(\epsilon)$", best=None),
    "output_alignment_exponent": Words(r"$\omega_L$", "linear", None),
    "gradient_cosine": Words("cosine similarity of PC and BP gradients", "linear", None, 1.0),
    "error_cosine_bp": _COSINE,
    "error_cosine_gn": _COSINE,
    "error_cosine_gn_damped": _COSINE,
    "error_cosine_bp_gn": _COSINE,
    "error_cosine_equilibrium": _COSINE,
    "preconditioned_ratio": Words("preconditioned gradient over gradient", best=None),
    "input_trace": Words("trace of $A_{l-1}$", best=None),
    "output_trace": Words("trace of $B_l$", best=None),
    "input_damping": Words("damping of $A_{l-1}$", best=None),
    "output_damping": Words("damping of $B_l$", best=None),
    "weight_change": Words(r"$\|W_t - W_0\| / \|W_0\|$", best=None),
    "weight_change_spectral": Words(r"$\|W_t - W_0\|_2 / \|W_0\|_2$", best=None),
    "linearisation_distance": Words("relative distance from linearisation", best=None),
    "kernel_distance": Words("distance from kernel regression", best=None),
    "condition_number": Words(r"condition number $\kappa(H_z)$", best=None),
    "hessian_largest": Words(r"largest eigenvalue of $H_z$", best=None),
    "hessian_smallest": Words(r"smallest eigenvalue of $H_z$", best=None),
    "hessian_negative": Words(r"negative eigenvalues of $H_z$", "linear", None),
    "hessian_eigenvalue": Words(r"eigenvalue of $H_z$", "linear", None),
    "diagonal_eigenvalue": Words(r"eigenvalue of $D$", "linear", None),
    "coupling_eigenvalue": Words(r"eigenvalue of $O$", "linear", None),
    "landscape_curvature": Words(r"$\lambda$", best=None),
    "landscape_path": Words("distance from the equilibrium", "linear", None),
    "loss_over_energy": Words("loss over equilibrated energy", best=None),
    "rescaling_excess": Words("$s - 1$", best=None),
    "rescaling_excess_expected": Words("$s - 1$", best=None),
}


def words_of(quantity: Quantity) -> Words:
    """The words of a quantity: those of its metric, else its name and what most have.

    A label of its own comes first; a complement is small, and turns over what is best. Of steps until a value is small
    the fewest are best.
    """
    words = METRICS.get(quantity.metric, Words(quantity.metric.replace("_", " ")))
    if quantity.growth:
        words = words._replace(label=f"{words.label}, over the first")
    if quantity.complement:
        best: dict[Best | None, Best] = {"min": "max", "max": "min"}
        words = Words(f"1 - {words.label}", "log", best.get(words.best))
    if quantity.below is not None:
        words = Words(f"updates until {words.label} < {quantity.below:g}")
    return words if quantity.label is None else words._replace(label=quantity.label)
