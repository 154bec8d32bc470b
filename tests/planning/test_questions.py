"""A question is read once, whatever is planned for it."""

import sys
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from shuffledp import compare, plan
from shuffledp.planning.question import Question

TERMS: dict[str, Any] = {"n": 1000, "epsilon": 1.0, "delta": 1e-6}
SURVEY: list[dict[str, Any]] = [
    {"name": "smokes", "ask": "histogram", "labels": ["no", "yes"]},
    {"name": "hours", "ask": "mean", "low": 0, "high": 10},
]


def readings(call: Callable[[], object]) -> Counter[str]:
    """How often each kind of question reads options while something is called."""
    found = Counter[str]()

    def seen(frame: FrameType, event: str, _: Any) -> None:
        kind = frame.f_locals.get("cls")
        if event == "call" and frame.f_code.co_name == "read" and isinstance(kind, type) and issubclass(kind, Question):
            found[kind.__name__] += 1

    sys.setprofile(seen)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: plan.histogram(labels=["a", "b", "c"], **TERMS), {"HistogramQuestion": 1}),
        (lambda: plan.histogram(size=4, n=1000, delta=1e-6, rmse=50), {"HistogramQuestion": 1}),
        (lambda: plan.mean(delta=1e-6, epsilon=1, rmse_share=0.1), {"SumQuestion": 1}),
        (lambda: plan.mean(by={"sex": ["f", "m"]}, rounds=7, **TERMS), {"GroupedSumQuestion": 1}),
        (
            lambda: plan.survey(questions=SURVEY, way="table", **TERMS),
            {"SurveyQuestion": 1, "HistogramQuestion": 1, "SumQuestion": 1},
        ),
        (lambda: compare("query", only=["shuffledp", "1BitMean"], **TERMS), {"SumQuestion": 1}),
    ],
)  # fmt: skip
def test_options_are_read_once(call: Callable[[], object], expected: dict[str, int]) -> None:
    assert readings(call) == expected
