"""A further part is one file and a line of its registry: settings and all, and no key of any other cell changes."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import further_claims
import pytest

PROJECT = Path(__file__).parents[2]
FILES = {
    "algorithms/noisy": '''
"""Backpropagation with noise on its gradients."""

from typing import Literal

from pydantic import Field

from scaling_limits.cells import AlgorithmSpec, Traced
from scaling_limits.strict import Strict


class Settings(Strict):
    noise: float = Field(default=0.1, ge=0)
    sign: Literal["plus", "minus"] = "plus"


class Options(AlgorithmSpec):
    noise: Traced
    sign: Literal["plus", "minus"]


def init(problem):
    return ()


def update(problem, state):
    import jax

    from scaling_limits.algorithms.backpropagation import computation

    gradients, state, metrics = computation.update(problem, state)
    factor = problem.numbers["noise"] * (1.0 if problem.options.sign == "plus" else -1.0)
    return jax.tree.map(lambda g: g * (1.0 + factor), gradients), state, metrics


def errors(problem):
    from scaling_limits.algorithms.backpropagation import computation

    return computation.errors(problem)
''',
    "optimisers/averaged": '''
"""Steps along the mean of all gradients so far: an optimiser with a number and a state of its own."""

from pydantic import Field

from scaling_limits.cells import OptimiserSpec, Traced
from scaling_limits.strict import Strict


class Settings(Strict):
    horizon: float = Field(default=10.0, gt=0)


class Spec(OptimiserSpec):
    horizon: Traced


def build(numbers, factors):
    import jax
    import optax

    def init(params):
        return jax.tree.map(lambda p: 0.0 * p, params)

    def update(gradients, mean, params=None):
        mean = jax.tree.map(lambda m, g: m + (g - m) / numbers["horizon"], mean, gradients)
        return mean, mean

    return optax.GradientTransformation(init, update)
''',
    "claims/seeds_agree": further_claims.SOURCE,
    "measurements/largest": '''
"""The largest output."""

AXES = {"largest_output": ()}


def measure(context):
    return {"largest_output": context.problem.forward().max()}
''',
}
LINES = {
    "algorithms": ('"backpropagation":', '"noisy": "scaling_limits.algorithms.noisy",'),
    "optimisers": ('"adam":', '"averaged": "scaling_limits.optimisers.averaged",'),
    "claims": ('"slope",', '"seeds_agree",'),
    "measurements": ('"error_alignment",', '"largest",'),
}
KEYS = """
import json
from scaling_limits.configuration import load
from scaling_limits.pipeline.keys import cell_key
configuration = load(".", {"preset": "smoke"})
print(json.dumps(sorted(
    cell_key(cell)
    for slug in configuration.papers
    for name in configuration.experiments(slug)
    for cell in configuration.cells(slug, name)
)))
"""
TRAIN = """
import json
import numpy as np
from scaling_limits import runtime
runtime.configure()
from scaling_limits.configuration.models import MeasurementPlan, Resources, Row
from scaling_limits.configuration.resolve import Resolver
from scaling_limits.datasets.loading import Arrays
from scaling_limits.training.loop import compile_shard
plain = {"init_std": {"fan_in": -0.5}}
row = Row(scheme="plain", update_rule="averaged", input=plain, hidden=plain, output=plain, source="none")
settings = {
    "dataset": "digits", "num_train": 16, "num_test": 4, "width": 8, "depth": 3, "depth_kind": "weight_layers",
    "activation": "tanh", "parameterisation": "plain", "algorithm": "noisy", "optimiser": "averaged",
    "learning_rate": 0.1, "num_steps": 5, "batch_size": 8,
}
resolver = Resolver(Resources(), {}, [row])
plans = {"largest": MeasurementPlan(steps=["end"])}
cells = [resolver.resolve({**settings, "noise": noise}, plans).cell for noise in (0.0, 0.5)]
generator = np.random.default_rng(0)
x, labels = generator.normal(size=(16, 64)), np.arange(16) % 10
y = np.eye(10)[labels]
train = compile_shard(cells[0], Arrays(x, y, labels, x[:4], y[:4], labels[:4]))
results = [train([cell])[0] for cell in cells]
print(json.dumps({
    "shards": len({cell.shard() for cell in cells}),
    "options": cells[1].canonical()["algorithm"],
    "optimiser": cells[1].canonical()["optimiser"],
    "metrics": sorted(results[0]),
    "losses": [[float(v) for v in result["train_loss"].values] for result in results],
}))
"""


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with the further parts."""
    root = tmp_path_factory.mktemp("extended")
    package = root / "scaling_limits"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PROJECT / "src" / "scaling_limits", package, ignore=ignored)
    for name, text in FILES.items():
        (package / f"{name}.py").write_text(text.lstrip(), encoding="utf-8")
    for room, (before, line) in LINES.items():
        registry = package / room / "__init__.py"
        text = registry.read_text("utf-8")
        assert text.count(before) == 1
        registry.write_text(text.replace(before, f"{line}\n{before}"), encoding="utf-8")
    return root


def output(script: str, path: Path) -> object:
    """What a script prints, with the package below `path`."""
    folders = path, PROJECT / "tests"
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, folders)),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, "-c", script]
    done = subprocess.run(
        command, cwd=PROJECT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_no_key_of_another_cell_changes(extended: Path) -> None:
    assert output(KEYS, extended) == output(KEYS, PROJECT / "src")


def test_they_train(extended: Path) -> None:
    found = output(TRAIN, extended)
    assert found["options"] == {
        "name": "noisy",
        "loss": "mean_squared_error",
        "noise": 0.5,
        "sign": "plus",
    }
    assert found["optimiser"] == {"name": "averaged", "horizon": 10.0}
    assert found["shards"] == 1, "what is declared as traced is only a number"
    assert found["metrics"] == ["largest_output", "train_loss"]
    without, with_noise = found["losses"]
    assert without[0] == with_noise[0]
    assert without[1] != with_noise[1]


def test_a_kind_of_claim_is_one_file_and_a_line_of_its_registry(extended: Path) -> None:
    original = PROJECT / "src"
    texts = [
        {path.relative_to(root): path.read_text("utf-8").split() for path in root.rglob("*.py")}
        for root in (original / "scaling_limits", extended / "scaling_limits")
    ]
    before, after = texts
    touched = {path.as_posix() for path in after if after[path] != before.get(path)}
    others = {f"{room}/__init__.py" for room in LINES} | {f"{name}.py" for name in FILES}
    room = {name for name in touched if name.startswith("claims/")}
    assert room == {"claims/__init__.py", "claims/seeds_agree.py"}
    assert touched == others
    registry = Path("claims/__init__.py")
    assert sorted(after[registry]) == sorted([*before[registry], '"seeds_agree",'])
    further_claims.require_whole(output(further_claims.SCRIPT, extended))
