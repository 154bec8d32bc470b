"""A plan that is carried out again and again: how often, and what all rounds together guarantee."""

from dataclasses import dataclass
from typing import Self

from shuffledp.accounting.account import bound_named
from shuffledp.accounting.composition import Composition
from shuffledp.accounting.releases import composition
from shuffledp.core import checks
from shuffledp.core.blanket import HasBlanket
from shuffledp.core.digits import counted
from shuffledp.core.document import Document, fields, number, whole
from shuffledp.core.guarantee import Guarantee, claim
from shuffledp.errors import InvalidInput

MOST_ROUNDS = 10**5


@dataclass(frozen=True, slots=True, kw_only=True)
class OverTime:
    """Rounds of one plan.

    In a round in which a person takes no part, nothing depends on them. So what protects a person is composed over the rounds in
    which they do, whoever knows which these are.

    Attributes:
        rounds: how often the plan is carried out.
        per_person: the most rounds in which one person takes part.
        epsilon: of all rounds together.
        delta: of all rounds together.
    """

    rounds: int
    per_person: int
    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        checks.settle_promise(self)
        checks.settle(
            self,
            rounds=checks.whole(self.rounds, "rounds", "Give e.g. 7."),
            per_person=checks.whole(self.per_person, "rounds_per_person", "Give e.g. 7."),
        )
        if type(self.rounds) is not int or not 1 <= self.rounds <= MOST_ROUNDS:
            raise InvalidInput(f"rounds must be a whole number from 1 to {MOST_ROUNDS:,}. Use e.g. 365.")
        if type(self.per_person) is not int or not 1 <= self.per_person <= self.rounds:
            raise InvalidInput(
                f"`rounds_per_person` must be from 1 to {self.rounds:,}, the number of rounds; got {self.per_person}. Leave it "
                "out if people take part in all."
            )

    def holds(self, randomizer: HasBlanket, one: Guarantee) -> bool:
        """Whether the accountant proves it, if this much is proved of one round by itself."""
        if self.per_person == 1 and one.epsilon <= self.epsilon and one.delta <= self.delta:
            return True  # nobody takes part in a second round
        return rounds_together(randomizer, one, self.per_person).delta(self.epsilon) <= self.delta

    def epsilon_after(self, rounds: int, randomizer: HasBlanket, one: Guarantee) -> float:
        """What somebody who took part in so many rounds has spent, at the same delta, if this much is proved of one round."""
        return rounds_together(randomizer, one, rounds).epsilon(self.delta)

    def __str__(self) -> str:
        who = (
            f"everybody takes part in all {counted(self.rounds, 'round')}"
            if self.per_person == self.rounds
            else f"each person takes part in at most {self.per_person:,} of {counted(self.rounds, 'round')}"
        )
        return f"{who}, which together are {claim(self.epsilon, self.delta)}"

    def document(self) -> Document:
        """As JSON data."""
        return {
            "kind": "rounds",
            "rounds": self.rounds,
            "per_person": self.per_person,
            "epsilon": self.epsilon,
            "delta": self.delta,
        }

    @classmethod
    def from_document(cls, document: object) -> Self:
        """Read what `document` wrote."""
        return cls(**fields(document, "rounds", rounds=whole, per_person=whole, epsilon=number, delta=number))


def rounds_together(randomizer: HasBlanket, one: Guarantee, rounds: int) -> Composition:
    """So many rounds, of each of which this much is proved: by the same bound, as a ledger composes them."""
    return composition(randomizer.blanket(), one.n, bound_named(one.bound), rounds)
