"""The command line: what is given to it, what it refuses, and how it calls Snakemake."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from PIL import Image
from snakemake.cli import parse_config

from scaling_limits import __version__
from scaling_limits.audit.register import Register
from scaling_limits.audit.table import collect, write_verdicts
from scaling_limits.audit.verdicts import Verdict
from scaling_limits.commands import workflow
from scaling_limits.commands.following import started
from scaling_limits.commands.invocation import Invocation, chosen, overrides_of
from scaling_limits.commands.main import main
from scaling_limits.commands.signals import signals_left_to
from scaling_limits.configuration import load
from scaling_limits.configuration.trees import Origin, located, plain
from scaling_limits.errors import ConfigurationError
from scaling_limits.pipeline import judging
from scaling_limits.pipeline.keys import cell_key
from toys import FIGURE, PAPER, as_yaml, merged, write_project

WHOLE = merged(PAPER, {"transfer": {"figures": {"fig2": FIGURE}}})
RATES = "papers.toy.experiments.transfer.learning_rate"


@pytest.fixture(name="project")
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a small project, which is the present one."""
    root = write_project(tmp_path / "project", preset={"caps": {"seeds": 1}}, paper=WHOLE)
    monkeypatch.chdir(root)
    return root


class Calls(list[Any]):
    """The arguments and the folder of each Snakemake process; `events` are what it sends, `printed` what it prints."""

    events: tuple[dict[str, Any], ...] = (
        {"event": "workflow_started"},
        {"event": "run_info", "stats": {"publish": 1, "total": 1}},
    )
    printed = ""
    code = 0


@pytest.fixture(name="called")
def _called(monkeypatch: pytest.MonkeyPatch) -> Calls:
    """Instead of a process that is started, its arguments and its folder; it ends at once."""
    calls = Calls()

    def start(
        command: list[str], cwd: Path, stderr: Any = None, pass_fds: Any = (), **_: Any
    ) -> Any:
        # a module of the project's folder is not imported in place of another one
        assert command[:4] == [sys.executable, "-P", "-m", "snakemake"]
        words = command[4:]
        if pass_fds:
            options = ["--logger", "scaling-limits", "--logger-scaling-limits-pipe"]
            begin = words.index("--logger")
            assert words[begin : begin + 4] == [*options, str(pass_fds[0])]
            del words[begin : begin + 4]
            sent = "".join(json.dumps(event) + "\n" for event in calls.events)
            os.write(pass_fds[0], sent.encode())
            os.write(stderr.fileno(), calls.printed.encode())
        calls.append((words, Path(cwd).resolve()))
        code = calls.code
        return SimpleNamespace(wait=lambda: code, poll=lambda: code, returncode=code)

    monkeypatch.setattr(subprocess, "Popen", start)
    return calls


def say(*words: str, code: int = 0) -> str:
    """What a command prints, a user's error included."""
    done = CliRunner().invoke(main, words)
    assert done.exit_code == code, done.output
    assert done.exception is None or isinstance(done.exception, SystemExit)
    return done.output


def drawn(root: Path, figure: str, *verdicts: Verdict) -> None:
    folder = root / "results" / "whole" / figure
    folder.mkdir(parents=True)
    (folder / workflow.PAGE).touch()
    write_verdicts(folder, verdicts)


def judged(outcome: str, registered: str | None = None) -> Verdict:
    words = {"statement": f"It {outcome}.", "source": "none", "detail": "so it is"}
    return Verdict(
        paper="toy", figure="fig1", claim="it", verdict=outcome, registered=registered, **words
    )


# what is given


def test_it_says_its_version() -> None:
    assert say("--version") == f"scaling-limits, version {__version__}\n"


def keys(given: Invocation) -> list[str]:
    return [cell_key(cell) for cell in given.configuration().cells("toy", "transfer")]


def test_a_change_is_one_however_it_is_given(project: Path) -> None:
    file = project / "more.yaml"
    content = {"preset": "small", **_nested(RATES, [0.5, 1e-3])}
    file.write_text(yaml.safe_dump(content), encoding="utf-8")
    ways = [
        Invocation(project, (file,)),
        Invocation(project, overrides=overrides_of([f"{RATES}=[0.5, 1e-3]", "preset=small"])),
        Invocation(
            project, overrides=overrides_of([f"{k}={json.dumps(v)}" for k, v in content.items()])
        ),
        Invocation(project, overrides=overrides_of([f"{RATES}=[0.5, 0.001]"])).having(
            "preset", "small", "-"
        ),
    ]
    for given in ways:
        assert keys(given) == keys(ways[0])
        # what Snakemake makes of the arguments that it would be given
        words = given.for_snakemake()
        if "--config" in words:
            configuration = load(project, parse_config(words[1:]))
            assert [cell_key(c) for c in configuration.cells("toy", "transfer")] == keys(ways[0])
    assert keys(Invocation(project)) != keys(ways[0])


def test_words_win_over_files_and_later_files_over_earlier_ones(project: Path) -> None:
    files = []
    for name, content in (
        ("a", {"resources": {"mem_mb": 4000}, **_nested(RATES, [1])}),
        ("b", _nested(RATES, [0.5, 0.25])),
    ):
        files.append(project / f"{name}.yaml")
        files[-1].write_text(yaml.safe_dump(content), encoding="utf-8")
    found = Invocation(project, tuple(files))
    assert found.configuration().main.resources.mem_mb == 4000
    assert keys(found) == keys(
        Invocation(project, overrides=overrides_of([f"{RATES}=[0.5, 0.25]"]))
    )
    words = overrides_of(["resources.mem_mb=5000", f"{RATES}=0.1", "resources.mem_mb=6000"])
    found = Invocation(project, tuple(files), words)
    assert found.configuration().main.resources.mem_mb == 6000
    assert keys(found) == keys(Invocation(project, overrides=overrides_of([f"{RATES}=0.1"])))


def _nested(key: str, value: Any) -> Any:
    for part in reversed(key.split(".")):
        value = {part: value}
    return value


def test_values_are_read_as_snakemake_reads_those_of_config() -> None:
    for word in (
        "papers={toy: [1234567890123456]}",
        "data={path: ../d}",
        'data={"path": "a: \\"b\\" \\\\ μ"}',
        "data=",
        "data={path: null}",
    ):
        given = Invocation(Path(), overrides=overrides_of([word]))
        _, *handed_on = given.for_snakemake()
        assert load_words(parse_config(handed_on)) == load_words(parse_config([word]))


def load_words(config: dict[str, Any]) -> Any:
    """Text and nulls as the configuration takes them."""
    return plain(located(config, Origin("")), nulls=True)


@pytest.mark.parametrize("entry", ["novalue", "=x", "data..path=x", ".=x", "data={path"])
def test_a_change_of_another_form_is_refused(entry: str) -> None:
    with pytest.raises(ConfigurationError, match="^--set " + entry.replace(".", r"\.")):
        overrides_of([entry])


def test_show_says_where_each_change_is_from(project: Path) -> None:
    content = yaml.safe_dump(_nested(RATES, 0.5))
    (project / "more.yaml").write_text(f"preset: small\n{content}", encoding="utf-8")
    text = say("show", "toy/fig1", "--configfile", "more.yaml", "--set", RATES + "=[0.1]")
    assert "toy/fig1, preset small" in text
    assert [line.split()[-1] for line in text.splitlines() if "learning_rate " in line][
        -1
    ] == "--set"
    text = say("show", "toy/fig1", "--configfile", "more.yaml", "--preset", "whole")
    assert "toy/fig1, preset whole" in text
    assert " more.yaml:6" in text


def test_show_gives_the_dataset_that_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paper = merged(PAPER, {"transfer": {"dataset": "mnist"}})
    preset = {"substitutions": {"mnist": "digits"}}
    monkeypatch.chdir(write_project(tmp_path / "project", preset=preset, paper=paper))

    def dataset(preset: str) -> list[str]:
        lines = say("show", "toy/fig1", "--preset", preset).splitlines()
        (words,) = [line.split() for line in lines if line.split()[:1] == ["dataset"]]
        return words[1:]

    place, *way = dataset("whole")[1:]
    assert dataset("whole") == ["mnist", place, *way]
    assert place.startswith("config/papers/toy/transfer.yaml:")
    assert dataset("small") == ["digits", place, "(in", "place", "of", "mnist)"]


COMMANDS = (
    ["run"],
    ["show", "toy/fig1"],
    ["estimate"],
    ["store", "list"],
    ["store", "prune", "--yes"],
    ["audit"],
    ["report"],
    ["power", "small"],
    ["export", "small", "small.zip"],
    ["import", "small.zip"],
)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_takes_changes_and_refuses_wrong_ones(
    project: Path, called: Calls, tmp_path: Path, command: list[str]
) -> None:
    (project / "more.yaml").write_text("resources: {memmb: 1}\n", encoding="utf-8")
    for words, said in (
        (["--set", "dta.path=x"], "error: --set: dta: unknown key 'dta'; did you mean 'data'"),
        (["--set", "data"], "error: --set data: should be KEY=VALUE"),
        (["--configfile", "more.yaml"], "error: more.yaml:1: resources.memmb: unknown key"),
        (["--configfile", "none.yaml"], "error: none.yaml: cannot be read"),
        (["--directory", str(tmp_path)], "run in the project's folder, or with --directory DIR"),
    ):
        assert said in say(*command, *words, code=1)
    assert called == []


@pytest.mark.parametrize(
    "command",
    [each for each in COMMANDS if each[0] not in ("store", "power", "export", "import")],
)
def test_a_wrong_preset_is_refused(called: Calls, project: Path, command: list[str]) -> None:
    assert "error: --preset: unknown preset 'smal'; did you mean 'small'" in say(
        *command, "--preset", "smal", code=1
    )


OWN_FILE: dict[str, Any] = {
    **PAPER["transfer"],
    "quantities": PAPER["paper"]["quantities"],
    "grids": {"main": {"width": [8, 16]}},
    "figures": {"sound": FIGURE, "heir": {"extends": "sound", "title": "An heir"}},
}
# each of them is in the way of another step: reading, words, own parts, settings, figures
BROKEN = {
    "no YAML": "description: [\n",
    "no mapping": "- sound\n",
    "no such word": {**OWN_FILE, "grid": {}},
    "no such file of data": {**OWN_FILE, "data": {"datasets": {"mine": "mine.npz"}}},
    "no such setting": {**OWN_FILE, "widht": 3},
    "no such grid": merged(
        OWN_FILE, {"figures": {"broken": merged(FIGURE, {"plot": {"quantity": "los"}})}}
    ),
    "a link that leads nowhere": None,
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_file_of_ones_own_that_is_wrong_stops_itself_only(
    project: Path, called: Calls, fault: str
) -> None:
    folder = project / "config/experiments"
    folder.mkdir()
    (folder / "sound.yaml").write_text(as_yaml(OWN_FILE), encoding="utf-8")
    file, content = folder / "broken.yaml", BROKEN[fault]
    if content is None:
        file.symlink_to("nowhere")
    else:
        if isinstance(content, dict):
            figures = {"broken": content["figures"].get("broken", FIGURE)}
            content = as_yaml({**content, "figures": figures})
        file.write_text(content, encoding="utf-8")
    said = "left out: config/experiments/broken.yaml"
    for command in (["estimate"], ["store", "list"], ["store", "prune", "--yes"]):
        assert say(*command).count(said) == 1, command
    for command in (["estimate"], ["run"], ["show"]):
        for figure in ("toy/fig1", "own/sound", "own/heir"):
            assert said not in say(*command, figure)
        if fault not in ("no YAML", "no mapping", "a link that leads nowhere"):
            assert "error: config/experiments/broken.yaml" in say(*command, "own/broken", code=1)
    say("run")
    assert "error: config/experiments/broken.yaml" in say("estimate", "own", code=1)


@pytest.mark.parametrize("name", ["toy/fig11", "toyy", "toy/fig1/png"])
@pytest.mark.parametrize("command", ["run", "estimate", "show", "report"])
def test_unknown_figures_are_refused_with_the_nearest(
    project: Path, called: Calls, command: str, name: str
) -> None:
    if (command, name) != ("show", "toyy"):
        assert "; did you mean '" in say(command, name, code=1)
    assert called == []


def test_figures_are_chosen_by_name_or_paper(project: Path) -> None:
    configuration = load(project)
    every = [("toy", "fig1"), ("toy", "fig2")]
    assert chosen(configuration, []) == chosen(configuration, ["toy"]) == every
    assert chosen(configuration, ["toy/fig2", "toy"]) == every[::-1]


def test_show_and_estimate_load_no_jax(project: Path) -> None:
    program = (
        "import sys; from scaling_limits.commands.main import main\n"
        "main(sys.argv[1:], standalone_mode=False); assert not {'jax', 'pandas'} & set(sys.modules)"
    )
    for command in ("show", "estimate"):
        words = [sys.executable, "-c", program, command, "toy/fig1"]
        subprocess.run(words, check=True, capture_output=True)


# how Snakemake is called


FILES = [f"figures/toy/fig1.{ending}" for ending in ("png", "pdf", "svg")]
QUIET = ["--quiet", "rules"]
RUN_QUIET = [*QUIET, "host"]


def test_run_names_what_snakemake_makes(project: Path, called: Calls) -> None:
    everything = ["figures", "results/whole/audit.json"]
    assert "results/whole/audit.md" in say("run")
    say("run", "toy/fig1", "-n", "--cores", "4", "--", "--forcerun", "draw", "--", "x")
    say("run", "toy", "toy/fig1", "--directory", str(project.parent / "project"))
    further = ["--dry-run", "--cores", "4", "--forcerun", "draw", "--", "x"]
    assert called == [
        ([*everything, *RUN_QUIET], project),
        ([*FILES, *RUN_QUIET, *further], project),
        (["toy", *FILES, *RUN_QUIET], project),
    ]


def test_snakemake_s_log_is_shown_by_an_option(project: Path, called: Calls) -> None:
    say("run", "toy/fig1", "--verbose")
    assert called == [([*FILES, *QUIET], project)]


def test_a_quiet_run_prints_problems_only(project: Path, called: Calls) -> None:
    drawn(project, "toy/fig1", judged("holds"))
    called.events = (*called.events, publish(1, "fig1"), finished(1))
    called.printed = "warning: a label is too long\n"
    assert say("run", "toy/fig1", "--quiet") == "warning: a label is too long\n"
    for other in ("--verbose", "--dry-run"):
        said = say("run", "--quiet", other, code=2)
        assert f"--quiet and {other} exclude each other" in said


def test_changes_are_handed_on(
    project: Path, called: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project.parent / "more.yaml").write_text("resources: {mem_mb: 4000}\n", encoding="utf-8")
    monkeypatch.chdir(project.parent)
    given = ["--directory", "project", "--configfile", "more.yaml", "--preset", "small"]
    say("run", *given, "--set", "data.downloads=d", "--set", "preset=other")
    ((words, folder),) = called
    assert folder == project
    assert words == [
        *("figures", "results/small/audit.json"),
        *("--config", 'data={"downloads": "d"}', 'preset="small"'),
        *("--configfile", str(project.parent / "more.yaml")),
        *RUN_QUIET,
    ]


def job(number: int, rule: str, log: str = "", **wildcards: str) -> dict[str, Any]:
    return {
        "event": "job_info",
        "jobid": number,
        "rule_name": rule,
        "wildcards": wildcards,
        "log": [log] if log else [],
    }


def finished(number: int) -> dict[str, Any]:
    return {"event": "job_finished", "job_id": number}


def publish(number: int, figure: str) -> dict[str, Any]:
    return job(number, "publish", paper="toy", figure=figure)


def test_run_prints_a_line_for_each_figure_then_its_verdicts_page_and_folder(
    project: Path, called: Calls
) -> None:
    drawn(project, "toy/fig1", judged("holds"), judged("fails", "known"), judged("inconclusive"))
    drawn(project, "toy/fig2")
    called.events = (
        *called.events,
        publish(1, "fig1"),
        finished(1),
        publish(2, "fig2"),
        finished(2),
    )
    folder = "results/whole/toy"
    assert say("run", "toy").splitlines() == [
        "toy/fig1  1 holds, 1 fails, 1 inconclusive  figures/toy/fig1.png",
        "toy/fig2  no claims  figures/toy/fig2.png",
        "toy/fig1",
        "  holds     It holds.",
        "  fails (registered)  It fails.",
        "  inconclusive  It inconclusive.",
        "            (so it is)",
        "  picture   figures/toy/fig1.png",
        f"  page      {folder}/fig1/summary.html",
        f"  folder    {folder}/fig1/",
        "toy/fig2",
        "  picture   figures/toy/fig2.png",
        f"  page      {folder}/fig2/summary.html",
        f"  folder    {folder}/fig2/",
        "All figures: results/whole/index.html",
    ]


def test_a_partial_run_lists_what_was_drawn(project: Path, called: Calls) -> None:
    drawn(project, "toy/fig1", judged("holds"))
    picture = project / "results/whole/toy/fig1/figure.png"
    Image.new("RGB", (4, 4)).save(picture)
    picture.with_name("figure.json").write_text('{"title": "What it shows"}')
    index = project / "results/whole/index.html"
    say("run", "toy/fig1")
    # nothing was drawn
    assert not index.exists()
    called.events = (*called.events, publish(1, "fig1"), finished(1))
    say("run", "toy/fig1")
    page = index.read_text("utf-8")
    for text in (
        "1 of 2 figures drawn at the preset whole",
        "What it shows",
        "1 hold",
        "It holds.",
    ):
        assert text in page
    assert "fig2" not in page
    assert not index.with_name("report_index.html").exists()
    # a whole run that fails writes it as well
    index.unlink()
    called.code = 1
    say("run", code=1)
    assert index.exists()


def test_a_run_with_nothing_to_do_says_so(project: Path, called: Calls) -> None:
    called.events = called.events[:1]
    said = "Nothing to do: all 2 figures are drawn at the preset whole.\n"
    assert say("run", "-n") == said
    assert say("run").startswith(said)
    assert "toy/fig2 is drawn at the preset whole" in say("run", "toy/fig2", "-n")


def test_a_dry_run_counts_the_cells_to_compute(project: Path, called: Calls) -> None:
    cells = load(project).cells("toy", "transfer")
    run = job(1, "run", paper="toy", experiment="transfer", job="job-0")
    called.events = (*called.events, run, publish(2, "fig1"))
    count = len(cells)
    assert say("run", "toy/fig1", "-n") == (
        f"Would compute {count} of {count} cells and draw 1 of 1 figures: toy/fig1.\n"
    )
    stored = project / "results/cells" / cell_key(cells[0])[:2] / f"{cell_key(cells[0])}.cell"
    stored.parent.mkdir(parents=True)
    stored.touch()
    assert f"compute {count - 1} of {count} cells and draw 1 of 2 figures: toy/fig1." in say(
        "run", "-n"
    )
    # no job is planned: its output is there, whatever the store holds
    called.events = (*called.events[:2], publish(2, "fig1"))
    assert f"compute 0 of {count} cells" in say("run", "-n")
    assert not (project / "logs").exists()


ERROR = "error: cannot draw\nThe notebook as far as it got: failed.ipynb"


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (f"1/3 cells\n{ERROR}\n", ERROR),
        ("1/3 cells\nTraceback (most recent call last):\n  x\nKeyError: 1\n", "KeyError: 1"),
        ("1/3 cells\n", "1/3 cells\ndied with SIGKILL"),
        (None, "died with SIGKILL"),
    ],
    ids=["message", "traceback", "killed", "of an earlier run"],
)
def test_errors_of_a_job_are_shown_with_its_log(
    project: Path, called: Calls, written: str | None, shown: str
) -> None:
    log = project / "draw.log"
    log.write_text(written or ERROR)
    if written is None:
        os.utime(log, (0, 0))
    failed = {"event": "job_error", "jobid": 1, "rule_name": "draw", "log": ["draw.log"]}
    called.events = (
        *called.events,
        job(1, "draw", "draw.log", paper="toy", figure="fig1"),
        {"event": "error", "message": "died with SIGKILL"},
        failed,
    )
    called.code = 3
    text = say("run", "toy/fig1", code=3)
    assert text.startswith("toy/fig1 (draw) failed; its log: draw.log\n")
    assert shown in text
    assert ("cannot draw" in text) == (written is not None and ERROR in written)
    assert ("SIGKILL" in text) == ("SIGKILL" in shown)
    assert text.endswith("1 of 1 figures were not drawn; full log: logs/whole/snakemake.log\n")


def test_what_snakemake_says_is_shown_where_no_job_failed(project: Path, called: Calls) -> None:
    called.printed = "LockException: locked\n"
    # refused with a plan, before one, and something else than figures asked for
    for events, code in ((called.events, 1), (called.events[:1], 1), ((), 1), ((), 0)):
        called.events, called.code = events, code
        text = say("run", "toy/fig1", "--", "--unlock", code=code)
        assert text.startswith("LockException: locked\n")
        assert (project / "logs/whole/snakemake.log").read_text() == called.printed
        assert "Nothing to do" not in text


def test_warnings_of_jobs_are_shown(project: Path, called: Calls) -> None:
    called.printed = "1/2 cells\nwarning: left out: mine.yaml\nselect jobs\n"
    assert say("run", "toy/fig1").startswith("warning: left out: mine.yaml\ntoy/fig1\n")


def test_the_exit_code_is_that_of_snakemake(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn(project, "toy/fig1", judged("holds"))
    monkeypatch.setattr(workflow, "snakemake", lambda *_: 3)
    for command in (["run", "--verbose"], ["report"]):
        assert say(*command, code=3) == ""


@pytest.mark.parametrize("target", [(), ("toy",), ("toy/fig1",)])
def test_nothing_is_judged_if_computing_fails(
    project: Path, called: Calls, target: tuple[str, ...]
) -> None:
    called.code, called.printed = 3, "LockException: locked\n"
    assert say("audit", *target, code=3) == "LockException: locked\n"
    assert len(called) == 1


def test_the_audit_may_judge_what_is_there(
    project: Path, called: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One process of Snakemake computes what is missing; this one judges."""
    asked = []

    def audited(_: Any, figures: Any, root: Path, written: Path, **how: bool) -> Any:
        asked.append((len(figures), written, *how.values()))
        return collect("whole", []), ["it fails"] if how["complete"] else []

    monkeypatch.setattr(judging, "audited", audited)
    monkeypatch.setattr("scaling_limits.commands.audit_command.print_table", lambda _: None)
    assert say("audit", code=1) == "it fails\n"
    say("audit", "toy", "--", "--cores", "1")
    say("audit", "toy", "--stored", "--", "--cores", "1")
    say("audit", "--stored", "--allow-missing")
    every, toy = (f"results/whole/{name}audit.json" for name in ("", "toy/"))
    stored = ["--config", 'audit="stored"']
    assert [words for words, _ in called] == [
        [every, *RUN_QUIET],
        [toy, *RUN_QUIET, "--cores", "1"],
        [toy, *stored, *RUN_QUIET, "--cores", "1"],
        [every, *stored, 'allow_missing="true"', *RUN_QUIET],
    ]
    # (figures, what the records are compared with, whether all figures, whether some may be missing)
    assert [(count, path.name, *how) for count, path, *how in asked] == [
        (2, "audit.json", True, False),
        (2, "audit.json", False, False),
        (2, "audit.json", False, False),
        (2, "audit.json", False, True),
    ]
    assert "--allow-missing: without --stored" in say("audit", "--allow-missing", code=1)
    assert "unknown figure 'fig11'; did you mean 'fig1'" in say("audit", "toy/fig11", code=1)


def test_the_audit_judges_a_single_figure(
    project: Path, called: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Judging from records has its own tests: here the written verdicts replace it."""
    monkeypatch.setattr(judging, "require_unchanged", lambda _: None)
    monkeypatch.setattr(
        judging, "judged", lambda preset, figures, _, **__: collect(preset, figures)
    )
    monkeypatch.setattr(Register, "read", lambda *paths: Register())
    assert "have no records" in say("audit", "toy/fig1", "--stored", code=1)
    assert say("audit", "toy/fig1", "--stored", "--allow-missing")
    claim = {
        "statement": "The loss is a number.",
        "source": "none",
        "bound": {
            "grids": "one",
            "quantity": "loss",
            "by": "learning_rate",
            "decided_at": None,
            "at_most": 1e9,
        },
    }
    file = project / "config/papers/toy/transfer.yaml"
    content = merged(WHOLE["transfer"], {"figures": {"fig1": {"claims": {"it": claim}}}})
    file.write_text(as_yaml(content), encoding="utf-8")
    drawn(project, "toy/fig1", judged("fails"))
    text = say("audit", "toy/fig1", "--stored", code=1)
    assert called == []
    assert "whole: 1 fails; 100% decided" in text
    assert text.endswith("toy/fig1 it fails: so it is\n")
    say("audit", "toy/fig1", "--", "--cores", "1", code=1)
    target = "results/whole/toy/fig1/verdicts.json"
    assert called == [([target, *RUN_QUIET, "--cores", "1"], project)]
    write_verdicts(project / "results/whole/toy/fig1", [judged("holds")])
    assert "whole: 1 holds; 100% decided" in say("audit", "toy/fig1", "--stored")


def test_figures_are_listed_in_natural_order(project: Path) -> None:
    more = dict.fromkeys(("fig10", "figS10", "figS2"), FIGURE)
    file = project / "config/papers/toy/transfer.yaml"
    file.write_text(as_yaml(merged(WHOLE["transfer"], {"figures": more})), encoding="utf-8")
    drawn(project, "toy/fig2", judged("holds"), judged("inconclusive"))
    drawn(project, "toy/figS2")
    lines = say("list").splitlines()
    assert [line.split()[0] for line in lines] == [
        *("figure", "toy/fig1", "toy/fig2", "toy/fig10", "toy/figS2", "toy/figS10")
    ]
    states = [line[len("toy/figS10") : -len(FIGURE["title"])].strip() for line in lines[1:]]
    computed = ["1 holds, 1 inconclusive", "computed, no claims"]
    none = "not computed"
    assert states == [none, computed[0], none, computed[1], none]
    assert "Valid: fig1, fig2, fig10, figS2, figS10\n" in say("show", "toy/nothing", code=1)
    assert say("list", "toy") == "\n".join(lines) + "\n"
    assert say("list", "--preset", "small").count(none) == 5
    assert "did you mean 'toy'" in say("list", "toyy", code=1)


def test_a_figure_without_its_paper_is_answered_with_the_papers_that_have_it(
    project: Path, called: Calls
) -> None:
    shutil.copytree(project / "config/papers/toy", project / "config/papers/other")
    said = "unknown figure 'fig1'; did you mean other/fig1, toy/fig1? A figure is <paper>/<figure>"
    for command in ("run", "estimate", "show", "report", "audit", "list"):
        assert said in say(command, "fig1", code=1)
    assert called == []


def test_the_report_is_of_what_is_there(project: Path, called: Calls) -> None:
    said = say("report", "toy/fig2", code=1)
    assert "none of the figures asked for was drawn at the preset whole" in said
    assert "scaling-limits run toy/fig2 --preset whole" in said
    drawn(project, "toy/fig2")
    (project / "results/whole/toy/fig1").mkdir()
    assert "results/whole/report.html (1 of 2 figures)" in say("report", "--", "--cores", "1")
    index, page = "results/whole/report_index.html", "results/whole/toy/fig2/summary.html"
    stored = ["--config", 'audit="stored"', *QUIET]
    further = ["--cores", "1"]
    assert [words for words, _ in called] == [
        [index, *stored, *further],
        [index, page, *stored, "--report", "results/whole/report.html", *further],
    ]


def test_results_are_compared(project: Path) -> None:
    for name in ("a", "b"):
        folder = project / "results" / name / "toy" / "fig1"
        folder.mkdir(parents=True)
        (folder / "provenance.json").write_text(json.dumps({"compared": {"experiment": name}}))
    assert say("diff", "a", "results/a") == "No differences.\n"
    assert say("diff", "a", "b").splitlines() == ["toy/fig1", '  experiment: "a" -> "b"']
    assert "did you mean 'a'" in say("diff", "a", "aa", code=1)


def test_the_store_is_listed_or_pruned(project: Path) -> None:
    folder = project / "results" / "cells" / "01"
    folder.mkdir(parents=True)
    left_over = folder / "0123456789abcdef.cell.1.tmp"
    left_over.touch()
    os.utime(left_over, (0, 0))
    assert "Nothing asks for 1 file, 0 B." in say("store", "list")
    assert "Nothing was removed." in say("store", "prune")
    assert left_over.exists()
    assert "Removed 1 file, 0 B." in say("store", "prune", "--yes")
    assert not left_over.exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_process_that_is_ending_is_waited_for(number: int) -> None:
    """A second signal would find it without its lock; the first one reaches it."""
    program = (
        "import signal, sys, time; signal.signal(2, lambda *_: sys.exit(7)); print(flush=True)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program + "; time.sleep(60)"], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.readline()
    with process, signals_left_to(process) as received:
        os.kill(os.getpid(), number)
        time.sleep(0.05)
        if number == signal.SIGINT:
            # a terminal interrupts both
            assert process.poll() is None
            process.send_signal(signal.SIGINT)
        assert process.wait() == 7
    assert received == [number]


def test_a_background_job_of_a_script_can_be_terminated(tmp_path: Path) -> None:
    """Its shell lets it ignore SIGINT, which Snakemake is sent to end."""
    program = "import sys, time; print('ready', file=sys.stderr, flush=True); time.sleep(60)"
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with started([sys.executable, "-c", program], [], tmp_path, tmp_path / "log") as followed:
            while not followed.printed():
                time.sleep(0.01)
            with signals_left_to(followed.process):
                os.kill(os.getpid(), signal.SIGTERM)
                assert followed.process.wait(30) == -signal.SIGINT
    finally:
        signal.signal(signal.SIGINT, before)
