"""What every algorithm works on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from jax import Array
from jaxtyping import Float

from scaling_limits.cells import Compiled
from scaling_limits.losses.outputs import mean_loss, output_error, summed_loss
from scaling_limits.networks.network import Network, Params, Scaling, Stacks, shift_down


@dataclass(frozen=True)
class Problem:
    """A network at its present weights, a batch, and the cell's loss and method.

    `options` are those that the algorithm declares. `numbers` holds their traced ones, the `seed` and the `step`
    (negative while feedback weights are trained alone). `feedback` are the weights of the feedback nodes, if there are
    any. A sample is a sequence of `tokens`, 1 of other data (see `losses`). If two programs compute the same
    numbers, the shorter is used if the cell is `compiled` quickly.
    """

    network: Network
    params: Params
    scaling: Scaling
    x: Float[Array, "batch in"]
    y: Float[Array, "batch out"]
    options: Any
    numbers: Mapping[str, Array] = field(default_factory=dict)
    feedback: Params = ()
    tokens: int = 1
    compiled: Compiled = None

    def forward(self) -> Float[Array, "batch out"]:
        """The output f(x)."""
        return self.network.forward(self.params, self.scaling, self.x)

    def activities(self) -> Stacks:
        """The outputs of all nodes in the forward pass; the last is f(x)."""
        return self.network.activities(self.params, self.scaling, self.x)

    def inputs(self, activities: Stacks) -> Stacks:
        """The inputs of all nodes, from their outputs."""
        return shift_down(self.x, activities)

    def predictions(self, inputs: Stacks) -> Stacks:
        """The outputs of all nodes at the given inputs."""
        return self.network.predictions(self.params, self.scaling, inputs)

    def loss(self, output: Float[Array, "batch out"]) -> Float[Array, ""]:
        """The batch-mean loss of an output, a mean over tokens as well."""
        return mean_loss(self.options.loss, output, self.y, self.tokens)

    def sample_loss(
        self, output: Float[Array, " out"], y: Float[Array, " out"]
    ) -> Float[Array, ""]:
        """The loss of one sample, the sum over its tokens."""
        return summed_loss(self.options.loss, output, y, self.tokens)

    @property
    def batch_tokens(self) -> int:
        """What means over the batch divide by: its samples, times the tokens of each."""
        return len(self.x) * self.tokens

    def output_error(self, output: Float[Array, "batch out"]) -> Float[Array, "batch out"]:
        """`-dloss/df` of each sample."""
        return output_error(self.options.loss, output, self.y, self.tokens)
