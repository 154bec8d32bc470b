"""*Compare*: every protocol for a question, whom users must trust, what they send, and how far off the answer is."""

import math
import time
from collections.abc import Iterator
from typing import Any, Final

from shuffledp.baselines.compare import COLUMNS, Candidate, compare
from shuffledp.baselines.registry import families as families_of
from shuffledp.errors import InvalidInput
from shuffledp.planning import registry
from shuffledp.web.answer_blocks import (
    Axis,
    Block,
    Colour,
    Line,
    Number,
    Plot,
    code,
    doing,
    numbers,
    plot,
    table,
    waiting,
)
from shuffledp.web.as_code import command
from shuffledp.web.form import DELTAS, EPSILONS, USERS, Field, Given, Tab, Typed
from shuffledp.web.questions import STARTS, question_fields, read_question
from shuffledp.web.shown_numbers import Text, near, up

_SIZES: Final = tuple(10**j for j in range(3, 10))
_SLOW: Final = 0.4
"""Seconds: a protocol that takes longer is drawn after the others."""
_BY_PROOF: Final[dict[str, Colour]] = {"best": "blue", "histogram-theorem": "orange", "proof": "purple"}
_BY_TRUST: Final[dict[str, Colour]] = {
    "nobody": "vermilion",
    "the curator": "ink",
    "the shuffler": "sky",
    "the shuffler's noise": "grey",
}
_DASHES: Final = ("", "7 4", "2 3", "9 3 2 3", "5 2", "1 4", "12 4")
_STARTS: Final[dict[str, Given]] = {
    **{name: {one: text for one, text in start.items() if one != "margin"} for name, start in STARTS.items()},
    "histogram": {"size": "16"},
}


def _fields() -> list[Field]:
    return [
        *question_fields(),
        Field(name="n", label="People", kind="whole", start="1000000", slider=USERS, section="The guarantee"),
        Field(name="epsilon", label="Epsilon", start="1", slider=EPSILONS),
        Field(name="delta", label="Failure probability delta", start="1e-6", slider=DELTAS),
    ]


def _answer(typed: Typed) -> Iterator[Block]:
    asked = read_question(typed)
    n, epsilon, delta = typed.whole("n"), typed.real("epsilon"), typed.real("delta")
    families = [*registry.families(asked.name), *families_of(asked.name)]  # our own first
    names = list(dict.fromkeys(family.name for family in families))
    numbers_: dict[str, Any] = {"epsilon": epsilon, "delta": delta, **asked.options}
    rows, slow = dict[str, Candidate](), list[str]()
    for j, name in enumerate(names):
        begun = time.perf_counter()
        yield doing(f"Computing the error of {name}, {j + 1} of {len(names)}")
        for row in compare(asked.name, n=n, only=[name], **numbers_):
            rows[row.name] = row
        if time.perf_counter() - begun > _SLOW:
            slow.append(name)
        left = len(names) - j - 1
        yield numbers("numbers", _best(rows))
        yield _table(rows, f"{left} more protocols follow." if left else "")
    said = [*asked.said, *((name, typed.text(name)) for name in ("n", "epsilon", "delta"))]
    yield code(
        "lines",
        "The same on the command line",
        [("Shell", command(f"shuffledp compare {asked.name} {asked.place}".rstrip(), said))],
    )
    errors: dict[str, list[float | None]] = {}
    drawn: dict[str, Candidate] = {}
    for group in ([name for name in names if name not in slow], slow):
        for size in _SIZES:
            for name in group:
                try:
                    compared = compare(asked.name, n=size, only=[name], **numbers_)
                except InvalidInput:
                    continue
                for row in compared:
                    at = errors.setdefault(row.name, [None] * len(_SIZES))
                    at[_SIZES.index(size)] = row.rmse
                    drawn[row.name] = row
                yield waiting("curves", _TITLE, _SIZES.index(size) / len(_SIZES))
        yield plot("curves", _drawn(errors, drawn, bool(slow) and group is not slow))


_TITLE: Final = "Error against the number of people"


def _drawn(errors: dict[str, list[float | None]], rows: dict[str, Candidate], more: bool) -> Plot:
    used, lines = dict[Colour, int](), list[Line]()
    for name, y in errors.items():
        if all(value is None for value in y):
            continue
        colour = _colour(rows[name])
        lines.append(
            Line(
                name=f"{name} ({rows[name].trust})",
                y=y,
                colour=colour,
                dash=_DASHES[used.get(colour, 0) % len(_DASHES)],
                strong=colour == "blue",
            )
        )
        used[colour] = used.get(colour, 0) + 1
    return Plot(
        title=_TITLE,
        x=_SIZES,
        across=Axis(label="people", logarithmic=True),
        up=Axis(label="root mean squared error", logarithmic=True),
        lines=lines,
        note="In brackets: whom people must trust." + (" Slower ones follow." if more else ""),
    )


def _colour(row: Candidate) -> Colour:
    if (row.messages or 1) > 1:
        return "green"
    return _BY_PROOF.get(row.accounted_by, _BY_TRUST[row.trust])


def _sorted(rows: dict[str, Candidate]) -> list[Candidate]:
    return sorted(rows.values(), key=lambda row: float("inf") if row.rmse is None else row.rmse)


def _table(rows: dict[str, Candidate], more: str = "") -> Block:
    listed = _sorted(rows)
    notes = [f"{row.name}: {row.note}" for row in listed if row.note]
    if listed and listed[0].share is not None:
        notes.append(f"rmse: of one value that up to {100 * listed[0].share:g} % of the users hold")
    return table("table", "Side by side", COLUMNS, [_cells(row) for row in listed], [*([more] if more else []), *notes])


def _cells(row: Candidate) -> list[Text]:
    """As the command shows them, with more digits."""
    local: Text = row.local if row.epsilon0 is None else [up(row.epsilon0)]
    return [*row.cells()[:-2], local, _error(row)]


def _error(row: Candidate) -> Text:
    return "-" if row.rmse is None else [near(row.rmse)] if math.isfinite(row.rmse) else "inf"


def _best(rows: dict[str, Candidate]) -> list[Number]:
    """The least error for each kind of trust, that of shuffledp first."""
    best = []
    for trust in ("the shuffler", "the shuffler's noise", "the curator", "nobody"):
        row = next(
            (r for r in _sorted(rows) if r.trust == trust and r.rmse is not None and r.accounted_by != "proof"), None
        )
        if row is not None:
            best.append(Number(label=f"least error if people trust {trust}", value=_error(row), note=row.name))
    return best


COMPARE: Final = Tab(
    name="compare",
    lead="Whom must people trust, what do they send, and how far off is the answer, protocol by protocol?",
    asks=_fields,
    answer=_answer,
    starts={"question": _STARTS},
)
