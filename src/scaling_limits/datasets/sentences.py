"""A generated text of sentences of a small grammar, as tokens: a toy task for language models.

    sentence -> subject verb "." | subject verb object "."
    subject, object -> a noun with its article, one or many, and an adjective before every other one

A verb agrees with its subject. A token is a character. Within words the next character is nearly certain, at their
beginnings it depends on the words before, so a model does better with earlier words.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from scaling_limits.datasets.description import DatasetInfo, Samples

_KEY = 126
_NUM_TRAIN, _NUM_TEST = 65_536, 8_192
_NOUNS = ("cat", "dog", "hen", "owl", "ant", "goat")
_ADJECTIVES = ("old", "sad", "lean", "tall")
_VERBS = ("chase", "see", "want", "greet")
_CHARACTERS = " .acdeghlnorstw"

INFO = DatasetInfo(
    name="sentences",
    title="generated sentences",
    shape=(len(_CHARACTERS),),
    num_classes=len(_CHARACTERS),
    num_train=_NUM_TRAIN,
    num_test=_NUM_TEST,
    checksum="f5528a2fe8b830d06df8636fff7beb0c33b62a86c09d24ec02f67eae58981e25",
    is_sequence=True,
)

SOURCES = ()


def decode(_payloads: Mapping[str, bytes]) -> Samples:
    """Characters [n] in uint8 and those after them."""
    generator = np.random.Generator(np.random.Philox(key=_KEY))
    train, test = (_tokens(generator, count + 1) for count in (_NUM_TRAIN, _NUM_TEST))
    return Samples(
        x_train=train[:-1], y_train=train[1:], x_test=test[:-1], y_test=test[1:], maximum=0.0
    )


def _tokens(generator: np.random.Generator, count: int) -> NDArray[np.uint8]:
    text = ""
    while len(text) < count:
        text += _sentence(generator)
    return np.array([_CHARACTERS.index(character) for character in text[:count]], np.uint8)


def _sentence(generator: np.random.Generator) -> str:
    subject, many = _noun(generator)
    verb = _one_of(generator, _VERBS) + ("" if many else "s")
    words = [subject, verb, *([_noun(generator)[0]] if generator.integers(2) else [])]
    return " ".join(words) + ". "


def _noun(generator: np.random.Generator) -> tuple[str, bool]:
    """A noun with the words before it, and whether it is plural."""
    many = bool(generator.integers(2))
    adjective = [_one_of(generator, _ADJECTIVES)] if generator.integers(2) else []
    noun = _one_of(generator, _NOUNS) + ("s" if many else "")
    return " ".join(["the" if many else "one", *adjective, noun]), many


def _one_of(generator: np.random.Generator, words: tuple[str, ...]) -> str:
    return words[generator.integers(len(words))]
