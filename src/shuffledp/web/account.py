"""*Account*: what shuffling does to a randomizer, by every bound, between certified ends."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from shuffledp.accounting.account import DEFAULT_BOUND, bound_named, bounds
from shuffledp.accounting.bound import Bound
from shuffledp.accounting.rounds import solve_rounds
from shuffledp.accounting.solve import Problem, Solution, solve
from shuffledp.arithmetic.balls import round_up
from shuffledp.core.blanket import Blanket, RandomizerFamily
from shuffledp.core.guarantee import SETTING, Guarantee
from shuffledp.core.turnout import honest_reports
from shuffledp.randomizers.named import KINDS, PARAMETERS, SHAPES, RandomizerChoice, channel_of
from shuffledp.randomizers.structures import DIMENSIONS
from shuffledp.web.answer_blocks import (
    Axis,
    Band,
    Block,
    Colour,
    Line,
    Mark,
    Number,
    Plot,
    code,
    doing,
    numbers,
    plot,
    table,
    waiting,
)
from shuffledp.web.as_code import account_line
from shuffledp.web.form import DELTAS, USERS, Field, FieldError, Slider, Tab, Typed
from shuffledp.web.risk import chance, risk
from shuffledp.web.shown_numbers import Text, down, up

_NAMES: Final = {
    "generic": "any randomizer",
    "rr": "randomized response",
    "plane": "design response on a plane",
    "hadamard": "Hadamard response",
    "local-hashing": "local hashing",
    "dummies": "truth and dummies",
    "laplace": "Laplace noise on [0, 1]",
    "gaussian": "Gaussian noise on [0, 1]",
    "channel": "any matrix",
}
_SHAPES: Final = {
    "size": ("Number of values", "10", Slider(2, 1e6, logarithmic=True)),
    "prime": ("Order of the plane, a prime", "", None),
    "dimension": ("Dimension", "", None),
    "range": ("Number of hashes", "8", Slider(2, 1e3, logarithmic=True)),
}
_PARAMETERS: Final = {
    "epsilon0": ("Local epsilon0", "1", Slider(0.1, 12, 0.1)),
    "gamma": ("Probability gamma of ignoring the value", "0.5", Slider(0.01, 1, 0.01)),
    "sigma": ("Standard deviation sigma", "1", Slider(0.1, 10, 0.1)),
    "dummies": ("Dummies per user, on average", "0.1", Slider(0.01, 10, logarithmic=True)),
}
_TWO: Final = tuple(name for name, kind in KINDS.items() if len(kind.parameters) > 1)
_COLOURS: Final[tuple[Colour, ...]] = ("vermilion", "green", "purple", "orange", "sky", "ink", "grey")
_POINTS: Final = 25
_LEAST: Final = 1e-10
"""The smallest delta of the picture, below the one asked for."""


def _fields() -> list[Field]:
    fields = [
        Field(
            name="randomizer", label="Randomizer", kind="choice", start="rr", section="What each person does",
            choices=[(name, _NAMES.get(name, name)) for name in KINDS],
        )
    ]  # fmt: skip
    for name in SHAPES:
        label, start, slider = _SHAPES.get(name, (name, "", None))
        only = [kind for kind, what in KINDS.items() if name in (*what.needs, *what.takes)]
        choices = (
            [("", "the usual"), *((str(dimension), str(dimension)) for dimension in DIMENSIONS)]
            if name == "dimension"
            else []
        )
        fields.append(
            Field(
                name=name, label=label, kind="choice" if choices else "whole", start=start, slider=slider, choices=choices,
                only={"randomizer": only}, optional=not start,
            )
        )  # fmt: skip
    fields.append(
        Field(
            name="matrix", label="Probabilities, one row per value", kind="lines", start="0.7 0.2 0.1\n0.1 0.2 0.7",
            about=["channel"],
            only={"randomizer": [name for name, kind in KINDS.items() if not kind.parameters]},
        )
    )  # fmt: skip
    fields.append(
        Field(
            name="by", label="Given by", kind="choice", start=PARAMETERS[0], only={"randomizer": _TWO},
            choices=[(name, name) for name in dict.fromkeys(p for kind in _TWO for p in KINDS[kind].parameters)],
        )
    )  # fmt: skip
    for name in PARAMETERS:
        label, start, slider = _PARAMETERS.get(name, (name, "", None))
        kinds = [kind for kind, what in KINDS.items() if name in what.parameters]
        fields.append(
            Field(name=name, label=label, start=start, slider=slider, only={"randomizer": kinds, "by": [name]})
        )
    return [
        *fields,
        Field(name="n", label="People", kind="whole", start="10000", slider=USERS, section="The crowd"),
        Field(
            name="lie", label="May lie or collude", start="0", unit="%", slider=Slider(0, 95, 1), about=["honest_fraction"],
            help="They hide nobody: the guarantee relies on the others.",
        ),
        Field(name="rounds", label="Rounds", kind="whole", start="1", slider=Slider(1, 365, logarithmic=True)),
        Field(name="delta", label="Failure probability delta", start="1e-6", slider=DELTAS, section="The guarantee"),
    ]  # fmt: skip


def _blanket(typed: Typed) -> tuple[Blanket, dict[str, str]]:
    """What a bound sees, and what was said about it by option of the command."""
    name = typed.choice("randomizer")
    kind = KINDS[name]
    local = typed.choice("by") if len(kind.parameters) > 1 else next(iter(kind.parameters), None)
    values: dict[str, float | int] = {
        shape: typed.whole(shape) for shape in (*kind.needs, *kind.takes) if shape in typed
    }
    if local is not None:
        values[local] = typed.real(local)
    matrix = channel_of(typed.text("matrix"), "the matrix") if local is None else None
    blanket = RandomizerChoice(name=name, matrix=matrix).at(values, local)
    if isinstance(blanket, RandomizerFamily):
        raise FieldError(local or "", f"{local} is missing. Fill it in.")
    shown = {"randomizer": name} | {parameter: typed.text(parameter) for parameter in values}
    return blanket, shown | ({"matrix": "matrix.txt"} if local is None else {})


def _answer(typed: Typed) -> Iterator[Block]:
    blanket, said = _blanket(typed)
    n, delta, rounds = typed.whole("n"), typed.real("delta"), typed.whole("rounds")
    fraction = typed.rest("lie") if "lie" in typed else 1.0
    problem = Problem(randomizer=blanket, n=n, delta=delta)
    honest = honest_reports(n, fraction)

    def solved(bound: Bound) -> Solution:
        return solve_rounds(bound, problem, rounds=rounds, honest_fraction=fraction)

    solutions = dict[str, Solution]()
    if rounds == 1:
        solutions = {name: solved(bound) for name, bound in bounds().items() if bound.kind == "formula"}
        quick = min((s for s in solutions.values() if s.value is not None), key=lambda s: s.value or 0, default=None)
        if quick is not None:
            yield numbers("numbers", _numbers(blanket, quick, delta, rounds), certain=False)
    often = f" of {rounds:,} rounds together" if rounds > 1 else ""
    yield doing(f"Computing epsilon{often}, by the {DEFAULT_BOUND} bound")
    best = solutions[DEFAULT_BOUND] = solved(bound_named(DEFAULT_BOUND))
    yield numbers("numbers", _numbers(blanket, best, delta, rounds))
    known = None
    if best.value is not None:
        known = Guarantee(epsilon=float(best.value), delta=delta, n=honest, bound=best.bound, reference=best.reference)
    if rounds == 1:
        yield risk("risk", chance(blanket, honest, known), about="from the certified curve")
    elif known is not None:
        yield risk("risk", known.success, about="after all rounds")
    for name, bound in bounds().items():
        if name not in solutions:
            solutions[name] = solved(bound)
            yield waiting("bounds", "Every bound", len(solutions) / len(bounds()))
    yield table("bounds", "Every bound", ["bound", "epsilon", "lower bound", "where it comes from"], _rows(solutions))
    top = best.value or best.lower or 1.0
    yield from _curves(blanket, honest, delta, float(top) if rounds == 1 else None)
    line = account_line(said, n=typed.text("n"), delta=typed.text("delta"), fraction=fraction, rounds=rounds)
    yield code("lines", "The same on the command line", [("Shell", line)])


def _numbers(blanket: Blanket, solution: Solution, delta: float, rounds: int) -> list[Number]:
    together = f" of all {rounds:,} rounds together" if rounds > 1 else ""
    items = [
        Number(
            label=[f"epsilon{together}, at delta = ", up(delta)],
            value="-" if solution.value is None else [up(float(solution.value))],
            note=solution.regime or solution.note or f"proved by the {solution.bound} bound; {SETTING}",
        )
    ]
    if solution.lower is not None:
        items.append(Number(label="lower bound", value=[down(float(solution.lower))], note="no proof can be below it"))
    local = blanket.epsilon0()
    items.append(Number(
        label="local epsilon0", value="none" if local is None else [up(round_up(local))],
        note="all that is left if shuffler and analyzer collude",
    ))  # fmt: skip
    share = "share of the messages that do not depend on who sent them"
    items.append(Number(label="gamma", value=[down(float(blanket.gamma()))], note=share))
    return items


def _rows(solutions: dict[str, Solution]) -> list[list[Text]]:
    return [
        [
            name,
            "-" if solution.value is None else [up(float(solution.value))],
            "-" if solution.lower is None else [down(float(solution.lower))],
            solution.reference if solution.regime is None else solution.regime,
        ]
        for name in bounds()
        if (solution := solutions[name])
    ]


def _curves(blanket: Blanket, n: int, delta: float, top: float | None) -> Iterator[Block]:
    """Delta against epsilon, up to somewhat beyond the answer."""
    title = "Delta against epsilon" if top is not None else "Delta against epsilon, of one round"
    if top is None:
        top = float(solve(bound_named(DEFAULT_BOUND), Problem(randomizer=blanket, n=n, delta=delta)).value or 1.0)
    x = np.linspace(0.0, 1.25 * top, _POINTS).tolist()
    ends = dict[str, list[tuple[float | None, float | None]]]()
    every = [bound_named(DEFAULT_BOUND), *(b for b in bounds().values() if b.kind == "formula" or b.name == "generic")]
    for j, bound in enumerate(every):
        for epsilon in x:
            solution = solve(bound, Problem(randomizer=blanket, n=n, epsilon=epsilon))
            ends.setdefault(bound.name, []).append((solution.lower, solution.upper))
            if len(ends[bound.name]) % 5 == 0 and not j:
                yield waiting("curve", title, len(ends[bound.name]) / _POINTS)
        if not j or j + 1 == len(every):
            yield plot("curve", _drawn(title, x, ends, delta, top))


def _drawn(
    title: str, x: list[float], ends: dict[str, list[tuple[float | None, float | None]]], delta: float, top: float
) -> Plot:
    def kept(value: float | None) -> float | None:
        return value if value is not None and value > min(_LEAST, delta / 100) else None

    best = ends[DEFAULT_BOUND]
    low, high = [kept(lower) for lower, _ in best], [kept(upper) for _, upper in best]
    lines = [
        Line(name="best: certified upper end", y=high, colour="blue", strong=True, rounding="up"),
        Line(name="no proof can be below this line", y=low, colour="ink", dash="1 4", rounding="down"),
    ]
    others = {name: [kept(upper) for _, upper in points] for name, points in ends.items() if name != DEFAULT_BOUND}
    said = {name: y for name, y in others.items() if any(value is not None for value in y)}
    lines += [
        Line(name=name, y=y, colour=colour, dash="6 3" if j % 2 else "", rounding="up")
        for j, ((name, y), colour) in enumerate(zip(said.items(), _COLOURS, strict=False))
    ]
    silent = [name for name in others if name not in said]
    return Plot(
        title=title, x=x, across=Axis(label="epsilon", rounding="up"), up=Axis(label="delta", logarithmic=True), lines=lines,
        bands=[Band(name="where the true delta is", low=low, high=high, colour="blue")],
        marks=[Mark(x=top, y=delta, words=["epsilon = ", up(top)])],
        note=f"Not drawn, because they prove nothing in this range: {', '.join(silent)}." if silent else "",
    )  # fmt: skip


ACCOUNT: Final = Tab(
    name="account",
    lead="What is a randomizer worth once its messages are shuffled?",
    asks=_fields,
    answer=_answer,
    starts={
        "randomizer": {
            "plane": {"prime": "11", "epsilon0": "4"},
            "dummies": {"size": "10"},
            "laplace": {"epsilon0": "2"},
        }
    },
)
