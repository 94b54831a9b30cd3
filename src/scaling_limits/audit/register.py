"""The register: investigated failures, settings that changed after a result was known, and observations."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import Field

from scaling_limits.configuration.files import read_yaml
from scaling_limits.configuration.validation import validated
from scaling_limits.errors import ConfigurationError
from scaling_limits.outcomes import Outcome
from scaling_limits.strict import Strict

Key = tuple[str, ...]
"""Paper and figure, and perhaps a claim and a preset."""
UNCHECKED = "No experiment has checked this explanation."


class Entry(Strict):
    """The figure and the presets to which an entry applies."""

    paper: str
    figure: str
    presets: Annotated[tuple[str, ...], Field(min_length=1)]

    @property
    def key(self) -> Key:
        """What may occur once at a preset."""
        return (self.paper, self.figure)


class Observation(Entry):
    """What a figure shows that none of its claims judges, as a sentence without its full stop."""

    text: str = Field(min_length=1, max_length=240)


class ClaimEntry(Entry):
    """The claim to which an entry applies."""

    claim: str

    @property
    def key(self) -> Key:
        """Paper, figure and claim."""
        return (*super().key, self.claim)


class RegisteredFailure(ClaimEntry):
    """A claim that fails, what was found about it, and whether an experiment has checked this explanation.

    `clause` states the finding and the reason in a few words, as shown on the picture.
    """

    clause: str = Field(min_length=1, max_length=140)
    text: str = Field(min_length=1)
    checked: bool

    @property
    def whole_text(self) -> str:
        """The text, with a note if no experiment has checked it."""
        return self.text if self.checked else f"{self.text.rstrip()} {UNCHECKED}"

    @property
    def whole_clause(self) -> str:
        """The clause, with a note if no experiment has checked it."""
        return (
            self.clause if self.checked else f"{self.clause.rstrip('.')} (explanation not tested)"
        )


KindOfChange = Literal[
    "rule",
    "scope",
    "control",
    "sizes",
    "hyperparameters",
    "data",
    "batch size",
    "updates",
    "test samples",
    "seeds",
]
"""Kinds of changes that an amendment names."""


class Amendment(ClaimEntry):
    """A claim whose grids, control, seeds or rule changed after a result was known.

    `kinds` names what was changed; `changed` has one line for each change, in order.
    `before` is the verdict before the first change, and `measured` the numbers at that time. `digest` is the amended
    claim's digest, or `removed`, once the claim has been locked (`lock`).
    """

    commits: tuple[str, ...] = ()
    kinds: Annotated[tuple[KindOfChange, ...], Field(min_length=1)]
    changed: Annotated[tuple[str, ...], Field(min_length=1)]
    before: Outcome | Literal["not recorded"]
    measured: str | None = None
    why: str = Field(min_length=1)
    digest: str | None = None

    @property
    def grids_tried(self) -> int:
        """The number of settings with which the claim was judged."""
        return 1 + len(self.changed)

    @property
    def text(self) -> str:
        """The amendment as text."""
        measured = f" ({self.measured})" if self.measured else ""
        changes = "; ".join(self.changed)
        return f"{self.before} before{measured}. Changed after a result: {changes}. {self.why}"


EntryT = TypeVar("EntryT", bound=Entry)


@dataclass(frozen=True)
class Register:
    """Registered failures and amendments by claim and preset, and observations by paper, figure and preset."""

    failures: Mapping[Key, RegisteredFailure] = field(default_factory=dict)
    amendments: Mapping[Key, Amendment] = field(default_factory=dict)
    observations: Mapping[Key, Observation] = field(default_factory=dict)

    @classmethod
    def read(cls, deviations: Path, amendments: Path) -> "Register":
        """Read the data files.

        Args:
            deviations: the file with the lists `registered` and `observed`.
            amendments: the file with the list `amendments`.

        Raises:
            ConfigurationError: a file is invalid, or names a claim or figure twice at one preset.
        """
        return cls(
            _by_key(RegisteredFailure, deviations, "registered"),
            _by_key(Amendment, amendments, "amendments"),
            _by_key(Observation, deviations, "observed"),
        )


def _by_key(model: type[EntryT], path: Path, name: str) -> dict[Key, EntryT]:
    """Read the entries of a list in a YAML file, by their keys and presets."""
    by_key: dict[Key, EntryT] = {}
    entries = read_yaml(path).get(name) or []
    if not isinstance(entries, list):
        raise ConfigurationError(name, f"should be a list, not {entries!r:.80}", place=path)
    for number, content in enumerate(entries):
        entry = validated(model, content, path, f"{name}.{number}.")
        for preset in entry.presets:
            key = (*entry.key, preset)
            if key in by_key:
                raise ConfigurationError(name, f"twice: {', '.join(key)}", place=path)
            by_key[key] = entry
    return by_key
