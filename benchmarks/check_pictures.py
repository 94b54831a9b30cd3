"""Draw the pictures of docs/check.md: coordinate checks of a right network and of wrong ones.

python benchmarks/check_pictures.py
"""

import io
from dataclasses import replace

import common
from check_networks import MLP, WIDE, Example, Residual, samples

import scaling_limits
from scaling_limits.images import with_palette

FOLDER = common.ROOT / "docs" / "check"
RIGHT = Example("right", MLP, "adam", 0.01, samples, WIDE, 3)
BLOCKS = Example("blocks", Residual, "adam", 0.005, samples, (128,), 3)
EVERY_RATE = {"hidden_*/kernel": 1.0, "readout/kernel": 1.0}
PICTURES = {
    "right": RIGHT,
    "standard": replace(RIGHT, wrong={"readout std": 0.5}, wrong_rates=EVERY_RATE),
    "readout": replace(RIGHT, wrong_rates={"readout/kernel": 1.0}),
    "lazy": replace(RIGHT, wrong_rates={"embed/*": -0.5, "hidden_*/kernel": -0.5}),
}
DEPTH = replace(BLOCKS, wrong={"branch": 0.5})


def main() -> None:
    """Draw all pictures and print the reports."""
    FOLDER.mkdir(exist_ok=True)
    reports = {name: example.check(scaling_limits.check) for name, example in PICTURES.items()}
    reports["depth"] = DEPTH.check(scaling_limits.check, depths=(2, 4, 8))
    for name, report in reports.items():
        print(f"\n{name}\n{report}")
        drawn = io.BytesIO()
        report.plot().savefig(drawn, format="png", dpi=130)
        (FOLDER / f"{name}.png").write_bytes(with_palette(drawn.getvalue()))


if __name__ == "__main__":
    main()
