"""Cells of the preset `paper`: a training step's time and the memory of the process, beside what is estimated."""

import resource
import subprocess
import sys

import common

from scaling_limits.cells import Cell
from scaling_limits.costs.memory import cell_bytes
from scaling_limits.costs.rates import cell_seconds
from scaling_limits.training.loop import compile_shard

CELLS = (
    ("mupc/fig1", "tanh_mupc", 512, 8),
    ("mupc/fig1", "tanh_mupc", 512, 128),
    ("second-order/fig6", "mlp_kfac_mup", 16384, None),
    ("second-order/figS17", "cifar10", 4, None),
    ("pcn-limits/fig4", "mlp_main", 256, None),
    ("pcn-limits/fig4", "cnn_main", 72, None),
    ("pcn-limits/fig4", "transformer_main", 128, None),
)
"""Figure, grid, width and number of hidden layers, where a grid has several."""
FEW, MORE = 2, 5
"""Updates of the two programs whose difference is timed: initial draws, data and compiling are in neither."""


def seconds(cell: Cell, num_steps: int) -> float:
    """CPU seconds of so many updates, with what is around them, once compiled."""
    short = cell.model_copy(update={"num_steps": num_steps, "measurements": ()})
    train = compile_shard(short, common.data(short))
    return common.timed(lambda: train([short]))[0]


def measure(index: int) -> None:
    """Print the table's line of one of `CELLS`."""
    figure, grid, width, depth = CELLS[index]
    cell = common.of_figure(figure, grid, width, depth, common.preset("paper"))
    step = (seconds(cell, MORE) - seconds(cell, FEW)) / (MORE - FEW)
    whole, expected = step * cell.num_steps, cell_seconds(cell)
    # of the whole process: JAX and the data are in it
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    line = (
        f"{figure}, {grid}",
        str(width),
        str(cell.network.num_hidden_layers),
        f"{step:.2g}",
        f"{whole:,.0f}",
        f"{expected:,.0f}",
        f"{peak / 1e9:.1f}",
        f"{cell_bytes(cell) / 1e9:.1f}",
    )
    print("\t".join(line))


def main() -> None:
    """Measure each cell in a process of its own, and write a table; with an index as argument that cell alone."""
    if len(sys.argv) > 1:
        measure(int(sys.argv[1]))
        return
    rows = []
    for index in range(len(CELLS)):
        command = [sys.executable, __file__, str(index)]
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        rows.append(told.splitlines()[-1].split("\t"))
    head = ["cell", "width", "H", "s a step", "s for all steps", "estimated"]
    head += ["peak GB", "estimated GB"]
    common.publish("paper shards", common.table(head, rows))


if __name__ == "__main__":
    main()
