"""Forms and answers without a browser: new families appear, risks are safe, cancelled work stops."""

import math
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy.stats import binom

from shuffledp import RandomizedResponse
from shuffledp.accounting.account import account
from shuffledp.core.guarantee import Guarantee
from shuffledp.planning import registry
from shuffledp.planning.families.histogram import HistogramFamily, HistogramQuestion
from shuffledp.planning.options import SIZE, Option
from shuffledp.web.form import FieldError
from shuffledp.web.risk import chance, frequency, success
from shuffledp.web.tabs import TABS


class TallyQuestion(HistogramQuestion):
    """A question that the page has never heard of."""

    called = ("tally",)
    options: ClassVar[Any] = (SIZE, Option("colour", "text", "Of the bins."))


class Tally(HistogramFamily):
    """Its family."""

    question_type = TallyQuestion


def test_false_reports_shift_what_is_counted_where_means_of_groups_are_asked() -> None:
    """By how much a mean moves depends on how many are in its group."""
    given = {
        "question": "mean", "low": "0", "high": "7", "aim": "epsilon", "epsilon": "1", "delta": "1e-6", "n": "40000",
        "collude": "no", "lie": "5", "precision": "1",
    }  # fmt: skip
    for groups, sentence in (
        ({}, "if 2,000 reports are false, one entry of the answer shifts by at most "),
        ({"by": "sex=f,m"}, "if 2,000 reports are false, the number of people in a group shifts by at most 2,"),
    ):
        said = str(list(TABS["plan"].asked(given | groups)))
        assert sentence in said
        assert "a grid of 1 step" in said
        assert "1 steps" not in said


def test_a_new_family_appears_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    before = [field.name for field in TABS["plan"].fields]
    monkeypatch.setattr(registry, "FAMILIES", {**registry.FAMILIES, "Tally": Tally()})
    fields = {field.name: field for field in TABS["plan"].fields}
    assert ("tally", "tally") in fields["question"].choices
    assert "colour" not in before
    assert fields["colour"].only == {"question": ["tally"]}
    assert "tally" in fields["size"].only["question"]
    given = {
        "question": "tally", "size": "3", "aim": "epsilon", "epsilon": "1", "delta": "1e-6", "n": "1000", "collude": "no",
    }  # fmt: skip
    first = next(block for block in TABS["plan"].asked(given) if block["kind"] == "numbers")
    assert first["items"][0]["value"] == [{"number": "1", "round": "up"}]
    with pytest.raises(FieldError) as wrong:
        next(TABS["plan"].asked(given | {"question": "nothing"}))
    assert wrong.value.name == "question"


@pytest.mark.parametrize("n", [1, 2, 10, 300])
@pytest.mark.parametrize("epsilon0", [0.3, 2.0])
def test_no_guess_is_right_more_often(n: int, epsilon0: float) -> None:
    """Brute force: two messages, all others known, the best guess about the last one from the number of ones."""
    randomizer = RandomizedResponse(size=2, epsilon0=epsilon0)
    one, zero = (float(randomizer.probability(1, value)) for value in (1, 0))
    best = 0.0
    for ones in range(n):  # of the others
        others = np.convolve(
            binom.pmf(np.arange(ones + 1), ones, one), binom.pmf(np.arange(n - ones), n - 1 - ones, zero)
        )
        laws = [np.convolve(others, [1 - p, p]) for p in (one, zero)]
        best = max(best, float(np.maximum(*laws).sum() / 2))
    known = account(randomizer, n=n, delta=1e-6)
    claimed = chance(randomizer.blanket(), n, known)
    assert best <= claimed + 1e-12
    assert claimed <= best + 0.01
    assert claimed <= known.success
    right, of = frequency(claimed)
    assert Fraction(right, of) >= Fraction(claimed)
    assert not best <= chance(randomizer.blanket(), 4 * n, None) - 1e-9  # more people would hide better: n matters


def test_a_risk_is_rounded_up() -> None:
    assert success(0.0, 0.24) >= 0.62
    assert frequency(0.6200001) == (63, 100)
    assert frequency(math.nextafter(0.5, 1)) == (500_001, 1_000_000)
    assert success(700.0, 0.0) <= 1.0
    assert success(1.0, 1e-6) == Guarantee(epsilon=1.0, delta=1e-6, n=1, bound="best", reference="").success


def test_a_quick_number_is_a_guarantee_too() -> None:
    given: dict[str, Any] = {
        "randomizer": "rr", "size": "10", "by": "epsilon0", "epsilon0": "1", "n": "10000", "delta": "1e-6", "rounds": "1",
    }  # fmt: skip
    blocks = [block for block in TABS["account"].asked(given) if block["kind"] == "numbers"]
    assert [block["certain"] for block in blocks] == [False, True]
    first, last = (float(block["items"][0]["value"][0]["number"]) for block in blocks)
    assert first >= last
    assert first >= account(RandomizedResponse(size=10, epsilon0=1.0), n=10_000, delta=1e-6, bound="bennett").epsilon
