"""On a machine with a GPU: batches of cells there agree with the CPU, and with themselves bit for bit."""

import importlib
import json
import shutil
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from every_part import CELLS, cells

from scaling_limits import algorithms, networks, optimisers

ROOT = Path(__file__).parents[2]
TOLERANCE = {"gauss-newton, batch": 1e-3}
"""Relative deviation of losses from a CPU's: 1e-6 for others. A seed of this batch amplifies rounding errors to 2e-5 on
a GPU, and to 1.7e-4 between two versions of JAX on a CPU."""

on_a_gpu = pytest.mark.skipif(shutil.which("nvidia-smi") is None, reason="there is no GPU")

# a process of its own, as the device is chosen before JAX is imported
SCRIPT = """
import sys
from pathlib import Path
from scaling_limits import runtime
device, folder = sys.argv[1], Path(sys.argv[2])
runtime.configure(device=device)
from scaling_limits.configuration import load
from scaling_limits.datasets.preparation import prepare
from scaling_limits.pipeline.jobs import run_job
from scaling_limits.store import Store
batch = 16 if device == "gpu" else 1
configuration = load(sys.argv[3], {"resources": {"device": device, "cells_per_batch": batch}})
prepare("digits", data_path=None, downloads=folder, output=folder / "digits.npz", user={})
for paper, experiment in (
    ("mupc", "hyperparameter_transfer_tanh"),
    ("pcn-limits", "linear_residual_cifar10"),
):
    run_job(
        configuration.cells(paper, experiment),
        store=Store(folder / "cells"),
        datasets_folder=folder,
        records=folder / f"{paper}.parquet",
        meta=folder / f"{paper}.json",
    )
"""


def compute(device: str, folder: Path) -> Path:
    folder.mkdir()
    command = [sys.executable, "-c", SCRIPT, device, str(folder), str(ROOT)]
    subprocess.run(command, check=True, env=None)
    return folder


def summaries(folder: Path, paper: str) -> pd.Series:
    """The best loss of every stable cell, without the cells' keys, which name the device."""
    records = pd.read_parquet(folder / f"{paper}.parquet")
    loss = records[records["metric"] == "train_loss"].groupby("cell_id")["value"]
    return loss.min()[loss.max() < 2.0].sort_values(ignore_index=True)


def test_every_algorithm_network_and_optimiser_is_among_the_small_cells() -> None:
    known = {name: cells(name)[0] for name in CELLS}
    for kind, registry in (
        ("algorithm", algorithms.registry),
        ("network", networks.registry),
        ("optimiser", optimisers.registry),
    ):
        assert {getattr(each, kind).name for each in known.values()} == set(registry.own)


def losses(device: str, folder: Path) -> dict[str, np.ndarray]:
    """Compute the losses of `every_part.py` in `folder`."""
    folder.mkdir()
    script = Path(__file__).with_name("every_part.py")
    subprocess.run([sys.executable, script, device, folder], check=True)
    return read(folder / "losses.npz")


def read(file: Path) -> dict[str, np.ndarray]:
    with np.load(file) as found:
        return dict(found)


@on_a_gpu
def test_every_part_repeats_itself_and_agrees_with_the_cpu(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """In float64, where only the order of sums differs; alone and in a batch."""
    first, second = (losses("gpu", tmp_path / name) for name in ("first", "second"))
    known = request.config.getoption("--cpu-losses")
    cpu = losses("cpu", tmp_path / "cpu") if known is None else read(known)
    assert first.keys() == cpu.keys()
    assert len(first) == 2 * len(CELLS)
    assert first.keys() >= TOLERANCE.keys()
    for name in first:
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)
        np.testing.assert_allclose(
            first[name], cpu[name], rtol=TOLERANCE.get(name, 1e-6), err_msg=name
        )


def test_the_benchmark_times_a_step_and_computes_cells(tmp_path: Path) -> None:
    """On a CPU, so that it runs when a GPU is lent."""
    common = ["--preset", "smoke", "--device", "cpu", "--out", tmp_path / "out"]
    script = ROOT / "benchmarks" / "gpu.py"
    step = ["step", "mupc/fig5", "width", "16", "--depth", "8", "--batch", "2", *common]
    cells = ["cells", "pcn-limits/linear_toy", "--seconds", "0.001", "--work", tmp_path / "work"]
    for words in (step, [*cells, *common]):
        subprocess.run([sys.executable, script, *words], check=True, capture_output=True)
    timed, computed = map(json.loads, (tmp_path / "out" / "steps.jsonl").read_text().splitlines())
    assert (timed["width"], timed["depth"], timed["batch"]) == (16, 8, 2)
    assert min(timed[name] for name in ("milliseconds", "tflops", "compile_seconds")) > 0
    [records] = (tmp_path / "out" / "pcn-limits-linear_toy").iterdir()
    assert pd.read_parquet(records)["cell_id"].nunique() == computed["cells"]


def test_the_benchmark_limits_the_memory_of_the_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    benchmark, common = map(importlib.import_module, ("gpu", "common"))
    monkeypatch.setattr(benchmark, "common", common, raising=False)
    given = Namespace(preset="smoke", device="gpu", batch=16, mem_mb=50_000)
    assert benchmark.loaded(given).main.resources.gpu_mem_mb == 50_000


@on_a_gpu
def test_gpu_repeats_itself_and_agrees_with_the_cpu(tmp_path: Path) -> None:
    first, second = compute("gpu", tmp_path / "first"), compute("gpu", tmp_path / "second")
    cpu = compute("cpu", tmp_path / "cpu")
    for paper in ("mupc", "pcn-limits"):
        name = f"{paper}.parquet"
        assert (first / name).read_bytes() == (second / name).read_bytes()
        on_gpu, on_cpu = summaries(first, paper), summaries(cpu, paper)
        assert abs(len(on_gpu) - len(on_cpu)) <= 0.02 * len(on_cpu)
        assert on_gpu.median() == pytest.approx(on_cpu.median(), rel=0.02)
    pd.testing.assert_series_equal(
        summaries(first, "pcn-limits"), summaries(cpu, "pcn-limits"), rtol=1e-3
    )
