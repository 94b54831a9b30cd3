"""A figure's folder: what is to be drawn, what was concluded, and the files that a reader gets."""

import io
import json
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.transforms import Bbox
from PIL import Image
from pydantic import ValidationError

from scaling_limits.errors import ScalingLimitsError, unknown
from scaling_limits.figures.plots import DRAWN_BY, PLOT, Plot
from scaling_limits.files import write_file
from scaling_limits.plotting import style, text
from scaling_limits.records import Results

# it warns of the dates that matplotlib's own mathematical fonts carry
logging.getLogger("fontTools").setLevel(logging.ERROR)

# What in a file would depend on when, or with what, it was written.
_METADATA: dict[str, dict[str, str | None]] = {
    "png": {"Software": None},
    "pdf": {"CreationDate": None},
    "svg": {"Date": None},
}
_NOTES = "notes"


class Markdown(str):
    """Text that a notebook shows as markdown."""

    def _repr_markdown_(self) -> str:
        return str(self)

    __repr__ = _repr_markdown_


@dataclass(frozen=True)
class Saved:
    """A saved figure; a notebook shows its PNG, with fewer colours to stay small."""

    name: str
    png: bytes

    def _repr_png_(self) -> bytes:
        return self.png

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True)
class FigureFolder:
    """The content of `results/<preset>/<slug>/<figure>/` that a plot needs.

    `plot` is validated for the figure's kind; `notes` say what is not as in the paper
    (substitutions, sizes, seeds).
    """

    path: Path
    name: str
    title: str
    caption: str
    plot: Plot
    notes: tuple[str, ...]
    verdicts: tuple[dict[str, Any], ...]
    results: Results

    @classmethod
    def open(cls, folder: Path | str) -> "FigureFolder":
        """Read `figure.json`, `verdicts.json`, `cells.parquet` and `records.parquet`.

        Raises ScalingLimitsError, naming the file, if one is missing or not what it should be.
        """
        path = Path(folder)
        figure, verdicts = _json(path / "figure.json"), _json(path / "verdicts.json")
        try:
            results = Results.read(path)
        except FileNotFoundError as error:
            raise ScalingLimitsError(f"{path} is not complete: {error}") from error
        kind = figure["kind"]
        if kind not in DRAWN_BY.modules:
            raise ScalingLimitsError(
                f"{path / 'figure.json'}: {unknown(DRAWN_BY.kind, kind, DRAWN_BY.modules)}"
            )
        try:
            plot = PLOT.validate_python(figure["plot"] | {"kind": kind})
        except ValidationError as error:
            raise ScalingLimitsError(f"{path / 'figure.json'}: {error}") from error
        return cls(
            path=path,
            name=f"{figure['paper']}/{figure['figure']}",
            title=figure["title"],
            caption=figure["caption"],
            plot=plot,
            notes=tuple(figure["notes"]),
            verdicts=tuple(verdicts),
            results=results,
        )

    @style.applied()
    def save(self, figure: Figure) -> Saved:
        """Write the notes under the figure, then its png, pdf and svg, the same bytes each time.

        Raises WriteError if one of them cannot be written; it is not there then.
        """
        self._write_notes(figure)
        frame = _frame(figure)
        contents = {}
        for suffix, metadata in _METADATA.items():
            buffer = io.BytesIO()
            figure.savefig(buffer, format=suffix, bbox_inches=frame, metadata=metadata)
            contents[suffix] = buffer.getvalue()
        for suffix, content in contents.items():
            write_file(self.path / f"figure.{suffix}", content)
        return Saved(self.name, _preview(contents["png"]))

    def describe(self) -> Markdown:
        """Title and caption."""
        return Markdown(f"## {self.name}: {self.title}\n\n{self.caption}")

    def describe_verdicts(self) -> Markdown:
        """The verdicts on the paper's claims, in words."""
        if not self.verdicts:
            return Markdown("No claim is attached to this figure.")
        return Markdown("\n".join(_in_words(verdict) for verdict in self.verdicts))

    def describe_notes(self) -> Markdown:
        """What is not as in the paper, as it is written under the figure."""
        if not self.notes:
            return Markdown("There are no notes on this figure.")
        return Markdown("\n".join(f"- {note}" for note in self.notes))

    def _write_notes(self, figure: Figure) -> None:
        if not self.notes or any(old.get_gid() == _NOTES for old in figure.texts):
            return
        width, height = figure.get_size_inches()
        bottom = min(0.0, figure.get_tightbbox().y0)
        lines = [
            f"{'' if continued else '– '}{line}"
            for note in self.notes
            for continued, line in enumerate(text.wrap(note, style.SMALL, width - 0.25))
        ]
        figure.text(
            0.06 / width,
            (bottom - 0.04) / height,
            "\n".join(lines),
            size=style.SMALL,
            va="top",
            color="0.25",
            gid=_NOTES,
        )


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ScalingLimitsError(f"{path} cannot be read: {error}") from error


def _preview(png: bytes) -> bytes:
    """The image with a palette of 256 colours: a third of the bytes."""
    content = io.BytesIO()
    with Image.open(io.BytesIO(png)) as image:
        image.convert("RGB").quantize(256).save(content, "png")
    return content.getvalue()


def _frame(figure: Figure) -> Bbox:
    """What is saved, in inches: the page, and whatever stands out of it."""
    drawn = figure.get_tightbbox().padded(0.04)
    width, height = figure.get_size_inches()
    return Bbox.union([drawn, Bbox.from_extents(0, 0, width, height)])


def _in_words(verdict: dict[str, Any]) -> str:
    value, interval = verdict["value"], verdict["interval"]
    measured = []
    if value is not None:
        measured.append(f"measured {_number(value)}")
    if interval is not None:
        measured.append(f"interval {_number(interval[0])} to {_number(interval[1])}")
    measured += [f"threshold: {verdict['threshold']}", f"source: {verdict['source']}"]
    words = f"- **{verdict['verdict']}**: {verdict['statement']} ({'; '.join(measured)})"
    if verdict["detail"]:
        words += f" {verdict['detail']}"
    if verdict["registered"]:
        words += f" *Registered deviation:* {verdict['registered']}"
    return words


def _number(value: float | str) -> str:
    return f"{value:.3g}" if isinstance(value, float | int) else str(value)
