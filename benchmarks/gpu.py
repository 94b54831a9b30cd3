"""Cells on a GPU: a training step's time and memory, and whole experiments for a number of seconds.

`python benchmarks/gpu.py step ...` times one cell's step; `python benchmarks/gpu.py cells ...` computes the shards of
an experiment, the cheapest first, and keeps their records. Both append a line of JSON to `steps.jsonl` in the folder
`--out`. Meant for a machine that is lent for minutes; `--device cpu` runs the same on a CPU.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

FLAGS = {
    "deterministic": None,
    "autotuned": "--xla_gpu_deterministic_ops=true",
    "free": "",
    "tf32": None,
}
"""XLA's flags in place of the project's, and TF32 products with these; to see what determinism costs."""
FEW, MORE = 3, 13
"""Updates of the two programs whose difference is timed."""


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    step = commands.add_parser("step", help="time a training step of one cell")
    step.add_argument("figure", help="<paper>/<figure>")
    step.add_argument("grid")
    step.add_argument("width", type=int)
    step.add_argument("--depth", type=int, help="hidden layers, where the grid has several")
    step.add_argument("--flags", choices=FLAGS, default="deterministic")
    cells = commands.add_parser("cells", help="compute an experiment's cells")
    cells.add_argument("experiment", help="<paper>/<experiment>")
    cells.add_argument("--seconds", type=float, default=360, help="begin no shard after these")
    for each in (step, cells):
        each.add_argument("--out", type=Path, required=True, help="folder of what is measured")
        each.add_argument("--preset", default="paper")
        each.add_argument("--device", choices=("gpu", "cpu"), default="gpu")
        each.add_argument("--batch", type=int, default=1, help="cells that are trained at once")
        each.add_argument("--mem-mb", type=int, default=70_000, help="memory of a batch in MB")
    cells.add_argument("--data", type=Path, help="folder with copies of the datasets")
    cells.add_argument("--work", type=Path, required=True, help="folder of stored cells and data")
    return parser.parse_args()


def loaded(given: argparse.Namespace) -> Any:
    """The configuration that the command line asks for."""
    memory = dict.fromkeys(("mem_mb", "gpu_mem_mb"), given.mem_mb)
    resources = {"device": given.device, "cells_per_batch": given.batch, **memory}
    changes: dict[str, Any] = {"preset": given.preset, "resources": resources}
    if getattr(given, "data", None) is not None:
        changes["data"] = {"path": str(given.data)}
    return common.load(common.ROOT, changes)


def tell(given: argparse.Namespace, **measured: Any) -> None:
    """Print the measured values as a line of JSON, and append it to the file."""
    line = json.dumps(measured)
    print(line, flush=True)
    with (given.out / "steps.jsonl").open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")


def step(given: argparse.Namespace) -> None:
    """Time the step of a cell, by the difference of two programs."""
    cell = common.of_figure(given.figure, given.grid, given.width, given.depth, loaded(given))
    size, took = cell.cells_per_batch, {}
    for count in (FEW, MORE):
        plain = {"measurements": (), "averaged_records": None}
        short = cell.model_copy(update={"num_steps": count, **plain})
        data = common.data(short)
        begun = time.perf_counter()
        train = loop.compile_shard(short, data)
        compiled = time.perf_counter() - begun
        train([short] * size)  # the first time draws are compiled, too
        begun = time.perf_counter()
        train([short] * size)
        took[count] = time.perf_counter() - begun
    seconds = (took[MORE] - took[FEW]) / (MORE - FEW)
    updates = max(cell.num_steps, 1)
    kernels = counted(cell).amounts["kernels"] / updates
    memory = jax.devices()[0].memory_stats() or {}
    tell(
        given,
        figure=given.figure,
        grid=given.grid,
        width=given.width,
        depth=cell.network.num_hidden_layers,
        device=jax.devices()[0].device_kind,
        batch=size,
        flags=given.flags,
        milliseconds=1e3 * seconds,
        tflops=flops(cell) / updates * size / seconds / 1e12,
        kernels=kernels,
        microseconds_per_kernel=1e6 * seconds / kernels,
        compile_seconds=compiled,
        peak_gb=memory.get("peak_bytes_in_use", 0) / 1e9,
        estimated_gb=cell_bytes(cell) / 1e9,
    )


def cells(given: argparse.Namespace) -> None:
    """Compute the shards of an experiment, the cheapest first, until the seconds have passed."""
    configuration = loaded(given)
    paper, experiment = given.experiment.split("/")
    shards = sorted(configuration.shards(paper, experiment), key=lambda shard: flops(shard[0]))
    datasets, records = given.work / "data", given.out / f"{paper}-{experiment}"
    for folder in (datasets, records):
        folder.mkdir(parents=True, exist_ok=True)
    for name in {shard[0].dataset.name for shard in shards}:
        output = datasets / f"{name}.npz"
        if not output.exists():
            prepare(
                name,
                data_path=configuration.data_path,
                downloads=datasets,
                output=output,
                user=configuration.user_datasets,
            )
    end = time.time() + given.seconds
    for number, shard in enumerate(shards):
        if time.time() > end:
            break
        begun = time.perf_counter()
        run_job(
            shard,
            store=Store(given.work / "cells"),
            datasets_folder=datasets,
            records=records / f"{number}.parquet",
            meta=given.work / f"{paper}-{experiment}-{number}.json",
        )
        seconds, first = time.perf_counter() - begun, shard[0]
        tell(
            given,
            experiment=given.experiment,
            width=first.network.width,
            depth=first.network.num_hidden_layers,
            device=jax.devices()[0].device_kind,
            cells=len(shard),
            batch=first.cells_per_batch,
            seconds=seconds,
            tflops=flops(first) * len(shard) / seconds / 1e12,
        )


if __name__ == "__main__":
    from scaling_limits import runtime

    asked = parsed()
    asked.out.mkdir(parents=True, exist_ok=True)
    chosen = FLAGS[asked.flags] if asked.command == "step" else None
    if chosen is not None:
        runtime._ENVIRONMENT["XLA_FLAGS"] = chosen
    runtime.configure(device=asked.device)

    import common
    import jax

    from scaling_limits.costs.count import counted, flops
    from scaling_limits.costs.memory import cell_bytes
    from scaling_limits.datasets.preparation import prepare
    from scaling_limits.pipeline.jobs import run_job
    from scaling_limits.store import Store
    from scaling_limits.training import loop

    if asked.command == "step" and asked.flags == "tf32":
        jax.config.update("jax_default_matmul_precision", "high")
    {"step": step, "cells": cells}[asked.command](asked)
