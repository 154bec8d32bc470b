"""The page on whether to shuffle states the errors of the comparison."""

import math

import pytest

from oracles.installed import ROOT
from shuffledp import compare, plan

PAGE = (ROOT / "docs" / "should-i-shuffle.md").read_text(encoding="utf-8")
PEOPLE, BINS = 1_000_000, 16


def column(place: int) -> dict[str, str]:
    """The column of the table of ways that has this place."""
    rows = [line.strip("| ").split(" | ") for line in PAGE.partition("| way |")[2].splitlines()[2:] if "|" in line]
    return {row[0]: row[place].strip(" |") for row in rows if len(row) > place}


def stated(cell: str) -> float:
    return float(cell.replace(",", ""))


def test_sums_are_as_far_off_as_stated() -> None:
    rows = list(compare("sum", n=PEOPLE, epsilon=1, delta=1e-6))
    errors = {row.name: row.rmse for row in rows}
    off = column(4)
    assert stated(off["one message"]) == pytest.approx(errors["shuffledp"], rel=2e-3)
    assert stated(off["curator"]) == pytest.approx(errors["discrete Laplace"], rel=5e-3)
    assert stated(off["nobody trusted"]) == round(min(row.rmse for row in rows if row.trust == "nobody" and row.rmse))
    for way, most in (("two messages", 2.5), ("four messages", 5)):
        asked = plan.sum(n=PEOPLE, epsilon=1, delta=1e-6, messages_per_user=most)
        assert stated(off[way]) == pytest.approx(asked.rmse, rel=2e-3)
        assert stated(column(1)[way]) == pytest.approx(asked.protocol.messages_per_user, rel=1e-3)


def test_counts_are_as_far_off_as_stated() -> None:
    rows = list(compare("histogram", size=BINS, n=PEOPLE, epsilon=1, delta=1e-6))
    errors = {row.name: row.rmse and row.rmse / math.sqrt(BINS) for row in rows}
    off = column(5)
    names = {"one message": "shuffledp", "one, and dummies": "shuffledp, dummies", "curator": "discrete Laplace"}
    names["noise from the shuffler"] = "shuffledp, shuffler's noise"
    for way, name in names.items():
        assert stated(off[way]) == pytest.approx(errors[name], rel=2e-3)
    nobody = min(row.rmse for row in rows if row.trust == "nobody" and row.rmse) / math.sqrt(BINS)
    assert stated(off["nobody trusted"]) == round(nobody)
