"""Networks with which the check of users' models is tested: right ones under µP, and mutants with one wrong number."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

BASE = 32
"""The width at which all parameterisations agree."""
CLASSES = 10
VOCABULARY = 16
ACTIVATIONS = {"relu": jax.nn.relu, "tanh": jnp.tanh, "gelu": jax.nn.gelu}

Groups = dict[str, Any]


def ratio(width: int) -> float:
    """The width in units of the base width."""
    return width / BASE


def readout(width: int, zero: bool, classes: int, wrong: Mapping[str, float]) -> nn.Module:
    """An output layer with initial weights of standard deviation 1/width, as µP has it, or of zeros."""
    std = 0.0 if zero else BASE**-0.5 / ratio(width) ** (1 - wrong.get("readout std", 0.0))
    return nn.Dense(classes, kernel_init=nn.initializers.normal(std), name="readout")


def linear(features: int, name: str) -> nn.Dense:
    """A layer with initial weights of variance 1/fan-in."""
    return nn.Dense(features, kernel_init=nn.initializers.lecun_normal(), name=name)


class MLP(nn.Module):
    """A fully connected network; `depth` hidden layers."""

    width: int
    depth: int
    activation: str = "relu"
    zero: bool = False
    wrong: Mapping[str, float] = field(default_factory=dict)

    @nn.compact
    def __call__(self, x):
        """Return the outputs."""
        act = ACTIVATIONS[self.activation]
        x = act(linear(self.width, "embed")(x))
        for k in range(1, self.depth):
            x = act(linear(self.width, f"hidden_{k}")(x))
        return readout(self.width, self.zero, CLASSES, self.wrong)(x)


class CNN(nn.Module):
    """A convolutional network with `depth` convolutions and average pooling."""

    width: int
    depth: int
    activation: str = "relu"
    zero: bool = False
    wrong: Mapping[str, float] = field(default_factory=dict)

    @nn.compact
    def __call__(self, x):
        """Return the outputs."""
        act = ACTIVATIONS[self.activation]
        for k in range(self.depth):
            name = f"conv_{k}" if k else "embed"
            x = act(nn.Conv(self.width, (3, 3), name=name)(x))
            x = nn.avg_pool(x, (2, 2), (2, 2))
        return readout(self.width, self.zero, CLASSES, self.wrong)(x.mean((1, 2)))


class Block(nn.Module):
    """A residual block whose branch has one layer and the multiplier `scale`."""

    width: int
    activation: str
    scale: float

    @nn.compact
    def __call__(self, x):
        """Return the outputs."""
        branch = linear(self.width, "dense")(ACTIVATIONS[self.activation](x))
        return x + self.scale * branch


class Residual(nn.Module):
    """A residual network of `depth` blocks, whose branches have the multiplier 1/√depth (or another power)."""

    width: int
    depth: int
    activation: str = "relu"
    zero: bool = False
    wrong: Mapping[str, float] = field(default_factory=dict)

    @nn.compact
    def __call__(self, x):
        """Return the outputs."""
        scale = self.depth ** -(0.5 - self.wrong.get("branch", 0.0))
        x = linear(self.width, "embed")(x)
        for k in range(self.depth):
            x = Block(self.width, self.activation, scale, name=f"block_{k}")(x)
        return readout(self.width, self.zero, CLASSES, self.wrong)(x)


class Attention(nn.Module):
    """Causal attention of two heads with logits q k / d, equal to q k / √d at the base width."""

    width: int
    wrong: Mapping[str, float]

    @nn.compact
    def __call__(self, x):
        """Return the outputs."""
        head = self.width // 2
        parts = (linear(self.width, name)(x) for name in ("query", "key", "value"))
        query, key, value = (h.reshape(*h.shape[:-1], 2, head) for h in parts)
        scale = (BASE // 2) ** -0.5 / ratio(self.width) ** (1 - self.wrong.get("attention", 0.0))
        logits = scale * jnp.einsum("...qhd,...khd->...hqk", query, key)
        self.sow("intermediates", "logits", logits)
        mask = jnp.tril(jnp.ones((1, 1, *logits.shape[-2:]), bool))
        weights = jax.nn.softmax(jnp.where(mask, logits, -1e9))
        mixed = jnp.einsum("...hqk,...khd->...qhd", weights, value)
        return linear(self.width, "out")(mixed.reshape(x.shape))


class FeedForward(nn.Module):
    """Two layers with the activation between them."""

    width: int
    activation: str
    down_std: float = 0.0

    @nn.compact
    def __call__(self, x):
        """Return the outputs."""
        x = ACTIVATIONS[self.activation](linear(2 * self.width, "up")(x))
        std = (2 * self.width) ** -0.5 * ratio(self.width) ** self.down_std
        return nn.Dense(self.width, kernel_init=nn.initializers.normal(std), name="down")(x)


class Embedding(nn.Module):
    """Token embeddings with a multiplier, and positions."""

    width: int
    power: float

    @nn.compact
    def __call__(self, tokens):
        """Return the outputs."""
        table = nn.Embed(VOCABULARY, self.width, embedding_init=nn.initializers.normal(1.0))
        return table(tokens) * ratio(self.width) ** self.power


class Transformer(nn.Module):
    """A causal transformer of `depth` blocks with layer norm before each branch."""

    width: int
    depth: int
    activation: str = "gelu"
    zero: bool = False
    wrong: Mapping[str, float] = field(default_factory=dict)

    @nn.compact
    def __call__(self, tokens):
        """Return the outputs."""
        wrong = self.wrong
        x = Embedding(self.width, wrong.get("embedding", 0.0), name="embed")(tokens)
        positions = nn.Embed(
            tokens.shape[-1],
            self.width,
            embedding_init=nn.initializers.normal(1.0),
            name="embed_positions",
        )
        x = x + positions(jnp.arange(tokens.shape[-1]))[None]
        for k in range(self.depth):
            h = nn.LayerNorm(name=f"norm_attention_{k}")(x)
            x = x + self.depth**-0.5 * Attention(self.width, wrong, name=f"attention_{k}")(h)
            h = nn.LayerNorm(name=f"norm_mlp_{k}")(x)
            std = wrong.get(f"mlp_{k}/down std", 0.0)
            branch = FeedForward(self.width, self.activation, std, name=f"mlp_{k}")(h)
            x = x + self.depth**-0.5 * branch
        x = nn.LayerNorm(name="norm")(x)
        return readout(self.width, self.zero, VOCABULARY, wrong)(x)


def mup(
    rule: str, rate: float, width: int, vectors: tuple[str, ...], wrong: Mapping[str, float]
) -> Groups:
    """The optimisers of µP by layer (Tensor Programs V, Table 3).

    Args:
        rule: `sgd` or `adam`.
        rate: the learning rate at the base width.
        width: the width.
        vectors: patterns of parameters with one axis of the width.
        wrong: powers of the width by which the learning rate of a pattern of layers is wrong.
    """
    make = {"sgd": optax.sgd, "adam": optax.adam}[rule]
    vector, matrix = {"sgd": (1.0, 0.0), "adam": (0.0, -1.0)}[rule]
    # a bias of the output has no axis of the width
    output = {"readout/kernel": -1.0, "readout/bias": 0.0}
    right = {**output, **dict.fromkeys(vectors, vector), "*": matrix}
    changed = {
        name: right.get(name, vector if name == "embed/*" else matrix) + power
        for name, power in wrong.items()
    }
    powers = changed | {name: power for name, power in right.items() if name not in changed}
    return {name: make(rate * ratio(width) ** power) for name, power in powers.items()}


def samples(seed: int = 0, count: int = 64, features: int = 16) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian inputs, and classes that a nonlinear function decides."""
    generator = np.random.default_rng(seed)
    x = generator.standard_normal((count, features)).astype(np.float32)
    return x, (np.tanh(2 * x) @ generator.standard_normal((features, CLASSES))).argmax(1)


def images(seed: int = 0, count: int = 32) -> tuple[np.ndarray, np.ndarray]:
    """Images of a template for each class, with noise."""
    generator = np.random.default_rng(seed)
    templates = generator.standard_normal((CLASSES, 8, 8, 3))
    y = generator.integers(0, CLASSES, count)
    x = templates[y] + generator.standard_normal((count, 8, 8, 3))
    return x.astype(np.float32), y


def tokens(seed: int = 0, count: int = 8, length: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Random tokens; each target is a function of the token and the one before it."""
    generator = np.random.default_rng(seed)
    x = generator.integers(0, VOCABULARY, (count, length))
    return x, (x + np.roll(x, 1, axis=1)) % VOCABULARY


@dataclass(frozen=True)
class Example:
    """A network, its optimiser and data, and the steps of a check; `wrong` are powers of the width that are wrong."""

    name: str
    network: type[nn.Module]
    rule: str
    rate: float
    data: Callable[[], tuple[np.ndarray, np.ndarray]]
    widths: tuple[int, ...]
    depth: int
    options: Mapping[str, Any] = field(default_factory=dict)
    wrong: Mapping[str, float] = field(default_factory=dict)
    wrong_rates: Mapping[str, float] = field(default_factory=dict)
    layer: str = ""
    steps: int = 10

    def build(self, width: int, depth: int) -> nn.Module:
        """The network of a width and depth."""
        return self.network(width, depth, wrong=dict(self.wrong), **self.options)

    def optimiser(self, width: int, depth: int) -> Groups:
        """The optimisers by layer."""
        norm = ("*norm*",) if self.network is Transformer else ()
        vectors = ("embed*", "*bias", *norm)
        return mup(self.rule, self.rate, width, vectors, self.wrong_rates)

    def check(self, check: Callable[..., Any], **changes: Any) -> Any:
        """Call the check on this example."""
        sizes = {"widths": self.widths, "depths": (self.depth,), "steps": self.steps}
        return check(self.build, self.optimiser, **{"data": self.data(), **sizes, **changes})


WIDE, NARROW = (64, 192, 512), (32, 96, 256)
HEADS, ALIGNING = (32, 128, 512), 30
"""Widths and steps of transformers: heads of 16 to 256 units, and enough steps for queries and keys to align."""


def right_examples() -> list[Example]:
    """Twenty networks with the right parameterisation."""
    rates = {"sgd": 0.2, "adam": 0.01}
    examples = []
    for rule, rate in rates.items():
        for activation in ("relu", "tanh"):
            for zero in (False, True):
                options = {"activation": activation, "zero": zero}
                start = "zero" if zero else "normal"
                name = f"MLP, {activation}, {rule}, {start} output weights"
                examples.append(Example(name, MLP, rule, rate, samples, WIDE, 3, options))
            options = {"activation": activation}
            name = f"CNN, {activation}, {rule}"
            examples.append(Example(name, CNN, rule, rate, images, NARROW, 2, options))
            name = f"residual, {activation}, {rule}"
            examples.append(Example(name, Residual, rule, rate, samples, WIDE, 4, options))
        for zero in (False, True):
            start = "zero" if zero else "normal"
            name = f"transformer, {rule}, {start} output weights"
            options = {"zero": zero}
            sizes = {"widths": HEADS, "depth": 2, "steps": ALIGNING}
            examples.append(
                Example(name, Transformer, rule, rate, tokens, options=options, **sizes)
            )
    return examples


def mutants() -> list[Example]:
    """Ten transformers, trained by Adam, with one wrong power of the width; `layer` is the wrong one."""

    def mutant(name: str, layer: str, **wrong: Mapping[str, float]) -> Example:
        sizes = {"widths": HEADS, "depth": 2, "steps": ALIGNING}
        return Example(name, Transformer, "adam", 0.01, tokens, layer=layer, **sizes, **wrong)

    return [
        mutant("output weights of std 1/√width", "readout", wrong={"readout std": 0.5}),
        mutant(
            "output rate not divided by the width", "readout", wrong_rates={"readout/kernel": 1}
        ),
        mutant("output rate divided by width²", "readout", wrong_rates={"readout/kernel": -1}),
        mutant("attention scale 1/√d", "logits", wrong={"attention": 0.5}),
        mutant("embedding multiplied by √width", "embed", wrong={"embedding": 0.5}),
        mutant("embedding rate divided by the width", "embed", wrong_rates={"embed/*": -1}),
        mutant(
            "rate of a query not divided",
            "attention_0/query",
            wrong_rates={"attention_0/query/kernel": 1},
        ),
        mutant("rate of a layer not divided", "mlp_1/up", wrong_rates={"mlp_1/up/kernel": 1}),
        mutant(
            "rate of a layer divided by width²", "mlp_1/down", wrong_rates={"mlp_1/down/kernel": -1}
        ),
        mutant(
            "initial weights of a layer not divided by √fan-in",
            "mlp_0/down",
            wrong={"mlp_0/down std": 0.5},
        ),
    ]
