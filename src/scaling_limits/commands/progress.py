"""Progress of a run, from Snakemake's events and the store: finished figures, errors, remaining time."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scaling_limits.audit.table import read_verdicts
from scaling_limits.commands.console import Console
from scaling_limits.commands.readable import duration
from scaling_limits.commands.workload import Job, Workload
from scaling_limits.costs.rates import FIGURE_SECONDS
from scaling_limits.files import JsonObject
from scaling_limits.outcomes import tally
from scaling_limits.store import Store

_FRACTION, _SECONDS = 0.02, 10.0
"""Fraction of the work and seconds after which the remaining time is estimated."""
_LINES = 20
"""Number of lines shown from a log without an error message."""
_STEPS = ((600, 60), (7200, 300), (86400, 1800), (float("inf"), 3600))
"""Pairs of an upper bound on the remaining time and the precision of rounding below it, in seconds."""


@dataclass
class _Running:
    """A running job of Snakemake: its rule, wildcards, and start time in seconds since 1970."""

    rule: str
    wildcards: Mapping[str, str]
    begun: float = field(default_factory=time.time)

    @property
    def name(self) -> str:
        values = self.wildcards.values()
        return f"{'/'.join(values)} ({self.rule})" if values else self.rule

    @property
    def cells_job(self) -> Job | None:
        """The wildcards of a job that computes cells; None for other jobs."""
        if self.rule != "run":
            return None
        return (self.wildcards["paper"], self.wildcards["experiment"], self.wildcards["job"])


class Progress:
    """Follows the events of one Snakemake run."""

    def __init__(
        self,
        root: Path,
        preset: str,
        figures: Sequence[tuple[str, str]],
        store: Store,
        console: Console,
    ) -> None:
        """Start with nothing done.

        Args:
            root: the project's folder.
            preset: the preset's name.
            figures: (paper, figure) of each requested figure.
            store: the store of computed cells.
            console: the console for output.
        """
        self._root, self._preset, self._store, self._console = root, preset, store, console
        self._num_requested = len(figures)
        self._width = max((len(f"{paper}/{name}") for paper, name in figures), default=0)
        self._workload = Workload()
        self._left: dict[str, float] = {}
        self._seconds = 0.0
        self._begun = time.monotonic()
        self._jobs: dict[int, _Running] = {}
        self._steps = 0
        self._said = ""
        self.started = False
        """Whether Snakemake has started to execute the workflow."""
        self.planned: Mapping[str, int] | None = None
        """Numbers of jobs by rule; None before the plan is known, or if there is nothing to do."""
        self.finished: list[str] = []
        """The figures drawn so far, `<paper>/<figure>`."""
        self.failed: list[str] = []
        """The jobs that failed."""

    def expect(self, workload: Workload) -> None:
        """Set the cells of the figures; without them, progress counts figures only."""
        self._workload = workload
        self._left = {k: s for cells in workload.missing.values() for k, s in cells.items()}
        self._plan()

    def handle(self, event: JsonObject, *, interrupted: bool = False) -> None:
        """Process an event, and print what a user should know immediately."""
        match event["event"]:
            case "workflow_started":
                self.started = True
            case "run_info" if self.planned is None:
                self.planned = event["stats"]
                self._begun = time.monotonic()
                self._plan()
            case "job_info":
                wildcards = event["wildcards"] or {}
                self._jobs[event["jobid"]] = _Running(event["rule_name"], wildcards)
            case "job_finished":
                self._finish(self._jobs.pop(event["job_id"], None))
            case "error":
                self._said = event["message"]
            case "job_error" if not interrupted:
                self._fail(self._jobs.pop(event["jobid"], None), event)

    def update(self) -> None:
        """Check which cells of running jobs are stored, and show the progress."""
        for job in self._jobs.values():
            if (cells := job.cells_job) is not None:
                self._drop(k for k in self._cells(cells) if k in self._left and k in self._store)
        self._console.progress(self.text())

    def text(self) -> str:
        """Return the progress line: figures and cells done, and the remaining time."""
        if self.planned is None:
            return "planning"
        parts = [f"{self._num_requested - self.figures_left:,} of {self._num_requested:,} figures"]
        if self._workload.cells:
            cells = self._workload.cells
            parts.append(f"{cells - len(self._left):,} of {cells:,} cells")
        left = self._work()
        elapsed = time.monotonic() - self._begun
        fraction = 1 - left / self._seconds if self._seconds else 0.0
        if fraction >= _FRACTION and elapsed >= _SECONDS:
            parts.append(f"{rounded(elapsed * (1 - fraction) / fraction)} left")
        return ", ".join(parts)

    def to_draw(self) -> list[str]:
        """Return the figures that a dry run would draw."""
        published = (job.wildcards for job in self._jobs.values() if job.rule == "publish")
        return [f"{wildcards['paper']}/{wildcards['figure']}" for wildcards in published]

    def to_compute(self) -> tuple[int, int]:
        """Return the number of cells that a dry run would compute, and the number of all cells of the figures."""
        jobs = [cells for job in self._jobs.values() if (cells := job.cells_job) is not None]
        return len({key for job in jobs for key in self._cells(job)}), self._workload.cells

    def _plan(self) -> None:
        if self.planned is not None and not self.planned.get("run"):
            # the jobs' outputs are up to date, regardless of the store
            self._left = {}
        self._seconds = self._work()

    @property
    def figures_left(self) -> int:
        """The number of planned figures that are not drawn yet."""
        return (self.planned or {}).get("publish", 0) - len(self.finished)

    def _work(self) -> float:
        """Return the estimated seconds of the remaining work: cells, and judging, drawing and copying figures."""
        planned = self.planned or {}
        steps = planned.get("total", 0) - planned.get("run", 0)
        figures = planned.get("publish", 0) * FIGURE_SECONDS
        return sum(self._left.values()) + (figures * (1 - self._steps / steps) if steps else 0.0)

    def _cells(self, job: Job) -> Mapping[str, float]:
        return self._workload.missing.get(job, {})

    def _drop(self, keys: Iterable[str]) -> None:
        for key in list(keys):
            self._left.pop(key, None)

    def _finish(self, job: _Running | None) -> None:
        if job is None:
            return
        if (cells := job.cells_job) is not None:
            self._drop(self._cells(cells))
        else:
            self._steps += 1
        if job.rule == "publish":
            paper, name = job.wildcards["paper"], job.wildcards["figure"]
            figure = f"{paper}/{name}"
            self.finished.append(figure)
            verdicts = read_verdicts(self._root / "results" / self._preset / figure)
            outcome = tally(verdict.verdict for verdict in verdicts) if verdicts else "no claims"
            self._console.line(f"{figure:{self._width}}  {outcome}  figures/{figure}.png")

    def _fail(self, job: _Running | None, event: JsonObject) -> None:
        job = job or _Running(event["rule_name"], {})
        self.failed.append(job.name)
        where = "".join(f"; its log: {log}" for log in event["log"])
        explanations = [_error_in(self._root / log, job.begun) for log in event["log"]]
        messages = [text for text, _ in explanations if text]
        if not any(explained for _, explained in explanations):
            messages.append(self._said)
        self._console.problem("\n".join([f"{job.name} failed{where}", *messages]))


def rounded(seconds: float) -> str:
    """Return a duration as text, without false precision.

    >>> [rounded(s) for s in (7, 100, 1000, 5000, 30000)]
    ['less than a minute', 'about 2 min', 'about 15 min', 'about 1 h 25 min', 'about 8 h 30 min']
    """
    if seconds < 60:
        return "less than a minute"
    step = next(step for below, step in _STEPS if seconds < below)
    return f"about {duration(round(seconds / step) * step)}"


def _error_in(log: Path, begun: float) -> tuple[str, bool]:
    """Return the explanation of a failure in a job's log, and whether it is an error message or traceback.

    Otherwise it is the log's last lines, or empty if the job did not write to the log.
    """
    try:
        # one second of tolerance, since file systems round times
        if log.stat().st_mtime < begun - 1:
            return "", False
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return "", False
    for beginning in ("error: ", "Traceback "):
        for number, line in enumerate(lines):
            if line.startswith(beginning):
                return "\n".join(lines[number:]), True
    return "\n".join(lines[-_LINES:]), False
