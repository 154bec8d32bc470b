import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from shuffledp import InvalidInput
from shuffledp.core.words import RESPONSE, ROUNDING, KeyedWords, Lane, SystemWords, rows_from, uniform_below


class AES:
    """One block of AES."""

    def __init__(self, key: bytes) -> None:
        self._encryptor = Cipher(algorithms.AES(key), modes.CBC(bytes(16))).encryptor()

    def __call__(self, block: bytes) -> bytes:
        return self._encryptor.update(block)


class Scripted:
    """Blocks from lists of 32-bit words, by draw: to steer the sampler into every branch."""

    private = False

    def __init__(self, *draws: list[int]) -> None:
        self._draws = [np.array([[0, word | 0xDEAD << 32] for word in draw], dtype=np.uint64) for draw in draws]

    def stream(self, first_row: int, count: int, lane: Lane) -> NDArray[np.uint8]:
        raise NotImplementedError

    def blocks(self, rows: NDArray[np.uint64], draw: int) -> NDArray[np.uint64]:
        return self._draws[draw][rows.astype(np.int64)]


def drawn(bound: int, source: Scripted, count: int) -> list[int]:
    rows = rows_from(0, count)
    found: list[int] = uniform_below(bound, rows, source, source.blocks(rows, 0), 0).tolist()
    return found


@given(st.integers(2, 2**32), st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=8))
def test_uniform_below_is_multiply_shift_with_exact_rejection(bound: int, words: list[int]) -> None:
    """Against the same rule in Python's integers; words in the rejected zone take the next draw."""
    spare = [2**32 - 1] * len(words)
    found = drawn(bound, Scripted(words, spare), len(words))
    for word, got in zip(words, found, strict=True):
        rejected = (word * bound) % 2**32 < 2**32 % bound
        assert got == ((2**32 - 1 if rejected else word) * bound) >> 32


@pytest.mark.parametrize("bound", [3, 5, 100, 2**31 + 1, 2**32 - 1])
def test_each_value_keeps_the_same_number_of_words(bound: int) -> None:
    """Exact uniformity: of the words mapped to v by (w bound) >> 32, those not rejected number floor(2^32 / bound)."""
    for v in {0, 1, bound // 2, bound - 1}:
        first = -(-(v << 32) // bound)
        last = -(-((v + 1) << 32) // bound) - 1
        threshold = 2**32 % bound
        head = range(first, min(first + 3, last + 1))
        kept = sum(1 for w in head if (w * bound) % 2**32 >= threshold)
        # only the first word of a cell can have a low half below the threshold (bound > threshold)
        assert kept >= len(head) - 1
        assert (last - first + 1) - (len(head) - kept) == 2**32 // bound


def test_a_rejected_word_is_redrawn() -> None:
    assert drawn(3, Scripted([0, 2**31], [2**31, 0]), 2) == [1, 1]


def test_keyed_words_depend_on_the_address_only() -> None:
    source = KeyedWords.seeded(7)
    whole = source.blocks(rows_from(0, 1000), 0)
    parts = [source.blocks(rows_from(start, 250), 0) for start in (0, 250, 500, 750)]
    assert (np.concatenate(parts) == whole).all()
    assert not (source.blocks(rows_from(0, 1000), 1) == whole).any()
    assert not (KeyedWords.seeded(8).blocks(rows_from(0, 1000), 0) == whole).any()


@given(st.integers(0, 2**40), st.integers(0, 200), st.integers(0, 200))
def test_a_stream_is_cut_anywhere(first: int, left: int, right: int) -> None:
    source = KeyedWords.seeded(7)
    whole = source.stream(first, left + right, RESPONSE)
    assert (source.stream(first, left, RESPONSE) == whole[:left]).all()
    assert (source.stream(first + left, right, RESPONSE) == whole[left:]).all()


def test_streams_are_different() -> None:
    source = KeyedWords.seeded(7)
    streams = [
        source.stream(0, 64, RESPONSE),
        source.stream(0, 64, ROUNDING),
        KeyedWords.seeded(8).stream(0, 64, RESPONSE),
    ]
    assert len({stream.tobytes() for stream in streams}) == 3


def test_known_answers() -> None:
    """AES-128 in the ways it is said to be used, by hand with another mode: CTR is ECB of the counters."""
    source = KeyedWords(bytes(range(32)), private=False)
    first, second = (AES(key) for key in (bytes(range(16)), bytes(range(16, 32))))
    assert source.stream(16, 16, ROUNDING).tobytes() == first(bytes([0] * 7 + [1] + [0] * 7 + [1]))
    row, draw = (5).to_bytes(8, "little"), (2**32).to_bytes(8, "little")
    assert source.blocks(np.array([5], dtype=np.uint64), 2**32).tobytes() == second(row + draw)


def test_only_secret_words_are_private() -> None:
    assert KeyedWords.fresh().private
    assert SystemWords().private
    assert not KeyedWords.seeded(1).private
    assert len(set(SystemWords().blocks(rows_from(0, 1000), 0).ravel().tolist())) == 2000
    assert len(set(SystemWords().stream(0, 10_000, RESPONSE).tolist())) == 256


def test_a_key_is_never_shown() -> None:
    assert repr(KeyedWords(b"0123456789abcdef" * 2, private=True)) == "KeyedWords(private=True)"
    with pytest.raises(InvalidInput, match="32 bytes"):
        KeyedWords(b"short", private=True)
