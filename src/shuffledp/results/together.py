"""What plans, answers and collections guarantee together: the front door of composition in Python."""

from collections.abc import Iterable, Sequence

from shuffledp.accounting.composition import Collection, Composition
from shuffledp.accounting.composition import compose as compose_collections
from shuffledp.errors import InvalidInput
from shuffledp.planning.plan import Plan
from shuffledp.planning.spend import Spend, merged
from shuffledp.results.reading import Reading

Part = Plan | Reading | Spend | Collection


def compose(*parts: Part | Iterable[Part]) -> Composition:
    """The joint guarantee of several collections from the same people, in any order and chosen adaptively.

    A plan counts as often as it may ask one person (once, unless it was planned with rounds), an answer once.

    >>> from shuffledp import plan
    >>> made = plan.query(n=10_000, epsilon=0.5, delta=1e-6)
    >>> 0.5 < compose(made, made).epsilon(1e-6) < 0.75
    True
    """
    listed = [part for given in parts for part in (given if isinstance(given, list | tuple) else [given])]
    spends = [spend for part in listed if not isinstance(part, Collection) for spend in _spends(part)]
    return compose_collections([*(part for part in listed if isinstance(part, Collection)), *merged(spends)])


def _spends(part: object) -> Sequence[tuple[Spend, int]]:
    """What was, or will be, released, and how often."""
    if isinstance(part, Spend):
        return [(part, 1)]
    if isinstance(part, Plan):
        return [(Spend.of(part), 1 if part.over_time is None else part.over_time.per_person)]
    if not isinstance(part, Reading):
        raise InvalidInput(
            f"plans, answers and collections are composed, not a {type(part).__name__}. Give what plan or run returned."
        )
    if part.spend is None:
        raise InvalidInput(
            "an answer cannot be composed: it has no guarantee, or one for several rows of a person. Add its epsilon and delta "
            "to that of the others by hand."
        )
    return [(part.spend, 1)]
