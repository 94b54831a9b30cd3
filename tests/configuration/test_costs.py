"""What cells are said to cost against what compiling and running them shows."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from scaling_limits.algorithms.predictive_coding.stages import stages
from scaling_limits.cells import Cell
from scaling_limits.errors import ConfigurationError
from scaling_limits.pipeline import costs, memory
from scaling_limits.pipeline.sizes import layers, num_weights
from scaling_limits.training import loop
from toys import BACKPROPAGATION, EXACT, cell

FOLDER = Path(__file__).parent
LINEAR: dict[str, Any] = {
    "activation": "linear",
    "depth_kind": "weight_layers",
    "parameterisation": "mean_field",
    "depth_exponent": 0.5,
}
SEQUENTIAL: dict[str, Any] = {
    "skip": False,
    "depth_kind": "weight_layers",
    "depth": 3,
    "parameterisation": "pc_mup",
    "energy_weight_exponent": 0,
    "num_inference_steps": 1,
    "activity_gradient": "per_sample",
    "inference_order": "sequential",
    "optimiser": "sgd",
}


def compiled(chosen: Cell) -> Any:
    """The program that trains a cell, compiled for data of its sizes."""
    data, net = chosen.dataset, chosen.network
    kind = jnp.float64 if chosen.dtype == "float64" else jnp.float32
    arrays = [
        jax.ShapeDtypeStruct((count, dim), kind)
        for count in (data.num_train, data.num_test)
        for dim in (net.input_dim, net.output_dim)
    ]
    numbers = jax.tree.map(
        lambda v: jnp.uint32(v) if isinstance(v, int) else kind(v), chosen.traced()
    )
    order = jax.ShapeDtypeStruct((chosen.num_steps + 1, chosen.batch_size), jnp.int32)
    program = jax.jit(loop.cell_function(chosen))
    return program.lower(numbers, order, loop.Data(*arrays)).compile()


# One step without a loop over layers or steps of inference: XLA counts what is in a loop once.
ONE_STEP: dict[str, Any] = {
    "width": 128,
    "depth": 2,
    "num_train": 1024,
    "batch_size": 1024,
    "num_steps": 1,
    "measure": {"feature_sizes": [1]},
}


@pytest.mark.parametrize(
    "changes",
    [
        BACKPROPAGATION,
        {"num_inference_steps": 1},
        {"num_inference_steps": 1, "activity_initialisation": "zeros"},
        SEQUENTIAL,
        {**SEQUENTIAL, "fixed_predictions": True},
        {**EXACT, **LINEAR},
    ],
    ids=["backpropagation", "forward", "zeros", "sequential", "fixed", "exact"],
)
def test_operations_are_those_that_xla_counts(changes: dict[str, Any]) -> None:
    chosen = cell(**{**ONE_STEP, **changes})
    counted = compiled(chosen).cost_analysis()["flops"]
    # a draw is no product, but XLA counts its operations
    counted -= 60 * num_weights(layers(chosen))
    assert 0.5 < costs.cell_flops(chosen) / counted < 2


def test_operations_of_backpropagation_in_closed_form() -> None:
    size = {"width": 32, "depth": 5, "batch_size": 16}
    one, two = (
        costs.cell_flops(cell(**BACKPROPAGATION, **size, num_steps=steps)) for steps in (2, 3)
    )
    # forward, to the inputs and to the weights; the data need no gradient
    assert two - one == 2 * 16 * (2 * 64 * 32 + 3 * (4 * 32 * 32 + 32 * 10))
    frozen = cell(**BACKPROPAGATION, **size, num_steps=2, frozen=("input", "output"))
    assert one - costs.cell_flops(frozen) == 2 * 2 * 16 * (64 * 32 + 32 * 10)


@pytest.mark.parametrize(("steps", "depth"), [(1, 8), (3, 8), (8, 8), (20, 8), (5, 1), (7, 32)])
def test_stages_are_those_of_the_inference(steps: int, depth: int) -> None:
    chosen = cell(num_inference_steps=steps, depth=depth)
    ends, begun = [], 0
    for count, reach in costs._stages(chosen):
        begun += count
        ends.append((begun, reach))
    assert ends == stages(chosen.algorithm, depth)


def test_later_layers_alone_are_evaluated_where_the_error_has_not_reached() -> None:
    def inference(initial: str) -> float:
        steps = [
            costs.cell_flops(
                cell(width=64, depth=32, num_steps=count, activity_initialisation=initial)
            )
            for count in (2, 3)
        ]
        return steps[1] - steps[0]

    # four stages evaluate 5/8 of all layers
    assert 0.6 < inference("forward") / inference("zeros") < 0.7


@pytest.mark.parametrize(
    "chosen",
    [
        cell(width=128, depth=4, measure={"performance": [6]}, num_test=297, **BACKPROPAGATION),
        cell(width=128, depth=8, batch_size=64),
        cell(width=32, depth=32, batch_size=64, dtype="float64"),
        cell(width=256, batch_size=64, **SEQUENTIAL),
        cell(
            width=64,
            depth=16,
            measure={"gradient_alignment": [0], "rescaling": [0]},
            **{**EXACT, **LINEAR},
        ),
    ],
    ids=lambda c: f"{c.algorithm.name}-{c.algorithm.inference_order}-{c.network.width}",
)
def test_memory_is_what_xla_plans_within_a_factor_of_two(chosen: Cell) -> None:
    analysis = compiled(chosen).memory_analysis()
    planned = analysis.temp_size_in_bytes + analysis.output_size_in_bytes
    assert 0.5 < memory.program_bytes(chosen) / planned < 2
    assert memory.cell_bytes(chosen) > memory.PROCESS_BYTES + planned / 2


MEASURED = """
import json, statistics, time
from scaling_limits.pipeline.machine import measure
machine = measure("cpu")
from test_costs import seconds_of_cells
print(json.dumps(seconds_of_cells(machine)))
"""


def seconds_of_cells(machine: Any) -> dict[str, tuple[float, float]]:
    """Estimated and taken seconds of this process for some cells; runs in a process of its own."""
    import statistics
    import time

    import numpy as np

    from scaling_limits import limits
    from scaling_limits.datasets.loading import Arrays

    recursion = {
        **BACKPROPAGATION,
        "parameterisation": "depth_mup",
        "depth_exponent": 0.5,
        "depth_lr_exponent": 0.5,
        "depth_kind": "blocks",
        "activation": "linear",
        "optimiser": "sgd",
        "limit": "depth_recursion",
        "frozen": ("input", "output"),
        "batch_size": 1,
    }
    cells = {
        "backpropagation": cell(width=256, depth=4, num_steps=20, batch_size=64, **BACKPROPAGATION),
        "wide": cell(width=128, depth=8, num_steps=10, batch_size=64),
        "deep": cell(width=16, depth=32, num_steps=5, batch_size=64),
        "sequential": cell(width=128, batch_size=64, num_steps=40, **SEQUENTIAL),
        "exact": cell(width=64, depth=16, num_steps=20, batch_size=64, **{**EXACT, **LINEAR}),
        "convolutional": cell(
            network="cnn",
            input_shape=(16, 16),
            width=2,
            batch_size=64,
            num_steps=20,
            **{**SEQUENTIAL, "num_inference_steps": 5},
        ),
        "limit": cell(depth=32, num_steps=8, **recursion),
    }
    generator = np.random.default_rng(0)
    found = {}
    for name, chosen in cells.items():
        data, net = chosen.dataset, chosen.network

        def normal(count: int, dim: int) -> np.ndarray:
            return generator.standard_normal((count, dim)).astype(np.float32)

        x, y = normal(data.num_train, net.input_dim), normal(data.num_train, net.output_dim)
        x_test, y_test = normal(data.num_test, net.input_dim), normal(data.num_test, net.output_dim)
        none = np.zeros(0, np.int32)
        arrays = Arrays(x, y, none, x_test, y_test, none)
        begun = time.process_time()
        if chosen.limit is None:
            compute = loop.compile_shard(chosen, arrays)
            found[f"compiling {name}"] = (
                costs.compile_seconds(chosen, machine),
                time.process_time() - begun,
            )
        else:

            def compute(batch: list[Cell], arrays: Arrays = arrays) -> object:
                return limits.registry.get("depth_recursion").compute(batch[0], arrays)

        taken = []
        for _ in range(5):
            begun = time.process_time()
            compute([chosen])
            taken.append(time.process_time() - begun)
        found[name] = (costs.cell_seconds(chosen, machine), statistics.median(taken))
    return found


def test_seconds_are_those_of_this_machine_within_a_factor_of_two() -> None:
    environment = {**os.environ, "PYTHONPATH": str(FOLDER)}
    output = subprocess.run(
        [sys.executable, "-c", MEASURED],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    found = json.loads(output.splitlines()[-1])
    for kind in (True, False):
        pairs = [v for name, v in found.items() if name.startswith("compiling") == kind]
        estimated, taken = (sum(column) for column in zip(*pairs, strict=True))
        assert 0.5 < estimated / taken < 2, found
    # a single one takes milliseconds, and another process on the core can double them
    for name, (estimated, taken) in found.items():
        assert 1 / 3 < estimated / taken < 3, name


def test_a_batch_shares_its_kernels_and_pads_what_is_short() -> None:
    alone, batched = cell(width=16), cell(width=16, cells_per_batch=8)
    assert costs.cell_seconds(batched) < costs.cell_seconds(alone)
    seven = [batched.model_copy(update={"seed": seed}) for seed in range(7)]
    assert costs.shard_seconds(seven) == costs.shard_seconds([*seven, batched])


def test_what_is_unknown_is_taken_for_the_commonest_kind() -> None:
    own = cell(**BACKPROPAGATION)
    named = own.model_copy(
        update={"algorithm": own.algorithm.model_copy(update={"name": "mine", "file": "mine.py"})}
    )
    assert costs.cell_flops(named) == costs.cell_flops(own)


def test_a_batch_is_as_large_as_fits() -> None:
    chosen = cell(width=512, depth=8, batch_size=64)
    free = 4000e6 - memory.cell_bytes(chosen) + memory.program_bytes(chosen)
    most = int(free / memory.program_bytes(chosen))
    assert 2 < most < 1000
    assert memory.batch_size(chosen, 1000, 4000) == most
    assert memory.batch_size(chosen, most - 1, 4000) == most - 1
    assert memory.batch_size(chosen, 1000, 8000) > most
    assert memory.batch_size(chosen, 1000, 500) >= 1
    full = chosen.model_copy(update={"cells_per_batch": most})
    assert memory.cell_bytes(full) <= 4000e6
    memory.refuse_too_large([full], 4000)


def test_a_cell_that_does_not_fit_is_refused_with_the_size_that_would_do() -> None:
    small, large = cell(width=64), cell(width=8192, depth=16)
    memory.refuse_too_large([small], 4000)
    memory.refuse_too_large([], 500)
    with pytest.raises(
        ConfigurationError, match=r"mem_mb: a cell of width 8192 .* set it to \d+"
    ) as raised:
        memory.refuse_too_large([small, large], 4000)
    needed = int(str(raised.value).split("set it to ")[1].split()[0])
    memory.refuse_too_large([small, large], needed)
    assert memory.cell_bytes(large) > 0.8e6 * needed


def test_packing_needs_neither_jax_nor_pandas() -> None:
    program = (
        "import sys, scaling_limits.pipeline.packing, scaling_limits.pipeline.memory;"
        "print([name for name in ('jax', 'pandas') if name in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"
