"""Compare `scaling_limits.check` and `scaling_limits.mup` with microsoft/mup on one network and equal initial weights.

Three steps, since the two sides need environments of their own:

python benchmarks/check_peer.py ours FOLDER     (environment of the project)
python benchmarks/check_peer.py theirs FOLDER   (PyTorch, pandas, NumPy, and `mup` 1.0.0 from PyPI)
python benchmarks/check_peer.py table FOLDER    (prints the table of docs/check.md)
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

WIDTHS = (64, 128, 256, 512)
BASE = WIDTHS[0]
SEEDS, STEPS, INPUTS, CLASSES = 3, 10, 16, 10
LEARNING_RATES = {"adam": 0.01, "sgd": 0.1}
LAYERS = ("embed", "hidden", "readout")


@dataclass(frozen=True)
class Case:
    """A parameterisation, `standard` or `µP`, and an optimiser, `adam` or `sgd`."""

    parameterisation: str
    optimiser: str

    @property
    def learning_rate(self) -> float:
        """The learning rate at the smallest width."""
        return LEARNING_RATES[self.optimiser]

    def scaled(self, width: int) -> bool:
        """Whether µP differs from the standard parameterisation at this width."""
        return self.parameterisation == "µP" and width != BASE

    def file(self, folder: Path, content: str) -> Path:
        """The file of the initial weights, or of what one side measured."""
        return folder / f"{self.parameterisation}-{self.optimiser}-{content}"


CASES = [Case(p, optimiser) for optimiser in LEARNING_RATES for p in ("standard", "µP")]


def ours(folder: Path) -> None:
    """Write the samples, the initial weights of all networks, and the sizes of their features in each step."""
    import flax.linen as nn
    import jax
    import optax
    from check_networks import samples

    import scaling_limits as sl

    x, y = samples(features=INPUTS)
    np.savez(folder / "samples.npz", x=x, y=y)

    class MLP(nn.Module):
        """Two hidden layers."""

        width: int

        @nn.compact
        def __call__(self, x):
            """Return the outputs."""
            x = nn.relu(nn.Dense(self.width, name="embed")(x))
            x = nn.relu(nn.Dense(self.width, name="hidden")(x))
            return nn.Dense(CLASSES, name="readout")(x)

    def standard(width: int, key: Any) -> Any:
        return MLP(width).init(key, np.ones((1, INPUTS), np.float32))["params"]

    def initial(case: Case, width: int, key: Any) -> Any:
        params = standard(width, key)
        if case.scaled(width):
            # the readout's standard deviation falls as 1/width, not as its square root
            params["readout"]["kernel"] *= (BASE / width) ** 0.5
        return params

    def features(width: int, params: Any, x: Any) -> Any:
        out, state = MLP(width).apply({"params": params}, x, capture_intermediates=True)
        return out, {layer: state["intermediates"][layer]["__call__"][0] for layer in LAYERS}

    def build(case: Case, width: int, depth: int) -> Any:
        return partial(initial, case, width), partial(features, width)

    def optimiser(case: Case, width: int, depth: int) -> Any:
        constructor = getattr(optax, case.optimiser)
        if not case.scaled(width):
            return constructor(case.learning_rate)
        key = jax.random.key(0)
        shapes = (jax.eval_shape(partial(standard, size), key) for size in (width, BASE))
        scaler = sl.mup(*shapes, optimiser=case.optimiser)
        return scaler.optimiser(constructor, learning_rate=case.learning_rate)

    for case in CASES:
        report = sl.check(
            partial(build, case),
            partial(optimiser, case),
            data=(x, y),
            widths=WIDTHS,
            depths=[1],
            seeds=SEEDS,
            steps=STEPS,
        )
        print(case, report.verdict, report.reason)
        report.records.to_csv(case.file(folder, "ours.csv"), index=False)
        weights: dict[str, np.ndarray] = {}
        for width in WIDTHS:
            for seed in range(SEEDS):
                # the keys of the check
                key = jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), width), 1)
                for layer, params in initial(case, width, key).items():
                    weights[f"{width} {seed} {layer}"] = np.asarray(params["kernel"])
        np.savez(case.file(folder, "initial.npz"), **weights)


def theirs(folder: Path) -> None:
    """Write what microsoft/mup's coordinate check records of PyTorch networks with the same initial weights."""
    import torch
    from mup import MuReadout, set_base_shapes
    from mup.coord_check import get_coord_data

    class MLP(torch.nn.Module):
        """Two hidden layers."""

        def __init__(self, width: int, readout: type[torch.nn.Linear]):
            super().__init__()
            self.embed = torch.nn.Linear(INPUTS, width)
            self.hidden = torch.nn.Linear(width, width)
            self.readout = readout(width, CLASSES)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            """Return the outputs."""
            return self.readout(torch.relu(self.hidden(torch.relu(self.embed(x)))))

    samples = np.load(folder / "samples.npz")
    x, y = (torch.tensor(samples[name]) for name in ("x", "y"))

    def model(case: Case, width: int, seeds: Iterator[int]) -> torch.nn.Module:
        if case.parameterisation == "µP":
            net = MLP(width, MuReadout)
            base, wider = (MLP(size, MuReadout) for size in (BASE, 2 * BASE))
            set_base_shapes(net, base, delta=wider, rescale_params=False)
        else:
            net = MLP(width, torch.nn.Linear)
        weights, seed = np.load(case.file(folder, "initial.npz")), next(seeds)
        for name in LAYERS:
            layer = getattr(net, name)
            # MuReadout divides its input by the ratio of widths
            factor = width / BASE if isinstance(layer, MuReadout) else 1.0
            with torch.no_grad():
                layer.weight.copy_(
                    factor * torch.tensor(weights[f"{width} {seed} {name}"].T.copy())
                )
                layer.bias.zero_()
        return net

    for case in CASES:
        table = get_coord_data(
            {width: partial(model, case, width, iter(range(SEEDS))) for width in WIDTHS},
            [(x, y)],
            optimizer=case.optimiser,
            lr=case.learning_rate,
            mup=case.parameterisation == "µP",
            nsteps=STEPS + 1,
            nseeds=SEEDS,
            cuda=False,
            show_progress=False,
            output_fdict={"size": lambda out: (out**2).mean() ** 0.5},
        )
        table.to_csv(case.file(folder, "theirs.csv"), index=False)


def table(folder: Path) -> None:
    """Print for each layer the exponent of its size after the last step on both sides, and the largest relative
    difference of a size, a mean over seeds, at any width and step.
    """
    print("| parameterisation | optimiser | layer | check | microsoft/mup | largest difference |")
    print("| --- | --- | --- | --- | --- | --- |")
    for case in CASES:
        records = pd.read_csv(case.file(folder, "ours.csv"))
        here = records[records["quantity"] == "size"].rename(columns={"value": "size"})
        there = pd.read_csv(case.file(folder, "theirs.csv")).rename(
            columns={"module": "layer", "t": "step"}
        )
        for layer in LAYERS:
            sizes = [
                side[side["layer"] == layer].groupby(["width", "step"])["size"].mean().unstack()
                for side in (here, there)
            ]
            a, b = (each.to_numpy() for each in sizes)
            slopes = [np.polyfit(np.log(WIDTHS), np.log(part[:, -1]), 1)[0] for part in (a, b)]
            cells = [case.parameterisation, case.optimiser, layer, *(f"{s:.3f}" for s in slopes)]
            print(f"| {' | '.join(cells)} | {np.abs(a / b - 1).max():.0e} |")


if __name__ == "__main__":
    command, where = sys.argv[1], Path(sys.argv[2])
    where.mkdir(parents=True, exist_ok=True)
    {"ours": ours, "theirs": theirs, "table": table}[command](where)
