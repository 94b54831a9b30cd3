"""The command line: what is given to it, what it refuses, and how it calls Snakemake."""

import json
import os
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
from snakemake.cli import parse_config

from scaling_limits import __version__
from scaling_limits.audit.table import write_verdicts
from scaling_limits.audit.verdicts import Verdict
from scaling_limits.commands import workflow
from scaling_limits.commands.given import Given, chosen, words_of
from scaling_limits.commands.main import main
from scaling_limits.configuration import load
from scaling_limits.configuration.trees import Origin, located, plain
from scaling_limits.errors import ConfigurationError
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


@pytest.fixture(name="called")
def _called(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Instead of a process that is started, its arguments and its folder; it ends as 0."""
    calls: list[Any] = []

    def start(command: list[str], cwd: Path) -> Any:
        assert command[:3] == [sys.executable, "-m", "snakemake"]
        calls.append((command[3:], Path(cwd).resolve()))
        return SimpleNamespace(wait=lambda: 0)

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


def keys(given: Given) -> list[str]:
    return [cell_key(cell) for cell in given.configuration().cells("toy", "transfer")]


def test_a_change_is_one_however_it_is_given(project: Path) -> None:
    file = project / "more.yaml"
    content = {"preset": "small", **_nested(RATES, [0.5, 1e-3])}
    file.write_text(yaml.safe_dump(content), encoding="utf-8")
    ways = [
        Given(project, (file,)),
        Given(project, words=words_of([f"{RATES}=[0.5, 1e-3]", "preset=small"])),
        Given(project, words=words_of([f"{k}={json.dumps(v)}" for k, v in content.items()])),
        Given(project, words=words_of([f"{RATES}=[0.5, 0.001]"])).having("preset", "small", "-"),
    ]
    for given in ways:
        assert keys(given) == keys(ways[0])
        # what Snakemake makes of the arguments that it would be given
        words = given.for_snakemake()
        if "--config" in words:
            configuration = load(project, parse_config(words[1:]))
            assert [cell_key(c) for c in configuration.cells("toy", "transfer")] == keys(ways[0])
    assert keys(Given(project)) != keys(ways[0])


def test_words_win_over_files_and_later_files_over_earlier_ones(project: Path) -> None:
    files = []
    for name, content in (
        ("a", {"resources": {"mem_mb": 4000}, **_nested(RATES, [1])}),
        ("b", _nested(RATES, [0.5, 0.25])),
    ):
        files.append(project / f"{name}.yaml")
        files[-1].write_text(yaml.safe_dump(content), encoding="utf-8")
    found = Given(project, tuple(files))
    assert found.configuration().main.resources.mem_mb == 4000
    assert keys(found) == keys(Given(project, words=words_of([f"{RATES}=[0.5, 0.25]"])))
    words = words_of(["resources.mem_mb=5000", f"{RATES}=0.1", "resources.mem_mb=6000"])
    found = Given(project, tuple(files), words)
    assert found.configuration().main.resources.mem_mb == 6000
    assert keys(found) == keys(Given(project, words=words_of([f"{RATES}=0.1"])))


def _nested(key: str, value: Any) -> Any:
    for part in reversed(key.split(".")):
        value = {part: value}
    return value


def test_values_are_read_as_snakemake_reads_those_of_config() -> None:
    for word in (
        "accept_source=[1234567890123456]",
        "data={path: ../d}",
        'data={"path": "a: \\"b\\" \\\\ μ"}',
        "data=",
        "data={path: null}",
    ):
        given = Given(Path(), words=words_of([word]))
        _, *handed_on = given.for_snakemake()
        assert load_words(parse_config(handed_on)) == load_words(parse_config([word]))


def load_words(config: dict[str, Any]) -> Any:
    """Text and nulls as the configuration takes them."""
    return plain(located(config, Origin("")), nulls=True)


@pytest.mark.parametrize("entry", ["novalue", "=x", "data..path=x", ".=x", "data={path"])
def test_a_change_of_another_form_is_refused(entry: str) -> None:
    with pytest.raises(ConfigurationError, match="^--set " + entry.replace(".", r"\.")):
        words_of([entry])


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


COMMANDS = (
    ["run"],
    ["show", "toy/fig1"],
    ["estimate"],
    ["store", "list"],
    ["store", "prune", "--yes"],
    ["audit"],
    ["report"],
    ["power", "small"],
)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_takes_changes_and_refuses_wrong_ones(
    project: Path, called: list[Any], tmp_path: Path, command: list[str]
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
    "command", [each for each in COMMANDS if each[0] not in ("store", "power")]
)
def test_a_wrong_preset_is_refused(called: list[Any], project: Path, command: list[str]) -> None:
    assert "unknown preset 'smal'; did you mean 'small'" in say(
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
    project: Path, called: list[Any], fault: str
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
    project: Path, called: list[Any], command: str, name: str
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


def test_run_names_what_snakemake_makes(project: Path, called: list[Any]) -> None:
    everything = ["figures", "results/whole/audit.json"]
    assert "results/whole/audit.md" in say("run")
    say("run", "toy/fig1", "-n", "--cores", "4", "--", "--forcerun", "draw", "--", "x")
    say("run", "toy", "toy/fig1", "--directory", str(project.parent / "project"))
    further = ["--dry-run", "--cores", "4", "--forcerun", "draw", "--", "x"]
    assert called == [
        ([*everything, *QUIET], project),
        ([*FILES, *QUIET, *further], project),
        (["toy", *FILES, *QUIET], project),
    ]


def test_changes_are_handed_on(
    project: Path, called: list[Any], monkeypatch: pytest.MonkeyPatch
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
        *QUIET,
    ]


def test_run_says_where_pictures_are_and_what_their_claims_came_to(
    project: Path, called: list[Any]
) -> None:
    drawn(project, "toy/fig1", judged("holds"), judged("fails", "known"), judged("untested"))
    drawn(project, "toy/fig2")
    assert say("run", "toy").splitlines() == [
        "figures/toy/fig1.png",
        "  holds     It holds.",
        "  fails (registered)  It fails.",
        "  untested  It untested.",
        "            (so it is)",
        "figures/toy/fig2.png",
    ]
    assert say("run", "toy", "-n") == ""


def test_the_exit_code_is_that_of_snakemake(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn(project, "toy/fig1", judged("holds"))
    monkeypatch.setattr(workflow, "snakemake", lambda *_: 3)
    for command in ("run", "audit", "report"):
        assert say(command, code=3) == ""


def test_the_audit_may_judge_what_is_there(project: Path, called: list[Any]) -> None:
    say("audit")
    say("audit", "toy", "--stored", "--", "--cores", "1")
    assert [words for words, _ in called] == [
        ["audit", *QUIET],
        ["audit/toy", "--config", 'audit="stored"', *QUIET, "--cores", "1"],
    ]
    assert "unknown paper 'toy/fig1'; did you mean 'toy'" in say("audit", "toy/fig1", code=1)


def test_the_report_is_of_what_is_there(project: Path, called: list[Any]) -> None:
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
        "import signal, sys, time; signal.signal(15, lambda *_: sys.exit(7)); print(flush=True)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program + "; time.sleep(60)"], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.readline()
    with process, workflow._signals_left_to(process):
        os.kill(os.getpid(), number)
        time.sleep(0.05)
        if number == signal.SIGINT:
            assert process.poll() is None
            process.terminate()
        assert process.wait() == 7
