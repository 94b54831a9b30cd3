"""What cells are said to cost against what compiling and running them shows."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from scaling_limits import networks
from scaling_limits.cells import AlgorithmSpec, Cell
from scaling_limits.configuration import load
from scaling_limits.costs import memory
from scaling_limits.costs.count import PREPARING, RUNNING, Count, counted, flops
from scaling_limits.costs.rates import RATES, TIMES, cell_seconds, shard_seconds
from scaling_limits.costs.sizes import layers, num_weights
from scaling_limits.training import loop
from toys import BACKPROPAGATION, EQUILIBRIUM, EXACT, RESIDUAL_CNN, TRANSFORMER, cell

ROOT = Path(__file__).parents[2]
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
PRECONDITIONED: dict[str, Any] = {
    **BACKPROPAGATION,
    "skip": False,
    "depth": 3,
    "parameterisation": "preconditioned_mup",
    "damping": 0.1,
}
AVERAGED = {"accumulation": "averaged", "averaging_weight": 0.1}
RARELY = {"preconditioner_interval": 10}
RESNET: dict[str, Any] = {
    **BACKPROPAGATION,
    "network": "resnet_basic",
    "input_shape": [16, 16],
    "skip": None,
    "depth_kind": "blocks",
    "depth": 4,
    "width": 1,
    "parameterisation": "sp_gaussian",
    "optimiser": "sgd",
}
BLOCKS: dict[str, Any] = {
    **BACKPROPAGATION,
    "depth_kind": "blocks",
    "block_depth": 2,
    "layer_norm": True,
    "mean_subtraction": True,
    "activation_position": "after_weight",
}


def optimised(**changes: Any) -> Cell:
    """A cell whose program is not compiled quickly."""
    return cell(**changes).model_copy(update={"compiled": None})


def compiled(chosen: Cell) -> Any:
    """The program that trains a cell, compiled for data of its sizes."""
    return lowered(chosen).compile()


def lowered(chosen: Cell) -> Any:
    """The same before XLA."""
    data, net = chosen.dataset, chosen.network
    kind = jnp.float64 if chosen.dtype == "float64" else jnp.float32
    tokens = data.sequence_length
    arrays = [
        jax.ShapeDtypeStruct((count, tokens or dim), jnp.int32 if tokens else kind)
        for count in (data.num_train, data.num_test)
        for dim in (net.input_dim, net.output_dim)
    ]
    numbers = jax.tree.map(
        lambda v: jnp.uint32(v) if isinstance(v, int) else kind(v), chosen.traced()
    )
    order = jax.ShapeDtypeStruct((chosen.num_steps + 1, chosen.batch_size), jnp.int32)
    initial = jax.eval_shape(
        lambda n: loop.initial_weights(chosen, networks.build(net), n), numbers
    )
    program = jax.jit(loop.cell_function(chosen))
    return program.lower(numbers, order, initial, loop.Data(*arrays))


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
        {**BLOCKS, "depth": 1},
        {**BLOCKS, "depth": 1, "measure": {"linearisation": [1]}},
    ],
    ids=[
        "backpropagation",
        "forward",
        "zeros",
        "sequential",
        "fixed",
        "exact",
        "blocks",
        "linearisation",
    ],
)
def test_operations_are_those_that_xla_counts(changes: dict[str, Any]) -> None:
    chosen = cell(**{**ONE_STEP, **changes})
    counted = compiled(chosen).cost_analysis()["flops"]
    # a draw is no product, but XLA counts its operations
    counted -= 60 * num_weights(layers(chosen))
    assert 0.5 < flops(chosen) / counted < 2


def test_operations_of_backpropagation_in_closed_form() -> None:
    size = {"width": 32, "depth": 5, "batch_size": 16}
    one, two = (flops(cell(**BACKPROPAGATION, **size, num_steps=steps)) for steps in (2, 3))
    # forward, to the inputs and to the weights; the data need no gradient
    assert two - one == 2 * 16 * (2 * 64 * 32 + 3 * (4 * 32 * 32 + 32 * 10))
    frozen = cell(**BACKPROPAGATION, **size, num_steps=2, frozen=("input", "output"))
    assert one - flops(frozen) == 2 * 2 * 16 * (64 * 32 + 32 * 10)


def test_later_layers_alone_are_evaluated_where_the_error_has_not_reached() -> None:
    def inference(initial: str) -> float:
        steps = [
            flops(optimised(width=64, depth=32, num_steps=count, activity_initialisation=initial))
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
        cell(width=256, batch_size=64, **PRECONDITIONED, optimiser="kfac", fisher="sampled"),
        cell(width=64, batch_size=16, **PRECONDITIONED, optimiser="kfac"),
        cell(width=256, batch_size=64, **PRECONDITIONED, optimiser="shampoo", **AVERAGED),
        cell(width=256, batch_size=64, **PRECONDITIONED, optimiser="kfac", **AVERAGED, **RARELY),
        cell(
            width=64,
            depth=16,
            measure={"gradient_alignment": [0], "rescaling": [0]},
            **{**EXACT, **LINEAR},
        ),
        cell(width=128, depth=8, batch_size=64, **BLOCKS),
        cell(width=32, depth=32, batch_size=128, measure={"linearisation": [3]}, **BLOCKS),
        cell(
            **{**TRANSFORMER, **BACKPROPAGATION, "sequence_length": 16, "width": 64},
            measure={"linearisation": [3]},
        ),
        cell(**RESNET, measure={"performance": [6]}, num_train=128),
        cell(**RESNET, num_train=128, batch_size=64),
        cell(**{**RESIDUAL_CNN, "input_shape": [16, 16], "width": 72}, **EQUILIBRIUM),
        cell(**{**TRANSFORMER, "sequence_length": 16, "width": 64}, **EQUILIBRIUM),
    ],
    ids=[
        "performance",
        "stages",
        "float64",
        "sequential",
        "kfac",
        "fisher",
        "shampoo",
        "stored inverses",
        "exact",
        "blocks",
        "linearisation",
        "linearisation of sequences",
        "evaluated",
        "convolutions",
        "equilibrium of convolutions",
        "equilibrium of sequences",
    ],
)
def test_memory_is_what_xla_plans_within_a_factor_of_two(chosen: Cell) -> None:
    analysis = compiled(chosen).memory_analysis()
    planned = analysis.temp_size_in_bytes + analysis.output_size_in_bytes
    assert 0.5 < memory.program_bytes(chosen) / planned < 2
    assert memory.cell_bytes(chosen) > memory.PROCESS_BYTES + planned / 2


RECURSION: dict[str, Any] = {
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
IMAGES: dict[str, Any] = {"network": "cnn", "input_shape": (16, 16), "width": 2, "skip": None}
# seconds of each cell, and for compiling, on one core of the machine that the rates were measured on
STORED: dict[str, tuple[dict[str, Any], float, float | None]] = {
    "backpropagation": (
        {"width": 256, "depth": 4, "num_steps": 20, "batch_size": 64, **BACKPROPAGATION},
        0.0181,
        1.9,
    ),
    "wide": ({"width": 128, "depth": 8, "num_steps": 10, "batch_size": 64}, 0.0221, 3.4),
    "deep": ({"width": 16, "depth": 32, "num_steps": 5, "batch_size": 64}, 0.0178, 4.4),
    "sequential": ({"width": 128, "batch_size": 64, "num_steps": 40, **SEQUENTIAL}, 0.0107, 1.8),
    "exact": (
        {"width": 64, "depth": 16, "num_steps": 20, "batch_size": 64, **EXACT, **LINEAR},
        0.0111,
        3.05,
    ),
    "blocks": (
        {"width": 64, "depth": 16, "num_steps": 200, "batch_size": 64, **BLOCKS},
        0.140,
        1.25,
    ),
    "linearisation": (
        {
            "width": 64,
            "depth": 16,
            "num_steps": 100,
            "batch_size": 64,
            "measure": {"linearisation": list(range(101))},
            **BLOCKS,
        },
        0.159,
        2.08,
    ),
    "convolutional": (
        {"batch_size": 64, "num_steps": 20, **SEQUENTIAL, **IMAGES, "num_inference_steps": 5},
        0.0478,
        3.1,
    ),
    "limit": ({"depth": 32, "num_steps": 8, **RECURSION}, 0.0248, None),
}


@pytest.mark.parametrize("name", STORED)
def test_estimates_are_near_stored_times(name: str) -> None:
    changes, running, preparing = STORED[name]
    chosen = optimised(**changes)
    estimated = cell_seconds(chosen)
    assert 0.5 < estimated / running < 2
    if preparing is not None:
        assert 0.5 < (shard_seconds([chosen]) - estimated) / preparing < 2


@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_a_device_has_a_rate_for_every_kind_of_work(device: str) -> None:
    assert RATES[device].keys() == {*RUNNING, *PREPARING}
    assert all(rate > 0 for rate in RATES[device].values())


# milliseconds of a training step and seconds of compilation, at `paper` on an H100 (docs/gpu.md)
ON_A_GPU = {
    "narrow": ("mupc/fig5", "width", 64, 8, 1, 0.46, 9),
    "narrow, 16 at once": ("mupc/fig5", "width", 64, 8, 16, 0.42, 11),
    "wide": ("mupc/fig5", "width", 1024, 8, 1, 0.69, 11),
    "wide, 16 at once": ("mupc/fig5", "width", 1024, 8, 16, 10.3, 13),
    "deep": ("mupc/fig1", "tanh_mupc", 512, 128, 1, 29.0, 11),
    "deep, 16 at once": ("mupc/fig1", "tanh_mupc", 512, 128, 16, 425.0, 16),
    "convolutional": ("second-order/fig6", "cnn_kfac_mup", 16, 2, 1, 4.1, 8),
    "residual": ("second-order/figS17", "cifar10", 4, 9, 1, 81.0, 49),
    "words": ("second-order/fig4", "words_mup", 512, 1, 1, 63.0, 6),
}


@pytest.mark.parametrize("name", ON_A_GPU)
def test_estimates_are_near_the_times_of_a_gpu(name: str) -> None:
    figure, grid, width, depth, at_once, step, preparing = ON_A_GPU[name]
    resources = {"device": "gpu", "cells_per_batch": at_once, "gpu_mem_mb": 70_000}
    configuration = load(ROOT, {"preset": "full", "resources": resources})
    paper, number = figure.split("/")
    points = configuration.points(paper, configuration.figure(paper, number).experiment)
    chosen = next(
        point.cell.model_copy(update={"measurements": ()})
        for point in points
        if point.grid == grid
        and (point.cell.network.width, point.cell.network.num_hidden_layers) == (width, depth)
    )
    running = cell_seconds(chosen) * at_once
    assert 0.5 < 1e3 * running / chosen.num_steps / step < 2
    assert 0.5 < (shard_seconds([chosen]) - running) / preparing < 2


@pytest.mark.parametrize("name", ["kfac", "foof", "shampoo"])
def test_decompositions_count_once_in_an_interval(name: str) -> None:
    """Other work does not depend on the interval: counts are linear in one over the interval."""
    own = {**PRECONDITIONED, **AVERAGED, "optimiser": name, "width": 512}
    first, second, rare = (
        flops(optimised(**own, preconditioner_interval=each)) for each in (2, 4, 10**9)
    )
    assert first - rare == pytest.approx(2 * (second - rare))
    assert rare < second < flops(optimised(**own))


def test_stored_preconditioners_save_work_if_factors_accumulate() -> None:
    """Without accumulation, inverses of all of weight space cost more than solutions in sample space."""
    own = {**PRECONDITIONED, "width": 2048, "batch_size": 16}
    for name in ("kfac", "shampoo"):
        cells = [
            [optimised(**own, **kind, optimiser=name, **more) for more in ({}, RARELY)]
            for kind in (AVERAGED, {})
        ]
        (every, rare), (alone, stored) = [[flops(each) for each in pair] for pair in cells]
        assert rare < 0.5 * every
        assert stored > alone


def test_a_program_is_optimised_as_far_as_it_pays() -> None:
    brief, longer, long = (
        cell(**BACKPROPAGATION, width=128, num_steps=steps) for steps in (10, 1000, 10_000)
    )
    assert (brief.compiled, longer.compiled, long.compiled) == ("quickly", "partly", None)
    # a network of many operations compiles longer
    dense = cell(**BACKPROPAGATION, width=512, num_steps=300)
    many = cell(**RESNET, num_steps=50)
    assert flops(many) > flops(dense)
    assert (many.compiled, dense.compiled) == ("partly", None)
    assert cell(**RECURSION, depth=32, num_steps=8).compiled is None
    assert cell(device="gpu", **BACKPROPAGATION).compiled is None
    full = brief.model_copy(update={"compiled": None})
    assert cell_seconds(brief) > cell_seconds(full)
    assert shard_seconds([brief]) < shard_seconds([full])


@pytest.mark.parametrize("num_steps", [10, 1000, 10_000])
def test_a_shard_takes_the_least_time_as_it_is_compiled(num_steps: int) -> None:
    chosen = cell(**BACKPROPAGATION, width=128, num_steps=num_steps)
    seconds = {
        way: shard_seconds([chosen.model_copy(update={"compiled": way})] * 20) for way in TIMES
    }
    assert min(seconds, key=seconds.__getitem__) == chosen.compiled


def test_the_program_of_128_blocks_is_as_long_as_that_of_8() -> None:
    """So it compiles in as long: in 1.0 to 1.1 times the seconds."""
    measured = {"feature_sizes": [3], "linearisation": [3]}
    lines = [
        len(lowered(cell(depth=depth, measure=measured, **BLOCKS)).as_text().splitlines())
        for depth in (8, 128)
    ]
    assert lines[1] <= 1.2 * lines[0]


def test_a_loop_is_compiled_once() -> None:
    one, two = (counted(cell(num_steps=steps, **BACKPROPAGATION)).amounts for steps in (2, 4))
    assert two["products"] == 2 * one["products"]
    assert one["operations"] == two["operations"]


def test_what_is_only_for_gradients_is_left_out_of_errors() -> None:
    def products(what: str) -> float:
        count = Count(cell(**BACKPROPAGATION))
        getattr(count, what)()
        return count.amounts["products"]

    assert products("gradient") == products("backpropagation")
    assert products("feedback_gradient") == 0
    weights = num_weights(layers(cell(**BACKPROPAGATION)))
    assert products("gradient") - products("errors") == cell().batch_size * weights


def test_a_batch_shares_its_kernels_and_pads_what_is_short() -> None:
    alone, batched = cell(width=16), cell(width=16, cells_per_batch=8)
    assert cell_seconds(batched) < cell_seconds(alone)
    seven = [batched.model_copy(update={"seed": seed}) for seed in range(7)]
    assert shard_seconds(seven) == shard_seconds([*seven, batched])


def test_what_says_nothing_of_its_work_is_taken_for_backpropagation(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("init = update = errors = None\n")
    known = cell(**BACKPROPAGATION)
    given = {**known.algorithm.model_dump(exclude={"fisher"}), "name": "mine", "file": str(file)}
    spec = AlgorithmSpec.model_validate(given)
    own = known.model_copy(update={"algorithm": spec})
    assert flops(own) == flops(known)
    assert memory.cell_bytes(own) == memory.cell_bytes(known)
