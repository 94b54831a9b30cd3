"""docs/own.md, followed to the letter."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import replace

import pytest
import yaml
from pipeline_project import COMMAND_LINE, SOURCE, Project, trained

pytestmark = [pytest.mark.pipeline, pytest.mark.xdist_group(__name__)]

BLOCK = re.compile(r"```\w+\n# (\S+)\n(.*?)```", re.DOTALL)
MINE = "config/experiments/mine.yaml"
RUNTIME = "src/scaling_limits/runtime.py"
COMMAND = re.compile(r"```bash\n(.*?)\n```", re.DOTALL)


@pytest.fixture
def own(fresh: Project) -> Project:
    """A project with the files of docs/own.md."""
    text = (SOURCE / "docs/own.md").read_text("utf-8")
    make_folders = shlex.split(COMMAND.findall(text)[0], comments=True)
    assert make_folders[0] == "mkdir"
    subprocess.run(make_folders, cwd=fresh.folder, check=True)
    files = dict(BLOCK.findall(text))
    assert len(files) == 3
    for name, content in files.items():
        (fresh / name).write_text(content, "utf-8")
    # optimised, unlike other copies: its hundred steps of networks this wide take longer than that
    shutil.copy2(SOURCE / RUNTIME, fresh / RUNTIME)
    return fresh


ODD = r"""
description: a title whose mathematics cannot be set
dataset: digits
activation: tanh
depth: 2
depth_kind: weight_layers
algorithm: backpropagation
optimiser: sgd
parameterisation: mup
batch_size: 32
num_steps: 2
num_train: 64
num_test: 32
width: [8, 16]
learning_rate: [0.5, 0.1]
grids: {a: {title: a}}
quantities: {loss: {metric: train_loss}}
figures: {odd: {title: '$\nothing$', caption: c, plot: {kind: lines, rows: [loss]}}}
"""


def test_from_nothing_to_a_figure_of_ones_own(own: Project) -> None:
    _, make, draw = COMMAND.findall((SOURCE / "docs/own.md").read_text("utf-8"))
    assert make.split()[0] == "python"
    subprocess.run([sys.executable, *make.split()[1:]], cwd=own.folder, check=True)
    program, *command = draw.split()
    assert program == "scaling-limits"
    assert command == ["run", "own/mine"]
    command_line = replace(own, program=COMMAND_LINE)
    assert "figures/own/mine.png" in own("figures", "-n")
    output = command_line(*command, "--verbose")
    assert (own / "figures/own/mine.png").stat().st_size > 10_000
    count, stored, computed = trained(output)
    assert (stored, computed) == (0, count)
    folder = own / "results/smoke/own/mine"
    stays, falls = json.loads((folder / "verdicts.json").read_text())
    # the best rate of the own row lies beside the edge of stability, which its octaves leave open
    assert stays["verdict"] == "inconclusive"
    assert "next to diverged cells" in stays["detail"]
    assert (stays["value"], *stays["interval"]) == pytest.approx((1.0, 0.2, 1.8), abs=0.05)
    assert falls["verdict"] == "holds"
    compared = json.loads((folder / "provenance.json").read_text())["compared"]
    assert list(compared["datasets"]) == ["rings"]

    # names may stand in a file besides, of which all that includes the figure has to be told
    content = yaml.safe_load((own / MINE).read_text("utf-8"))
    names = {key: content.pop(key) for key in ("data", "algorithms", "parameterisations")}
    (own / MINE).write_text(yaml.safe_dump(content, sort_keys=False), "utf-8")
    (own / "own/names.yaml").write_text(yaml.safe_dump(names), "utf-8")
    # one whose title cannot be drawn stops itself only, too
    (own / "config/experiments/odd.yaml").write_text(ODD, "utf-8")
    without = own("figures", "-n")
    assert "warning: left out: config/experiments/mine.yaml" in without
    assert re.search(r"warning: left out: config/experiments/odd.yaml.*the mathematics", without)
    (own / "config/experiments/odd.yaml").unlink()
    assert "'rings'" in without
    assert "figures/own" not in without
    assert "'rings'" in own("own", "-n", fails=True)
    command += ["--configfile", "own/names.yaml"]
    assert "Nothing to do: own/mine is drawn" in command_line(*command, "-n")

    # the algorithm's file is source of the cells
    own.edit("own/feedback_alignment.py", '["seed"] + 1', '["seed"] + 2')
    assert command_line(*command, "-n") == (
        f"Would compute {count} of {count} cells and draw 1 of 1 figures: own/mine.\n"
    )
