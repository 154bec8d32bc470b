"""*Plan*: from how exact an answer must be to what it costs in privacy, or the other way round."""

import contextlib
import json
import math
from collections.abc import Iterator
from typing import Any, Final

from shuffledp.arithmetic.balls import product_up
from shuffledp.core.digits import rounded_down
from shuffledp.core.guarantee import NOTHING_LOCAL, SETTING
from shuffledp.core.turnout import asking, people_to_ask
from shuffledp.errors import NoClaim
from shuffledp.planning import registry
from shuffledp.planning.ask import ask
from shuffledp.planning.concerns import concerns
from shuffledp.planning.from_targets import plan_from_targets
from shuffledp.planning.over_time import rounds_together
from shuffledp.planning.plan import Plan
from shuffledp.planning.rounds import fewer, spent
from shuffledp.web.answer_blocks import (
    Axis,
    Block,
    Line,
    Mark,
    Number,
    Plot,
    code,
    doing,
    files,
    numbers,
    plot,
    waiting,
    warnings,
    words,
)
from shuffledp.web.as_code import command, python_lines
from shuffledp.web.form import DELTAS, EPSILONS, USERS, Field, Slider, Tab, Typed
from shuffledp.web.notice import notebook, notice
from shuffledp.web.questions import STARTS, Asked, question_fields, read_question
from shuffledp.web.risk import chance, risk, success
from shuffledp.web.shown_numbers import Text, near, said, up

_NORMAL: Final = 1.96
"""Standard errors of a 95 % margin."""
_MORE: Final = (0.125, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
"""Shares of the reports planned for that may come instead."""

_WORDING: Final = {"title": "title", "question": "worded", "unit": "unit"}
"""What people read beside the numbers, and the fields for it."""


def _fields() -> list[Field]:
    names = registry.questions()
    mean = [name for name in names if registry.averages(name)]
    count = [name for name in names if name not in mean]
    exact = ["accuracy", "people"]
    return [
        *question_fields(),
        *(
            Field(name=name, label=label, kind="text", optional=True, help=about)
            for name, label, about in (
                ("worded", "The question, as it is put to people", "On tables, pictures, pages and the notice."),
                ("title", "Title of the answer", ""),
                ("unit", "Unit of the values", "Such as minutes."),
            )
        ),
        Field(
            name="aim", label="What to find out", kind="choice", start="accuracy", section="The aim",
            choices=[
                ("accuracy", "epsilon, for a margin of error"),
                ("epsilon", "margin of error, for an epsilon"),
                ("people", "number of people, for both"),
            ],
        ),
        Field(
            name="margin", label="Margin of error, 95 %", start="1", unit="± points", about=["rmse_share", "rmse", "error"],
            slider=Slider(0.01, 20, logarithmic=True), only={"question": count, "aim": exact},
            help="Each share, in percentage points of all who answer.",
        ),
        Field(
            name="precise", label="Margin of error, 95 %", start="0.01", unit="±", about=["rmse_share", "rmse", "error"],
            slider=Slider(1e-4, 10, logarithmic=True), only={"question": mean, "aim": exact},
            help="In the units of the answer.",
        ),
        Field(
            name="epsilon", label="Epsilon of all rounds together", start="1", slider=EPSILONS,
            only={"aim": ["epsilon", "people"]},
        ),
        Field(name="delta", label="Failure probability delta", start="1e-6", slider=DELTAS),
        Field(
            name="n", label="People asked", kind="whole", start="40000", slider=USERS, section="The people",
            only={"aim": ["accuracy", "epsilon"]},
        ),
        Field(name="dropout", label="May not answer", start="30", unit="%", slider=Slider(0, 95, 1)),
        Field(
            name="lie", label="May lie or collude", start="5", unit="%", slider=Slider(0, 95, 1), about=["honest_fraction"],
            help="Share of those who answer. Such people hide nobody.",
        ),
        Field(
            name="rounds", label="Rounds", kind="whole", start="52", slider=Slider(1, 365, logarithmic=True),
            only={"aim": ["accuracy", "epsilon"]}, help="The same people every time: 52 is weekly for a year.",
        ),
        Field(
            name="rounds_per_person", label="Rounds that one person takes part in", kind="whole", only={"aim": ["epsilon"]},
            optional=True, help="Empty: all of them. Otherwise a random part of the people is asked each time.",
        ),
        Field(
            name="collude", label="Shuffler and analyzer work together", kind="flag", start="no", section="Trust",
        ),
    ]  # fmt: skip


def _given(typed: Typed, asked: Asked) -> dict[str, Any]:
    """What `plan_from_targets` takes, besides the options of the question."""
    aim = typed.choice("aim")
    given: dict[str, Any] = {}
    if aim != "people":
        given["n"] = typed.whole("n")
    if aim != "accuracy":
        given["epsilon"] = typed.real("epsilon")
    if aim != "epsilon":
        error = typed.real("precise") if registry.averages(asked.name) else typed.share("margin")
        given["rmse_share"] = float(rounded_down(error / _NORMAL))
    given["delta"] = typed.real("delta")
    if "dropout" in typed and typed.real("dropout") != 0:
        given["dropout"] = typed.share("dropout")
    if "lie" in typed and typed.real("lie") != 0:
        given["honest_fraction"] = typed.rest("lie")
    if "rounds" in typed and typed.whole("rounds") != 1:
        given["rounds"] = typed.whole("rounds")
        if "rounds_per_person" in typed:
            given["rounds_per_person"] = typed.whole("rounds_per_person")
    return given


def _answer(typed: Typed) -> Iterator[Block]:
    asked = read_question(typed)
    given = _given(typed, asked)
    collude = typed.flag("collude")
    wording = {name: typed.text(field) for name, field in _WORDING.items() if field in typed}
    yield doing(_search(asked.name, typed.choice("aim"), given.get("rounds", 1)))
    made = plan_from_targets(asked.name, asked.options | given).worded(**wording)
    yield numbers("numbers", _numbers(made, asked, collude))
    doubts = [said(concern) for concern in concerns(made)]
    if doubts:
        yield warnings("warnings", "Before you use this plan", doubts)
    right = _risk(made)
    if collude:
        yield risk("risk", _local_risk(made), about="whatever shuffler and analyzer do")
    else:
        yield risk("risk", right, about="from the certified curve")
    people = people_to_ask(made.min_batch, given.get("dropout", 0.0))
    lines = [*made.explain().splitlines(), *_also(made, given)]
    yield words("words", "In words", [said(line) for line in lines])
    yield from _fewer_reports(made)
    if made.over_time is not None:
        yield from _rounds(made)
    options = [*asked.said, *((name, _typed(value)) for name, value in given.items()), *wording.items()]
    line = command(f"shuffledp plan {asked.name} {asked.place}".rstrip(), options)
    python = python_lines(asked.name, asked.options | given, wording)
    yield code("lines", "The same without this page", [("Shell", f"{line} -o plan.json"), ("Python", python)])
    yield files(
        "files", "Downloads",
        [
            ("plan.json", "Plan (JSON)", json.dumps(made.document(), indent=2, allow_nan=False) + "\n"),
            ("notice.html", "Notice for participants (one page)", notice(made, right, people=people)),
            ("plan.ipynb", "Notebook", notebook(asked.name, python)),
            *((name, name, content) for name, content in asked.files.items()),
        ],
    )  # fmt: skip


def _search(question: str, aim: str, rounds: int) -> str:
    """What takes a while."""
    together = f" of {rounds:,} rounds together" if rounds > 1 else ""
    aims = {
        "accuracy": f"the smallest epsilon{together} with this margin of error",
        "epsilon": f"the most accurate protocol at this epsilon{together}",
        "people": "the smallest number of people with this margin of error at this epsilon",
    }
    return f"Looking for {aims[aim]} ({question.replace('-', ' ')})"


def _typed(value: Any) -> str:
    """A number as one types it."""
    return repr(value).removesuffix(".0").replace("e-0", "e-")


def _rounds_of(made: Plan) -> int:
    return 1 if made.over_time is None else made.over_time.per_person


def _numbers(made: Plan, asked: Asked, collude: bool) -> list[Number]:
    rounds = _rounds_of(made)
    together = f" of all {rounds:,} rounds together" if rounds > 1 else ""
    epsilon = made.guarantee.epsilon if made.over_time is None else made.over_time.epsilon
    shuffled = Number(
        label=[f"epsilon{together}, at delta = ", up(made.guarantee.delta)], value=[up(epsilon)],
        note=f"proved by the {made.guarantee.bound} bound; {SETTING}",
    )  # fmt: skip
    alone = Number(
        label=f"epsilon of one person's messages{together}, at delta = 0", value=_local(made),
        note="all that is left if shuffler and analyzer work together",
    )  # fmt: skip
    margins = _margins(made, asked)
    relied = f"{made.guarantee.n:,} of them relied on" if made.guarantee.n < made.min_batch else "all relied on"
    return [
        alone if collude else shuffled,
        *([] if rounds == 1 else [Number(label="epsilon of one round", value=[up(made.guarantee.epsilon)])]),
        *margins,
        Number(label="reports", value=f"{made.min_batch:,}", note=relied),
        shuffled if collude else alone,
    ]


def _margins(made: Plan, asked: Asked) -> list[Number]:
    """How far off the answer is: what the planner makes small, or one entry of each of several questions."""
    apart = made.forecast.by_question
    if apart:
        return [
            Number(label=f"margin of error of {name}, 95 %", value=["± ", near(_NORMAL * error)])
            for name, error in apart.items()
        ]
    guarantee = made.guarantee
    question = ask(
        asked.name, n=made.min_batch, epsilon=guarantee.epsilon, delta=guarantee.delta, options=asked.options
    )
    error = _NORMAL * math.sqrt(question.cost(made.protocol))
    value = near(error) if made.protocol.reading.averages else near(100 * error / made.min_batch, 6)
    unit = "" if made.protocol.reading.averages else " point" if value.number == "1" else " points"
    return [
        Number(label="margin of error, 95 %", value=["± ", value, unit], note=f"1.96 times the {question.objective}")
    ]


def _local(made: Plan) -> Text:
    return "none" if math.isinf(made.epsilon0) else [up(product_up(made.epsilon0, _rounds_of(made)))]


def _local_risk(made: Plan) -> float:
    if math.isinf(made.epsilon0):
        return 1.0
    return success(product_up(made.epsilon0, _rounds_of(made)), 0.0)


def _risk(made: Plan) -> float:
    """How often an informed guess is right at most, after all rounds."""
    if made.over_time is None or made.over_time.per_person == 1:
        return chance(made.protocol.randomizer.blanket(), made.guarantee.n, made.guarantee)
    total = made.over_time
    chances = [success(total.epsilon, total.delta)]
    with contextlib.suppress(NoClaim):
        chances.append(
            success(0.0, rounds_together(made.protocol.randomizer, made.guarantee, total.per_person).delta(0.0))
        )
    return min(chances)


def _also(made: Plan, given: dict[str, Any]) -> list[str]:
    notes = []
    if "dropout" in given:
        notes.append(asking(made.min_batch, given["dropout"]))
    if math.isinf(made.epsilon0) and NOTHING_LOCAL not in made.explain():
        notes.append(NOTHING_LOCAL)
    return notes


def _fewer_reports(made: Plan) -> Iterator[Block]:
    """What becomes of epsilon if fewer honest reports come, or more."""
    title = "If fewer people answer honestly"
    x, y = list[float](), list[float | None]()
    for share in _MORE:
        honest = max(1, int(made.guarantee.n * share))
        try:
            y.append(made.epsilon_at(honest))
        except NoClaim:
            y.append(None)
        x.append(honest)
        yield waiting("fewer", title, len(x) / len(_MORE))
    half = _MORE.index(0.5)
    marks = [] if y[half] is None else [Mark(x=x[half], y=y[half] or 0.0, words=["half: ", up(y[half] or 0.0)])]
    yield plot("fewer", Plot(
        title=title, x=x, across=Axis(label="honest reports", logarithmic=True), up=Axis(label="epsilon of one round"),
        lines=[Line(name="epsilon, certified", y=y, colour="blue", strong=True, rounding="up")], marks=marks,
    ))  # fmt: skip


def _rounds(made: Plan) -> Iterator[Block]:
    """What somebody has spent after so many rounds."""
    title = "What the rounds cost"
    costs = dict[int, float]()
    after = sorted(fewer(_rounds_of(made)))
    for rounds in after:
        costs |= spent(made, [rounds])
        yield waiting("rounds", title, len(costs) / len(after))
    yield plot("rounds", Plot(
        title=title, x=list(costs), across=Axis(label="rounds taken part in"), up=Axis(label="epsilon spent"),
        lines=[Line(name="epsilon spent, certified", y=list(costs.values()), colour="blue", strong=True, rounding="up")],
    ))  # fmt: skip


PLAN: Final = Tab(
    name="plan",
    lead="Say how exact the answer must be, and see what it costs in privacy, or the other way round.",
    asks=_fields,
    answer=_answer,
    starts={"question": STARTS},
)
