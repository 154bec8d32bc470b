import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from shuffledp.core.words import KeyedWords, SystemWords, rows_from, uniform_below


class Scripted:
    """Words from a list, by draw: to steer the sampler into every branch."""

    private = False

    def __init__(self, *draws: list[int]) -> None:
        self._draws = [np.array(draw, dtype=np.uint64) for draw in draws]

    def words(self, rows: NDArray[np.uint64], draw: int) -> NDArray[np.uint64]:
        return self._draws[draw - 1][rows.astype(np.int64)]


@given(st.integers(2, 2**32), st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=8))
def test_uniform_below_is_multiply_shift_with_exact_rejection(bound: int, words: list[int]) -> None:
    """Against the same rule in Python's integers; words in the rejected zone take the next draw."""
    spare = [2**64 - 1] * len(words)
    found = uniform_below(bound, rows_from(0, len(words)), Scripted(words, spare), 1)
    for word, got in zip(words, found.tolist(), strict=True):
        rejected = (word * bound) % 2**64 < 2**64 % bound
        assert got == ((2**64 - 1 if rejected else word) * bound) >> 64


@pytest.mark.parametrize("bound", [3, 5, 2**32 - 1])
def test_each_value_keeps_the_same_number_of_words(bound: int) -> None:
    """Exact uniformity: of the words mapped to v by (w bound) >> 64, those not rejected number floor(2^64 / bound)."""
    for v in {0, 1, bound // 2, bound - 1}:
        first = -(-(v << 64) // bound)
        last = -(-((v + 1) << 64) // bound) - 1
        threshold = 2**64 % bound
        kept = sum(1 for w in range(first, min(first + 3, last)) if (w * bound) % 2**64 >= threshold)
        # only the first word of a cell can have a low half below the threshold (bound > threshold)
        assert kept in (2, 3)
        assert (last - first + 1) - (3 - kept) == 2**64 // bound


def test_a_rejected_word_is_redrawn() -> None:
    found = uniform_below(3, rows_from(0, 2), Scripted([0, 2**63], [2**63, 0]), 1)
    assert found.tolist() == [1, 1]


def test_keyed_words_depend_on_the_address_only() -> None:
    source = KeyedWords.seeded(7)
    whole = source.words(rows_from(0, 1000), 0)
    parts = [source.words(rows_from(start, 250), 0) for start in (0, 250, 500, 750)]
    assert (np.concatenate(parts) == whole).all()
    assert not (source.words(rows_from(0, 1000), 1) == whole).any()
    assert not (KeyedWords.seeded(8).words(rows_from(0, 1000), 0) == whole).any()


def test_only_secret_words_are_private() -> None:
    assert KeyedWords.fresh().private
    assert SystemWords().private
    assert not KeyedWords.seeded(1).private
    assert len(set(SystemWords().words(rows_from(0, 1000), 0).tolist())) == 1000


def test_a_key_is_never_shown() -> None:
    assert repr(KeyedWords(b"0123456789abcdef", private=True)) == "KeyedWords(private=True)"
