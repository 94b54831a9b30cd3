"""The summary page of a figure."""

import json
from html.parser import HTMLParser

import pandas as pd

from scaling_limits.audit.summary import settings_of, write_summary
from scaling_limits.audit.table import write_verdicts
from scaling_limits.audit.verdicts import Verdict


class Checker(HTMLParser):
    """Counts open tags and collects addresses of assets."""

    def __init__(self):
        super().__init__()
        self.open, self.assets = [], []

    def handle_starttag(self, tag, attrs):
        self.assets += [value for name, value in attrs if name in ("src", "href")]
        if tag not in ("br", "meta"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_summary(tmp_path):
    figure = {
        "paper": "mupc",
        "figure": "fig5",
        "preset": "smoke",
        "title": "T < U",
        "caption": "A & B",
    }
    figure |= {"kind": "maps", "plot": {}, "differences": ["digits stand in for <MNIST>"]}
    (tmp_path / "figure.json").write_text(json.dumps(figure))
    provenance = {"versions": {"jax": "0.1"}, "seeds": [0, 1], "device": "cpu"}
    (tmp_path / "provenance.json").write_text(json.dumps(provenance))
    cells = pd.DataFrame(
        {"grid": "g", "cell_id": ["a", "b", "c"], "width": [256, 64, 64], "optimiser": "adam"}
    )
    cells.to_parquet(tmp_path / "cells.parquet")
    fields = {"paper": "mupc", "figure": "fig5", "claim": "c", "source": "Fig 5", "detail": "x < y"}
    write_verdicts(
        tmp_path, [Verdict(statement="N<H", verdict="fails", value=2.0, registered="r&d", **fields)]
    )
    write_summary(tmp_path)
    page = (tmp_path / "summary.html").read_text()
    checker = Checker()
    checker.feed(page)
    assert checker.open == []
    assert checker.assets == []
    for text in ("T &lt; U", "A &amp; B", "for &lt;MNIST&gt;", "N&lt;H", "r&amp;d", "x &lt; y"):
        assert text in page
    assert "<td>width</td><td>64, 256</td>" in page
    assert "<td>versions.jax</td><td>0.1</td>" in page
    assert "<td>seeds</td><td>0, 1</td>" in page
    write_verdicts(tmp_path, [])
    write_summary(tmp_path)
    assert "No claim is judged" in (tmp_path / "summary.html").read_text()


def test_settings_that_vary():
    cells = pd.DataFrame(
        {
            "cell_id": [str(k) for k in range(20)],
            "seed": range(20),
            "learning_rate": [0.1, 0.05] * 10,
            "activity_learning_rate": [0.5, None] * 10,
            "skip": True,
            "dtype": "float32",
        }
    )
    varying, fixed = settings_of(cells)
    assert varying == {
        "seed": "0 … 19 (20 values)",
        "learning_rate": "0.05, 0.1",
        "activity_learning_rate": "0.5, none",
    }
    assert fixed == {"skip": "True", "dtype": "float32"}
