"""A panel of mupc Fig. 5 (44 pairs of learning rates) as one shard against single runs."""

import resource
import subprocess
import sys
from functools import partial

import common
import jax

from scaling_limits.cells import Cell
from scaling_limits.datasets.loading import Arrays
from scaling_limits.measured import Measured
from scaling_limits.training.loop import compile_shard

DEPTH, WIDTH, NUM_STEPS = 8, 128, 40
SAMPLED = 4
"""Single runs that are measured; their mean stands for all."""


def child_seconds() -> float:
    """CPU seconds of processes that this one has started and waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def train_alone(cell: Cell, data: Arrays) -> dict[str, Measured]:
    """Compile for one cell, and train it."""
    return compile_shard(cell, data)([cell])[0]


def main() -> None:
    """Measure, and write a table; with an index as argument train that cell alone."""
    cells = common.cells(
        depth=DEPTH,
        width=WIDTH,
        num_steps=NUM_STEPS,
        learning_rates=common.LEARNING_RATES,
        activity_learning_rates=common.ACTIVITY_LEARNING_RATES,
    )
    data = common.data(cells[0])
    if len(sys.argv) > 1:
        train_alone(cells[int(sys.argv[1])], data)
        return
    compile_shard(cells[0], data)  # what is imported and compiled once per process
    jax.clear_caches()
    compiling, train = common.timed(lambda: compile_shard(cells[0], data))
    running, together = common.timed(lambda: [train([cell])[0] for cell in cells])
    chosen = range(0, len(cells), len(cells) // SAMPLED)[:SAMPLED]
    same, single, processes = True, 0.0, 0.0
    for index in chosen:
        jax.clear_caches()
        taken, alone = common.timed(partial(train_alone, cells[index], data))
        single += taken
        same &= all(
            measured.values.tobytes() == together[index][metric].values.tobytes()
            for metric, measured in alone.items()
        )
        begun = child_seconds()
        subprocess.run([sys.executable, __file__, str(index)], check=True)
        processes += child_seconds() - begun
    shard = compiling + running
    single, processes = (taken * len(cells) / SAMPLED for taken in (single, processes))
    rows = [
        ("one shard: compiled once, called 44 times", shard, compiling),
        ("44 single runs in one process, each compiled", single, compiling * len(cells)),
        ("44 single runs, each in its own process", processes, compiling * len(cells)),
    ]
    text = common.table(
        ("44 cells", "CPU s", "compilation, s", "relative to one shard"),
        [(name, f"{s:.0f}", f"{c:.0f}", f"{s / shard:.1f}") for name, s, c in rows],
    )
    found = "the same bits" if same else "DIFFERENT NUMBERS"
    common.publish(
        "sweep",
        f"{text}\n\nThe {SAMPLED} single runs that were measured gave {found} as in the shard.",
    )


if __name__ == "__main__":
    main()
