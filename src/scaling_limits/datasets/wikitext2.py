"""WikiText-2, Wikipedia articles as words, with the analogies of Mikolov et al. (2013); the user provides the files.

Words are in lower case. The vocabulary contains the words that occur more than 128 times in the training text
(second-order B.2), and `<unk>` for all others. It has 2,048 entries; if there are more words, the most frequent ones
are used. A sample is a word with the four words before and the four words after it in the same paragraph. As sizes have
to be known before the files are read, the dataset consists of the first 1,500,000 samples of the training text and the
first 100,000 of the test text.
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
    """Decode context words [n, 8] and middle words [n], in uint16, by decreasing frequency, and analogies [q, 4].

    Raises:
        DatasetError: no analogy consists of words of the vocabulary.
    """
    train, test, questions = (payloads[payload.name].decode().lower() for payload in _PAYLOADS)
    ids = _vocabulary(train)
    analogies = _analogies(questions, ids)
    if not len(analogies):
        raise DatasetError(
            f"{_QUESTIONS.name}: no question consists of words that appear more than {_MORE_THAN} times in "
            f"{_TRAIN.name}"
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
    # equally frequent words in alphabetical order
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
    """Parse lines of four words; lines that begin with a colon name their category and are skipped."""
    lines = [line.split() for line in text.split("\n") if line and not line.startswith(":")]
    known = [[ids[word] for word in line] for line in lines if all(word in ids for word in line)]
    return np.array(known, np.uint16).reshape(-1, 4)
