"""Registered failures: claims that were investigated, do not hold, and are kept in sight."""

from collections.abc import Iterable, Mapping
from typing import Annotated

from pydantic import Field

from scaling_limits.errors import ConfigurationError
from scaling_limits.strict import Strict

Key = tuple[str, str, str, str]


class RegisteredFailure(Strict):
    """One entry of the data file: which claim fails at which presets, and what was found."""

    paper: str
    figure: str
    claim: str
    presets: Annotated[tuple[str, ...], Field(min_length=1)]
    text: str = Field(min_length=1)


def registered_failures(entries: Iterable[Mapping[str, object]]) -> dict[Key, str]:
    """Map (paper, figure, claim, preset) to the registered text.

    Raises:
        ConfigurationError: a claim is registered twice at one preset.
    """
    texts: dict[Key, str] = {}
    for entry in entries:
        failure = RegisteredFailure.model_validate(entry)
        for preset in failure.presets:
            key = (failure.paper, failure.figure, failure.claim, preset)
            if key in texts:
                raise ConfigurationError(None, f"registered twice: {', '.join(key)}")
            texts[key] = failure.text
    return texts
