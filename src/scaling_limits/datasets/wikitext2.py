"""WikiText-2, articles of Wikipedia as words, with the analogies of Mikolov et al. (2013). The user provides the files.

Words are in small letters. The vocabulary has those that appear more than 128 times in the training text (second-order
B.2), and `<unk>` for all others; it has room for 2,048, the most frequent ones if there are more. A sample is a word
with the four before it and the four after it in the same paragraph. As sizes are known before the files are, they are
those of the first 1,500,000 samples of the training text, and of the first 100,000 of the test text.
"""

from collections import Counter
from collections.abc import Mapping

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from scaling_limits.datasets.description import (
    DatasetInfo,
    Payload,
    Samples,
    Source,
    combined_checksum,
)
from scaling_limits.errors import DatasetError

_TRAIN = Payload("wiki.train.tokens", "sha1:863f29c46ef9d167fff4940ec821195882fe29d1")
_TEST = Payload("wiki.test.tokens", "sha1:c7b8ce0aa086fb34dab808c5c49224211eb2b172")
_QUESTIONS = Payload(
    "questions-words.txt",
    "sha256:8c29b3332afc46f3fb8be04cb5297bf96f39aa7131272dff57869b4485b22a36",
)
_PAYLOADS = (_TRAIN, _TEST, _QUESTIONS)

_MORE_THAN = 128
_ROOM = 2048
_UNKNOWN = "<unk>"
_CONTEXT = 8

INFO = DatasetInfo(
    name="wikitext2",
    title="WikiText-2",
    shape=(_ROOM,),
    num_classes=_ROOM,
    num_train=1_500_000,
    num_test=100_000,
    checksum=combined_checksum(_PAYLOADS),
    context_size=_CONTEXT,
)

SOURCES = (Source(_PAYLOADS, folder=r"wikitext[-_ ]?2(?!\d)"),)

Ids = dict[str, int]


def decode(payloads: Mapping[str, bytes]) -> Samples:
    """Words around [n, 8] and in the middle [n], in uint16, by falling frequency, and analogies [q, 4].

    Raises:
        DatasetError: no analogy is of words of the vocabulary.
    """
    train, test, questions = (payloads[payload.name].decode().lower() for payload in _PAYLOADS)
    ids = _vocabulary(train)
    analogies = _analogies(questions, ids)
    if not len(analogies):
        raise DatasetError(
            f"{_QUESTIONS.name}: no question has all its words among those that appear more than {_MORE_THAN} times "
            f"in {_TRAIN.name}"
        )
    (x_train, y_train), (x_test, y_test) = _samples(train, ids), _samples(test, ids)
    return Samples(
        x_train=x_train[: INFO.num_train],
        y_train=y_train[: INFO.num_train],
        x_test=x_test[: INFO.num_test],
        y_test=y_test[: INFO.num_test],
        maximum=0.0,
        analogies=analogies,
    )


def _vocabulary(text: str) -> Ids:
    counts = Counter(text.split())
    del counts[_UNKNOWN]
    frequent = [word for word, count in counts.items() if count > _MORE_THAN]
    # words that are as frequent as each other by the alphabet
    ordered = sorted(frequent, key=lambda word: (-counts[word], word))
    return {word: index for index, word in enumerate([_UNKNOWN, *ordered][:_ROOM])}


def _samples(text: str, ids: Ids) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
    paragraphs = (
        [ids.get(word, ids[_UNKNOWN]) for word in line.split()] for line in text.split("\n")
    )
    windows = [
        sliding_window_view(np.array(words, np.uint16), _CONTEXT + 1)
        for words in paragraphs
        if len(words) > _CONTEXT
    ]
    whole = np.concatenate([np.empty((0, _CONTEXT + 1), np.uint16), *windows])
    middle = _CONTEXT // 2
    return np.delete(whole, middle, axis=1), whole[:, middle]


def _analogies(text: str, ids: Ids) -> NDArray[np.uint16]:
    """Lines of four words, below the names of their kinds, which begin with a colon."""
    lines = [line.split() for line in text.split("\n") if line and not line.startswith(":")]
    known = [[ids[word] for word in line] for line in lines if all(word in ids for word in line)]
    return np.array(known, np.uint16).reshape(-1, 4)
