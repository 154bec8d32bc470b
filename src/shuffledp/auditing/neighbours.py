"""Two neighbouring datasets, by the laws of their messages, and the likelihood ratio of what is seen of them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shuffledp.auditing.event import Atoms

Reals = NDArray[np.float64]
Wholes = NDArray[np.int64]
_DIGITS: Final = 9
"""Of a score: what differs by rounding only is equal."""
_FEWEST, _MOST = 10_000, 500_000
"""Outcomes drawn to foresee the power of an audit: five for each of its trials, within these limits."""


@dataclass(frozen=True)
class Neighbours:
    """One user sends by the first or the second law, all others by the third.

    If every other user's law is mu'', the likelihood ratio of the shuffled messages y_1 ... y_n is exactly
    sum mu(y_i) / mu''(y_i) over sum mu'(y_i) / mu''(y_i): by the lemma of Neyman and Pearson no test tells the two apart better.
    A message that the others never send is the user's own. Messages of several questions, shuffled apart, have a
    ratio each, and these multiply. Where users add dummies, mu'' is the law of everything but the one true message.

    Attributes:
        first: the likelihood of each message under the first value: mu.
        second: under the second: mu'.
        others: mu''.
        question: which of several releases a message belongs to.
    """

    first: Reals = field(repr=False)
    second: Reals = field(repr=False)
    others: Reals = field(repr=False)
    question: Wholes | None = field(default=None, repr=False)

    @cached_property
    def classes(self) -> NDArray[np.unsignedinteger]:
        """The class of each message: those with equal ratios need not be told apart."""
        return self._merged[0]

    @cached_property
    def masses(self) -> Reals:
        """The three likelihoods of each class, and the question it belongs to: four rows."""
        return self._merged[1]

    @cached_property
    def _merged(self) -> tuple[NDArray[np.unsignedinteger], Reals]:
        asked = np.zeros(len(self.first)) if self.question is None else self.question.astype(np.float64)
        rows = np.stack([asked, *self._ratios(self.first, self.second, self.others)])
        parts, exponents = np.frexp(rows)
        keys = np.ldexp(
            np.round(np.ldexp(parts, 40)), exponents - 40
        )  # equal ratios whose last bits differ are one class
        unique, inverse = np.unique(keys, axis=1, return_inverse=True)
        which = inverse.reshape(-1).astype(np.min_scalar_type(max(1, unique.shape[1] - 1)))
        laws = [np.bincount(which, law, minlength=unique.shape[1]) for law in (self.first, self.second, self.others)]
        return which, np.stack([*laws, unique[0]])

    @staticmethod
    def _ratios(first: Reals, second: Reals, others: Reals) -> tuple[Reals, Reals, Reals]:
        own = others == 0
        scale = np.where(own, 1.0, others)
        return first / scale, second / scale, own.astype(np.float64)

    @cached_property
    def _weights(self) -> tuple[Reals, int]:
        """What a message of each class adds to both sums of each question, ordinary messages and own ones apart."""
        first, second, others, asked = self.masses
        a, b, own = self._ratios(first, second, others)
        questions = int(asked.max(initial=0.0)) + 1
        columns = [(asked == t) * part * ratio for t in range(questions) for part in (1 - own, own) for ratio in (a, b)]
        return np.stack(columns, axis=1), questions

    def scores(self, counts: NDArray[np.integer]) -> Reals:
        """The logarithm of the likelihood ratio of each row of counts of classes."""
        weights, questions = self._weights
        sums = (counts.astype(np.float64) @ weights).reshape(len(counts), questions, 2, 2)
        own = sums[:, :, 1, :]
        shown = np.where((own > 0).any(axis=2, keepdims=True), own, sums[:, :, 0, :])
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.log(shown[:, :, 0]) - np.log(shown[:, :, 1])
        found: Reals = np.nan_to_num(ratios, nan=0.0, posinf=1e3, neginf=-1e3).sum(axis=1)
        return np.round(found, _DIGITS)

    def counts(self, messages: NDArray[np.integer], trial: NDArray[np.integer] | int, trials: int) -> Wholes:
        """How often each class occurs in each trial; `trial` is that of each message, or how many each trial has in a row."""
        found, size = self.classes[messages], self.masses.shape[1]
        if isinstance(trial, int):
            if size <= 6:
                table = found.reshape(trials, trial)
                often = np.full((trials, size), trial, dtype=np.int64)
                for c in range(size - 1):
                    often[:, c] = np.count_nonzero(table == c, axis=1)
                    often[:, -1] -= often[:, c]
                return often
            trial = np.repeat(np.arange(trials), trial)
        places = trial * size + found.astype(np.int64)
        return np.bincount(places, minlength=trials * size).reshape(trials, size).astype(np.int64)

    def foreseen(self, n: int, generator: np.random.Generator, numbers: int, trials: int) -> Atoms:
        """The law of the score for n users of one message each (per question): exactly, or by drawing about so many numbers.

        Half of the draws are of each world; the likelihood ratio says how likely each is in both.
        """
        first, second, others, asked = self.masses
        questions = int(asked.max(initial=0.0)) + 1
        if n == 1 and questions == 1:
            return Atoms(self.scores(np.eye(len(first), dtype=np.int64)), first, second)
        size = len(first)
        draws = int(np.clip(min(numbers // size, 5 * trials), _FEWEST, _MOST))
        counts = np.zeros((draws, size), dtype=np.int64)
        for t in range(questions):
            here = np.flatnonzero(asked == t)
            counts[:, here] = generator.multinomial(n - 1, _normal(others[here]), size=draws)
            for law, part in ((first, slice(draws // 2)), (second, slice(draws // 2, None))):
                counts[part, here] += generator.multinomial(1, _normal(law[here]), size=len(counts[part]))
        scores = self.scores(counts)
        odds = np.exp(np.clip(scores, -600.0, 600.0))
        return Atoms(scores, 2 * odds / (1 + odds) / draws, 2 / (1 + odds) / draws)


def _normal(law: Reals) -> Reals:
    return np.asarray(law / law.sum())


def promising(laws: Sequence[Reals], n: int, most: int) -> list[tuple[int, int, int]]:
    """Numbers of the two values and of the others' value, for which n shuffled counts differ most; the best first.

    By the squared differences of the expected counts, each over the variance that the counts have.
    """
    table, found = np.stack(laws), []
    size = len(laws)
    for x in range(size):
        for z in range(x + 1, size):
            gap, own = (table[x] - table[z]) ** 2, (table[x] + table[z]) / 2
            if n == 1:
                found.append((float((gap / np.where(own > 0, own, 1.0)).sum()), x, z, x))
                continue
            noise = (n - 1) * table + own
            signals = (gap / np.where(noise > 0, noise, 1.0)).sum(axis=1)
            found += [(float(signals[w]), x, z, w) for w in range(size)]
    found.sort(key=lambda one: -one[0])
    distinct: dict[float, tuple[int, int, int]] = {}
    for signal, *triple in found:  # by symmetry many are alike
        distinct.setdefault(float(f"{signal:.9g}"), (triple[0], triple[1], triple[2]))
    return list(distinct.values())[:most]
