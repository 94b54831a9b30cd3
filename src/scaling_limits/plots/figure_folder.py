"""A figure's folder: what is to be drawn, what was concluded, and the files that a reader gets."""

import io
import json
import logging
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.text import Text
from pydantic import ValidationError

from scaling_limits.errors import ScalingLimitsError, unknown
from scaling_limits.files import write_file
from scaling_limits.images import with_palette
from scaling_limits.outcomes import BACKGROUNDS, score
from scaling_limits.plots import registry
from scaling_limits.plots.contract import PlotT_co, kind_of
from scaling_limits.plots.options import PlotOptions
from scaling_limits.plots.tables import table_of
from scaling_limits.plotting import style
from scaling_limits.plotting.glyphs import FONT, undrawable
from scaling_limits.plotting.page import Badge, Body, Heading, Page, Size
from scaling_limits.records import Results

# it warns of the dates that matplotlib's own mathematical fonts carry
logging.getLogger("fontTools").setLevel(logging.ERROR)

# What in a file would depend on when, or with what, it was written.
_METADATA: dict[str, dict[str, str | None]] = {
    "png": {"Software": None},
    "pdf": {"CreationDate": None},
    "svg": {"Date": None},
}


Content = dict[str, Any]
"""An object of a JSON file."""


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
class FigureFolder(Generic[PlotT_co]):
    """The content of `results/<preset>/<slug>/<figure>/` that a plot needs.

    `plot` is validated for the figure's kind; `identity` names paper and figure, and `notes` are the lines under the
    picture that give its scale. A `bare` picture has neither a heading nor notes.
    `judged` has the claims about an optimum with the optima that they have located (`quantity`, `over`, `along`,
    `within`, `arms`), and `fitted` those about a slope with their fits (`quantity`, `along`, `arms`). `place` is the
    place on a page of a plot that is one of several.
    """

    path: Path
    name: str
    preset: str
    bare: bool
    identity: str
    title: str
    see: str
    caption: str
    plot: PlotT_co
    notes: tuple[str, ...]
    judged: tuple[Content, ...]
    fitted: tuple[Content, ...]
    verdicts: tuple[Content, ...]
    results: Results
    place: Body | None = None

    @classmethod
    def open(cls, folder: Path | str) -> "FigureFolder[PlotOptions]":
        """Read `figure.json`, `verdicts.json`, `cells.parquet` and `records.parquet`.

        Raises ScalingLimitsError, naming the file, if one is missing or not what it should be.
        """
        path = Path(folder)
        figure, verdicts = _json(path / "figure.json"), _json(path / "verdicts.json")
        try:
            results = Results.read(path)
        except FileNotFoundError as error:
            raise ScalingLimitsError(f"{path} is not complete: {error}") from error
        return FigureFolder(
            path=path,
            name=f"{figure['paper']}/{figure['figure']}",
            preset=figure["preset"],
            bare=figure["page"] == "bare",
            identity=figure["identity"],
            title=figure["title"],
            see=figure["see"],
            caption=figure["caption"],
            plot=plot_of(path),
            notes=tuple(figure["notes"]),
            judged=tuple(figure["judged"]),
            fitted=tuple(figure["fitted"]),
            verdicts=tuple(verdicts),
            results=results,
        )

    def table(self) -> pd.DataFrame:
        """Return what is drawn, one row for each panel, line, point and seed; see `tables.FIRST`.

        Raises:
            ScalingLimitsError: see `tables.table_of`.
        """
        return table_of(self.plot, self.results)

    def draw(self, table: pd.DataFrame) -> Figure:
        """Draw the table as the kind of plot does."""
        return kind_of(self.plot).draw(self, table)

    def page(self, *rows: Sequence[Size]) -> Page:
        """A page for the figure, with rows of bodies whose axes take these sizes."""
        if self.bare:
            return Page(Heading(), [], *rows)
        heading = Heading(self.identity, self.title, self.see, self._badge())
        return Page(heading, [*self.notes, *self._contradictions()], *rows)

    def body(self, size: Size) -> Body:
        """Return the plot's place, or a new page's only one, whose axes take a `size`."""
        if self.place is not None:
            return self.place
        (body,) = self.page([size]).bodies
        return body

    @style.applied()
    def save(self, figure: Figure, *, record: bool = False) -> Saved:
        """Write the figure as png, pdf and svg, the same bytes each time.

        With `record` it becomes the figure of record; otherwise it is written as `edited`.
        Warns of characters that the font lacks, in names which are known only now.
        Raises WriteError if one of them cannot be written; it is not there then.
        """
        self._warn_of_boxes(figure)
        contents = {}
        for suffix, metadata in _METADATA.items():
            buffer = io.BytesIO()
            figure.savefig(buffer, format=suffix, metadata=metadata)
            contents[suffix] = buffer.getvalue()
        for suffix, content in contents.items():
            write_file(self.path / f"{'figure' if record else 'edited'}.{suffix}", content)
        return Saved(self.name, with_palette(contents["png"]))

    def _warn_of_boxes(self, figure: Figure) -> None:
        texts: dict[str, None] = {}
        for artist in figure.findobj(Text):
            if isinstance(artist, Text) and artist.get_visible():
                texts[artist.get_text()] = None
        for text in texts:
            if lacking := undrawable(text):
                shown = " ".join(text.split())
                print(
                    f"warning: {self.name}: '{shown}' is drawn with boxes for characters that {FONT} lacks: {lacking}",
                    file=sys.stderr,
                )

    def describe(self) -> Markdown:
        """Return the figure's identity, title, what to see and caption."""
        parts = [f"{self.identity}\n\n## {self.title}", self.see, self.caption]
        return Markdown("\n\n".join(part for part in parts if part))

    def describe_verdicts(self) -> Markdown:
        """The verdicts on the paper's claims, in words."""
        if not self.verdicts:
            return Markdown("No claim is attached to this figure.")
        return Markdown("\n".join(_in_words(verdict) for verdict in self.verdicts))

    def describe_notes(self) -> Markdown:
        """Return the notes under the figure, and where to find the rest."""
        lines = [f"- {note}" for note in self.notes]
        return Markdown(
            "\n".join([*lines, "- Everything that differs from the paper: summary.html"])
        )

    def _badge(self) -> Badge | None:
        """Return the outcome of the claims and how many hold; None without claims."""
        outcomes = [verdict["verdict"] for verdict in self.verdicts]
        if not outcomes:
            return None
        outcome, claims = score(outcomes)
        return Badge(outcome, BACKGROUNDS[outcome], claims)

    def _contradictions(self) -> list[str]:
        """Return a line for each claim that fails: what was found and why, else the paper's statement."""
        return [
            f"Not reproduced: {verdict['clause'] or verdict['statement']}".rstrip(".") + "."
            for verdict in self.verdicts
            if verdict["verdict"] == "fails"
        ]


def plot_of(folder: Path) -> PlotOptions:
    """Return the plot in the `figure.json` of a folder.

    Raises:
        ScalingLimitsError: the file cannot be read, or its plot is invalid.
    """
    path = folder / "figure.json"
    figure = _json(path)
    kind = figure["kind"]
    if kind not in registry.modules:
        raise ScalingLimitsError(f"{path}: {unknown(registry.kind, kind, registry.modules)}")
    try:
        return PlotOptions.model_validate(figure["plot"] | {"kind": kind})
    except ValidationError as error:
        raise ScalingLimitsError(f"{path}: {error}") from error


def find(figure: str, preset: str, root: Path | str | None = None) -> Path:
    """The folder of a figure that was computed: below `root`, or else the nearest folder upwards with results.

    Raises:
        ScalingLimitsError: the figure was not computed at this preset; says how to, and what was.
    """
    for key, value in {"figure": figure, "preset": preset, "root": root}.items():
        if not isinstance(value, str | Path) and not (key == "root" and value is None):
            raise ScalingLimitsError(f"{key}: should be a name or a path, not {value!r:.80}")
    here = Path.cwd() if root is None else Path(os.path.expanduser(root))
    results = [place / "results" for place in ((here, *here.parents) if root is None else (here,))]
    for folder in results:
        if (folder / preset / figure / "figure.json").exists():
            return folder / preset / figure
    computed: dict[str, list[str]] = {}
    for folder in results:
        for path in sorted(folder.glob("*/*/*/figure.json")):
            its_preset, *name = path.parent.relative_to(folder).parts
            computed.setdefault(its_preset, []).append("/".join(name))
    where = f"{here}{' or a folder above it' if root is None else ''}"
    there = "; ".join(f"at {name}: {', '.join(names)}" for name, names in computed.items())
    raise ScalingLimitsError(
        f"{figure}: was not computed at the preset {preset} in {where}. To compute it, in the project's folder: "
        f"scaling-limits run {figure} --preset {preset}. Computed there: {there or 'nothing'}"
    )


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ScalingLimitsError(f"{path} cannot be read: {error}") from error


def _in_words(verdict: Content) -> str:
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
    if verdict.get("amended"):
        words += f" *Amended:* {verdict['amended']}"
    return words


def _number(value: float | str) -> str:
    return f"{value:.3g}" if isinstance(value, float | int) else str(value)
