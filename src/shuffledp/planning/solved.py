"""A plan from whatever is known: users and epsilon, or the error to reach instead of one of them."""

from typing import Any

from shuffledp.core import checks
from shuffledp.core.honest import reports_expected
from shuffledp.errors import InvalidInput
from shuffledp.planning.inverse import epsilon_possible, users_needed
from shuffledp.planning.plan import Plan, plan
from shuffledp.planning.rounds import plan_rounds, rounds_possible
from shuffledp.planning.ways import Way, best_way, ways
from shuffledp.protocols import registry
from shuffledp.protocols.options import QUESTIONS
from shuffledp.protocols.question import spoken


def ways_to_ask(question: str, given: dict[str, Any], *, paper: bool = False) -> list[Way]:
    """All ways to ask several questions, for n and epsilon."""
    if paper or not {"n", "epsilon"} <= given.keys() or {"rmse", "rmse_share"} & given.keys():
        raise InvalidInput("several questions are planned for `n` and `epsilon`, not for an error. Give both.")
    return ways(question, **given)


def solved(question: str, given: dict[str, Any], *, paper: bool = False) -> Plan:
    """The plan for n and epsilon, or for an error (rmse, or rmse_share of n) instead of one of them.

    With rounds, that of one of so many: epsilon and delta are of all together, and an error is that of one.
    """
    given = dict(given)
    if QUESTIONS.name in given and "rounds" not in given:
        return best_way(ways_to_ask(question, given, paper=paper))
    rmse, share, rounds = (given.pop(name, None) for name in ("rmse", "rmse_share", "rounds"))
    if rmse is None and share is None:
        if "n" not in given or "epsilon" not in given:
            raise InvalidInput(
                "a plan needs `n` and `epsilon`, or an error instead of one of them. "
                "Give both, or one with `rmse` or `rmse_share`."
            )
        return plan(question, paper=paper, **given) if rounds is None else plan_rounds(question, rounds=rounds, **given)
    if rounds is not None and "n" not in given:
        raise InvalidInput("rounds are planned for a number of people. Give `n`, or leave out `rounds`.")
    if "n" in given and "epsilon" in given and not paper:
        raise InvalidInput(
            "`rmse` or `rmse_share` takes the place of `n` or `epsilon`, and both are given. Leave out one of the three."
        )
    if (rmse is not None and share is not None) or ("n" in given) == ("epsilon" in given) or paper:
        raise InvalidInput(
            "an error takes the place of `n` or `epsilon`, and the paper's recipe has none. "
            "Give one of `rmse` and `rmse_share`, one of `n` and `epsilon`, and no `paper`."
        )
    dropout = given.pop("dropout", 0.0) if "n" not in given else 0.0
    reports_expected(checks.LARGEST_N, dropout)
    averages = all(family.averages(question) for family in registry.planned(question))
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
