"""Made-up people to try things on."""

from random import Random
from typing import Final

_MINUTES: Final = {"bike": (5, 30), "bus": (20, 60), "car": (10, 40)}
"""The shortest and the longest way to work, by what people take."""
_PEOPLE: Final = {
    ("north", "bike"): 2_000,
    ("north", "bus"): 3_000,
    ("north", "car"): 7_000,
    ("south", "bike"): 2_000,
    ("south", "bus"): 3_000,
    ("south", "car"): 3_000,
}
"""How many there are, by region and what they take."""


def example_people() -> dict[str, list[int | str]]:
    """20,000 made-up people on their way to work, as columns of a table. They are the same every time.

    The columns are `person`, a number; `region`; `travel`, by bike, bus or car; and `minutes`. For a data frame of them, use
    `pandas.DataFrame(example_people())`.

    >>> people = example_people()
    >>> [len(column) for column in people.values()]
    [20000, 20000, 20000, 20000]
    >>> {travel: people["travel"].count(travel) for travel in ("bike", "bus", "car")}
    {'bike': 4000, 'bus': 6000, 'car': 10000}
    """
    random = Random(1)  # noqa: S311 - not for privacy; random() is the same in every version of Python
    rows = [kind for kind, count in _PEOPLE.items() for _ in range(count)]
    rows.sort(key=lambda _: random.random())
    minutes = [low + int((high - low + 1) * random.random()) for low, high in (_MINUTES[travel] for _, travel in rows)]
    return {
        "person": list(range(1, len(rows) + 1)),
        "region": [region for region, _ in rows],
        "travel": [travel for _, travel in rows],
        "minutes": [*minutes],
    }
