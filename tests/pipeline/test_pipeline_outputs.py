"""What comes out, twice, and what is refused."""

import json
import re
import shutil
from pathlib import Path

import pytest
import yaml
from pipeline_project import CLAIM, FIGURES, SOURCE, TARGETS, Project, trained

pytestmark = [pytest.mark.pipeline, pytest.mark.xdist_group(__name__)]

FILES = (
    "cells.parquet",
    "records.parquet",
    "figure.json",
    "verdicts.json",
    "notebook.ipynb",
    "figure.png",
    "figure.svg",
    "figure.pdf",
)


def test_twice_from_scratch_byte_by_byte(template: Path, finished: Project, tmp_path: Path) -> None:
    other = Project(tmp_path / "zweiter Anlauf é")
    shutil.copytree(template, other.folder)
    other(*TARGETS)
    for paper, figure in FIGURES.items():
        for file in FILES:
            path = f"results/smoke/{paper}/{figure}/{file}"
            assert (other / path).read_bytes() == (finished / path).read_bytes(), path
        for extension in ("png", "svg", "pdf"):
            published = finished / f"figures/{paper}/{figure}.{extension}"
            drawn = finished / f"results/smoke/{paper}/{figure}/figure.{extension}"
            assert published.read_bytes() == drawn.read_bytes()
        compared = [
            json.loads((p / f"results/smoke/{paper}/{figure}/provenance.json").read_bytes())[
                "compared"
            ]
            for p in (finished, other)
        ]
        assert compared[0] == compared[1]
    assert [p.name for p in other.cells()] == [p.name for p in finished.cells()]


@pytest.mark.slow
def test_another_workflow_takes_a_figure_as_from_a_module(project: Project, tmp_path: Path) -> None:
    """The Snakefile of docs/running.md, with this project's folder and a figure that is there already."""
    documented = (SOURCE / "docs/running.md").read_text("utf-8").split("From another workflow")[1]
    text = re.search(r"```snakefile\n(.*?)```", documented, re.DOTALL)[1]
    for written, meant in (
        ("/path/to/scaling-limits", str(project.folder)),
        ("/path/to/letter", str(tmp_path)),
        ("mupc/table1.pdf", "mupc/fig5.pdf"),
    ):
        assert written in text
        text = text.replace(written, meant)
    (tmp_path / "Snakefile").write_text(text, encoding="utf-8")
    output = project("-s", str(tmp_path / "Snakefile"), "letter", "--cores", "1")
    assert "limits_run" not in output
    drawn = (project / "results/smoke/mupc/fig5/figure.pdf").read_bytes()
    assert (tmp_path / "table1.pdf").read_bytes() == drawn


def test_substitution_and_reduced_sizes_are_written_down(finished: Project) -> None:
    folder = finished / "results/smoke/mupc/fig5"
    figure = json.loads((folder / "figure.json").read_bytes())
    assert "(paper: MNIST)" in figure["notes"][0]
    differences = " ".join(figure["differences"])
    assert "in place of MNIST" in differences
    assert "num_steps 5 instead of 937" in differences
    assert "num_steps 5 instead of 937" in (folder / "summary.html").read_text("utf-8")
    provenance = json.loads((folder / "provenance.json").read_bytes())["compared"]
    assert provenance["substitutions"] == {"mnist": "digits"}
    text = (folder / "figure.svg").read_text("utf-8")
    assert "paper: MNIST" in text


@pytest.mark.slow
def test_jobs_say_what_they_took(finished: Project) -> None:
    logs = finished / "logs"
    jobs = [path for path in logs.rglob("*.log") if path.stem not in ("publish", "index")]
    assert {path.with_suffix(".benchmark.tsv") for path in jobs} == set(logs.rglob("*.tsv"))
    header, values = (logs / "smoke/mupc/fig5/draw.benchmark.tsv").read_text().splitlines()
    said = dict(zip(header.split(), values.split(), strict=True))
    # an interpreter with pandas and matplotlib
    assert float(said["max_rss"]) > 50
    assert float(said["s"]) > 0


def test_a_table_comes_as_files_and_a_picture_may_be_bare(fresh: Project) -> None:
    plot = {"kind": "definitions", "columns": ["Symbol", "Meaning"], "rows": [["$N$", "width"]]}
    table = {"title": "What is wide", "caption": "Symbols.", "plot": plot}
    paper = fresh / "config/papers/mupc/paper.yaml"
    content = yaml.safe_load(paper.read_text("utf-8"))
    content["figures"] = {**content.get("figures", {}), "words": table}
    paper.write_text(yaml.safe_dump(content, sort_keys=False), "utf-8")
    fresh("figures/mupc/words.png", "--config", "page=bare")
    folder = fresh / "results/smoke/mupc/words"
    assert (folder / "table.csv").read_text() == "Symbol,Meaning\n$N$,width\n"
    assert "$N$ & width" in (folder / "table.tex").read_text()
    said = [json.loads((folder / f"{name}.json").read_bytes()) for name in ("figure", "provenance")]
    assert said[0]["page"] == said[1]["compared"]["page"] == "bare"
    # an SVG has the words of a picture as comments
    assert "What is wide" not in (folder / "figure.svg").read_text()
    output = fresh("figures/mupc/words.png", "--dry-run")
    assert set(re.findall(r"^(?:local)?rule (\w+):", output, re.MULTILINE)) == {
        *("collect", "draw", "table", "publish")
    }


def test_outputs_hold_no_path_of_this_machine(finished: Project) -> None:
    for path, content in finished.outputs("results/smoke", "figures").items():
        assert str(finished.folder).encode() not in content, path


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["figures/mupc/fig55.png"], ["unknown figure 'fig55'; did you mean 'fig5'"]),
        (["figures/mucp/fig5.png"], ["unknown paper 'mucp'; did you mean 'mupc'"]),
    ],
)
def test_mistakes_are_refused_before_any_work(
    fresh: Project, arguments: list[str], words: list[str]
) -> None:
    output = fresh(*arguments, fails=True)
    for word in words:
        assert word in output
    assert not (fresh / "results").exists()
    assert not (fresh / "figures").exists()


def claims(**changed: dict) -> str:
    tree = {"mupc": {"figures": {"fig5": {"claims": changed}}}}
    return f"papers={json.dumps(tree)}"


def test_the_audit_passes_and_fails(project: Project) -> None:
    output = project("audit/mupc")
    assert "holds" in output
    false = claims(impossible={**CLAIM, "bound": {**CLAIM["bound"], "at_most": 0.0}})
    output = project("audit/mupc", "--config", false, fails=True)
    assert "mupc/fig5 impossible fails" in output
    assert trained(output) == (0, 0, 0)
    table, folder = project / "results/smoke/mupc/audit.json", project / "results/smoke/mupc/fig5"
    written = json.loads(table.read_bytes())
    assert [v["verdict"] for v in written["verdicts"]] == ["holds", "fails"]

    # what was written is not trusted: neither the table, nor the figure's verdicts, nor its records
    text = table.read_text("utf-8").replace('"verdict": "fails"', '"verdict": "holds"')
    table.write_text(text, "utf-8")
    output = project("audit/mupc", "--config", false, fails=True)
    assert "mupc/fig5 impossible fails" in output
    assert "results/smoke/mupc/audit.json: says 'holds" in output
    verdicts, records = folder / "verdicts.json", folder / "records.parquet"
    verdicts.write_text(verdicts.read_text("utf-8").replace('"fails"', '"holds"'), "utf-8")
    records.write_bytes(records.read_bytes()[:-1])
    output = project("audit/mupc", "--config", false, "audit=stored", fails=True)
    for file in (verdicts, records):
        name = file.relative_to(project.folder)
        assert f"{name}: does not match its checksum in provenance.json" in output


@pytest.mark.slow
def test_an_audit_of_what_is_there_is_made_anew_when_that_changed(
    project: Project, tmp_path: Path
) -> None:
    stored = ["results/smoke/index.html", "--config", "audit=stored"]
    folder, aside = project / "results/smoke/mupc/fig5", tmp_path / "aside"
    shutil.move(folder, aside)
    project(*stored)
    assert "fig5: not drawn" in (project / "results/smoke/index.html").read_text("utf-8")
    assert not folder.exists()
    shutil.move(aside, folder)
    project(*stored)
    written = json.loads((project / "results/smoke/audit.json").read_bytes())
    assert [v["verdict"] for v in written["verdicts"]] == ["holds"]
    assert "not drawn" not in (project / "results/smoke/index.html").read_text("utf-8")
    assert "Nothing to be done" in project(*stored)
