"""Beginnings of texts as points: piece by piece, so that all ways to go on are found by adding one number each."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shuffledp.domains.spellable_texts import Spelled, codes
from shuffledp.domains.texts import text_hashes

Points = NDArray[np.int64]
Pieces = NDArray[np.int64]
TABLES: Final = 2
"""Hash functions at each level. Texts that share a point under one of them do not under the other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefixes:
    """Texts cut into pieces of `step` letters. Level t = 0, 1, ... is about the first t + 1 pieces.

    Formula: the point of pieces p_0 ... p_t in table r is the sum over j of h(p_j) modulo P, where h is the keyed hash of the
    piece's letters, filled up with 0, with the tag 1 + 2^16 (2 t + r) + j (`domains.texts.text_hashes`).
    Two different beginnings differ in some piece, so they share a point with probability 1 / P, independently in each table.
    Legend: P = points. A piece is numbered by its letters, the last one changing fastest.
    """

    domain: Spelled
    step: int
    key: str
    points: int

    @property
    def levels(self) -> int:
        """As many as pieces."""
        return -(-self.domain.max_length // self.step)

    @property
    def parts(self) -> int:
        """Levels and tables: part TABLES t + r is about level t in table r."""
        return TABLES * self.levels

    @property
    def _base(self) -> int:
        """Letters, and none."""
        return self.domain.letters + 1

    def pieces(self, values: NDArray[np.bytes_]) -> Pieces:
        """The pieces of clean values, a column for each."""
        table = codes(values, self.levels * self.step).reshape(len(values), self.levels, self.step)
        found = np.zeros((len(values), self.levels), dtype=np.int64)
        for place in range(self.step):
            found *= self._base
            found += table[:, :, place]
        return found

    def spelled(self, pieces: Pieces) -> list[bytes]:
        """The letters' numbers of beginnings."""
        table = self._letters(pieces.ravel()).reshape(len(pieces), pieces.shape[1] * self.step)
        return [row.tobytes().rstrip(b"\0") for row in table]

    def ended(self, pieces: Pieces) -> NDArray[np.bool_]:
        """Whether a beginning is the whole text: its last piece is not full."""
        return np.asarray(pieces[:, -1] % self._base == 0)

    def next_pieces(self, level: int) -> Pieces:
        """All pieces that a text which has not ended can go on with: letters, then nothing. The first is empty."""
        found = [np.zeros(1, dtype=np.int64)]
        full = np.zeros(1, dtype=np.int64)
        for place in range(min(self.step, self.domain.max_length - level * self.step)):
            weight = self._base ** (self.step - 1 - place)
            full = (full[:, None] + weight * np.arange(1, self._base)).ravel()
            found.append(full)
        return np.concatenate(found)

    def all_points(self, pieces: Pieces) -> Points:
        """The points of whole texts in every part, a column for each."""
        return self._points(pieces, range(self.parts))

    def points_of(self, pieces: Pieces, part: int) -> Points:
        """The points of beginnings in one part, or of as many of their pieces as are given."""
        return self._points(pieces, [part])[:, 0]

    def _points(self, pieces: Pieces, parts: Sequence[int]) -> Points:
        """In some parts. Each different piece is hashed once."""
        found = np.zeros((len(parts), len(pieces)), dtype=np.int64)
        for j in range(pieces.shape[1]):
            different, places = _different(pieces[:, j])
            for row, part in zip(found, parts, strict=True):
                if j <= part // TABLES:
                    row += self.steps_of(different, part, j)[places]
        found %= self.points
        return found.T

    def steps_of(self, pieces: Pieces, part: int, place: int) -> Points:
        """What each of some pieces at one place adds to a point."""
        letters = self._letters(pieces).tobytes()
        cut = [letters[start : start + self.step] for start in range(0, len(letters), self.step)]
        hashes = text_hashes(self.key, cut, tag=1 + (part << 16) + place)
        return (hashes % np.uint64(self.points)).astype(np.int64)

    def _letters(self, pieces: Pieces) -> NDArray[np.uint8]:
        places = self._base ** np.arange(self.step - 1, -1, -1, dtype=np.int64)
        return (pieces[:, None] // places % self._base).astype(np.uint8)


def _different(numbers: Pieces) -> tuple[Pieces, NDArray[np.int64]]:
    """The different numbers, and which of them each is: np.unique, faster where many small numbers are given."""
    size = int(numbers.max(initial=0)) + 1
    if size > 8 * len(numbers):
        different, places = np.unique(numbers, return_inverse=True)
        return different, places
    seen = np.zeros(size, dtype=np.bool_)
    seen[numbers] = True
    different = np.flatnonzero(seen)
    order = np.zeros(size, dtype=np.int64)
    order[different] = np.arange(len(different))
    return different, order[numbers]
