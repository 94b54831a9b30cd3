"""Who is cited, and what the package says of itself."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

import scaling_limits

ROOT = Path(__file__).parents[1]
PAPERS = {
    path.parent.name: yaml.safe_load(path.read_text())
    for path in (ROOT / "config/papers").glob("*/paper.yaml")
}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text())


def entries() -> dict[str, dict[str, str]]:
    """The fields of every entry of docs/papers.bib."""
    text = (ROOT / "docs/papers.bib").read_text()
    found = re.findall(r"^@misc\{(\S+),\n(.*?)^\}", text, re.MULTILINE | re.DOTALL)
    field = re.compile(r"^  (\w+) +=\s\{(.*)\},$", re.MULTILINE)
    return {name: dict(field.findall(body)) for name, body in found}


def letters(title: str) -> str:
    # U+03BC is the letter, U+00B5 the sign of the same look
    for mu in ("$\\mu$", "\N{GREEK SMALL LETTER MU}", "\N{MICRO SIGN}"):
        title = title.replace(mu, "mu")
    return re.sub(r"[^a-z0-9]", "", title.lower())


@pytest.mark.parametrize("slug", PAPERS)
def test_every_paper_is_cited_alike_everywhere(slug: str) -> None:
    entry = entries()[slug]
    number = entry["eprint"]
    assert letters(entry["title"]) == letters(PAPERS[slug]["title"])
    (reference,) = [
        r for r in CITATION["references"] if letters(r["title"]) == letters(entry["title"])
    ]
    assert [i["value"] for i in reference["identifiers"]] == [f"arXiv:{number}"]
    names = [f"{a['given-names']} {a['family-names']}" for a in reference["authors"]]
    assert " and ".join(names) == entry["author"]
    families = [a["family-names"] for a in reference["authors"]]
    assert ", ".join(families) == PAPERS[slug]["authors"]
    assert str(reference["year"]) == entry["year"]
    assert entry["year"][2:] == number[:2]
    assert (PAPERS[slug]["year"], PAPERS[slug]["arxiv"]) == (reference["year"], number)
    (row,) = re.findall(rf"^\| `{slug}` \| .*$", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert f"[arXiv:{number}](https://arxiv.org/abs/{number})" in row


def test_no_other_paper_is_cited() -> None:
    assert entries().keys() == PAPERS.keys()
    assert len(CITATION["references"]) == len(PAPERS)


def test_one_version_and_one_licence() -> None:
    assert scaling_limits.__version__ == PROJECT["version"] == CITATION["version"]
    assert f"## {PROJECT['version']}" in (ROOT / "CHANGELOG.md").read_text()
    assert PROJECT["license"] == CITATION["license"] == "Apache-2.0"
    assert "Version 2.0, January 2004" in (ROOT / "LICENSE").read_text()


def test_the_package_depends_on_what_it_imports() -> None:
    """And the environment is resolved from no less."""
    imported: set[str] = set()
    for path in (ROOT / "src").rglob("*.py"):
        words = re.findall(r"^\s*(?:from|import) ([a-z_0-9]+)", path.read_text(), re.MULTILINE)
        imported |= set(words)
    named = {"pyyaml": "yaml", "scikit-learn": "sklearn"}
    asked = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["workflow"]]
    names = {Requirement(line).name for line in asked}
    needed = {named.get(name, name) for name in names}
    lines = (ROOT / "envs/requirements.in").read_text().splitlines()
    assert names <= set(lines)
    # what is started as a process or imported by its other name, and what pandas and JAX load by themselves
    assert needed - imported <= {"ipykernel", "snakemake", "pillow", "pyarrow", "jaxlib"}
    third_party = {named.get(line, line) for line in lines if line and line[0] != "#"}
    assert imported & third_party <= needed
