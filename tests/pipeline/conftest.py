"""Projects in which Snakemake has run, or not."""

import shutil
from pathlib import Path

import pytest
from pipeline_project import TARGETS, Project, create


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project as it is now, that all copies are made from."""
    folder = tmp_path_factory.mktemp("template") / "project"
    create(folder)
    return folder


@pytest.fixture(scope="session")
def finished(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with both figures drawn; not to be changed."""
    folder = tmp_path_factory.mktemp("finished") / "project"
    shutil.copytree(template, folder)
    project = Project(folder)
    project(*TARGETS)
    return project


@pytest.fixture
def project(finished: Project, tmp_path: Path) -> Project:
    """A finished project of the test's own."""
    shutil.copytree(finished.folder, tmp_path / "project", symlinks=True)
    return Project(tmp_path / "project")


@pytest.fixture
def fresh(template: Path, tmp_path: Path) -> Project:
    """A project that has not run."""
    shutil.copytree(template, tmp_path / "project")
    return Project(tmp_path / "project")
