"""The most frequent texts, found without a list of them: one message per user about a beginning of the text."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.counts import Counts
from shuffledp.core.document import Document, fields, number, text, whole
from shuffledp.core.estimate import Estimate, Threshold
from shuffledp.core.guarantee import Guarantee
from shuffledp.core.population import Population, users_at
from shuffledp.core.randomness import RandomSource
from shuffledp.domains.spellable_texts import Spelled
from shuffledp.errors import InvalidInput
from shuffledp.protocols.candidates import TakesCandidates, checked
from shuffledp.protocols.counting import by_share, lines_by_share
from shuffledp.protocols.description import Description
from shuffledp.protocols.discovery import Tables, discover
from shuffledp.protocols.discovery_forecast import SURELY, Reach
from shuffledp.protocols.estimator import Reals
from shuffledp.protocols.forecast import Forecast
from shuffledp.protocols.membership import Membership
from shuffledp.protocols.one_message import OneMessage, Symbols
from shuffledp.protocols.prefixes import TABLES, Points, Prefixes
from shuffledp.protocols.reading import Reading
from shuffledp.protocols.statistics import Ranking, Selected
from shuffledp.randomizers.design_response import DesignResponse
from shuffledp.randomizers.mixture import Mixture
from shuffledp.randomizers.structure import OnStructure
from shuffledp.randomizers.structures import AffineSpace
from shuffledp.references import cite

MOST_PIECES: Final = 1 << 22
"""Ways to go on with a beginning: more cannot be tried in reasonable time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeavyHitters(OneMessage, TakesCandidates):
    """How many users hold each text that is frequent enough to be found, or each of some that are asked about.

    A user draws a level and one of its two tables, and answers by design response with the point of the text's beginning
    (`protocols/prefixes.py`). Beginnings are found level by level (`protocols/discovery.py`); counts are those of the last level.

    Formula: with T the messages that belong to a text at the last level, (T - n w p0) / (w (p1 - p0)) is unbiased but for texts
    that share a point, which 1 / P of all do in each table; its variance is
    (f w p1 (1 - w p1) + (n - f) w p0 (1 - w p0)) / (w (p1 - p0))^2 if f of the n users hold the text.
    Legend: w = 1 / levels; p1, p0 and P as in `Frequencies`.
    Reference: BNST17 (TreeHist) and WLJ21 (prefix extending method), with FNNT22 at each level; docs/maths/mixtures.md.
    """

    randomizer: Mixture
    domain: Spelled
    step: int
    key: str
    false_positives: float = 1.0
    candidates: tuple[str, ...] | None = None
    kind = "heavy-hitters"
    reference: ClassVar[str] = cite("WLJ21")

    def __post_init__(self) -> None:
        if not isinstance(self.key, str) or not re.fullmatch("[0-9a-f]{32}", self.key):
            raise InvalidInput("the key of a plan is 32 hexadecimal digits. Make it with shuffledp plan heavy-hitters.")
        if type(self.step) is not int or not 1 <= self.step <= self.domain.max_length:
            raise InvalidInput(f"a piece has from 1 letter to all of them; got {self.step!r}. Use e.g. 2.")
        if (self.domain.letters + 1) ** self.step > MOST_PIECES:
            raise InvalidInput("there are too many pieces of so many letters to try them all. Use shorter ones.")
        if not 0 < self.false_positives <= 1e6:
            raise InvalidInput(
                f"expected false positives must be above 0 and at most 1e6; got {self.false_positives:g}. Use e.g. 1."
            )
        part = self.randomizer.parts[0]
        alike = set(self.randomizer.parts) == {part} and set(self.randomizer.weights) == {1}
        if not isinstance(part, OnStructure) or not alike or len(self.randomizer.parts) != self._levels * TABLES:
            raise InvalidInput("every level is asked in two tables, all alike. Make the plan with shuffledp plan.")
        if not part.gamma_as_run < 1:
            raise InvalidInput("gamma is 1: the messages say nothing about the texts. Use a smaller gamma.")

    @property
    def description(self) -> Description:
        """The most frequent texts; counts are of people."""
        return Description(question="heavy-hitters", measure="users")

    @property
    def names(self) -> tuple[str, ...]:
        """What is asked about; nothing if texts are to be found."""
        return self.candidates or ()

    @property
    def part(self) -> DesignResponse:
        """How every part is answered."""
        found: Any = self.randomizer.parts[0]
        return found  # type: ignore[no-any-return]

    @property
    def prefixes(self) -> Prefixes:
        """Beginnings of texts as points."""
        return Prefixes(domain=self.domain, step=self.step, key=self.key, points=self.part.symbols)

    @property
    def _levels(self) -> int:
        return -(-self.domain.max_length // self.step)

    @property
    def law(self) -> Membership:
        """Of a user's message to a text at the last level, whichever level it is about."""
        own, other = Membership.of(self.part)
        return Membership(own / self._levels, other / self._levels)

    def sentence(self) -> str:
        return (
            f"each user draws one of {self._levels} prefixes of the text, each {self.step} letter(s) longer than the last, "
            f"and one of two tables, hashes the prefix to one of the table's {self.part.symbols:,} points, and "
            f"{self.part.sentence()}"
        )

    def about(self, candidates: Sequence[str] | None) -> Self:
        """With these texts to estimate instead of those that are found; None: as it is."""
        if candidates is None:
            return self
        for one in checked(candidates):
            if self._spell(one) is None:
                raise InvalidInput(
                    f"the plan does not take the candidate {one!r}: it is too long or has other letters. Leave it out."
                )
        return replace(self, candidates=tuple(candidates))

    def encode(self, values: NDArray[Any], randomness: RandomSource, *, first_row: int) -> Symbols:  # noqa: ARG002
        """A point for each part."""
        if values.dtype.kind != "S":
            raise InvalidInput("these are not texts spelled out. Clean the texts first.")
        prefixes = self.prefixes
        return prefixes.all_points(prefixes.pieces(values)).astype(np.uint32)

    # Estimates

    def estimate(self, counts: Counts, *, guarantee: Guarantee | None = None) -> Estimate:
        if self.candidates is not None or counts.size != self.counters or counts.total == 0:
            return OneMessage.estimate(self, counts, guarantee=guarantee)
        n = counts.total
        found = discover(self.prefixes, lambda level: self._tables(counts.values, level), self.false_positives)
        names = tuple(name for name in map(self.domain.name, found.spelled) if name is not None)
        estimate = OneMessage.estimate(replace(self, candidates=names), counts, guarantee=guarantee)
        least = float(self.law.unbiased(np.array(found.threshold), n))
        return replace(estimate, threshold=Threshold(least, found.false_positives))

    def debias(self, counts: NDArray[np.int64], n: int) -> Reals:
        """From the last level."""
        if counts.ndim > 1:
            return np.stack([self.debias(row, n) for row in counts])
        totals = np.zeros(len(self.names), dtype=np.int64)
        for part, points in self._last_points(self._values()):
            totals += self.part.structure.totals_of(self._counts(counts, part), points)
        return self.law.unbiased(totals, n)

    def standard_error(self, value: Reals, n: int) -> Reals:
        """By plugging the estimates, clipped to what is possible, into the variance."""
        return np.sqrt(self.law.variance(np.clip(value, 0, n), n))

    @property
    def reading(self) -> "HeavyHittersReading":
        return HeavyHittersReading(self)

    # How far off they are

    def mean_squared_error(self, n: int) -> float:
        return float(self.law.variance(np.array([0.0, n]), n).max())

    def reach(self, n: int) -> Reach:
        """How frequent a text of n users must be to be found."""
        return Reach(
            law=self.law, levels=self._levels, pieces=len(self.prefixes.next_pieces(0)), points=self.part.symbols, n=n,
            allowed=self.false_positives,
        )  # fmt: skip

    def forecast(self, n: int) -> Forecast:
        """From how many users on a text is found, how many are that nobody holds, and how far off their counts are."""
        users, errors = self.reach(n).users(), by_share(self.law.variance, n)
        if users <= n:
            sure = f"a text that at least {users:,.0f} users hold ({100 * users / n:.3g} %) is found with probability {SURELY}"
        else:
            sure = "no text is sure to be found: use more users, a larger epsilon or shorter texts"
        false = f"texts found although nobody holds them: {self.false_positives:g} on average"
        return Forecast(
            lines=(sure, false, *lines_by_share("text", errors)),
            by_share=errors,
            others={"false_positives": self.false_positives} | ({"found_from_users": users} if users <= n else {}),
        )

    def worst(self, n: int) -> Population:
        """Everybody holds the same text, a candidate if there are any."""
        return Population(values=np.array([*self._values()[:1], b""], dtype=self.domain.dtype)[:1], users=np.array([n]))

    def expected_error(self, population: Population) -> float:
        """Summed over the candidates, under the plan's very key: the noise, and who else is on a candidate's points."""
        variance = sum(users * chance * (1 - chance) for users, chance in self._beside(population)) / self.law.gap**2
        return float((variance + np.square(self.bias(population))).sum())

    def bias(self, population: Population) -> Reals:
        """The users of other texts on a candidate's point: half of them for one of its tables."""
        expected = sum(users * chance for users, chance in self._beside(population))
        return np.asarray((expected - population.n * self.law.other) / self.law.gap - self.expected(population))

    def max_shift(self, n: int) -> float:  # noqa: ARG002
        """A message belongs to a text's points or not."""
        return 1 / self.law.gap

    def simulate(self, population: Population, generator: np.random.Generator, runs: int) -> Reals:
        """Under the plan's very key; each count is exact in law (their dependence through shared messages is not kept)."""
        drawn = [generator.binomial(np.tile(users, (runs, 1)), chance) for users, chance in self._beside(population)]
        return self.law.unbiased(np.sum(drawn, axis=0), population.n)

    @property
    def cells_per_run(self) -> int:
        """A number per candidate."""
        return max(1, len(self.names))

    # The exact answer

    def truth(self, values: NDArray[Any]) -> NDArray[Any]:
        """Who holds what: all texts, because it is not known yet which will be found."""
        different, often = np.unique(values, return_counts=True)
        return _tally(Counter(dict(zip(different.tolist(), often.tolist(), strict=True))))

    def truth_of(self, population: Population) -> NDArray[Any]:
        held = Counter[bytes]()
        for value, users in zip(population.values.tolist(), population.users.tolist(), strict=True):
            held[value] += users
        return _tally(+held)

    def true_answer(self, truth: NDArray[Any]) -> Reals:
        """The true counts; of all texts, in their order, if none are asked about."""
        wanted = sorted(truth[0]) if self.candidates is None else self._values().tolist()
        return np.array([truth[0][value] for value in wanted], dtype=np.float64)

    # As data

    def document(self) -> Document:
        """All but the candidates: they are no part of what users agree to."""
        return {
            "kind": self.kind,
            "domain": self.domain.document(),
            "key": self.key,
            "step": self.step,
            "false_positives": self.false_positives,
            "randomizer": self.randomizer.document(),
        }

    @classmethod
    def from_document(cls, document: object) -> Self:
        found = fields(
            document, cls.kind, domain=Spelled.from_document, key=text, step=whole, false_positives=number,
            randomizer=Mixture.from_document,
        )  # fmt: skip
        return cls(**found)

    @classmethod
    def of(cls, part: DesignResponse, spelled: Spelled, *, step: int, key: str, false_positives: float = 1.0) -> Self:
        """With this response in every part."""
        parts = (part,) * (TABLES * -(-spelled.max_length // max(1, step)))
        mixture = Mixture(weights=(1,) * len(parts), parts=parts)
        return cls(randomizer=mixture, domain=spelled, step=step, key=key, false_positives=false_positives)

    @classmethod
    def examples(cls) -> list[Self]:
        """Asked about texts that share no point with others of the samples."""
        plane = DesignResponse.private(AffineSpace(prime=3), gamma=0.4)
        letters, anything = Spelled(alphabet="ab", max_length=2), Spelled(max_length=4)
        return [
            cls.of(plane, letters, step=1, key="01" * 16).about(["a"]),
            cls.of(plane, anything, step=2, key="03" * 16, false_positives=0.5).about(["a"]),
        ]

    def _values(self) -> NDArray[np.bytes_]:
        """The candidates, clean."""
        return np.array([self._spell(name) or b"" for name in self.names], dtype=self.domain.dtype)

    def _spell(self, name: str) -> bytes | None:
        return self.domain.spell(name.encode())

    def _counts(self, counts: NDArray[np.int64], part: int) -> NDArray[np.int64]:
        """The messages of one part."""
        start = part * self.part.messages
        return counts[start : start + self.part.messages]

    def _tables(self, counts: NDArray[np.int64], level: int) -> Tables:
        """All points of a level. A text that nobody holds is on a random one, where a share s of the messages belong."""
        parts = [self._counts(counts, TABLES * level + table) for table in range(TABLES)]
        first, second = (self.part.structure.totals(part) for part in parts)
        chance = int(counts.sum()) * float(self.part.structure.share) / len(self.randomizer.parts)
        return Tables(first, second, chance)

    def _last_points(self, values: NDArray[np.bytes_]) -> Iterator[tuple[int, Points]]:
        """The points of texts in each table of the last level."""
        prefixes = self.prefixes
        pieces = prefixes.pieces(values)
        for part in range(prefixes.parts - TABLES, prefixes.parts):
            yield part, prefixes.points_of(pieces, part)

    def _beside(self, population: Population) -> list[tuple[NDArray[np.int64], float]]:
        """For each text: how many users, whatever they hold, are likely by how much to send a message that belongs to it.

        They are on its point in both tables, in one of them, or in none.
        """
        asked = np.unique(population.values) if self.candidates is None else self._values()
        mine, theirs = ([points for _, points in self._last_points(values)] for values in (asked, population.values))
        both = users_at(_paired(mine, self.part.symbols), _paired(theirs, self.part.symbols), population.users)
        single = sum(users_at(here, there, population.users) for here, there in zip(mine, theirs, strict=True))
        one = single - TABLES * both
        (own, other), n = self.law, population.n
        return [(both, own), (one, (own + other) / TABLES), (n - both - one, other)]


class HeavyHittersReading(Reading[HeavyHitters]):
    """Counts of the texts that were found, or that are asked about."""

    __slots__ = ()

    def exactly_for(self, estimate: Estimate, truth: NDArray[Any]) -> Reals:
        return replace(self.protocol, candidates=estimate.names).true_answer(truth)

    def statistics(self, estimate: Estimate, counts: Counts | None = None) -> Ranking:  # noqa: ARG002
        """Shares and the most frequent ones; what was found has its own threshold."""
        return Selected(estimate)


def _paired(points: list[Points], size: int) -> Points:
    """The points of both tables as one number."""
    return points[0] * size + points[1]


def _tally(held: Counter[bytes]) -> NDArray[Any]:
    """One entry that can be added."""
    found = np.empty(1, dtype=object)
    found[0] = held
    return found
