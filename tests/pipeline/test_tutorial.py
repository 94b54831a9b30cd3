"""docs/tutorial.md: its numbers come out, and its claim is the one of the configuration."""

import re
import subprocess
import sys

import numpy as np
import pytest
import yaml
from pipeline_project import SOURCE, Project

PAGE = (SOURCE / "docs/tutorial.md").read_text("utf-8")
STEP, LOAD = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
(PRINTED,) = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
NUMBER = re.compile(r"\d+\.\d+")


def output(code: str, **where: object) -> str:
    """What code prints in a process of its own, as JAX is set up by the first import."""
    command = [sys.executable, "-c", code]
    return subprocess.run(command, check=True, capture_output=True, text=True, **where).stdout


def test_one_step_changes_features_as_printed() -> None:
    measured, printed = (
        np.array(NUMBER.findall(text), float).reshape(2, 3, 3) for text in (output(STEP), PRINTED)
    )
    # of five decimals, and on other machines
    np.testing.assert_allclose(measured, printed, rtol=0.02, atol=2e-5)
    standard, mup = measured[:, -1] / measured[:, 0]
    np.testing.assert_allclose(standard, [0.3, 2.3, 21], rtol=0.1)
    assert np.all((mup > 1.15) & (mup < 1.35))


def test_the_claim_is_the_one_of_the_figure() -> None:
    ((name, text),) = re.findall(r"```yaml\n# (\S+)\n(.*?)```", PAGE, re.DOTALL)
    experiment = yaml.safe_load((SOURCE / name).read_text("utf-8"))
    claims = experiment["figures"]["fig5"]["claims"]
    for claim, content in yaml.safe_load(text).items():
        assert claims[claim] == content


@pytest.mark.pipeline
@pytest.mark.xdist_group(__name__)
def test_the_table_has_losses_at_each_width_and_rate(finished: Project) -> None:
    printed = output(LOAD, cwd=finished.folder)
    grids = re.split(r"^(?:control_)?width$", printed, flags=re.MULTILINE)
    assert len(grids) == 3
    assert all(len(NUMBER.findall(grid)) >= 4 for grid in grids[1:])
