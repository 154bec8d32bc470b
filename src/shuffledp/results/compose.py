"""What plans, answers and collections guarantee together: the front door of composition in Python."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from shuffledp.accounting.composition import Collection, Composition
from shuffledp.accounting.composition import compose as compose_collections
from shuffledp.core import checks
from shuffledp.errors import InvalidInput
from shuffledp.planning.plan import Plan
from shuffledp.planning.release_cost import Spend, merged
from shuffledp.results.answer import Answer

Part = Plan | Answer | Spend | Collection


def compose(*parts: Part | Iterable[Part], delta: float | None = None) -> Composition:
    """The joint guarantee of several collections from the same people, in any order and chosen adaptively.

    A plan counts as often as it may ask one person (once, unless it was planned with rounds), an answer once. The guarantee is
    stated at `delta`, or at the largest that a plan or an answer has.

    >>> from shuffledp import plan
    >>> made = plan.query(n=10_000, epsilon=0.5, delta=1e-6)
    >>> 0.5 < compose(made, made).epsilon(1e-6) < 0.75
    True
    >>> print(compose(made, made, delta=1e-4))
    2 rounds in 1 collection, replace-one neighbours, number of users public
    delta = 0.0001: epsilon = 0.510812, and at least 0.509055
    """
    if delta is not None:
        delta = checks.probability(delta, "delta")
    listed = [part for given in parts for part in (given if isinstance(given, list | tuple) else [given])]
    spends = [spend for part in listed if not isinstance(part, Collection) for spend in _spends(part)]
    together = compose_collections([*(part for part in listed if isinstance(part, Collection)), *merged(spends)])
    return replace(together, stated_delta=_largest(listed) if delta is None else delta)


def _largest(parts: Iterable[object]) -> float | None:
    """The largest delta that one of them promises something at; None if none does."""
    promises = [
        part.guarantee if isinstance(part, Answer) or part.over_time is None else part.over_time
        for part in parts
        if isinstance(part, Plan | Answer)
    ]
    return max((promise.delta for promise in promises if promise is not None and promise.delta > 0), default=None)


def _spends(part: object) -> Sequence[tuple[Spend, int]]:
    """What was, or will be, released, and how often."""
    if isinstance(part, Spend):
        return [(part, 1)]
    if isinstance(part, Plan):
        return [(Spend.of(part), 1 if part.over_time is None else part.over_time.per_person)]
    if not isinstance(part, Answer):
        raise InvalidInput(
            f"plans, answers and collections are composed, not a {type(part).__name__}. Give what plan or run returned."
        )
    if part.spend is None:
        raise InvalidInput(
            "an answer cannot be composed: it has no guarantee, or one for several rows of a person. Add its epsilon and delta "
            "to that of the others by hand."
        )
    return [(part.spend, 1)]
