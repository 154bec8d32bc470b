"""A plan from whatever is known: users and epsilon, or the error to reach instead of one of them."""

from typing import Any, Final

from shuffledp.accounting.histogram_theorem import PAPER_BOUND
from shuffledp.core import checks
from shuffledp.core.captions import spoken
from shuffledp.core.turnout import reports_expected
from shuffledp.errors import InvalidInput
from shuffledp.planning import registry
from shuffledp.planning.ask import ask, check_names
from shuffledp.planning.choose import Proposal, best_plan, choose, plans
from shuffledp.planning.error_targets import epsilon_possible, users_needed
from shuffledp.planning.options import QUESTIONS
from shuffledp.planning.plan import Plan
from shuffledp.planning.question import Question
from shuffledp.planning.rounds import plan_rounds, rounds_possible

_TERMS: Final = (
    "n", "epsilon", "delta", "rmse", "rmse_share", "rounds", "rounds_per_person", "honest_fraction", "dropout",
)  # fmt: skip
"""What is said of every question."""


def plan_for(question: str, *, paper: bool = False, **given: Any) -> Plan:
    """The most accurate protocol for n users at (epsilon, delta).

    Options depend on the question: size or labels, low and high for a histogram; low, high and precision for a sum or a mean. A
    share of the n users may not answer (dropout), and only a share of those who do may follow the protocol (honest_fraction).
    Blankets are the smallest that the certified accountant grants. With `paper`, parameters are those of Theorem 3.1 and
    Theorem 4.1.

    >>> plan_for("histogram", n=100_000, epsilon=0.5, delta=1e-6, size=10).protocol.randomizer.gamma < 0.02
    True
    """
    return choose(_asked(question, bound=PAPER_BOUND if paper else "best", **given))


def survey_strategies(question: str, given: dict[str, Any], *, paper: bool = False) -> list[Proposal[Plan]]:
    """All ways to ask several questions, each with its plan for n and epsilon.

    >>> questions = [{"name": name, "ask": "histogram", "labels": ["no", "yes"]} for name in ("smokes", "drinks")]
    >>> asked = {"n": 10_000, "epsilon": 1.0, "delta": 1e-6, "questions": questions, "way": "table"}
    >>> [proposal.family for proposal in survey_strategies("survey", asked) if proposal.made]
    ['shuffledp, joint table']
    """
    if paper or not {"n", "epsilon"} <= given.keys() or {"rmse", "rmse_share"} & given.keys():
        raise InvalidInput("several questions are planned for `n` and `epsilon`, not for an error. Give both.")
    return plans(_asked(question, **given))


def _asked(
    question: str, *, n: int, epsilon: float, delta: float, honest_fraction: float = 1.0, dropout: float = 0.0,
    bound: str = "best", **options: Any,
) -> Question:  # fmt: skip
    reports = reports_expected(n, dropout)
    return ask(
        question, n=reports, epsilon=epsilon, delta=delta, honest_fraction=honest_fraction, bound=bound, options=options
    )


def plan_from_targets(question: str, given: dict[str, Any], *, paper: bool = False) -> Plan:
    """The plan for n and epsilon, or for an error (rmse, or rmse_share of n) instead of one of them.

    With rounds, that of one of so many: epsilon and delta are of all together, and an error is that of one.
    """
    given = dict(given)
    check_names(question, given, _TERMS)
    if "rounds_per_person" in given and "rounds" not in given:
        raise InvalidInput("`rounds_per_person` is for a plan of several rounds. Add `rounds`, or leave it out.")
    if QUESTIONS.name in given and "rounds" not in given:
        return best_plan(survey_strategies(question, given, paper=paper))
    rmse, share, rounds = (given.pop(name, None) for name in ("rmse", "rmse_share", "rounds"))
    if rmse is None and share is None:
        if "n" not in given or "epsilon" not in given:
            raise InvalidInput(
                "a plan needs `n` and `epsilon`, or an error instead of one of them. "
                "Give both, or one with `rmse` or `rmse_share`."
            )
        return (
            plan_for(question, paper=paper, **given)
            if rounds is None
            else plan_rounds(question, rounds=rounds, **given)
        )
    if rounds is not None and "n" not in given:
        raise InvalidInput("rounds are planned for a number of people. Give `n`, or leave out `rounds`.")
    if "n" in given and "epsilon" in given and not paper:
        raise InvalidInput(
            "`rmse` or `rmse_share` takes the place of `n` or `epsilon`, and both are given. Leave out one of the three."
        )
    if rmse is not None and share is not None:
        raise InvalidInput("`rmse` and `rmse_share` are the same error in two units. Give one of them.")
    if paper:
        raise InvalidInput("the paper's recipe is for `n` and `epsilon`, not for an error. Leave out `paper`.")
    if "n" not in given and "epsilon" not in given:
        raise InvalidInput("an error takes the place of one of `n` and `epsilon`. Give the other one.")
    dropout = given.pop("dropout", 0.0) if "n" not in given else 0.0
    reports_expected(checks.LARGEST_N, dropout)
    averages = registry.averages(question)
    if "n" in given:
        reports = reports_expected(given["n"], given.get("dropout", 0.0))
        target = rmse if share is None else share if averages else share * reports
        if rounds is not None:
            return rounds_possible(question, rmse=target, rounds=rounds, **given)
        return epsilon_possible(question, rmse=target, **given)
    if rmse is not None and not averages:
        raise InvalidInput(
            f"more users do not make the error of {spoken(question)} smaller, only its share of n. Use `rmse_share`."
        )
    return users_needed(question, rmse_share=rmse if share is None else share, **given)
