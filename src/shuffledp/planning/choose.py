"""The one loop that asks families for proposals: of plans, of questions of a survey, and of plans for an error."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from shuffledp.accounting.account import bound_named
from shuffledp.core.guarantee import Guarantee
from shuffledp.errors import InvalidInput, NoClaim
from shuffledp.planning import registry
from shuffledp.planning.family import AnyFamily
from shuffledp.planning.plan import Plan
from shuffledp.planning.question import Question, Terms
from shuffledp.protocols.deployable import Deployable

Made = TypeVar("Made")
_HOPELESS: Final = 4.0
"""How many times the least guess another must be for its family to be left out: guesses are off together, not apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal(Generic[Made]):
    """What a family said when it was asked.

    Attributes:
        family: its name.
        made: what it proposes, if anything.
        cost: what is to be small of that.
        refusal: why there is nothing.
    """

    family: str
    made: Made | None = None
    cost: float = math.inf
    refusal: InvalidInput | NoClaim | None = None


def proposals(
    families: Iterable[AnyFamily],
    propose: Callable[[AnyFamily], tuple[Made, float]],
    worth_asking: Callable[[AnyFamily, float | None], bool] = lambda _family, _least: True,
) -> list[Proposal[Made]]:
    """What families propose, and at what cost, in their order.

    A family that is not worth asking is left out. That may depend on the least cost so far: None, if nothing was proposed yet.
    """
    answers = list[Proposal[Made]]()
    for family in families:
        if not worth_asking(family, min((answer.cost for answer in answers if answer.made is not None), default=None)):
            continue
        try:
            made, cost = propose(family)
        except (InvalidInput, NoClaim) as refused:
            answers.append(Proposal(family=family.name, refusal=refused))
        else:
            answers.append(Proposal(family=family.name, made=made, cost=cost))
    return answers


def best(answers: Sequence[Proposal[Made]]) -> Made:
    """What is proposed at the least cost; if nothing is, the first refusal is raised."""
    least: tuple[float, Made] | None = None
    for answer in answers:
        if answer.made is not None and (least is None or answer.cost < least[0]):
            least = answer.cost, answer.made
    if least is None:
        raise next(answer.refusal for answer in answers if answer.refusal is not None)
    return least[1]


def promising(families: Sequence[AnyFamily], question: Question, *, least: float = math.inf) -> list[AnyFamily]:
    """Those that could have the least cost, or reach the one given, as far as they can guess."""
    guesses = [family.guess(question) for family in families]
    limit = _HOPELESS * min([least, *(guess for guess in guesses if guess is not None)])
    return [family for family, guess in zip(families, guesses, strict=True) if guess is None or guess <= limit]


def plans(question: Question) -> list[Proposal[Plan]]:
    """The certified plan of each family that answers a question; hopeless ones are asked only if nobody else can answer."""
    families = registry.answering(question)
    hopeful = promising(families, question)

    def propose(family: AnyFamily) -> tuple[Plan, float]:
        plan = certified(question, family.propose(question))
        return plan, question.cost(plan.protocol)

    others = [family for family in families if family not in hopeful]
    return proposals([*hopeful, *others], propose, lambda family, least: family in hopeful or least is None)


def best_plan(answers: Sequence[Proposal[Plan]]) -> Plan:
    """The most accurate one, which must fit this machine."""
    plan = best(answers)
    plan.check_memory()
    return plan


def choose(question: Question) -> Plan:
    """The most accurate plan for a question."""
    return best_plan(plans(question))


def certified(terms: Terms, protocol: Deployable) -> Plan:
    """The plan with this protocol, its guarantee proved."""
    bound, blanket = bound_named(terms.bound), protocol.randomizer.blanket()
    plan = Plan(
        protocol=protocol,
        guarantee=Guarantee(
            epsilon=terms.epsilon,
            delta=terms.delta,
            n=terms.honest if blanket.needs_crowd else 1,
            bound=bound.name,
            reference=bound.reference,
            caveat=blanket.caveat,
        ),
        min_batch=terms.n,
    )
    if not plan.holds():
        raise NoClaim("the protocol that was proposed could not be certified. Please report this.")
    return plan
