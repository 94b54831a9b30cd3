"""A small part of the battery: wrong networks are caught and named, a right one is not; report, picture and command."""

from dataclasses import replace

import pytest
from check_networks import MLP, Example, samples
from click.testing import CliRunner

import scaling_limits
from scaling_limits.commands.main import main

STEPS = 6
RIGHT = Example("right", MLP, "adam", 0.01, samples, (64, 192, 512), 2)
MUTANTS = [
    replace(RIGHT, layer="readout", wrong_rates={"readout/kernel": 1.0}),
    replace(RIGHT, layer="hidden_1", wrong_rates={"hidden_1/kernel": 1.0}),
    replace(RIGHT, layer="embed", wrong_rates={"embed/*": -1.0}),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: str(dict(m.wrong_rates)))
def test_a_wrong_rate_is_caught_and_the_layer_named(mutant):
    report = mutant.check(scaling_limits.check, steps=STEPS)
    grows = sum(mutant.wrong_rates.values()) > 0
    assert report.verdict == ("explodes" if grows else "lazy")
    assert report.culprit.name == mutant.layer
    assert report.reason.startswith(mutant.layer)
    assert report.cause


def test_report_of_a_right_network():
    report = RIGHT.check(scaling_limits.check, steps=STEPS)
    assert report.verdict == "stable"
    assert [layer.name for layer in report.layers] == ["embed", "hidden_1", "readout"]
    assert [layer.kind for layer in report.layers] == ["hidden", "hidden", "output"]
    assert "verdict: stable" in str(report)
    assert "note on readout: the output grows in the first steps" in str(report)
    table, records = report.table(), report.records
    assert (table["low"] <= table["slope"]).all()
    assert (table["slope"] <= table["high"]).all()
    assert set(records["quantity"]) == {"size", "change", "update", "alignment"}
    one = records[(records["layer"] == "embed") & (records["quantity"] == "change")]
    assert len(one) == 3 * 3 * (STEPS + 1)
    figure = report.plot()
    assert [axes.get_title() for axes in figure.axes] == [
        "Size RMS(h)",
        "Change RMS(h − h₀)",
        "Update by own weights",
    ]


FILE = """
import flax.linen as nn
import numpy as np
import optax

class Net(nn.Module):
    width: int

    @nn.compact
    def __call__(self, x):
        return nn.Dense(2, name="readout")(nn.relu(nn.Dense(self.width, name="embed")(x)))

build = lambda width, depth: Net(width)
optimiser = lambda width, depth: optax.sgd({rate})
x = np.random.default_rng(0).standard_normal((8, 3))
data = x, (x[:, 0] > 0).astype(int)
"""


def test_command(tmp_path):
    file, picture = tmp_path / "model.py", tmp_path / "picture.png"
    file.write_text(FILE.format(rate=0.1))
    sizes = ["--widths", "32,512", "--steps", "2"]
    result = CliRunner().invoke(main, ["check", str(file), *sizes, "--plot", str(picture)])
    assert "verdict: explodes" in result.output
    assert result.exit_code == 1
    assert picture.stat().st_size > 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "model.py: there is no such file"),
        ("build = 1", "model.py: does not define 'optimiser'; needed are build, optimiser, data"),
        ("1 / 0", "model.py: cannot be run: ZeroDivisionError: division by zero"),
        (FILE.replace("(width)", "(8)"), "model.py: build: layer 'embed' has the same shape"),
    ],
)
def test_command_refuses(tmp_path, text, message):
    file = tmp_path / "model.py"
    if text is not None:
        file.write_text(text.replace("{rate}", "0.1"))
    result = CliRunner().invoke(main, ["check", str(file), "--widths", "32,64"])
    assert message in result.output
    assert result.exit_code == 1


def test_command_refuses_sizes(tmp_path):
    result = CliRunner().invoke(main, ["check", "model.py", "--widths", "a,b"])
    assert "'a,b'; valid are integers separated by commas" in result.output
    assert result.exit_code == 2
