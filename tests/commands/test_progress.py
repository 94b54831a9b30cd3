"""Lines and progress of a run."""

import io
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from scaling_limits.commands import console, progress
from scaling_limits.commands.console import Console
from scaling_limits.commands.following import started
from scaling_limits.commands.progress import Progress, rounded
from scaling_limits.commands.workload import Workload
from scaling_limits.store import Store

JOB = ("toy", "transfer", "job-0")
PLAN = {"event": "run_info", "stats": {"run": 1, "draw": 1, "publish": 1, "total": 3}}
RUN = {
    "event": "job_info",
    "jobid": 1,
    "rule_name": "run",
    "wildcards": dict(zip(("paper", "experiment", "job"), JOB, strict=True)),
}
FIGURE = {"paper": "toy", "figure": "fig1"}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that have passed."""
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def info(number: int, rule: str) -> dict[str, Any]:
    return {"event": "job_info", "jobid": number, "rule_name": rule, "wildcards": FIGURE}


def done(number: int) -> dict[str, Any]:
    return {"event": "job_finished", "job_id": number}


def test_progress_is_of_the_whole_run(
    tmp_path: Path, clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "FIGURE_SECONDS", 20.0)
    store = Store(tmp_path / "shared")
    run = Progress(tmp_path, "whole", [("toy", "fig1"), ("toy", "fig2")], store, Console())
    assert run.text() == "planning"
    run.expect(Workload(8, {JOB: {f"{number:016x}": 10.0 for number in range(4)}}))
    run.handle(PLAN)
    # one figure and four cells are there
    assert run.text() == "1 of 2 figures, 4 of 8 cells"
    run.handle(RUN)
    clock[0] = 120.0
    run.update()
    assert run.text() == "1 of 2 figures, 4 of 8 cells"
    for number in range(3):
        path = store.path(f"{number:016x}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    run.update()
    # half of the sixty seconds' work took two minutes
    assert run.text() == "1 of 2 figures, 7 of 8 cells, about 2 min left"
    run.handle(done(1))
    run.handle(info(2, "draw"))
    run.handle(done(2))
    assert run.text() == "1 of 2 figures, 8 of 8 cells, less than a minute left"
    run.handle(info(3, "publish"))
    run.handle(done(3))
    assert run.text().startswith("2 of 2 figures, 8 of 8 cells")
    assert run.finished == ["toy/fig1"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (59, "less than a minute"),
        (61, "about 1 min"),
        (1234, "about 20 min"),
        (6000, "about 1 h 40 min"),
        (20_000, "about 5 h 30 min"),
        (200_000, "about 2 d 8 h"),
    ],
)
def test_the_time_left_is_round(seconds: float, text: str) -> None:
    assert rounded(seconds) == text


def test_on_a_terminal_progress_is_redrawn_in_place(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "20")
    shown = Console()
    shown.progress("1 of 2 figures")
    shown.progress("1 of 2 figures")
    shown.line("toy/fig1")
    shown.progress("2 of 2 figures, 10 of 10 cells")
    shown.clear()
    erased = "\r\033[K"
    assert terminal.getvalue() == f"1 of 2 figures{erased}2 of 2 figures, 10 {erased}"
    assert capsys.readouterr().out == "toy/fig1\n"


def test_elsewhere_progress_is_a_line_a_minute(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    shown = Console()
    for seconds in range(0, 150, 10):
        clock[0] = float(seconds)
        shown.progress(f"at {seconds} s")
    assert console.SECONDS_BETWEEN_LINES == 60
    assert capsys.readouterr().err == "at 60 s\nat 120 s\n"


SENDS = """
import os, sys
pipe = int(sys.argv[sys.argv.index("--logger-scaling-limits-pipe") + 1])
os.write(pipe, b'{"event": "a"}\\n{"eve')
print("warning: one", file=sys.stderr)
print("chatter", file=sys.stderr, flush=True)
os.write(pipe, b'nt": "b"}\\n')
sys.exit(5)
"""


def test_a_process_is_followed_to_its_end(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "run.log"
    for _ in range(2):
        events, warnings = [], []
        command = [sys.executable, "-c", SENDS]
        with started(command, ["--last"], tmp_path, log) as followed:
            running = True
            while running:
                running = followed.wait()
                events += followed.events()
                warnings += followed.warnings()
        assert events == [{"event": "a"}, {"event": "b"}]
        assert warnings == ["warning: one"]
        assert followed.process.returncode == 5
        assert log.read_text() == "warning: one\nchatter\n"


def test_the_plugin_sends_events_and_outlives_its_reader() -> None:
    import logging

    from snakemake_logger_plugin_scaling_limits import LogHandler, LogHandlerSettings

    reading, sent = os.pipe()
    handler = LogHandler(None, LogHandlerSettings(pipe=sent))  # type: ignore[arg-type]
    record = logging.makeLogRecord({"msg": "Finished", "event": "job_finished", "job_id": 3})
    handler.emit(record)
    handler.emit(logging.makeLogRecord({"msg": "chatter"}))
    (line,) = os.read(reading, 1000).splitlines()
    assert json.loads(line) == {"event": "job_finished", "message": "Finished", "job_id": 3}
    os.close(reading)
    handler.emit(record)
    handler.close()
