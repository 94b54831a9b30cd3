"""The input of every algorithm."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from jax import Array
from jaxtyping import Float

from scaling_limits.cells import AlgorithmSpec, Compiled
from scaling_limits.losses.outputs import mean_loss, output_error, summed_loss
from scaling_limits.networks.network import Network, Params, Scaling, Stacks, shift_down


@dataclass(frozen=True)
class Problem:
    """A network with its current weights, a batch, and the cell's loss and options.

    `options` are the options that the algorithm declares. `numbers` holds its traced options, the `seed` and the `step`
    (negative while feedback weights are trained alone). `feedback` holds the weights of the feedback nodes, if there
    are any. A sample is a sequence of `tokens`, 1 for other data (see `losses`). If two programs compute the same
    result, the shorter one is used with `compiled: quickly`.
    """

    network: Network
    params: Params
    scaling: Scaling
    x: Float[Array, "batch in"]
    y: Float[Array, "batch out"]
    options: AlgorithmSpec
    numbers: Mapping[str, Array] = field(default_factory=dict)
    feedback: Params = ()
    tokens: int = 1
    compiled: Compiled = None

    def forward(self) -> Float[Array, "batch out"]:
        """Compute the output f(x)."""
        return self.network.forward(self.params, self.scaling, self.x)

    def activities(self) -> Stacks:
        """Compute the outputs of all nodes in the forward pass; the last is f(x)."""
        return self.network.activities(self.params, self.scaling, self.x)

    def inputs(self, activities: Stacks) -> Stacks:
        """Return the inputs of all nodes, given their outputs."""
        return shift_down(self.x, activities)

    def predictions(self, inputs: Stacks) -> Stacks:
        """Compute the outputs of all nodes at the given inputs."""
        return self.network.predictions(self.params, self.scaling, inputs)

    def loss(self, output: Float[Array, "batch out"]) -> Float[Array, ""]:
        """Compute the batch-mean loss of an output; for sequences also the mean over tokens."""
        return mean_loss(self.options.loss, output, self.y, self.tokens)

    def sample_loss(
        self, output: Float[Array, " out"], y: Float[Array, " out"]
    ) -> Float[Array, ""]:
        """Compute the loss of one sample, the sum over its tokens."""
        return summed_loss(self.options.loss, output, y, self.tokens)

    @property
    def batch_tokens(self) -> int:
        """The divisor of means over the batch: the number of samples times the number of tokens of each."""
        return len(self.x) * self.tokens

    def output_error(self, output: Float[Array, "batch out"]) -> Float[Array, "batch out"]:
        """Compute `-dloss/df` of each sample."""
        return output_error(self.options.loss, output, self.y, self.tokens)
