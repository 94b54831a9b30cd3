"""Errors that a user can correct: their messages name the file, the key or the value, and what is valid."""

import difflib
from collections.abc import Iterable


class ScalingLimitsError(Exception):
    """Base of all errors whose message is shown to the user without a traceback."""


class ConfigurationError(ScalingLimitsError):
    """The configuration or the requested figure is invalid.

    Args:
        key: the dotted path of the invalid key, from which its file and line are found; None if no key is to blame.
        problem: what is wrong and what is valid.
        place: the file and line, if known.
    """

    def __init__(self, key: str | None, problem: object, *, place: object = None) -> None:
        named = [part for part in (place, key, problem) if part is not None]
        super().__init__(": ".join(map(str, named)))
        self.key = key


class DatasetError(ScalingLimitsError):
    """A dataset is missing, corrupt or has the wrong shape."""


class StoreError(ScalingLimitsError):
    """A stored cell cannot be read or written."""


def unknown(kind: str, word: object, valid: Iterable[object]) -> str:
    """Return a message that `word` is not a valid `kind`, with the closest valid spelling and all valid words.

    >>> unknown("dataset", "minst", ["mnist", "digits"])
    "unknown dataset 'minst'; did you mean 'mnist'? Valid: digits, mnist"
    """
    choices = sorted(str(choice) for choice in valid)
    near = difflib.get_close_matches(str(word), choices, n=1, cutoff=0.5)
    hint = f"; did you mean '{near[0]}'?" if near else "."
    return f"unknown {kind} '{word}'{hint} Valid: {', '.join(choices)}"
