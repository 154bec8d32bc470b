"""Where randomness comes from. It is an argument: every randomizer is a pure function of the random words that it is given.

Words are addressed by row. Each row has one byte of a stream, which settles most rows, and blocks of 128 bits by draw
number for what is rarer: a tie with a threshold, a blanket symbol, a rejection. Under one key every process that works on its
own rows produces the same messages, however rows are partitioned, so a repeated task never randomizes anyone twice.
"""

import hashlib
import os
from typing import Any, Final, Protocol, Self

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from shuffledp.core.used_keys import COPIED, first_use, generation
from shuffledp.errors import InvalidInput

Bytes = NDArray[np.uint8]
Words = NDArray[np.uint64]
Lane = int
"""Which stream: what a row's bytes are for."""
WORD: Final = 1 << 64
"""Number of 64-bit words: probabilities that run are whole numbers of 1 / WORD."""
RESPONSE: Final[Lane] = 0
"""The stream and draws (from 0) that randomizers use."""
ROUNDING: Final[Lane] = 1
"""The stream and draws (from 2^32) that stochastic rounding uses."""


CHOICE: Final[Lane] = 2
"""The stream (four bytes per row) and draws (from 2^33) that choose one of a value's messages."""
PART: Final[Lane] = 3
"""The stream (four bytes per row) and draws (from 2^34) that choose one of several questions."""
DUMMIES: Final[Lane] = 4
"""The stream and draws (from 2^35) that say how many dummies a user sends, and which."""
DUMMY_DRAW: Final = 1 << 35
CHOICE_DRAW: Final = 1 << 33
NOISE_DRAW: Final = 1 << 36
"""The draw that says how many dummies a shuffler adds; its rows are no people, but symbols and attempts."""
KEPT_DRAW: Final = 1 << 37
"""The draws, from here one for each symbol, that say which of its reports a shuffler keeps."""
_LANES: Final = 8
"""From one question's lanes to the next one's."""
_FOUR_BYTES: Final = (CHOICE, PART)
"""Lanes with four bytes per row; the others have one."""
MOST_QUESTIONS: Final = 1 << 16
"""That one person answers."""
_FEW_BYTES: Final = 15
"""Of 256."""
_ZEROS: Final = memoryview(bytes(1 << 21))
"""Made once: to make them for each call takes longer than the cipher."""
_FIRST_DRAWS: Final[dict[Lane, int]] = {CHOICE: CHOICE_DRAW, PART: 1 << 34}


class RandomSource(Protocol):
    """Uniform independent bits by address."""

    @property
    def private(self) -> bool:
        """Whether the words are unpredictable, so that what they randomize carries a guarantee."""
        ...

    def reserve(self) -> None:
        """Keep the words for one release, before the first of them is drawn; refused if another release had them.

        Two releases under the same words show how their values differ. Once reserved, words stay so, whatever becomes of the
        release.
        """
        ...

    def stream(self, first_row: int, count: int, lane: Lane) -> Bytes:
        """One byte per row for rows first_row, first_row + 1, ..."""
        ...

    def blocks(self, rows: Words, draw: int) -> Words:
        """Two words for each row's draw number `draw`: an array of shape (len(rows), 2)."""
        ...


class _OfSource:
    """Words of a source, at other addresses than its own."""

    __slots__ = ("source",)

    def __init__(self, source: RandomSource) -> None:
        self.source = source

    @property
    def private(self) -> bool:
        """Whether the source is private."""
        return self.source.private

    def reserve(self) -> None:
        """All of the source."""
        self.source.reserve()


class EncodingRandomness(_OfSource):
    """Words of a source for encoding alone: whatever is asked for, it is none that a randomizer uses.

    A randomizer's privacy is proved for words that nothing else depends on, so encoders get their own part of the addresses:
    the lane of rounding, and draws from 2^32 to 2^33.
    """

    __slots__ = ()

    def stream(self, first_row: int, count: int, lane: Lane) -> Bytes:  # noqa: ARG002
        """The lane of rounding, whichever is asked for."""
        return self.source.stream(first_row, count, ROUNDING)

    def blocks(self, rows: Words, draw: int) -> Words:
        """Draws below 2^32 are moved up by that."""
        if not 0 <= draw < 1 << 33:
            raise InvalidInput("an encoder draws numbers below 2^33. Use smaller ones.")
        return self.source.blocks(rows, draw | 1 << 32)


class QuestionRandomness(_OfSource):
    """Words of a source for one of several questions that a person answers all: none that another question uses."""

    __slots__ = ("_question",)

    def __init__(self, source: RandomSource, question: int) -> None:
        if not 0 <= question < MOST_QUESTIONS:
            raise InvalidInput(f"a person answers at most {MOST_QUESTIONS:,} questions. Ask fewer.")
        super().__init__(source)
        self._question = question

    def stream(self, first_row: int, count: int, lane: Lane) -> Bytes:
        """A lane for each question and purpose."""
        return self.source.stream(first_row, count, lane + _LANES * self._question)

    def blocks(self, rows: Words, draw: int) -> Words:
        """Draws below 2^40 are moved up by multiples of that."""
        if not 0 <= draw < 1 << 40:
            raise InvalidInput("a question draws numbers below 2^40. Use smaller ones.")
        return self.source.blocks(rows, draw + (self._question << 40))


def randomness_of(question: int, randomness: RandomSource) -> RandomSource:
    """The part of some words that is for one question; of an encoder's words, a part of these."""
    if isinstance(randomness, EncodingRandomness):
        return EncodingRandomness(QuestionRandomness(randomness.source, question))
    return QuestionRandomness(randomness, question)


class SystemRandomness:
    """The operating system's random bytes: fresh at each call, whatever the address. What a client device uses."""

    private = True

    def reserve(self) -> None:
        """Nothing to record, because no word comes twice."""

    def stream(self, first_row: int, count: int, lane: Lane) -> Bytes:  # noqa: ARG002 - the address does not matter here
        """Fresh system bytes, different at every call."""
        return np.frombuffer(os.urandom(count), dtype=np.uint8)

    def blocks(self, rows: Words, draw: int) -> Words:  # noqa: ARG002
        """Fresh system words, different at every call."""
        return np.frombuffer(os.urandom(16 * len(rows)), dtype="<u8").reshape(-1, 2)


class NoWords:
    """None at all: whatever is asked for is refused. For what must not depend on chance."""

    private = False

    def reserve(self) -> None:
        """Do nothing: there are no words to use up."""

    def stream(self, first_row: int, count: int, lane: Lane) -> Bytes:  # noqa: ARG002
        """Refuse to give any, whatever was asked for."""
        raise InvalidInput("this depends on chance. State how likely each outcome is.")

    def blocks(self, rows: Words, draw: int) -> Words:  # noqa: ARG002
        """Refuse to give any, whatever was asked for."""
        raise InvalidInput("this depends on chance. State how likely each outcome is.")


class KeyedRandomness:
    """Streams are AES-CTR under one key, blocks are AES of (row, draw) under another: the same in every process.

    A private key randomizes one release, in the process that made these words: another one under it is refused. A copy, such
    as a task of Spark is sent, can take part in that release, and randomizes none of its own.
    """

    __slots__ = ("_block_key", "_generation", "_stream_key", "private")

    def __init__(self, key: bytes, *, private: bool) -> None:
        if len(key) != 32:
            raise InvalidInput(f"a key has 32 bytes; got {len(key)}. Use KeyedRandomness.fresh().")
        self._stream_key = key[:16]
        self._block_key = key[16:]
        self.private = private
        self._generation = generation()

    @classmethod
    def fresh(cls) -> Self:
        """A new secret key for one run."""
        return cls(os.urandom(32), private=True)

    @classmethod
    def seeded(cls, seed: int) -> Self:
        """Repeatable words for simulation and tests; results randomized with them carry no guarantee."""
        return cls(hashlib.sha256(f"shuffledp simulation {seed}".encode()).digest(), private=False)

    def replayed(self) -> Self:
        """These words again, to repeat a run bit for bit. What is randomized with them carries no guarantee."""
        return type(self)(self._stream_key + self._block_key, private=False)

    def reserve(self) -> None:
        """Refused if either part of the key was used in this process, whether or not that carried a guarantee."""
        if self.private and self._generation != generation():
            raise InvalidInput(
                "this randomness is a copy, and nobody here knows what became of the original. "
                "Use KeyedRandomness.fresh(); to repeat a run without a guarantee, use replayed()."
            )
        if not first_use([self._stream_key, self._block_key]) and self.private:
            raise InvalidInput(
                "this randomness was used before, and two answers under it show how their data differ. Leave it out or "
                "use KeyedRandomness.fresh(); to repeat a run without a guarantee, use replayed()."
            )

    def stream(self, first_row: int, count: int, lane: Lane) -> Bytes:
        """Byte `row` of the keystream whose nonce is the lane."""
        block, skip = divmod(_checked(first_row), 16)
        start = lane.to_bytes(8, "big") + block.to_bytes(8, "big")
        encryptor = Cipher(algorithms.AES(self._stream_key), modes.CTR(start)).encryptor()
        return np.frombuffer(encryptor.update(_zeros(skip + count)), dtype=np.uint8, offset=skip)

    def stream_at(self, rows: Words, lane: Lane) -> Bytes:
        """The bytes of these rows, in any order: those that `stream` has at their addresses."""
        width = width_of(lane)
        each = np.uint64(16 // width)
        counters = rows // each
        # neighbours are often in one block of the cipher, which is then computed once
        new = np.ones(len(rows), dtype=np.bool_)
        np.not_equal(counters[1:], counters[:-1], out=new[1:])
        blocks = np.full((int(np.count_nonzero(new)), 2), lane, dtype=">u8")
        blocks[:, 1] = counters[new]
        encryptor = Cipher(algorithms.AES(self._stream_key), modes.ECB()).encryptor()  # noqa: S305 - CTR is ECB of counters
        drawn = np.frombuffer(encryptor.update(blocks.view(np.uint8).data), dtype=f"<u{width}")
        places = (np.cumsum(new) - 1) * int(each) + (rows % each).astype(np.int64)
        found: Bytes = drawn[places].view(np.uint8)
        return found

    def blocks(self, rows: Words, draw: int) -> Words:
        """AES(row, draw), each half of a block a little-endian integer."""
        blocks = np.full(2 * len(rows), draw, dtype="<u8")
        blocks[::2] = rows
        # ECB on distinct addresses is a permutation used as a function: no two blocks under one key are equal, which is
        # far from noticeable until about 2^64 of them.
        encryptor = Cipher(algorithms.AES(self._block_key), modes.ECB()).encryptor()  # noqa: S305
        return np.frombuffer(encryptor.update(blocks.view(np.uint8).data), dtype="<u8").reshape(-1, 2)

    def __reduce__(self) -> tuple[Any, ...]:
        return _copied, (self._stream_key + self._block_key, self.private)

    def __repr__(self) -> str:
        return f"KeyedRandomness(private={self.private})"


def _copied(key: bytes, private: bool) -> KeyedRandomness:
    randomness = KeyedRandomness(key, private=private)
    randomness._generation = COPIED
    return randomness


class RowWords(_OfSource):
    """Words of a key for rows that have numbers of their own, distinct ones in any order.

    Whoever uses them counts rows from `first_row` on, and gets the words at the address of the row that is meant. Words of
    the operating system have no addresses, so that they cannot be used here.

    Args:
        source: the key's words.
        rows: the address of each row.
        first_row: what the first of these rows is called by whoever uses the words.
    """

    __slots__ = ("_first", "_in_order", "_rows")
    source: "KeyedRandomness"

    def __init__(self, source: RandomSource, rows: Words, first_row: int) -> None:
        if not isinstance(source, KeyedRandomness):
            raise InvalidInput("row numbers need randomness that has a key. Use KeyedRandomness.fresh().")
        super().__init__(source)
        self._rows, self._first = rows, first_row
        self._in_order = (
            len(rows) > 0
            and int(rows[0]) + len(rows) - 1 == int(rows[-1]) < 1 << 60
            and bool((rows[1:] == rows[:-1] + np.uint64(1)).all())
        )

    def stream(self, first_row: int, count: int, lane: Lane) -> Bytes:
        """The bytes at the rows' addresses."""
        width = width_of(lane)
        rows = self._rows[first_row // width - self._first :][: count // width]
        if first_row < width * self._first or len(rows) * width != count or first_row % width:
            raise InvalidInput("words are requested for rows that do not exist. Please report this.")
        if self._in_order and count:
            return self.source.stream(int(rows[0]) * width, count, lane)
        return self.source.stream_at(rows, lane)

    def blocks(self, rows: Words, draw: int) -> Words:
        """The blocks at the rows' addresses."""
        return self.source.blocks(self._rows[rows - np.uint64(self._first)], draw)

    def spread(self, each: int) -> "RowWords":
        """Words of `each` rows for every row: row i becomes i * each, i * each + 1, ..."""
        if len(self._rows) and int(self._rows.max()) >= WORD // each:
            raise InvalidInput(f"with {each:,} messages each, row numbers end at 2^64 / {each:,}. Use smaller ones.")
        spread = np.repeat(self._rows * np.uint64(each), each) + np.tile(rows_from(0, each), len(self._rows))
        return RowWords(self.source, spread, self._first * each)


def public_bytes(key: bytes, addresses: NDArray[np.uint64]) -> Bytes:
    """AES of addresses, each two words in big-endian order, under a key that everybody knows: nothing about them is secret."""
    encryptor = Cipher(algorithms.AES(key), modes.ECB()).encryptor()  # noqa: S305 - CTR is ECB of counters
    return np.frombuffer(encryptor.update(addresses.astype(">u8", copy=False).view(np.uint8).data), dtype=np.uint8)


def words_each(randomness: RandomSource, each: int) -> RandomSource:
    """Words whose rows i * each ... i * each + each - 1 belong to row i."""
    return randomness.spread(each) if isinstance(randomness, RowWords) else randomness


def width_of(lane: Lane) -> int:
    """Bytes per row of a lane."""
    return 4 if lane % _LANES in _FOUR_BYTES else 1


def rows_from(first: int, count: int) -> Words:
    """The addresses of `count` consecutive rows."""
    return np.arange(_checked(first), first + count, dtype=np.uint64)


def uniform_below(bound: int, rows: Words, source: RandomSource, blocks: Words, draw: int) -> NDArray[np.uint32]:
    """Exactly uniform integers below `bound` (at most 2^32), by multiply-shift with rejection (Lemire 2019).

    Uses 32 bits of the second words of `blocks`, the rows' blocks number `draw`; a rejected row goes on to its next draws.
    """
    threshold = (1 << 32) % _fits(bound)
    product = _multiply(blocks, bound)
    rejected = np.flatnonzero(_low(product) < threshold)
    while len(rejected):
        draw += 1
        again = _multiply(source.blocks(rows[rejected], draw), bound)
        product[rejected] = again
        rejected = rejected[_low(again) < threshold]
    return product.view("<u4")[1::2]


def choose_below(
    bound: int, count: int, source: RandomSource, *, first_row: int, lane: Lane = CHOICE
) -> NDArray[np.uint32]:
    """Exactly uniform integers below `bound` (at most 2^32), one per row: 32 bits of the stream, blocks for what they reject."""
    _fits(bound)
    drawn = source.stream(4 * _checked(first_row), 4 * count, lane).view("<u4")
    product = drawn.astype("<u8") * np.uint64(bound)
    rejected = np.flatnonzero(_low(product) < (1 << 32) % bound)
    chosen = product.view("<u4")[1::2].copy()
    if len(rejected):
        rows, draw = rejected.view(np.uint64) + np.uint64(first_row), _FIRST_DRAWS[lane]
        chosen[rejected] = uniform_below(bound, rows, source, source.blocks(rows, draw), draw)
    return chosen


def coins(threshold: int, count: int, rows: Words, source: RandomSource, first_draw: int) -> NDArray[np.bool_]:
    """`count` independent coins per row, True with probability threshold / 2^64, from draws first_draw, first_draw + 1, ..."""
    if threshold >= WORD:
        return np.ones((len(rows), count), dtype=np.bool_)
    thrown = np.empty((len(rows), count + 1), dtype=np.bool_)
    for j in range(0, count, 2):
        thrown[:, j : j + 2] = source.blocks(rows, first_draw + j // 2) < np.uint64(threshold)
    return thrown[:, :count]


def where_at_most(drawn: Bytes, top: int) -> NDArray[np.intp]:
    """Indices of the bytes that are at most `top`."""
    return where_few(drawn <= top) if top <= _FEW_BYTES else np.flatnonzero(drawn <= top)


def where_few(mask: NDArray[np.bool_]) -> NDArray[np.intp]:
    """np.flatnonzero in two steps, which take less time where few are true: which eights have one, and where."""
    even = len(mask) & ~7
    eights = mask[:even].view(np.uint64)
    some = np.flatnonzero(eights != 0)
    inside = np.flatnonzero(eights.take(some).view(np.bool_))
    found: NDArray[np.intp] = some.take(inside >> 3)
    found <<= 3
    inside &= 7
    found += inside
    return found if even == len(mask) else np.concatenate([found, even + np.flatnonzero(mask[even:])])


def _zeros(count: int) -> memoryview:
    """So many bytes, all zero, that a keystream is added to."""
    return _ZEROS[:count] if count <= len(_ZEROS) else memoryview(bytes(count))


def _fits(bound: int) -> int:
    """Below a larger bound every draw would be rejected."""
    if not 1 <= bound <= 1 << 32:
        raise InvalidInput(f"the limit of a random number must be from 1 to 2^32; got {bound:,}. Use fewer messages.")
    return bound


def _multiply(blocks: Words, bound: int) -> Words:
    product: Words = blocks.view("<u4")[:, 2].astype("<u8")
    product *= np.uint64(bound)
    return product


def _low(product: Words) -> NDArray[np.uint32]:
    return product.view("<u4")[::2]


def _checked(row: int) -> int:
    if not 0 <= row < 2**62:
        raise InvalidInput("row numbers go from 0 to 2^62. Choose a smaller first_row.")
    return row
