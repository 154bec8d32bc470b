"""What is drawn of each kind of answer, asked of the figure itself."""

import io
import json
import warnings
from typing import Any

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from shuffledp import Result, plan, run
from shuffledp.figures.result_page import page

QUESTIONS = [
    {"name": "smokes", "ask": "histogram", "labels": ["yes", "no", "sometimes"]},
    {"name": "hours", "ask": "mean", "low": 0, "high": 24},
]


@pytest.fixture(scope="module")
def survey() -> Result:
    made = plan("survey", questions=QUESTIONS, way="all", n=1000, epsilon=2.0, delta=1e-4)
    rows = {"smokes": ["yes", "no", "no", "sometimes"] * 300, "hours": [float(j % 24) for j in range(1200)]}
    return run(made, rows, truth=True)


def test_every_question_of_a_survey_has_a_panel_on_its_own_scale(survey: Result) -> None:
    counts, mean = survey.plot().axes
    assert counts.get_title(loc="left") == "smokes"
    assert [label.get_text() for label in counts.get_yticklabels()] == ["yes", "no", "sometimes"]
    assert counts.get_xlabel() == "users"
    assert counts.get_xlim()[1] > 500
    assert mean.get_title(loc="left") == "hours"
    assert mean.get_xlabel().startswith("Mean of the users' values")
    assert 0 < mean.get_xlim()[0] < mean.get_xlim()[1] < 24
    assert not list(mean.patches)  # a point, not a block


def test_the_page_of_a_survey_has_a_table_for_each_question(survey: Result) -> None:
    text = page(json.loads(json.dumps(survey.document())))
    assert "The answers to 2 questions with 95 % intervals" in text
    assert "<caption>smokes: Estimated users</caption>" in text
    assert "<caption>hours: Mean of the users&#39; values, each from 0 to 24</caption>" in text


def test_a_notebook_shows_each_question_by_itself(survey: Result) -> None:
    text = survey._repr_html_()
    assert text.count("<table>") == 2
    assert "<th>smokes</th><th>estimate</th>" in text
    assert "<th>hours</th><th>estimate</th>" in text
    assert "smokes: yes" not in text


def test_correlations_are_a_square_for_each_pair() -> None:
    generator = np.random.default_rng(1)
    a, b, c = generator.uniform(-1, 1, (3, 20_000))
    made = plan.moments(ranges={name: [-1, 1] for name in "abcd"}, n=20_000, epsilon=4.0, delta=1e-6)
    found = run(made, {"a": a, "b": b, "c": np.clip(0.9 * a + 0.1 * c, -1, 1), "d": np.zeros(20_000)})
    *_, last = found.plot().axes
    assert last.get_title(loc="left") == "correlation"
    (image,) = last.images
    shown = np.ma.filled(image.get_array(), np.nan)
    assert shown.shape == (4, 4)
    assert shown[2, 0] == found["correlation", "a, c"].estimate > 0.8
    assert np.isnan(shown[3]).all()
    assert [text.get_text() for text in last.texts if text.get_text() == "-"] == ["-"] * 3
    assert [label.get_text() for label in last.get_xticklabels()] == ["a", "b", "c"]
    assert [label.get_text() for label in last.get_yticklabels()] == ["b", "c", "d"]


def test_coefficients_are_drawn_in_their_standard_errors() -> None:
    generator = np.random.default_rng(1)
    a, b, noise = generator.uniform(0, 1, (3, 20_000))
    made = plan.regression(
        ranges={"a": [0, 1], "b": [0, 1000], "y": [0, 1]}, target="y", n=20_000, epsilon=4.0, delta=1e-6
    )
    found = run(made, {"a": a, "b": 1000 * b, "y": (a + noise) / 2}, truth=True)
    first, *_ = found.plot().axes
    assert first.get_title(loc="left") == "coefficient"
    assert first.get_xlabel() == "Coefficient of each feature, for y, in standard errors"
    assert [label.get_text() for label in first.get_yticklabels()] == ["(intercept)", "a", "b"]
    shown = [line.get_xdata() for line in first.lines if len(line.get_xdata()) == 3]
    entries = [found["coefficient", name] for name in ("(intercept)", "a", "b")]
    assert shown[0] == pytest.approx([one.estimate / one.standard_error for one in entries])
    assert found.truth is not None
    assert shown[1][1] == pytest.approx(found.truth[1] / entries[1].standard_error)


def test_pairs_that_names_do_not_tell_are_listed() -> None:
    made = plan.moments(ranges={name: [0, 1] for name in ("a", "b, c", "d")}, n=2000, epsilon=4.0, delta=1e-4)
    *_, last = run(made, np.full((2000, 3), 0.5)).plot().axes
    assert not last.images


def test_any_script_is_drawn_without_a_warning() -> None:
    """In a notebook, in a file that somebody saves, and on a screen."""
    labels = ["العربية", "中文", "हिन्दी", "😀", "한국어"]
    made = plan("histogram", labels=labels, n=500, epsilon=2.0, delta=1e-3).worded(title="母語 😀", question="ما؟")
    figure = run(made, labels * 120).plot()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert figure._repr_png_()[0].startswith(b"\x89PNG")
        figure.savefig(io.BytesIO(), format="pdf")
        FigureCanvasAgg(figure).draw()  # type: ignore[no-untyped-call]


def test_means_of_groups_are_points_on_a_scale_of_their_own() -> None:
    made = plan("mean", by={"town": ["A", "B"]}, low=0, high=100, n=2000, epsilon=2.0, delta=1e-4)
    rows: dict[str, Any] = {"town": ["A", "B"] * 1000, "value": [50.0, 60.0] * 1000}
    (axis,) = run(made, rows, column="value").plot().axes
    assert not list(axis.patches)
    low, high = axis.get_xlim()
    assert 30 < low < 50 < 60 < high < 80
