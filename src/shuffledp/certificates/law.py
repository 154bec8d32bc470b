"""What a claim is about, as a checker sees it: pairs of inputs, how large the crowd is, and what else is charged."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from flint import arb, fmpq

from shuffledp.certificates.contour_nodes import Term
from shuffledp.certificates.positive_part import Crowd


@dataclass(frozen=True, slots=True)
class Pair:
    """Two inputs x, x' and a measure eta below every input: all messages with their (mu_x / eta, mu_x' / eta, eta).

    delta <= (1/n) E[(l_1 + ... + l_n)_+] + sum of (mu_x - e^epsilon mu_x')_+ where eta is 0, l = (mu_x - e^epsilon mu_x') / eta
    with probability eta, else 0 (docs/maths/numeric.md).

    Attributes:
        cells: (mu_x / eta, mu_x' / eta, eta).
        bare: (mu_x, mu_x') of the messages where eta is 0.
    """

    cells: Sequence[tuple[arb, arb, arb]]
    bare: Sequence[tuple[arb, arb]] = ()

    def term(self, growth: arb) -> Term:
        """The law of l at this e^epsilon."""
        return Term([u - growth * v for u, v, _ in self.cells], [mass for *_, mass in self.cells])

    def uncovered(self, growth: arb) -> arb:
        """What messages outside eta add to delta."""
        return sum(((u - growth * v).max(arb(0)) for u, v in self.bare), arb(0))

    def times(self, weight: arb) -> "Pair":
        """This pair where it is drawn with this probability only: all its masses times that."""
        return Pair([(u, v, weight * m) for u, v, m in self.cells], [(weight * u, weight * v) for u, v in self.bare])

    @staticmethod
    def beside(pairs: Iterable["Pair"]) -> "Pair":
        """Several, side by side."""
        cells, bare = list[tuple[arb, arb, arb]](), list[tuple[arb, arb]]()
        for pair in pairs:
            cells += pair.cells
            bare += pair.bare
        return Pair(cells, bare)


def exact_pair(messages: Iterable[tuple[fmpq, fmpq, fmpq]]) -> Pair:
    """From exact (mu_x, mu_x', eta); messages of one ratio are one, and those that neither input sends are none."""
    merged: dict[tuple[fmpq, fmpq], fmpq] = {}
    bare = []
    for u, v, low in messages:
        if low > 0:
            ratios = u / low, v / low
            merged[ratios] = merged.get(ratios, fmpq(0)) + low
        elif u or v:
            bare.append((arb(u), arb(v)))
    return Pair([(arb(u), arb(v), arb(mass)) for (u, v), mass in merged.items()], bare)


@dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    """A randomizer, read from its document.

    Attributes:
        pairs: the supremum over all of them covers every two inputs; of each, any measure may be taken.
        agreements: equal inputs, where they are not below some pair in convex order; needed within mixtures.
        rows: of a channel of few inputs, all of which can send every message: their laws. Empty otherwise.
        messages: how many there are, of a randomizer that runs and sends one of them; 0 of others.
        coins: if there are two messages, the largest and the smallest probability of the second.
        dummies: uniform messages per user, if these are what hides the others; their law is then eta.
        crowd_free: whether one user is hidden by something else than others: then a pair is all that is seen of that user.
        distance: of the number of dummies that a user sends to Poisson's law, in total variation, at most.
        epsilon0: the local parameter where it is given as a number: then it need not be read off the cells.
        parts: several messages per person, each shuffled apart: their laws, and how many messages have each.
        caveat: what is assumed without a complete proof.
    """

    pairs: Sequence[Sequence[Pair]] = ()
    agreements: Sequence[Pair] = ()
    rows: Sequence[Sequence[fmpq]] = ()
    messages: int = 0
    coins: tuple[fmpq, fmpq] | None = None
    dummies: fmpq | None = None
    crowd_free: bool = False
    distance: arb = field(default_factory=lambda: arb(0))
    epsilon0: arb | None = None
    parts: Sequence[tuple["Law", int]] = ()
    caveat: str | None = None

    def crowd(self, n: int) -> Crowd:
        """How many messages hide those of one of n users."""
        if self.crowd_free:
            return Crowd(users=1)
        return Crowd(users=n) if self.dummies is None else Crowd(mean=arb(self.dummies * n))

    def shortfall(self, n: int, growth: arb) -> arb:
        """What delta is larger by, because the number of dummies is only close to Poisson's law."""
        return (1 + growth) * n * self.distance
