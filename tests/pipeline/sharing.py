"""A process that computes cells of one shard: sharing.py FOLDER DATASETS NAME SEED...

FOLDER/NAME.log has `+` and the seed for each cell that it begins, `-` and the seed for each that it has computed. The
first one takes until there is a file FOLDER/go.
"""

import sys
import time
from pathlib import Path

import numpy as np

from scaling_limits import runtime
from scaling_limits.cells import Cell
from scaling_limits.measured import Measured
from scaling_limits.store import Store


def main(folder: Path, datasets: Path, name: str, *seeds: str) -> None:
    runtime.configure()
    # these import JAX
    from scaling_limits.pipeline import jobs
    from toys import BACKPROPAGATION, cell

    with (folder / f"{name}.log").open("w", buffering=1) as log:

        def compute(cells: list[Cell]) -> list[dict[str, Measured]]:
            (one,) = cells
            log.write(f"+ {one.seed}\n")
            while not (folder / "go").exists():
                time.sleep(0.01)
            time.sleep(0.1)
            log.write(f"- {one.seed}\n")
            return [{"train_loss": Measured(np.full(1, one.seed), ("step",), {"step": (0,)})}]

        jobs.computation = lambda cell, arrays: compute
        jobs.run_job(
            [cell(**BACKPROPAGATION, seed=int(seed)) for seed in seeds],
            store=Store(folder / "cells"),
            datasets_folder=datasets,
            records=folder / f"{name}.parquet",
            meta=folder / f"{name}.json",
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:])
