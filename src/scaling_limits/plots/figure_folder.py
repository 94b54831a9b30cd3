"""A figure's folder: the data to draw, the verdicts, and the files written for readers."""

import io
import json
import logging
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic

import matplotlib as mpl
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.text import Text
from pydantic import ValidationError

from scaling_limits.errors import ScalingLimitsError, unknown
from scaling_limits.files import JsonObject, write_file
from scaling_limits.images import with_palette
from scaling_limits.outcomes import BACKGROUNDS, score, to_see, with_interval
from scaling_limits.plots import registry
from scaling_limits.plots.contract import PlotT_co, kind_of
from scaling_limits.plots.options import PlotOptions
from scaling_limits.plots.reasons import reasons
from scaling_limits.plots.tables import table_of
from scaling_limits.plotting import style
from scaling_limits.plotting.glyphs import FONT, undrawable
from scaling_limits.plotting.page import Badge, Body, Heading, Page, Size
from scaling_limits.records import Results

# fontTools warns about the dates in matplotlib's mathematical fonts
logging.getLogger("fontTools").setLevel(logging.ERROR)

# Omitted metadata: they would make files depend on the date or on the version of matplotlib.
_METADATA: dict[str, dict[str, str | None]] = {
    "png": {"Software": None},
    "pdf": {"CreationDate": None},
    "svg": {"Date": None},
}


class Markdown(str):
    """Text that a notebook displays as Markdown."""

    def _repr_markdown_(self) -> str:
        return str(self)

    __repr__ = _repr_markdown_


@dataclass(frozen=True)
class Saved:
    """A saved figure; a notebook displays its PNG with a reduced palette to keep the notebook small."""

    name: str
    png: bytes

    def _repr_png_(self) -> bytes:
        return self.png

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True)
class FigureFolder(Generic[PlotT_co]):
    """The content of `results/<preset>/<slug>/<figure>/` that a plot needs.

    `plot` holds the validated options of the figure's kind. `identity` names the paper and the figure, `in_paper` says
    whether it is a figure of the paper, and `notes` are the lines below the picture that describe its scale. A `bare`
    picture has neither a heading nor notes. `judged` holds the claims about an optimum with the optima that they
    located (`quantity`, `over`, `along`, `within`, `arms`); `fitted` holds the claims about values along a size with
    their fits, errors and ratios (`quantity`, `along`, `arms`). For a plot that is part of a composite, `area` is its
    area of the page.
    """

    path: Path
    name: str
    preset: str
    bare: bool
    identity: str
    in_paper: bool
    title: str
    see: str
    caption: str
    plot: PlotT_co
    notes: tuple[str, ...]
    judged: tuple[JsonObject, ...]
    fitted: tuple[JsonObject, ...]
    verdicts: tuple[JsonObject, ...]
    results: Results
    area: Body | None = None

    @classmethod
    def open(cls, folder: Path | str) -> "FigureFolder[PlotOptions]":
        """Read `figure.json`, `verdicts.json`, `cells.parquet` and `records.parquet`.

        Raises:
            ScalingLimitsError: a file is missing or invalid; the message names it.
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
            in_paper=figure["in_paper"],
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
        """Return the table to draw: one row for each panel, line, point and seed, with the columns `tables.FIRST`.

        Raises:
            ScalingLimitsError: see `tables.table_of`.
        """
        return table_of(self.plot, self.results)

    def draw(self, table: pd.DataFrame) -> Figure:
        """Draw the table with the figure's kind of plot."""
        return kind_of(self.plot).draw(self, table)

    def page(self, *rows: Sequence[Size]) -> Page:
        """Return a page for the figure.

        Args:
            *rows: for each row of bodies, the sizes of their axes in inches.
        """
        if self.bare:
            return Page(Heading(), [], *rows)
        heading = Heading(self.identity, self.title, self._to_see(), self._badge())
        return Page(heading, [*self.notes, *reasons(self.verdicts)], *rows)

    def body(self, size: Size) -> Body:
        """Return the plot's area, or the only body of a new page, with axes of the given size in inches."""
        if self.area is not None:
            return self.area
        (body,) = self.page([size]).bodies
        return body

    @style.applied()
    def save(self, figure: Figure, *, record: bool = False) -> Saved:
        """Write the figure as PNG, PDF and SVG; equal figures give identical bytes.

        Also prints a warning for characters that the font lacks, since names in the figure are known only now.

        Args:
            figure: the figure to write.
            record: whether to write the figure of record (`figure.*`); otherwise it is written as `edited.*`.

        Returns:
            The saved figure.

        Raises:
            WriteError: a file cannot be written; that file then does not exist.
        """
        self._warn_of_boxes(figure)
        contents = {}
        # bare pictures are for papers
        mpl.rcParams["pdf.fonttype"] = style.TRUETYPE if self.bare else style.TYPE_3
        for suffix, metadata in _METADATA.items():
            buffer = io.BytesIO()
            figure.savefig(buffer, format=suffix, metadata=metadata)
            contents[suffix] = buffer.getvalue()
        for suffix, content in contents.items():
            write_file(self.path / f"{'figure' if record else 'edited'}.{suffix}", content)
        return Saved(self.name, with_palette(contents["png"], optimize=False))

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
        """Return the figure's identity, title, expected effect and caption."""
        parts = [f"{self.identity}\n\n## {self.title}", self._to_see(), self.caption]
        return Markdown("\n\n".join(part for part in parts if part))

    def describe_verdicts(self) -> Markdown:
        """Return the verdicts on the paper's claims as Markdown."""
        if not self.verdicts:
            return Markdown("No claim is attached to this figure.")
        return Markdown("\n".join(_verdict_line(verdict) for verdict in self.verdicts))

    def describe_notes(self) -> Markdown:
        """Return the notes below the figure, with a reference to the full list of differences."""
        lines = [f"- {note}" for note in self.notes]
        return Markdown(
            "\n".join([*lines, "- Everything that differs from the paper: summary.html"])
        )

    def _to_see(self) -> str:
        outcomes = [verdict["verdict"] for verdict in self.verdicts]
        return to_see(self.see, outcomes, in_paper=self.in_paper)

    def _badge(self) -> Badge | None:
        """Return the overall outcome of the claims and how many of them hold, or None without claims."""
        outcomes = [verdict["verdict"] for verdict in self.verdicts]
        if not outcomes:
            return None
        outcome, claims = score(outcomes)
        return Badge(outcome, BACKGROUNDS[outcome], claims)


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
    """Return the folder of a computed figure.

    Args:
        figure: the figure as `<slug>/<figure>`.
        preset: the preset at which it was computed.
        root: the folder that contains `results`; by default the current folder and its parents are searched.

    Raises:
        ScalingLimitsError: the figure was not computed at this preset; the message lists the computed figures.
    """
    for key, value in {"figure": figure, "preset": preset, "root": root}.items():
        if not isinstance(value, str | Path) and not (key == "root" and value is None):
            raise ScalingLimitsError(f"{key}: should be a name or a path, not {value!r:.80}")
    here = Path.cwd() if root is None else Path(os.path.expanduser(root))
    results = [
        parent / "results" for parent in ((here, *here.parents) if root is None else (here,))
    ]
    for folder in results:
        if (folder / preset / figure / "figure.json").exists():
            return folder / preset / figure
    computed: dict[str, list[str]] = {}
    for folder in results:
        for path in sorted(folder.glob("*/*/*/figure.json")):
            computed_preset, *name = path.parent.relative_to(folder).parts
            computed.setdefault(computed_preset, []).append("/".join(name))
    where = f"{here}{' or a folder above it' if root is None else ''}"
    listing = "; ".join(f"at {name}: {', '.join(names)}" for name, names in computed.items())
    raise ScalingLimitsError(
        f"{figure}: was not computed at the preset {preset} in {where}. To compute it, in the project's folder: "
        f"scaling-limits run {figure} --preset {preset}. Computed there: {listing or 'nothing'}"
    )


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ScalingLimitsError(f"{path} cannot be read: {error}") from error


def _verdict_line(verdict: JsonObject) -> str:
    measured = []
    if verdict["value"] is not None:
        measured.append(f"measured {with_interval(verdict['value'], verdict['interval'])}")
    measured += [f"threshold: {verdict['threshold']}", f"source: {verdict['source']}"]
    line = f"- **{verdict['verdict']}**: {verdict['statement']} ({'; '.join(measured)})"
    if verdict["detail"]:
        line += f" {verdict['detail']}"
    if verdict["registered"]:
        line += f" *Registered deviation:* {verdict['registered']}"
    if verdict.get("amended"):
        line += f" *Amended:* {verdict['amended']}"
    return line
