"""What an audit found."""

from dataclasses import dataclass, field
from typing import Any, Literal

from shuffledp.auditing.confidence_limits import lower_limit, upper_limit
from shuffledp.auditing.event import Event
from shuffledp.auditing.subject import Claimed, View
from shuffledp.core.digits import rounded_down, rounded_up
from shuffledp.core.display import figure_of, page_of
from shuffledp.core.document import Document

Verdict = Literal["consistent", "violated", "under-powered"]
VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """An empirical lower bound on epsilon, and what it says about a claim.

    Attributes:
        name: what was audited.
        worlds: the two neighbouring datasets.
        view: what the attacker saw.
        n: users who hide each other.
        claimed: what was claimed about it.
        confidence: how sure `epsilon` is: a mechanism that keeps its claim is called violated with a chance of at most the rest.
        trials: of each world, none of which had a part in choosing the event.
        event: which outcomes were counted.
        hits: how often the event happened: in the world where it is likelier, and in the other.
        epsilon: no mechanism with a smaller one, at this delta, behaves like this; rounded down.
        reach: what this many trials can show of a mechanism that is only as private as claimed; stated in advance.
        expected: what they were expected to show here: the same, or from a pilot, if that says something else.
        margin: in nineteen audits out of twenty, the result is within this distance of `expected`.
        piloted: whether `expected` is from a pilot; otherwise it is `reach`.
        singled_out: what they would show if the user's own message could be told from the others'; None if nobody tries to.
        learned: whether the attacker learned from examples what to look at; a better one might show more.
        enough: the share of the claim that `reach` must be for silence to mean anything.
        needed: trials that would be enough, up to twice as many as that takes; None if these are, or if no number is.
        picture: how often scores of the trials that chose the event were in which range, in both worlds.
    """

    name: str
    worlds: str
    view: View
    n: int
    claimed: Claimed
    confidence: float
    trials: int
    event: Event
    hits: tuple[int, int]
    epsilon: float
    reach: float
    expected: float
    margin: float = 0.0
    piloted: bool = False
    singled_out: float | None = None
    learned: bool = False
    enough: float = 0.5
    needed: int | None = None
    picture: Document = field(default_factory=dict, repr=False)

    @property
    def verdict(self) -> Verdict:
        """Violated if the claim is below what was shown; otherwise consistent, if the audit could have shown something.

        An attacker that had to learn what to look at, and then shows nothing, could not have.
        """
        if self.epsilon > self.claimed.epsilon:
            return "violated"
        blind = self.learned and self.epsilon == 0 < self.claimed.epsilon
        return "under-powered" if blind or self.power < self.enough else "consistent"

    @property
    def power(self) -> float:
        """The share of the claim that so many trials can show."""
        return 1.0 if self.claimed.epsilon == 0 else min(1.0, self.reach / self.claimed.epsilon)

    @property
    def rates(self) -> tuple[float, float]:
        """The lower limit of the first rate and the upper limit of the second."""
        error = (1 - self.confidence) / 2
        return lower_limit(self.hits[0], self.trials, error), upper_limit(self.hits[1], self.trials, error)

    def document(self) -> Document:
        """As JSON data."""
        low, high = self.rates
        return {
            "version": VERSION, "verdict": self.verdict, "name": self.name, "view": self.view, "n": self.n,
            "worlds": self.worlds, "claimed": self.claimed.document(), "confidence": self.confidence,
            "trials": self.trials, "epsilon": self.epsilon, "reach": self.reach, "power": self.power,
            "expected": self.expected, "margin": self.margin, "piloted": self.piloted,
            "singled_out": self.singled_out,            "learned": self.learned, "enough": self.enough,
            "event": {"threshold": self.event.threshold, "reversed": self.event.reversed},
            "hits": list(self.hits), "rates": {"first_at_least": low, "second_at_most": high}, "picture": self.picture,
        }  # fmt: skip

    def explain(self) -> str:
        """In words."""
        claim, delta = rounded_up(self.claimed.epsilon), self.claimed.delta
        at = "" if delta == 0 else f" at delta = {rounded_up(delta)}"
        lower = self.claimed.lower
        truth = "" if lower is None else f"; no claim below {rounded_down(lower)} could hold"
        low, high = self.rates
        expected = rounded_down(self.expected, 4)
        if self.expected > 0:
            expected += f" (give or take {rounded_up(self.margin, 2)})"
        reach = rounded_down(self.reach, 4) if self.piloted else expected
        seen = "the shuffled messages" if self.view == "shuffled" else "the messages of one user"
        return "\n".join(
            [
                f"{self.name}, {self.view} view: the attacker sees {seen}",
                f"worlds: {self.worlds}",
                f"claimed: epsilon = {claim}{at} ({self.claimed.by}{truth})",
                f"in advance: {self.trials:,} trials can show epsilon >= {reach} for such a mechanism, "
                f"{100 * self.power:.0f} % of the claim{self._alone()}",
                *([f"after a pilot: epsilon >= {expected} is expected here"] if self.piloted else []),
                f"seen: an event with a probability of at least {rounded_down(low, 4)} in one world and at most "
                f"{rounded_up(high, 4)} in the other",
                f"shown: epsilon >= {rounded_down(self.epsilon, 4)}{at}, with {100 * self.confidence:.12g} % confidence",
                f"{self.verdict}: {self._meaning()}",
            ]
        )

    def __str__(self) -> str:
        return self.explain()

    def __repr__(self) -> str:
        return f"<Finding: {self.name}, epsilon >= {rounded_down(self.epsilon, 4)} shown, {self.verdict}>"

    def _alone(self) -> str:
        if self.singled_out is None:
            return ""
        return (
            f"; and epsilon >= {rounded_down(self.singled_out, 4)} if the user's message could be told from the others'"
        )

    def _meaning(self) -> str:
        if self.verdict == "violated":
            return "what was seen is impossible at the claimed epsilon"
        if self.verdict == "under-powered":
            if self.learned and self.epsilon == 0 and self.power >= self.enough:
                return "the attacker learned nothing that tells the worlds apart, so this says nothing about the claim"
            rest = (self.singled_out or 0.0) > self.claimed.epsilon
            noticed = "; a message that can be told from the others would have been noticed" if rest else ""
            return f"so few trials would show little even of a mechanism that uses up its claim; use more{self._more()}{noticed}"
        limit = "; the attacker learned from examples, and a better one might show more" if self.learned else ""
        return f"nothing that was seen contradicts the claim{limit}"

    def _more(self) -> str:
        return "" if self.needed is None else f": {self.needed:,} trials are enough"

    def _repr_html_(self) -> str:
        return page_of(self)

    def plot(self) -> Any:
        """A picture of the scores in both worlds, and of what was shown."""
        return figure_of(self)
