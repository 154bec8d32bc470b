"""How many users hold a text that nobody listed beforehand: design response on the points that texts are hashed to."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.counts import Counts
from shuffledp.core.document import Document, fields
from shuffledp.core.estimate import Estimate
from shuffledp.core.population import Population, users_at
from shuffledp.core.randomness import RandomSource
from shuffledp.domains.texts import Texts
from shuffledp.errors import InvalidInput
from shuffledp.protocols.candidates import Candidates, TakesCandidates
from shuffledp.protocols.counting import by_share, lines_by_share
from shuffledp.protocols.decoded_totals import DecodedTotals
from shuffledp.protocols.description import Description
from shuffledp.protocols.estimator import Reals
from shuffledp.protocols.forecast import Forecast
from shuffledp.protocols.membership import Membership
from shuffledp.protocols.one_message import OneMessage, Symbols
from shuffledp.protocols.reading import Reading
from shuffledp.protocols.sampling import Sampleable
from shuffledp.protocols.statistics import Ranking, Selected
from shuffledp.randomizers.design_response import DesignResponse
from shuffledp.randomizers.structures import AffineSpace
from shuffledp.references import cite

_SHOWN: Final = 5
"""How many texts a note names."""
_NOBODY_ASKED: Final = Candidates()


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFrequencies(DecodedTotals, OneMessage, Sampleable, TakesCandidates):
    """How many users hold each of the texts that are asked about.

    Formula: a text is the point hash mod P. Another text falls on it with probability 1 / P, so that a message of somebody
    else belongs to the text's point with probability p0' = p0 + (p1 - p0) / P. With p0' for p0 the estimate of `Frequencies` is
    unbiased over the key, and its variance is that of `Frequencies` if all others hold texts of their own.
    Legend: P = points of the structure; p1, p0 as in `Frequencies`.
    Reference: FNNT22 (projective geometry response); docs/maths/design.md.
    """

    randomizer: DesignResponse
    domain: Texts
    candidates: Candidates = _NOBODY_ASKED
    kind = "text-frequencies"
    reference: ClassVar[str] = cite("FNNT22")

    def __post_init__(self) -> None:
        if not self.randomizer.gamma_as_run < 1:
            raise InvalidInput("gamma is 1: the messages say nothing about the texts. Use a smaller gamma.")

    @property
    def description(self) -> Description:
        """Texts; counts are of people."""
        return Description(question="texts", measure="users")

    @property
    def names(self) -> tuple[str, ...]:
        """What is asked about."""
        return self.candidates.texts

    @property
    def points(self) -> int:
        """What texts are hashed to."""
        return self.randomizer.symbols

    @property
    def law(self) -> Membership:
        """Of messages to a text's point, over all keys."""
        return Membership.of(self.randomizer).with_points(self.points)

    @property
    def given_key(self) -> Membership:
        """The same under one key, where it is known who is on a point."""
        return Membership.of(self.randomizer)

    def sentence(self) -> str:
        return f"each user hashes the text to one of {self.points:,} points and {self.randomizer.sentence()}"

    def about(self, candidates: Sequence[str] | None) -> Self:
        """With these candidates instead; there must be some."""
        if candidates is not None:
            return replace(self, candidates=Candidates.of(candidates, self.domain))
        if not self.names:
            raise InvalidInput(
                "this plan takes any text, so you must say which ones to ask about. Give candidates: a file with one text "
                "per line, or a list."
            )
        return self

    def encode(self, values: NDArray[Any], randomness: RandomSource, *, first_row: int) -> Symbols:  # noqa: ARG002
        """The points of hashes."""
        if values.dtype != np.uint64:
            raise InvalidInput("these are not hashes of texts. Clean the texts first.")
        return (values % np.uint64(self.points)).astype(np.uint32)

    # Estimates

    def decoded(self, counts: NDArray[np.int64], n: int) -> Reals:
        return self.law.unbiased(self.randomizer.structure.totals_of(counts, self.places()), n)

    def standard_error(self, value: Reals, n: int) -> Reals:
        """By plugging the estimates, clipped to what is possible, into the variance."""
        return np.sqrt(self.law.variance(np.clip(value, 0, n), n))

    @property
    def reading(self) -> "TextsReading":
        return TextsReading(self)

    # How far off they are

    def mean_squared_error(self, n: int) -> float:
        return self.worst_variance(1.0, n)

    def worst_variance(self, share: float, n: int) -> float:
        """The largest variance of a text's estimate that up to a share of the n users hold: it is linear in how many do."""
        return float(self.law.variance(np.array([0.0, share * n]), n).max())

    def forecast(self, n: int) -> Forecast:
        errors = by_share(self.law.variance, n)
        return Forecast(lines=lines_by_share("text", errors), by_share=errors)

    def worst(self, n: int) -> Population:
        """Everybody holds the first candidate, or a text that is none."""
        held, absent = self.law.variance(np.array([n, 0.0]), n)
        first = self.candidates.hashes[:1] if len(self.names) else np.zeros(1, dtype=np.uint64)
        return Population(values=first if held >= absent else first + np.uint64(1), users=np.array([n]))

    def most_spread(self, value: Reals, n: int) -> Reals:
        """P (1 - p), if a share p holds the text."""
        share = np.clip(value / n, 0, 1)
        return np.asarray(share * (1 - share) * n / max(1, n - 1))

    def worst_sampled(self, n: int, weight: float) -> Population:
        """All candidates are held by as many people, the others hold none.

        For k candidates and a share p of the people who hold one, that is the largest of p A + w (p - p^2 / k).
        Legend: A = what a holder adds to the variance of a text, less what others do; w = weight.
        """
        held, absent = self.law.variance(np.array([1.0, 0.0]), 1)
        k, w = max(1, len(self.names)), max(weight, 1e-12)
        holders = round(n * min(1.0, max(0.0, k * (held - absent + w) / (2 * w))))
        users = np.full(k, holders // k)
        users[: holders % k] += 1
        known = self.candidates.hashes if len(self.names) else np.zeros(1, dtype=np.uint64)
        return Population(values=np.append(known, self._nobodys()), users=np.append(users, n - holders))

    def _nobodys(self) -> np.uint64:
        """A hash that is at no candidate's point, if there is one."""
        taken = set(self.places().tolist())
        return np.uint64(next((point for point in range(self.points) if point not in taken), 0))

    def expected_error(self, population: Population) -> float:
        """Summed over the candidates, under the plan's very key: the noise, and who else is on a candidate's point."""
        found = self.given_key.variance(self._beside(population).astype(np.float64), population.n)
        scale = self.given_key.gap / self.law.gap
        return float((found * scale**2 + np.square(self.bias(population))).sum())

    def bias(self, population: Population) -> Reals:
        """How many more users are on a candidate's point than expected over all keys."""
        p1, p0 = self.given_key
        beside, n = self._beside(population), population.n
        expected = (beside * p1 + (n - beside) * p0 - n * self.law.other) / self.law.gap
        return np.asarray(expected - self.truth_of(population))

    def max_shift(self, n: int) -> float:  # noqa: ARG002
        """A message belongs to a text's point or not."""
        return 1 / self.law.gap

    def simulate(self, population: Population, generator: np.random.Generator, runs: int) -> Reals:
        """Under the plan's very key; each count is exact in law (their dependence through shared messages is not kept)."""
        beside = np.tile(self._beside(population), (runs, 1))
        return self.law.unbiased(self.given_key.drawn(beside, population.n, generator), population.n)

    @property
    def cells_per_run(self) -> int:
        """A number per candidate."""
        return max(1, len(self.names))

    # The exact answer

    def truth(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """Who holds a candidate, not just its point."""
        return self.candidates.held(values.astype(np.uint64, copy=False))

    def truth_of(self, population: Population) -> NDArray[np.int64]:
        return self.candidates.held(population.values, population.users)

    def true_answer(self, truth: NDArray[Any]) -> Reals:
        return np.asarray(truth, dtype=np.float64)

    # As data

    def document(self) -> Document:
        """Randomizer and domain; candidates are no part of it."""
        return {"kind": self.kind, "domain": self.domain.document(), "randomizer": self.randomizer.document()}

    @classmethod
    def from_document(cls, document: object) -> Self:
        found = fields(document, cls.kind, domain=Texts.from_document, randomizer=DesignResponse.from_document)
        return cls(randomizer=found["randomizer"], domain=found["domain"])

    @classmethod
    def examples(cls) -> list[Self]:
        """Asked about one text."""
        randomizer = DesignResponse.private(AffineSpace(prime=5), gamma=0.9)
        return [cls(randomizer=randomizer, domain=Texts("5e" * 16)).about(["apple"])]

    def places(self) -> NDArray[np.int64]:
        """The points of the candidates."""
        return (self.candidates.hashes % np.uint64(self.points)).astype(np.int64)

    def _beside(self, population: Population) -> NDArray[np.int64]:
        """How many users are on each candidate's point, whatever they hold."""
        points = (population.values % np.uint64(self.points)).astype(np.int64)
        return users_at(self.places(), points, population.users)


class TextsReading(Reading[TextFrequencies]):
    """Counts of the texts that are asked about."""

    __slots__ = ()

    def statistics(self, estimate: Estimate, counts: Counts | None = None) -> Ranking:
        """Shares and the most frequent ones, beside what is at points that nobody asked about."""
        if counts is None:
            return Selected(estimate, self.protocol.law)
        points = self.protocol.law.unbiased(self.protocol.randomizer.structure.totals(counts.values), estimate.n)
        return Selected(
            estimate, self.protocol.law, elsewhere=np.sort(np.delete(points, np.unique(self.protocol.places())))
        )

    def notes(self) -> tuple[str, ...]:
        """Which of the candidates cannot be told apart."""
        protocol = self.protocol
        sharing = protocol.candidates.sharing(protocol.points)
        if not sharing:
            return ()
        shown = ", ".join(repr(text) for text in sharing[:_SHOWN])
        more = f" and {len(sharing) - _SHOWN:,} more" if len(sharing) > _SHOWN else ""
        return (
            f"{len(sharing):,} of the {len(protocol.names):,} candidates share a point with another one, and each of their "
            f"estimates counts the users of both: {shown}{more}.",
        )
