"""Users whose messages are shuffled, or one of them whose messages are not: what randomizers and protocols are audited by."""

import math
import time
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from shuffledp.auditing.codebook import Codebook
from shuffledp.auditing.event import Atoms, best_event
from shuffledp.auditing.inputs import Inputs
from shuffledp.auditing.neighbours import Neighbours, promising
from shuffledp.auditing.subject import Claimed, Subject, View
from shuffledp.core import checks
from shuffledp.core.randomness import KeyedRandomness, RandomSource
from shuffledp.errors import InvalidInput

Reals = NDArray[np.float64]
_TOGETHER: Final = 1 << 18
"""Messages that are drawn at once."""
_MOST_USERS: Final = 10_000_000
_TRIPLES: Final = 4
"""Of values, of which the best is looked for by its power."""
_ROUGHLY: Final = 1_000_000
_CLOSELY: Final = 10_000_000
"""Numbers drawn to foresee the power, to compare datasets and to state it."""
_LEARNED: Final = 200_000
"""Messages of each value from which its law is learned, unless another number is asked for."""
_FEWEST_LEARNED: Final = 1000
_MOST_LEARNED: Final = 2_000_000
_TASTE: Final = 0.25
"""The share of the time for learning that may go into finding out how long a message takes."""
_LEARNING_ROWS: Final = 1 << 48
"""Where the rows of those begin: no trial gets that far."""
_SEED: Final = 20_190_306
"""Of what is drawn to foresee the power: no part of the trials."""


class Crowd(Subject):
    """n users: one holds the first or the second value, all others a third, and the messages come from the code that runs.

    The messages of the others serve both worlds: each world's trials are still independent of each other.
    Messages that the attacker knows, as in the n - 1 attack, can be taken out of the counts, so they are left out.
    """

    def __init__(
        self, inputs: Inputs, *, n: int, claimed: Claimed, view: View = "shuffled", known: int = 0, learned: bool = False,
        randomness: RandomSource | None = None, trials: int = 1_000_000, confidence: float = 0.999,
    ) -> None:  # fmt: skip
        known = checks.whole(known, "known", "Give how many others' messages are known.")
        if not 0 <= known < n:
            raise InvalidInput(
                f"among {n:,} users an attacker can know at most {n - 1:,} others; got {known:,}. Use fewer."
            )
        if view == "shuffled" and n - known > _MOST_USERS:
            raise InvalidInput(f"{n:,} users are too many to sample repeatedly. Audit at most {_MOST_USERS:,}.")
        self.name, self.view, self.claimed = inputs.name, view, claimed
        self.n = 1 if view == "local" else n - known
        if randomness is not None:
            randomness.reserve()  # trials that were seen before would count twice
        self._known, self._words = known, randomness or KeyedRandomness.fresh()
        self._inputs, self.learned = inputs, inputs.view.total is None and (learned or inputs.laws is None)
        self._book: Codebook | None = None
        self.concurrent = True
        self.block = max(1, _TOGETHER // (self.n + 1))
        self._law: Atoms | None = None
        self.pair: tuple[int, int, int] = (0, 1, 0)
        self._neighbours: Neighbours | None = None
        if inputs.view.total is not None:
            self.pair = (len(inputs.values) - 1, 0, 0)  # both ends of a range, the larger total first
            totals, one, other = inputs.view.total.law(self.n)
            self._law = Atoms(totals.astype(np.float64), one, other)
            self.block = max(1, self.block // inputs.sent(0, 1, self._words, _LEARNING_ROWS)[1])
        if not self.learned and inputs.laws is not None:
            self._settle(list(inputs.laws), trials, confidence, exact=not inputs.view.dummies)

    @property
    def worlds(self) -> str:
        """Who holds what."""
        x, z, w = (self._inputs.labels[j] for j in self.pair)
        if self.n == 1:
            known = f"; the attacker knows the messages of {self._known:,} others" if self._known else ""
            return f"one user holds {x} or {z}{known}"
        known = f", and the attacker knows the messages of {self._known:,} more" if self._known else ""
        return f"one user holds {x} or {z}, {self.n - 1:,} others hold {w}{known}"

    def learn(self, trials: int, *, seconds: float = math.inf) -> int:
        """The law of each value's messages, from messages of its own."""
        if not self.learned:
            return 0
        each = trials * max(1, self.n // 4) if trials else self._affordable(seconds / len(self._inputs.values))
        each = min(max(each, _FEWEST_LEARNED), _MOST_LEARNED)
        drawn = [
            self._inputs.sent(j, each, self._words, _LEARNING_ROWS + j * each)[0]
            for j in range(len(self._inputs.values))
        ]
        self._book = Codebook(drawn) if self._inputs.view.messages is None else None
        size = self._book.size if self._book is not None else self._inputs.view.messages or 0
        laws = []
        for messages in drawn:
            often = np.bincount(self._coded(messages), minlength=size)[:size]
            laws.append((often + 0.5) / (often.sum() + 0.5 * size))
        self._settle(laws, 0, 0.999, exact=False)
        return 0

    def _affordable(self, seconds: float) -> int:
        """How many messages of one value can be drawn in that time, as far as they are of use."""
        if seconds == math.inf:
            return _LEARNED
        some = _FEWEST_LEARNED
        while True:
            begun = time.perf_counter()
            self._inputs.sent(0, some, self._words, _LEARNING_ROWS)
            spent = time.perf_counter() - begun
            if spent > _TASTE * seconds or some >= _LEARNED:
                return min(int(some * seconds / spent) if spent > 0 else _LEARNED, _LEARNED)
            some *= 2

    def foreseen(self) -> Atoms | None:
        """Where it is known: one message of each user, or one to each question, or the law of what all messages say together."""
        return self._law

    def scores(self, first: int, trials: int) -> tuple[Reals, Reals]:
        """Likelihood ratios of the counts; or what all messages together say."""
        (x, z, w), row, others = self.pair, first * (self.n + 1), self.n - 1
        if self._inputs.view.total is not None:
            rows = [self._rows(w, others, trials, row)] if others else []
            own = [self._rows(value, 1, trials, row + trials * (others + j)) for j, value in enumerate((x, z))]
            one, other = (
                self._inputs.view.total.of(np.concatenate([*rows, mine], axis=1)).astype(np.float64) for mine in own
            )
            return one, other
        neighbours = self._settled
        crowd = self._counted(w, others, trials, row) if others else 0
        counted = [self._counted(value, 1, trials, row + trials * (others + j)) for j, value in enumerate((x, z))]
        return neighbours.scores(crowd + counted[0]), neighbours.scores(crowd + counted[1])

    @property
    def _settled(self) -> Neighbours:
        if self._neighbours is None:
            raise InvalidInput("nothing has been learned yet. Call learn first.")
        return self._neighbours

    def _rows(self, value: int, users: int, trials: int, row: int) -> NDArray[Any]:
        """The messages of each trial side by side."""
        return self._inputs.sent(value, users * trials, self._words, row)[0].reshape(trials, -1)

    def _counted(self, value: int, users: int, trials: int, row: int) -> NDArray[np.int64]:
        """The counts of the messages of so many users of each trial, who all hold one value."""
        messages, each = self._inputs.sent(value, users * trials, self._words, row)
        neighbours = self._settled
        if isinstance(each, int):
            return neighbours.counts(self._coded(messages), users * each, trials)
        trial = np.repeat(np.repeat(np.arange(trials), users), each)
        return neighbours.counts(self._coded(messages), trial, trials)

    def _coded(self, messages: NDArray[Any]) -> NDArray[Any]:
        """Messages as numbers."""
        return messages if self._book is None else self._book.coded(messages)

    def _settle(self, laws: list[Reals], trials: int, confidence: float, *, exact: bool) -> None:
        """Choose the two values, and that of the others, for which the audit can show most."""
        inputs, best = self._inputs, None
        generator = np.random.default_rng(_SEED)
        for pair in promising(laws, self.n, _TRIPLES if exact else 1):
            neighbours = self._of(laws, *pair)
            atoms = neighbours.foreseen(self.n, generator, _ROUGHLY, trials) if exact else None
            power = best_event(atoms, trials, delta=self.claimed.delta, confidence=confidence).epsilon if atoms else 0.0
            if best is None or power > best[0]:
                best = power, pair, neighbours
        if best is None:
            raise InvalidInput(f"{inputs.name} has one value only, so there is nothing to tell apart.")
        _, self.pair, self._neighbours = best
        self._law = self._neighbours.foreseen(self.n, generator, _CLOSELY, trials) if exact else None

    def _of(self, laws: list[Reals], x: int, z: int, w: int) -> Neighbours:
        others = laws[w] if self.n > 1 else (laws[x] + laws[z]) / 2
        if self._inputs.view.dummies:  # all that is sent beside the true messages of one, up to a factor
            others = (self.n - 1) * laws[w] + self.n * self._inputs.view.dummies_of_each()
        return Neighbours(laws[x], laws[z], others, self._inputs.question)
