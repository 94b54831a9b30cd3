"""What figures will cost: counts, what is stored, totals, and the command."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scaling_limits.cells import Cell
from scaling_limits.commands import estimate_command
from scaling_limits.commands.estimate import FLOP_UNITS, Estimates, estimate
from scaling_limits.commands.invocation import Invocation, chosen, overrides_of
from scaling_limits.commands.readable import aligned, duration, scaled, size
from scaling_limits.configuration import Configuration, load
from scaling_limits.costs.asking import job_minutes, requested_minutes
from scaling_limits.costs.count import flops
from scaling_limits.costs.rates import shard_seconds
from scaling_limits.errors import ConfigurationError
from scaling_limits.measured import Measured
from scaling_limits.pipeline.keys import cell_key
from scaling_limits.store import Store, StoredCell
from toys import FIGURE, PAPER, merged, write_project

TABLE = {
    "title": "A table",
    "caption": "What it shows.",
    "plot": {
        "kind": "parameterisation_table",
        "form": "output_scaled",
        "entries": [{"title": "NTK", "scheme": "ntk", "gauge": 0.5}],
    },
}
WIDE = {
    "description": "wider ones",
    "extends": "transfer",
    "grids": {"main": {"width": [64, 128]}, "one": {"width": 4}},
    "figures": {"fig3": FIGURE},
}
WHOLE = merged(
    PAPER,
    {
        "transfer": {"figures": {"fig2": FIGURE}},
        "wide": WIDE,
        "paper": {"figures": {"table1": TABLE}},
    },
)
SHARED = [("toy", "fig1"), ("toy", "fig2")]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write_project(tmp_path, paper=WHOLE)


def estimated(
    root: Path, figures: list[tuple[str, str]], store: Store | None = None, **changes: Any
) -> Estimates:
    return estimate(load(root, changes), figures, store=store)


def keep(store: Store, cell: Cell, key: str | None = None, /, **meta: Any) -> None:
    measured = {"train_loss": Measured(np.zeros(2, np.float32), ("step",), {})}
    store.save(key or cell_key(cell), StoredCell(measured, meta))


def test_a_figure_with_nothing_stored(project: Path) -> None:
    cells = load(project).cells("toy", "transfer")
    found = estimated(project, [("toy", "fig1")], Store(project / "results/cells"))
    one = found.figures["toy/fig1"]
    assert (one.cells, one.stored, one.shards, one.jobs) == (8, 0, 2, 1)
    assert one.flops == sum(map(flops, cells))
    shards = [[c for c in cells if c.network.width == width] for width in (8, 16)]
    assert one.seconds > one.longest > sum(shard_seconds(shard) for shard in shards)
    assert 3e8 < one.memory < 5e8
    assert found.total.seconds > one.seconds


def test_stored_cells_cost_nothing(project: Path) -> None:
    store = Store(project / "results/cells")
    cells = load(project).cells("toy", "transfer")
    for c in cells:
        if c.network.width == 16:
            keep(store, c)
    one = estimated(project, [("toy", "fig1")], store).figures["toy/fig1"]
    assert (one.cells, one.stored, one.shards, one.jobs) == (8, 4, 1, 1)
    for c in cells:
        if c.network.width == 8:
            keep(store, c)
    one = estimated(project, [("toy", "fig1")], store).figures["toy/fig1"]
    assert (one.stored, one.shards, one.jobs, one.flops, one.memory) == (8, 0, 0, 0.0, 0.0)
    assert estimated(project, [("toy", "fig1")], None).figures["toy/fig1"].stored == 0


def test_an_experiment_that_figures_share_is_counted_once(project: Path) -> None:
    found = estimated(project, [*SHARED, ("toy", "fig3"), ("toy", "table1")])
    first, second, wide, table = found.figures.values()
    assert first == second
    assert (table.cells, table.jobs) == (0, 0)
    assert found.total.cells == first.cells + wide.cells
    assert found.total.flops == first.flops + wide.flops
    assert found.total.memory == max(first.memory, wide.memory)
    alone = estimated(project, SHARED[:1]).total.seconds
    assert estimated(project, SHARED).total.seconds == pytest.approx(alone + table.seconds)


def test_a_cell_that_experiments_share_is_counted_once(tmp_path: Path) -> None:
    again = {"description": "the same and wider ones", "extends": "transfer"}
    again |= {"grids": {"main": {"width": [16, 32]}}, "figures": {"fig3": FIGURE}}
    project = write_project(tmp_path, paper=merged(PAPER, {"again": again}))
    found = estimated(project, [("toy", "fig1"), ("toy", "fig3")])
    first, second = (load(project).cells("toy", name) for name in ("transfer", "again"))
    keys = [set(map(cell_key, cells)) for cells in (first, second)]
    assert keys[0] & keys[1]
    assert found.figures["toy/fig3"].cells == len(keys[1])
    assert found.total.cells == len(keys[0] | keys[1])
    assert found.total.shards == 3


def test_no_job_is_divided_among_cores(project: Path) -> None:
    total = estimated(project, [("toy", "fig1")]).total
    assert total.wall_seconds(1) == total.seconds
    assert total.wall_seconds(1000) == total.longest


def test_figures_are_chosen_by_name_or_paper(project: Path) -> None:
    configuration = load(project)
    every = [("toy", name) for name in ("fig1", "fig2", "fig3", "table1")]
    assert chosen(configuration, []) == every
    assert chosen(configuration, ["toy/fig3", "toy"]) == [
        every[2],
        *every[:2],
        every[3],
    ]
    for name, said in (("toy/fig9", "unknown figure 'fig9'"), ("toys", "unknown paper 'toys'")):
        with pytest.raises(ConfigurationError, match=said):
            chosen(configuration, [name])


def test_the_command_prints_a_table(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    estimate_command.run(Invocation(project), ["toy"], cores=4)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:5] == ["figure", "cells", "stored", "shards", "jobs"]
    assert [line.split()[0] for line in lines[1:6]] == [
        "toy/fig1",
        "toy/fig2",
        "toy/fig3",
        "toy/table1",
        "all",
    ]
    assert lines[1].split()[1:5] == ["8", "0", "2", "1"]
    assert len({len(line) for line in lines[:6]}) == 1
    assert (
        lines[6]
        == "Times are those of one core of the machine that the presets were made on; expect half to twice."
    )
    assert lines[7].startswith("On 4 idle cores about")
    estimate_command.run(Invocation(project), ["toy/fig1"], cores=4)
    assert not any(line.startswith("all") for line in capsys.readouterr().out.splitlines())


def test_on_a_gpu_the_table_has_the_memory_of_host_and_gpu(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    device = overrides_of(["resources.device=gpu"])
    estimate_command.run(Invocation(project, overrides=device), ["toy/fig1"], cores=2)
    head, line = capsys.readouterr().out.splitlines()[:2]
    assert head.endswith("host memory  GPU memory  device time")
    one = estimated(project, SHARED[:1], resources={"device": "gpu"}).figures["toy/fig1"]
    assert one.memory > one.gpu_memory > 3e8
    assert f"{size(one.memory)}" in line
    assert f"{size(one.gpu_memory)}" in line


def test_the_command_says_what_requests_more_than_a_limit(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wide = overrides_of(["papers.toy.experiments.wide.grids.one={width: 20000, num_steps: 100000}"])
    given = Invocation(project, overrides=wide)
    found = estimate(given.configuration(), [("toy", "fig1"), ("toy", "fig3")], store=None)
    seconds = found.experiments["toy/wide"].longest_cell
    assert seconds == found.total.longest_cell > 36e3 > found.experiments["toy/transfer"].longest
    # a job requests twice its estimate and five minutes; each of these cells is a job
    request = 60 * requested_minutes(seconds)
    hours = 1.5 * seconds / 3600
    estimate_command.run(given, ["toy/fig1", "toy/fig3"], 2, hours)
    lines = capsys.readouterr().out.splitlines()
    jobs, dearest, head, beyond = lines[6:10]
    longest = duration(seconds)
    assert jobs.startswith(
        f"{found.total.jobs} jobs; the longest takes {duration(found.total.longest)}."
    )
    assert jobs.endswith(f"No cell takes more than {longest}.")
    assert dearest == f"Most of it: toy/wide ({duration(found.experiments['toy/wide'].seconds)})."
    assert head.startswith(f"Jobs that request more than {duration(hours * 3600)}, and cells")
    longest = duration(request)
    assert beyond == f"toy/wide: 4 of 5 jobs, up to {longest}; 4 of 12 cells, up to {longest}"
    estimate_command.run(given, ["toy/fig1", "toy/fig3"], 2, request / 3600)
    assert (
        capsys.readouterr().out.splitlines()[8] == f"No job requests more than {duration(request)}."
    )


def test_a_job_may_request_more_than_each_of_its_cells(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = write_project(tmp_path, preset={"job_seconds": 1e5})
    long = ["preset=small", "papers.toy.experiments.transfer.grids.main={num_steps: 100000}"]
    given = Invocation(project, overrides=overrides_of(long))
    one = estimate(given.configuration(), SHARED[:1], store=None).figures["toy/fig1"]
    assert one.jobs == 1
    cells = given.configuration().cells("toy", "transfer")
    assert one.request == 60 * job_minutes(cells) > 60 * requested_minutes(one.longest_cell)
    estimate_command.run(given, ["toy/fig1"], 2, (one.request - 60) / 3600)
    beyond = capsys.readouterr().out.splitlines()[-1]
    assert beyond == f"toy/transfer: 1 of 1 job, up to {duration(one.request)}"


def test_the_command_says_what_does_not_fit(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    huge = overrides_of(["papers.toy.experiments.wide.grids.one.width=30000"])
    estimate_command.run(Invocation(project, overrides=huge), ["toy/fig1", "toy/fig3"], cores=2)
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if "refused" in line] == [lines[-1]]
    assert lines[-1].startswith(
        "toy/fig3 would be refused: resources.mem_mb: a cell of width 30000"
    )


def test_a_budget_is_of_all_cells(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = Store(project / "results/cells")
    for c in load(project).cells("toy", "transfer"):
        keep(store, c)
    total = estimated(project, SHARED).total.seconds
    figures = ["toy/fig1", "toy/fig2"]
    estimate_command.check(Invocation(project), figures, 0.5 * total + 0.1)
    assert "Within the budget" in capsys.readouterr().out
    with pytest.raises(ConfigurationError, match=r"^preset 'whole' costs too much: .* toy/fig1 \("):
        estimate_command.check(Invocation(project), figures, 0.5 * total - 0.1)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.2, "0 s"),
        (59, "59 s"),
        (59.7, "1 min"),
        (130, "2 min 10 s"),
        (3599, "1 h"),
        (7800, "2 h 10 min"),
        (86_399, "1 d"),
        (100_000, "1 d 4 h"),
        (100 * 86_400, "100 d"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_operations_and_tables_are_readable() -> None:
    assert scaled(3.2e12, FLOP_UNITS) == "3.2 TFLOP"
    assert scaled(45e21, FLOP_UNITS) == "45000 EFLOP"
    assert aligned([("a", "bb"), ("ccc", "d")], text_columns=1) == "a    bb\nccc   d"


def test_configurations_of_the_project_are_within_what_a_job_may_take() -> None:
    root = Path(__file__).parents[2]
    configuration: Configuration = load(root)
    figures = chosen(configuration, [])
    assert estimate_command.too_large(configuration, figures) == []
