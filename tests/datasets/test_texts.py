"""Datasets of words: what is in them, how they are kept, and what becomes of them in a batch."""

from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from scaling_limits.cells import DatasetSpec
from scaling_limits.datasets import (
    attribute_words,
    preparation,
    prepared,
    sentences,
    tiny_shakespeare,
    wikitext2,
    words,
)
from scaling_limits.datasets.loading import load
from scaling_limits.datasets.preparation import prepare
from scaling_limits.errors import ConfigurationError, DatasetError
from toys import BACKPROPAGATION, CBOW, TRANSFORMER, cell

COMMON = 130
"""More than enough for the vocabulary."""


def payloads(questions: str = "capital: a\n", **texts: str) -> dict[str, bytes]:
    contents = {
        "wiki.train.tokens": texts.get("train", ""),
        "wiki.test.tokens": texts.get("test", ""),
        "questions-words.txt": questions,
    }
    return {name: text.encode() for name, text in contents.items()}


class TestAttributeWords:
    samples = attribute_words.decode({})

    def test_its_numbers_are_those_that_it_announces(self) -> None:
        info = attribute_words.INFO
        assert prepared.digest(self.samples) == info.checksum
        assert self.samples.x_train.shape == (info.num_train, info.context_size)
        assert self.samples.x_test.shape == (info.num_test, info.context_size)
        assert max(self.samples.x_train.max(), self.samples.y_train.max()) == info.shape[0] - 1

    def test_words_are_drawn_as_it_says(self) -> None:
        """In sentences about thing 5 in form 2, word 22; within five standard errors."""
        about = (self.samples.x_train == 22).any(axis=1)
        x = self.samples.x_train[about]
        found = np.bincount(x.ravel(), minlength=96) / x.size
        # that the word is among the eight makes it more frequent than a quarter
        own = 0.25 / (1 - 0.75**8)
        rest = (1 - own) / 3
        expected = np.zeros(96)
        expected[22] = own
        expected[48 + 10 : 48 + 12] = rest / 2
        expected[72 + 4 : 72 + 6] = rest / 2
        expected[80:] = rest / 16
        error = np.sqrt(expected * (1 - expected) / x.size)
        assert (np.abs(found - expected) <= 5 * error).all()

    def test_analogies_keep_a_thing_on_each_side_and_change_its_form_alike(self) -> None:
        a, b, c, d = self.samples.analogies.T
        for one, other in ((a, b), (c, d)):
            assert (one // 4 == other // 4).all()
            assert (one % 4 != other % 4).all()
        for one, other in ((a, c), (b, d)):
            assert (one % 4 == other % 4).all()
            assert (one // 4 != other // 4).all()
        assert len(np.unique(self.samples.analogies, axis=0)) == 12 * 11 * 4 * 3


class TestWikiText2:
    def test_frequent_words_are_the_vocabulary_and_all_others_one_word(self) -> None:
        train = "The cat saw \n" * COMMON + "the mat \n" + "mat " * 127 + "\n"
        samples = wikitext2.decode(
            payloads("cat The saw cat", train=train, test="a cat saw the CAT on the mat the mat")
        )
        # by frequency, then by the alphabet: the 131 times, cat and saw 130, mat only 128
        ids = {"<unk>": 0, "the": 1, "cat": 2, "saw": 3}
        test = ["<unk>", "cat", "saw", "the", "cat", "<unk>", "the", "<unk>", "the", "<unk>"]
        indices = np.array([ids[word] for word in test])
        np.testing.assert_array_equal(samples.x_test[0], np.delete(indices[:9], 4))
        np.testing.assert_array_equal(samples.x_test[1], np.delete(indices[1:], 4))
        np.testing.assert_array_equal(samples.y_test, [ids["cat"], ids["<unk>"]])

    def test_samples_stay_within_their_paragraphs(self) -> None:
        train = "word " * COMMON + "\n" + "word " * 8 + "\n" + "word " * 9 + "\n"
        samples = wikitext2.decode(payloads("word word word word", train=train))
        assert len(samples.y_train) == COMMON - 8 + 1
        assert samples.x_test.shape == (0, 8)

    def test_questions_are_those_of_its_words(self) -> None:
        train = "King Queen Man Woman \n" * COMMON
        questions = ": family\nKing Queen man woman\nking queen uncle aunt\n\n: other\n"
        samples = wikitext2.decode(payloads(questions, train=train))
        king, queen, man, woman = 1, 4 - 1, 2, 4
        np.testing.assert_array_equal(samples.analogies, [[king, queen, man, woman]])

    def test_no_question_of_its_words_is_an_error(self) -> None:
        with pytest.raises(DatasetError, match=r"^questions-words.txt: no question consists of"):
            wikitext2.decode(payloads("a b c d", train="cat " * COMMON))

    def test_there_is_room_for_the_most_frequent(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(wikitext2, "_ROOM", 3)
        train = "b " * 140 + "a " * 150 + "c " * 130
        samples = wikitext2.decode(payloads("a b a b", train=train))
        assert samples.analogies.tolist() == [[1, 2, 1, 2]]
        assert samples.y_train.max() == 2

    def test_without_its_files_it_says_which_are_missing(self, tmp_path: Path) -> None:
        (tmp_path / "wikitext2").mkdir()
        names = r"wiki.train.tokens, wiki.test.tokens, questions-words.txt"
        with pytest.raises(DatasetError, match=f"^wikitext2: no complete copy in .*\n.*{names}"):
            prepare(
                "wikitext2",
                data_path=tmp_path,
                downloads=tmp_path,
                output=tmp_path / "out.npz",
                user={},
            )


def test_words_are_kept_as_indices_with_their_analogies(tmp_path: Path) -> None:
    samples = attribute_words.decode({})
    spec = cell(**CBOW).dataset
    preparation.write(tmp_path / "words.npz", samples, spec.checksum)
    arrays = load(spec, tmp_path / "words.npz", "float64")
    np.testing.assert_array_equal(arrays.x_train, samples.x_train[: spec.num_train])
    np.testing.assert_array_equal(arrays.y_test, samples.y_test[: spec.num_test])
    np.testing.assert_array_equal(arrays.analogies, samples.analogies)
    assert {v.dtype.kind for v in vars(arrays).values()} == {"i"}


def test_a_batch_of_words_becomes_counts_and_one_hot_rows() -> None:
    spec = cell(**CBOW).dataset
    x = np.array([[3, 3, 0, 95, 3, 7, 7, 1], [1, 2, 3, 4, 5, 6, 7, 8]])
    y = np.array([4, 95])
    inputs, targets = jax.jit(lambda: words.vectors(spec, x, y, "float64"))()
    np.testing.assert_array_equal(inputs, [np.bincount(row, minlength=96) for row in x])
    np.testing.assert_array_equal(targets, np.eye(96)[y])
    assert inputs.dtype == targets.dtype == np.float64


def test_other_samples_stay_as_they_are() -> None:
    spec: DatasetSpec = cell().dataset
    x, y = np.ones((2, 64)), np.ones((2, 10))
    assert words.vectors(spec, x, y, "float64") == (x, y)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"normalisation": "standardise"}, r"^normalisation: 'standardise' .* use 'none'"),
        ({"input_shape": [4, 24]}, r"^input_shape: .* leave it out"),
        (
            {"targets": "gaussian", "target_dim": 3, "loss": "mean_squared_error"},
            r"^targets: 'gaussian' .* use 'one_hot'",
        ),
        ({"limit": "linear_dmft"}, r"^limit: 'linear_dmft' .* leave it out"),
        ({"network": "cnn", "width": 1, "depth": 3}, r"^input_shape: cnn requires images"),
    ],
)
def test_what_is_of_images_is_refused(settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        cell(**CBOW | settings)


class TestSentences:
    samples = sentences.decode({})

    def test_its_numbers_are_those_that_it_announces(self) -> None:
        info = sentences.INFO
        assert prepared.digest(self.samples) == info.checksum
        assert (len(self.samples.x_train), len(self.samples.x_test)) == (
            info.num_train,
            info.num_test,
        )
        np.testing.assert_array_equal(self.samples.x_train[1:], self.samples.y_train[:-1])
        assert len(np.unique(self.samples.x_train)) == info.num_classes

    def test_verbs_agree_with_their_subjects(self) -> None:
        text = "".join(" .acdeghlnorstw"[token] for token in self.samples.x_train)
        whole = text.split(". ")[:-1]
        assert len(whole) > 2000
        for sentence in whole:
            first, *rest = sentence.split()
            adjectives = {"old", "sad", "lean", "tall"}
            noun, verb = rest[1:3] if rest[0] in adjectives else rest[:2]
            assert (first == "the") == noun.endswith("s") == (not verb.endswith("s"))


def test_a_sequence_is_cut_into_samples_that_do_not_overlap(tmp_path: Path) -> None:
    samples = sentences.decode({})
    preparation.write(tmp_path / "sentences.npz", samples, sentences.INFO.checksum)
    spec = cell(**BACKPROPAGATION | TRANSFORMER, num_train=64).dataset
    assert (spec.input_shape, spec.target_dim) == ((5, 15), 75)
    arrays = load(spec, tmp_path / "sentences.npz")
    np.testing.assert_array_equal(arrays.x_train.reshape(-1), samples.x_train[: 64 * 5])
    np.testing.assert_array_equal(arrays.y_test.reshape(-1), samples.y_test[: 16 * 5])
    x, y = words.vectors(spec, arrays.x_train[:3], arrays.y_train[:3], "float32")
    assert x.shape == y.shape == (3, 75)
    np.testing.assert_array_equal(
        np.asarray(x).reshape(3, 5, 15).argmax(axis=-1), arrays.x_train[:3]
    )
    # where one sample ends the next begins
    np.testing.assert_array_equal(
        np.asarray(y).reshape(3, 5, 15)[0, -1].argmax(), arrays.x_train[1, 0]
    )


def test_tiny_shakespeare_is_decoded_by_its_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiny_shakespeare, "_TRAIN", 6)
    samples = tiny_shakespeare.decode({"input.txt": b"abca\nbcab"})
    np.testing.assert_array_equal(samples.x_train, [1, 2, 3, 1, 0])
    np.testing.assert_array_equal(samples.y_train, [2, 3, 1, 0, 2])
    np.testing.assert_array_equal(samples.x_test, [3, 1])
    np.testing.assert_array_equal(samples.y_test, [1, 2])


def test_another_file_of_its_name_is_named_and_stays(tmp_path: Path) -> None:
    (tmp_path / "tinyshakespeare").mkdir()
    (tmp_path / "tinyshakespeare" / "input.txt").write_text("")
    with pytest.raises(DatasetError, match=r"input\.txt.*expected sha256:86c4e6aa"):
        prepare(
            "tiny_shakespeare",
            data_path=tmp_path,
            downloads=tmp_path / "downloads",
            output=tmp_path / "out.npz",
            user={},
        )
    assert (tmp_path / "tinyshakespeare" / "input.txt").read_text() == ""
