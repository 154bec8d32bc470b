"""Noise that a shuffler adds, audited where it is added: the counts of two values, as they leave the shuffler."""

import hashlib
from typing import Final

import numpy as np
from flint import ctx
from numpy.typing import NDArray

from shuffledp.auditing.event import Atoms
from shuffledp.auditing.subject import Claimed, Subject
from shuffledp.core.randomness import KeyedRandomness, RandomSource
from shuffledp.randomizers.geometric_noise import GeometricNoise

Reals = NDArray[np.float64]
_FARTHEST: Final = 1e3
"""The score of what happens in one world only."""
_BLOCK: Final = 1 << 14


class AddedNoise(Subject):
    """One user holds the first or the second of two values, and nobody else holds either: no other data say more.

    Each trial draws the noise of both counts by the code that runs. Its score is the logarithm of the likelihood ratio of the
    counts, so that no event tells the worlds apart better (Neyman and Pearson).
    """

    def __init__(self, noise: GeometricNoise, *, claimed: Claimed, randomness: RandomSource | None = None) -> None:
        if randomness is not None:
            randomness.reserve()
        self.name, self.view, self.n, self.claimed = "noise from the shuffler", "shuffled", 1, claimed
        self._noise, self.block = noise, _BLOCK
        self._secret = (randomness or KeyedRandomness.fresh()).blocks(np.arange(2, dtype=np.uint64), 0).tobytes()

    @property
    def worlds(self) -> str:
        """Who holds what."""
        return "one user holds one of two values, and nobody else holds either"

    def foreseen(self) -> Atoms:
        """The few outcomes by which delta is proved."""
        with ctx.workprec(128):
            laws = np.array([[float(mass) for mass in outcome] for outcome in self._noise.outcomes()])
        return Atoms(_ratio(laws[:, 0], laws[:, 1]), laws[:, 0], laws[:, 1])

    def scores(self, first: int, trials: int) -> tuple[Reals, Reals]:
        """Scores of the counts in so many trials of each world."""
        return self._scored(first, trials, 0), self._scored(first, trials, 1)

    def _scored(self, first: int, trials: int, holder: int) -> Reals:
        key = hashlib.sha256(self._secret + first.to_bytes(8, "big") + bytes([holder])).digest()
        often = np.zeros((trials, 2), dtype=np.int64)
        often[:, holder] = 1
        counts = self._noise.noised(often.ravel(), KeyedRandomness(key, private=False)).reshape(trials, 2)
        ratios = self._ratios(int(counts.max()))[counts]
        return np.asarray(np.round(np.clip(ratios[:, 0] - ratios[:, 1], -_FARTHEST, _FARTHEST), 9))

    def _ratios(self, most: int) -> Reals:
        """The log likelihood ratio of each count, with the user in it or not."""
        law, kept = self._noise.chances(), self._noise.share_kept
        law = np.concatenate([law, np.zeros(max(0, most + 2 - len(law)))])
        with_user = kept * np.append(0.0, law[:-1]) + (1 - kept) * law
        found = _ratio(with_user, law)
        last = len(self._noise.chances()) - 2  # beyond, chances are too small to be told: the ratio stays as it is
        found[last:] = found[last - 1]
        return found


def _ratio(first: Reals, second: Reals) -> Reals:
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.log(first) - np.log(second)
    return np.asarray(
        np.round(np.clip(np.nan_to_num(found, nan=0.0, posinf=_FARTHEST, neginf=-_FARTHEST), -_FARTHEST, _FARTHEST), 9)
    )
