"""The register of claims: investigated failures, and settings that changed after a result was known."""

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

Key = tuple[str, str, str, str]
"""Paper, figure, claim and preset."""
UNCHECKED = "No experiment has checked this explanation."


class Entry(Strict):
    """The claim and the presets to which an entry of either file applies."""

    paper: str
    figure: str
    claim: str
    presets: Annotated[tuple[str, ...], Field(min_length=1)]


class RegisteredFailure(Entry):
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


class Amendment(Entry):
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
    """Registered failures and amendments by claim and preset."""

    failures: Mapping[Key, RegisteredFailure] = field(default_factory=dict)
    amendments: Mapping[Key, Amendment] = field(default_factory=dict)

    @classmethod
    def read(cls, deviations: Path, amendments: Path) -> "Register":
        """Read the data files.

        Args:
            deviations: the file with the list `registered`.
            amendments: the file with the list `amendments`.

        Raises:
            ConfigurationError: a file is invalid, or names a claim twice at one preset.
        """
        return cls(
            _by_claim(RegisteredFailure, deviations, "registered"),
            _by_claim(Amendment, amendments, "amendments"),
        )


def _by_claim(model: type[EntryT], path: Path, key: str) -> dict[Key, EntryT]:
    """Read the entries of a list in a YAML file, by claim and preset."""
    by_claim: dict[Key, EntryT] = {}
    entries = read_yaml(path).get(key) or []
    if not isinstance(entries, list):
        raise ConfigurationError(key, f"should be a list, not {entries!r:.80}", place=path)
    for number, content in enumerate(entries):
        entry = validated(model, content, path, f"{key}.{number}.")
        for preset in entry.presets:
            claim = (entry.paper, entry.figure, entry.claim, preset)
            if claim in by_claim:
                raise ConfigurationError(key, f"twice: {', '.join(claim)}", place=path)
            by_claim[claim] = entry
    return by_claim
