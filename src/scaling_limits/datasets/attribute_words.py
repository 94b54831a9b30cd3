"""A generated text of words with two attributes each, so that it has analogies: a toy task for CBOW.

A word is a thing in a form, 12 things in 4 forms each, as it might be king, queen, man, woman. A sentence is about one
of them: of its nine words, independent of each other and of their order, a quarter is that word itself, a quarter goes
with the thing and a quarter with the form, whatever the other attribute is, and a quarter goes with anything. Each
sentence is one sample, the middle word and the four on either side.

The neighbours of a word then depends on its thing and on its form, and a : b :: c : d holds wherever a and b are one
thing, c and d another, a and c in one form, b and d in another.
"""

from collections.abc import Mapping
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from scaling_limits.datasets.description import DatasetInfo, Samples

_KEY = 48
_NUM_TRAIN, _NUM_TEST = 65536, 2048
_CONTEXT = 8
_THINGS, _FORMS = 12, 4
# words that go with one thing, with one form, and with anything
_OF_THING, _OF_FORM, _OF_ANY = 2, 2, 16

# where each kind of words begins in the vocabulary; the first are the words that analogies are about
_THING_WORDS = _THINGS * _FORMS
_FORM_WORDS = _THING_WORDS + _THINGS * _OF_THING
_ANY_WORDS = _FORM_WORDS + _FORMS * _OF_FORM
_VOCABULARY = _ANY_WORDS + _OF_ANY

INFO = DatasetInfo(
    name="attribute_words",
    title="generated words of two attributes",
    shape=(_VOCABULARY,),
    num_classes=_VOCABULARY,
    num_train=_NUM_TRAIN,
    num_test=_NUM_TEST,
    checksum="2fdf1cb9585d727d161ebe8d256392ec9ea49456feaf964b478f0f4033dd6804",
    context_size=_CONTEXT,
)

SOURCES = ()


def decode(_payloads: Mapping[str, bytes]) -> Samples:
    """Words around [n, 8] and in the middle [n], in uint8, and all 1,584 analogies [q, 4]."""
    generator = np.random.Generator(np.random.Philox(key=_KEY))
    train, test = (_sentences(generator, count) for count in (_NUM_TRAIN, _NUM_TEST))
    middle = _CONTEXT // 2
    return Samples(
        x_train=np.delete(train, middle, axis=1),
        y_train=train[:, middle],
        x_test=np.delete(test, middle, axis=1),
        y_test=test[:, middle],
        maximum=0.0,
        analogies=_analogies(),
    )


def _sentences(generator: np.random.Generator, count: int) -> NDArray[np.uint8]:
    """Words [count, 9]."""
    thing, form = (generator.integers(0, n, (count, 1)) for n in (_THINGS, _FORMS))
    shape = count, _CONTEXT + 1
    kind = generator.integers(0, 4, shape)
    with_thing = _THING_WORDS + thing * _OF_THING + generator.integers(0, _OF_THING, shape)
    with_form = _FORM_WORDS + form * _OF_FORM + generator.integers(0, _OF_FORM, shape)
    with_any = _ANY_WORDS + generator.integers(0, _OF_ANY, shape)
    words = np.choose(kind, [_word(thing, form), with_thing, with_form, with_any])
    return words.astype(np.uint8)


def _word(thing: NDArray[np.integer], form: NDArray[np.integer]) -> NDArray[np.integer]:
    return thing * _FORMS + form


def _analogies() -> NDArray[np.uint8]:
    things, forms = (np.array(list(permutations(range(n), 2))) for n in (_THINGS, _FORMS))
    (one, other), (before, after) = things.T[:, :, None], forms.T[:, None, :]
    words = [_word(thing, form) for thing in (one, other) for form in (before, after)]
    return np.stack(words, axis=-1).reshape(-1, 4).astype(np.uint8)
