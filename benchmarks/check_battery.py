"""How often the check of users' models is right: ten wrong transformers, and twenty correct models, five seeds each.

    python benchmarks/check_battery.py [--only TEXT] [--first-seed N] [--json FILE] [--write]

Each check has three seeds. The five checks of a correct model have different seeds. --json keeps the verdicts and
resumes from them; --write puts the table into docs/check.md.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import common
import numpy as np
from check_networks import Example, mutants, right_examples

from scaling_limits.model_check.check import measured, report_of
from scaling_limits.model_check.measure import Recorded
from scaling_limits.model_check.report import Report
from scaling_limits.model_check.sweep import sweep_of

PAGE = common.ROOT / "docs" / "check.md"
BEGIN, END = "<!-- begin battery -->", "<!-- end battery -->"
SEEDS, REPEATS = 3, 5
ALARMS = ("explodes", "vanishes", "lazy")

Row = tuple[str, str, str]
"""Verdict, culprit, and reason."""


def checks(example: Example, repeats: int, first_seed: int) -> Iterator[Report]:
    """Check an example several times, each time with other seeds; all are trained at once."""
    sizes = example.widths, (example.depth,)
    sweep = sweep_of(example.data(), *sizes, SEEDS * repeats, example.steps)
    sweep = replace(sweep, first_seed=first_seed)
    shapes, recorded = measured(example.build, example.optimiser, "cross_entropy", sweep)
    for repeat in range(repeats):
        seeds = slice(SEEDS * repeat, SEEDS * (repeat + 1))
        part = {size: _at_seeds(values, seeds) for size, values in recorded.items()}
        yield report_of(sweep, shapes, part)


def _at_seeds(recorded: Recorded, seeds: slice) -> Recorded:
    def some(values: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {name: array[seeds] for name, array in values.items()}

    return Recorded(
        recorded.loss[seeds],
        some(recorded.size),
        some(recorded.change),
        some(recorded.update),
        some(recorded.alignment),
    )


def row(report: Report) -> Row:
    """The verdict of a report, its culprit and the reason."""
    return report.verdict, report.culprit.name if report.culprit else "", report.reason


def page(rows: Mapping[str, list[Row]]) -> Iterator[str]:
    """Yield the section: mutants with the layer named, and correct models with their verdicts."""
    wrong = [(e, rows[e.name][0]) for e in mutants() if e.name in rows]
    caught = [verdict in ALARMS for _, (verdict, _, _) in wrong]
    named = [verdict in ALARMS and names(e, layer) for e, (verdict, layer, _) in wrong]
    yield (
        f"{sum(caught)} of {len(wrong)} transformers with one wrong power of the width are caught; the layer is named "
        f"in {sum(named)}.\n"
    )
    cells = [[e.name, verdict, f"`{layer}`" if layer else ""] for e, (verdict, layer, _) in wrong]
    yield common.table(["wrong model", "verdict", "layer"], cells) + "\n"
    right = [(e, Counter(r[0] for r in rows[e.name])) for e in right_examples() if e.name in rows]
    total: Counter[str] = sum((counts for _, counts in right), Counter())
    alarms = sum(total[verdict] for verdict in ALARMS)
    yield (
        f"In {total.total()} checks of {len(right)} correct models, {alarms} are false alarms, {total['stable']} "
        f"pass and {total['inconclusive']} are inconclusive.\n"
    )
    heads = ["correct model", "pass", "inconclusive", "false alarms"]
    cells = [
        [e.name, str(c["stable"]), str(c["inconclusive"]), str(sum(c[v] for v in ALARMS))]
        for e, c in right
    ]
    yield common.table(heads, cells)


def names(example: Example, layer: str) -> bool:
    """Whether the layer is the wrong one of a mutant, in whichever block if all blocks have it."""
    return layer.startswith(example.layer) or layer.endswith(example.layer)


def main() -> None:
    """Run the battery."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="examples whose name contains this")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--write", action="store_true")
    said = parser.parse_args()
    rows: dict[str, list[Row]] = {}
    if said.json and said.json.exists():
        rows = json.loads(said.json.read_text())
    batteries = [(e, 1) for e in mutants()] + [(e, REPEATS) for e in right_examples()]
    for example, repeats in batteries:
        if said.only in example.name and example.name not in rows:
            rows[example.name] = [
                row(report) for report in checks(example, repeats, said.first_seed)
            ]
            print(f"{example.name}: {rows[example.name]}", flush=True)
            if said.json:
                said.json.write_text(json.dumps(rows, indent=1))
    section = "\n".join(page(rows))
    print(section)
    if said.write:
        before, rest = PAGE.read_text().split(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n{section}\n{END}{rest.split(END)[1]}")


if __name__ == "__main__":
    main()
