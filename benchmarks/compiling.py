"""Cells of the preset `laptop`: seconds of compiling and of running them, in each way of compiling."""

import common

from scaling_limits.cells import Cell, Compiled
from scaling_limits.training.loop import OPTIONS, compile_shard

CELLS = (
    ("second-order/fig6", "mlp_kfac_mup", 512),
    ("second-order/fig6", "cnn_kfac_mup", 16),
    ("second-order/fig6", "resnet18_kfac_mup", 4),
    ("pc-tp/fig1", "sp", 512),
    ("mupc/fig1", "tanh_mupc", 32),
)
"""Figure, grid and width."""


def measured(cell: Cell, way: Compiled) -> str:
    """CPU seconds of compiling and of running the cell once."""
    chosen = cell.model_copy(update={"compiled": way})
    data = common.data(chosen)
    compiling, train = common.timed(lambda: compile_shard(chosen, data))
    train([chosen])  # the first time draws are compiled, too
    return f"{compiling:.1f} + {common.timed(lambda: train([chosen]))[0]:.2f}"


def main() -> None:
    """Measure, and write a table."""
    rows, configuration = [], common.preset("laptop")
    for figure, grid, width in CELLS:
        cell = common.of_figure(figure, grid, width, None, configuration)
        own = [measured(cell, way) for way in OPTIONS]
        rows.append([f"{figure}, {grid}", str(width), *own, cell.compiled or "fully"])
    header = ["cell", "width", *(way or "fully" for way in OPTIONS), "chosen"]
    common.publish("compiling", common.table(header, rows))


if __name__ == "__main__":
    main()
