"""From counts to a result: one way for rows, exported tables and batches of the service alike."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from numpy.typing import NDArray

from shuffledp.accounting.group import group
from shuffledp.core.counts import Counts
from shuffledp.core.guarantee import Guarantee
from shuffledp.errors import InvalidInput
from shuffledp.planning.plan import Plan
from shuffledp.results.result import Provenance, Result

_SEEDED: Final = (
    "The randomness is seeded or repeats that of an earlier run: this is a simulation and carries no guarantee."
)


def check_enough(plan: Plan, honest: int, too_few: Callable[[], str]) -> None:
    """Refuse to release anything if fewer honest reports hide each other than the plan's guarantee relies on.

    A plan relies on all of them exactly if there are as many reports as its minimum. `too_few` is what to say then.
    """
    if honest < plan.guarantee.n:
        raise InvalidInput(too_few())


def promised(plan: Plan, *, honest: int, rows_per_person: int) -> Guarantee:
    """What so many honest reports promise a person with so many rows at most."""
    relied = plan.guarantee
    if rows_per_person <= 1:
        return relied
    return group(plan.protocol.randomizer, n=honest, delta=relied.delta, rows=rows_per_person, bound=relied.bound)


def assembled(
    plan: Plan,
    counts: Counts,
    *,
    honest: int,
    unit: str,
    received: int,
    rejected: Mapping[str, int],
    adjusted: Mapping[str, int] | None = None,
    rows_per_person: int = 1,
    private: bool = True,
    truth: NDArray[Any] | None = None,
    notes: Sequence[str] = (),
    provenance: Provenance | None = None,
) -> Result:
    """What counts of messages say, and the guarantee that holds for those who sent them: enough, by `check_enough`.

    `honest` of the reports are relied on, and `private` says whether their randomness is secret. The other arguments are stated.
    """
    said = [] if private else [_SEEDED]
    guarantee = realised = None
    if private:
        guarantee = promised(plan, honest=honest, rows_per_person=rows_per_person)
        realised = plan.epsilon_at(honest) if rows_per_person <= 1 else guarantee.epsilon
    estimate = plan.protocol.estimate(counts, guarantee=guarantee)
    reading = plan.protocol.reading
    answer = reading.of(estimate)
    said += notes
    if truth is not None:
        said.append("The truth is not private: do not publish it.")
    return Result(
        plan=plan, counts=counts, estimate=answer, also=reading.beside(estimate), guarantee=guarantee,
        realised_epsilon=realised, realised_honest=honest if private else None,
        rows_per_person=rows_per_person, unit=unit, received=received, rejected=dict(rejected), adjusted=dict(adjusted or {}),
        truth=None if truth is None else reading.exactly_for(estimate, truth),
        notes=(*said, *reading.notes(), *reading.remarks(answer)), provenance=provenance,
    )  # fmt: skip
