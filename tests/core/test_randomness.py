import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from shuffledp import InvalidInput
from shuffledp.core.randomness import (
    CHOICE,
    DUMMIES,
    PART,
    RESPONSE,
    ROUNDING,
    EncodingRandomness,
    KeyedRandomness,
    Lane,
    NoWords,
    QuestionRandomness,
    RowWords,
    SystemRandomness,
    choose_below,
    randomness_of,
    rows_from,
    uniform_below,
    where_at_most,
    words_each,
)


class AES:
    """One block of AES."""

    def __init__(self, key: bytes) -> None:
        self._encryptor = Cipher(algorithms.AES(key), modes.CBC(bytes(16))).encryptor()

    def __call__(self, block: bytes) -> bytes:
        return self._encryptor.update(block)


class OneByOne(AES):
    """Each block by itself."""

    def __init__(self, key: bytes) -> None:
        self._encryptor = Cipher(algorithms.AES(key), modes.ECB()).encryptor()


class Scripted:
    """Blocks from lists of 32-bit words, by draw: to steer the sampler into every branch."""

    private = False

    def __init__(self, *draws: list[int]) -> None:
        self._draws = [np.array([[0, word | 0xDEAD << 32] for word in draw], dtype=np.uint64) for draw in draws]

    def reserve(self) -> None:
        """They are not for releases."""

    def stream(self, first_row: int, count: int, lane: Lane) -> NDArray[np.uint8]:
        raise NotImplementedError

    def blocks(self, rows: NDArray[np.uint64], draw: int) -> NDArray[np.uint64]:
        return self._draws[draw][rows.astype(np.int64)]


def drawn(bound: int, source: Scripted, count: int) -> list[int]:
    rows = rows_from(0, count)
    found: list[int] = uniform_below(bound, rows, source, source.blocks(rows, 0), 0).tolist()
    return found


@given(st.integers(2, 2**32), st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=8))
def test_uniform_below_is_multiply_shift_with_exact_rejection(bound: int, randomness: list[int]) -> None:
    """Against the same rule in Python's integers; words in the rejected zone take the next draw."""
    spare = [2**32 - 1] * len(randomness)
    found = drawn(bound, Scripted(randomness, spare), len(randomness))
    for word, got in zip(randomness, found, strict=True):
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
    source = KeyedRandomness.seeded(7)
    whole = source.blocks(rows_from(0, 1000), 0)
    parts = [source.blocks(rows_from(start, 250), 0) for start in (0, 250, 500, 750)]
    assert (np.concatenate(parts) == whole).all()
    assert not (source.blocks(rows_from(0, 1000), 1) == whole).any()
    assert not (KeyedRandomness.seeded(8).blocks(rows_from(0, 1000), 0) == whole).any()


@given(st.integers(0, 2**40), st.integers(0, 200), st.integers(0, 200))
def test_a_stream_is_cut_anywhere(first: int, left: int, right: int) -> None:
    source = KeyedRandomness.seeded(7)
    whole = source.stream(first, left + right, RESPONSE)
    assert (source.stream(first, left, RESPONSE) == whole[:left]).all()
    assert (source.stream(first + left, right, RESPONSE) == whole[left:]).all()


@given(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 200), max_size=40, unique=True), st.integers(0, 30))
def test_rows_with_numbers_of_their_own_have_the_words_at_these(numbers: list[int], first: int) -> None:
    """In every lane, in any order; rows beyond 2^60 have no stream to compare with, but the cipher itself."""
    source = KeyedRandomness(bytes(range(32)), private=False)
    rows = np.array(numbers, dtype=np.uint64)
    randomness = RowWords(source, rows, first)
    cipher = OneByOne(bytes(range(16)))
    for lane in (RESPONSE, ROUNDING, CHOICE, PART + 8, DUMMIES):
        width = 4 if lane in (CHOICE, PART + 8) else 1
        expected = b"".join(
            cipher(lane.to_bytes(8, "big") + (row * width >> 4).to_bytes(8, "big"))[row * width % 16 :][:width]
            for row in numbers
        )
        assert randomness.stream(first * width, len(rows) * width, lane).tobytes() == expected
        half = len(rows) // 2
        assert (
            randomness.stream((first + half) * width, (len(rows) - half) * width, lane).tobytes()
            == expected[half * width :]
        )
        for j, row in enumerate(numbers):
            if row < 2**60:
                assert source.stream(row * width, width, lane).tobytes() == expected[j * width :][:width]
    assert (randomness.blocks(rows_from(first, len(rows)), 7) == source.blocks(rows, 7)).all()


@given(st.integers(0, 2**40), st.integers(1, 100))
def test_rows_that_follow_each_other_have_the_words_of_a_stream(first: int, count: int) -> None:
    source = KeyedRandomness.seeded(7)
    randomness = RowWords(source, rows_from(first, count), 0)
    for lane, width in ((RESPONSE, 1), (CHOICE, 4)):
        assert (randomness.stream(0, width * count, lane) == source.stream(width * first, width * count, lane)).all()


@pytest.mark.parametrize("first", [2**60 - 20, 2**60 - 8, 2**60, 2**61 - 8, 2**62 - 8, 2**63 - 8, 2**64 - 16])
def test_rows_that_follow_each_other_far_out_have_the_words_at_their_addresses(first: int) -> None:
    source, cipher = KeyedRandomness(bytes(range(32)), private=False), OneByOne(bytes(range(16)))
    randomness = RowWords(source, np.arange(16, dtype=np.uint64) + np.uint64(first), 0)
    for lane, width in ((RESPONSE, 1), (CHOICE, 4)):
        expected = b"".join(
            cipher(lane.to_bytes(8, "big") + (row * width >> 4).to_bytes(8, "big"))[row * width % 16 :][:width]
            for row in range(first, first + 16)
        )
        assert randomness.stream(0, 16 * width, lane).tobytes() == expected


def test_rows_that_are_not_there_have_no_words() -> None:
    randomness = RowWords(KeyedRandomness.seeded(7), np.array([5, 3, 9], dtype=np.uint64), 10)
    for first, count, lane in ((9, 2, RESPONSE), (11, 3, RESPONSE), (42, 4, CHOICE), (13, 1, RESPONSE)):
        with pytest.raises(InvalidInput, match="do not exist"):
            randomness.stream(first, count, lane)
    with pytest.raises(InvalidInput, match="need randomness that has a key"):
        RowWords(SystemRandomness(), rows_from(0, 3), 0)


def test_several_rows_for_each_row() -> None:
    source, rows = KeyedRandomness.seeded(7), np.array([5, 3], dtype=np.uint64)
    assert words_each(source, 3) is source
    randomness = words_each(RowWords(source, rows, 1), 3)
    expected = [source.stream(row, 1, RESPONSE)[0] for row in (15, 16, 17, 9, 10, 11)]
    assert randomness.stream(3, 6, RESPONSE).tolist() == expected
    with pytest.raises(InvalidInput, match="Use smaller ones"):
        words_each(RowWords(source, np.array([2**63], dtype=np.uint64), 0), 3)


class Asked:
    """Notes the addresses that are asked for."""

    private = True

    def __init__(self) -> None:
        self.addresses = list[tuple[int, ...]]()

    def reserve(self) -> None:
        """They are not for releases."""

    def stream(self, first_row: int, count: int, lane: Lane) -> NDArray[np.uint8]:
        self.addresses.append((first_row, count, lane))
        return np.zeros(count, dtype=np.uint8)

    def blocks(self, rows: NDArray[np.uint64], draw: int) -> NDArray[np.uint64]:
        self.addresses.append((*rows.tolist(), draw))
        return np.zeros((len(rows), 2), dtype=np.uint64)


def test_encoders_and_questions_have_parts_of_the_addresses_that_nobody_else_has() -> None:
    """Up to their ends: 2^33 draws of an encoder, 2^40 draws of each of 2^16 questions."""
    source = Asked()
    encoder, last = EncodingRandomness(source), QuestionRandomness(source, 2**16 - 1)
    encoder.stream(3, 4, RESPONSE)
    last.stream(3, 4, PART)
    randomness_of(2, encoder).stream(3, 4, CHOICE)
    randomness_of(2, source).stream(3, 4, CHOICE)
    assert source.addresses == [(3, 4, 1), (3, 4, 3 + 8 * 65_535), (3, 4, 1 + 16), (3, 4, 2 + 16)]
    source.addresses.clear()
    for draw in (0, 7, 2**32 + 7, 2**33 - 1):
        encoder.blocks(rows_from(5, 2), draw)
    assert source.addresses == [(5, 6, 2**32), (5, 6, 2**32 + 7), (5, 6, 2**32 + 7), (5, 6, 2**33 - 1)]
    source.addresses.clear()
    for draw in (0, 2**40 - 1):
        last.blocks(rows_from(5, 2), draw)
    randomness_of(2, encoder).blocks(rows_from(5, 2), 7)
    assert source.addresses == [(5, 6, 65_535 * 2**40), (5, 6, 2**56 - 1), (5, 6, 2 * 2**40 + 2**32 + 7)]
    for wrong in (-1, 2**33):
        with pytest.raises(InvalidInput, match="below 2"):
            encoder.blocks(rows_from(5, 2), wrong)
    for wrong in (-1, 2**40):
        with pytest.raises(InvalidInput, match="below 2"):
            last.blocks(rows_from(5, 2), wrong)
    for wrong in (-1, 2**16):
        with pytest.raises(InvalidInput, match="at most 65,536 questions"):
            QuestionRandomness(source, wrong)
    assert encoder.private
    assert last.private
    assert not EncodingRandomness(KeyedRandomness.seeded(1)).private
    assert not QuestionRandomness(KeyedRandomness.seeded(1), 1).private


def test_what_must_not_depend_on_chance_gets_no_words() -> None:
    assert not NoWords().private
    with pytest.raises(InvalidInput, match="depends on chance"):
        NoWords().stream(0, 1, RESPONSE)
    with pytest.raises(InvalidInput, match="depends on chance"):
        NoWords().blocks(rows_from(0, 1), 0)


@pytest.mark.parametrize("lane", [CHOICE, PART])
def test_a_choice_that_is_rejected_goes_on_to_blocks_of_its_own(lane: Lane) -> None:
    """Of 2^32 words, 2^32 mod bound are rejected; here almost half are."""
    source, bound = KeyedRandomness.seeded(7), 2**31 + 1
    chosen = choose_below(bound, 200, source, first_row=9, lane=lane).tolist()
    assert max(chosen) < bound
    first = {CHOICE: 2**33, PART: 2**34}[lane]
    for row, found in enumerate(chosen, start=9):
        word = int.from_bytes(source.stream(4 * row, 4, lane).tobytes(), "little")
        draw = first
        while word * bound % 2**32 < 2**32 % bound:
            word = int(source.blocks(np.array([row], dtype=np.uint64), draw)[0, 1]) % 2**32
            draw += 1
        assert found == word * bound >> 32


@pytest.mark.parametrize("bound", [0, -1, 2**32 + 1])
def test_nothing_is_drawn_below_what_32_bits_cannot_reach(bound: int) -> None:
    source = KeyedRandomness.seeded(7)
    with pytest.raises(InvalidInput, match="must be from 1 to 2"):
        choose_below(bound, 3, source, first_row=0)
    assert choose_below(1, 3, source, first_row=0).tolist() == [0, 0, 0]
    assert len(set(choose_below(2**32, 100, source, first_row=0).tolist())) > 90


@pytest.mark.parametrize("row", [-1, 2**62])
def test_row_numbers_end_at_2_to_the_62(row: int) -> None:
    with pytest.raises(InvalidInput, match="row numbers"):
        rows_from(row, 1)
    assert rows_from(2**62 - 1, 1).tolist() == [2**62 - 1]


def test_streams_are_different() -> None:
    source = KeyedRandomness.seeded(7)
    streams = [
        source.stream(0, 64, RESPONSE),
        source.stream(0, 64, ROUNDING),
        KeyedRandomness.seeded(8).stream(0, 64, RESPONSE),
    ]
    assert len({stream.tobytes() for stream in streams}) == 3


def test_known_answers() -> None:
    """AES-128 in the ways it is said to be used, by hand with another mode: CTR is ECB of the counters."""
    source = KeyedRandomness(bytes(range(32)), private=False)
    first, second = (AES(key) for key in (bytes(range(16)), bytes(range(16, 32))))
    assert source.stream(16, 16, ROUNDING).tobytes() == first(bytes([0] * 7 + [1] + [0] * 7 + [1]))
    row, draw = (5).to_bytes(8, "little"), (2**32).to_bytes(8, "little")
    assert source.blocks(np.array([5], dtype=np.uint64), 2**32).tobytes() == second(row + draw)


def test_only_secret_words_are_private() -> None:
    assert KeyedRandomness.fresh().private
    assert SystemRandomness().private
    assert not KeyedRandomness.seeded(1).private
    assert len(set(SystemRandomness().blocks(rows_from(0, 1000), 0).ravel().tolist())) == 2000
    assert len(set(SystemRandomness().stream(0, 10_000, RESPONSE).tolist())) == 256


def test_a_key_is_never_shown() -> None:
    assert repr(KeyedRandomness(b"0123456789abcdef" * 2, private=True)) == "KeyedRandomness(private=True)"
    with pytest.raises(InvalidInput, match="32 bytes"):
        KeyedRandomness(b"short", private=True)


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 1000])
@pytest.mark.parametrize("top", [0, 3, 15, 16, 255])
def test_few_bytes_are_found_wherever_they_are(length: int, top: int) -> None:
    drawn = KeyedRandomness.seeded(1).stream(5, length, 0)
    assert where_at_most(drawn, top).tolist() == [j for j, byte in enumerate(drawn.tolist()) if byte <= top]
