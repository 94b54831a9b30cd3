"""Errors that a user can mend: they name the file, the key or the value, and what would be valid."""

import difflib
from collections.abc import Iterable


class ScalingLimitsError(Exception):
    """Base of all errors whose message is meant for the user, without a traceback."""


class ConfigurationError(ScalingLimitsError):
    """The configuration, or the figure asked for, is not valid.

    Args:
        key: the dotted path of the key in question, by which its file and line are found; None if there is none.
        problem: what is wrong, and what would be valid.
        place: the file and line, where they are known.
    """

    def __init__(self, key: str | None, problem: object, *, place: object = None) -> None:
        named = [part for part in (place, key, problem) if part is not None]
        super().__init__(": ".join(map(str, named)))
        self.key = key


class DatasetError(ScalingLimitsError):
    """A dataset is missing, corrupt or of the wrong shape."""


class StoreError(ScalingLimitsError):
    """A stored cell cannot be read or written."""


def unknown(kind: str, word: object, valid: Iterable[object]) -> str:
    """Say that `word` is no valid `kind`, with the nearest valid spelling first.

    >>> unknown("dataset", "minst", ["mnist", "digits"])
    "unknown dataset 'minst'; did you mean 'mnist'? Valid: digits, mnist"
    """
    choices = sorted(str(choice) for choice in valid)
    near = difflib.get_close_matches(str(word), choices, n=1, cutoff=0.5)
    hint = f"; did you mean '{near[0]}'?" if near else "."
    return f"unknown {kind} '{word}'{hint} Valid: {', '.join(choices)}"
