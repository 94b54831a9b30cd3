"""Tiny Shakespeare: a million characters of Shakespeare's plays, as tokens (Karpathy 2015).

A token is the index of a character among the 65 in the text. The first nine tenths are for training.
"""

from collections.abc import Mapping

import numpy as np

from scaling_limits.datasets.description import (
    DatasetInfo,
    Payload,
    Samples,
    Source,
    combined_checksum,
)

_TEXT = Payload(
    "input.txt", "sha256:86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"
)
_LENGTH = 1_115_394
_TRAIN = _LENGTH * 9 // 10

INFO = DatasetInfo(
    name="tiny_shakespeare",
    title="Tiny Shakespeare",
    shape=(65,),
    num_classes=65,
    num_train=_TRAIN - 1,
    num_test=_LENGTH - _TRAIN - 1,
    checksum=combined_checksum([_TEXT]),
    is_sequence=True,
)

SOURCES = (
    Source(
        (_TEXT,),
        folder=r"tiny[-_ ]?shakespeare",
        mirrors=(
            "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/",
        ),
        gzipped=False,
        telling_names=False,
    ),
)


def decode(payloads: Mapping[str, bytes]) -> Samples:
    """Decode characters [n] in uint8 and the next characters, without the last character of each part."""
    text = np.frombuffer(payloads[_TEXT.name], np.uint8)
    tokens = np.unique(text, return_inverse=True)[1].astype(np.uint8)
    train, test = tokens[:_TRAIN], tokens[_TRAIN:]
    return Samples(
        x_train=train[:-1], y_train=train[1:], x_test=test[:-1], y_test=test[1:], maximum=0.0
    )
