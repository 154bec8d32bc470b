"""Answers as people read them: printed, looked up, written to files and read again."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import shuffledp
from shuffledp import (
    InvalidInput,
    Plan,
    RandomizedResponse,
    Result,
    SavedResult,
    Session,
    account,
    audit,
    compare,
    compose,
    plan,
    run,
    shuffle_index,
    verify,
)
from shuffledp.accounting.account import bound_named
from shuffledp.accounting.solve import Problem, solve
from shuffledp.cli import cli
from shuffledp.core.digits import rounded_up
from shuffledp.figures.result_page import rendered
from shuffledp.results.derived import check_asked, derived
from shuffledp.results.simulation import Simulation

GIVEN: dict[str, Any] = {"n": 1000, "epsilon": 1, "delta": 1e-6}
SMALL: dict[str, Any] = {"n": 1000, "epsilon": 4, "delta": 1e-3}


def kinds() -> dict[str, tuple[Plan, Any, dict[str, Any]]]:
    """A plan and data for each kind of answer."""
    half = [0, 1] * 500
    return {
        "labels": (plan.histogram(labels=["no", "yes"], **GIVEN), ["no", "yes"] * 500, {}),
        "numbers": (plan.histogram(labels=[1, 2, 3], **GIVEN), [1, 2, 3, 3] * 250, {"truth": True}),
        "truths": (plan.histogram(labels=[False, True], **GIVEN), [True, False] * 500, {}),
        "mean": (plan.mean(high=1, **GIVEN), half, {}),
        "sum": (plan.sum(high=1, **GIVEN), half, {}),
        "groups": (
            plan.mean(by={"sex": ["f", "m"]}, **GIVEN), {"sex": ["f", "m"] * 500, "x": half}, {"column": "x"},
        ),
        "table": (
            plan.histogram(labels=["no", "yes"], by={"sex": ["f", "m"]}, **GIVEN),
            {"sex": ["f", "m"] * 500, "x": ["no", "yes"] * 500}, {"column": "x"},
        ),
        "distribution": (plan.distribution(low=0, high=10, resolution=5, **GIVEN), [1.5, 7] * 500, {}),
        "survey": (
            plan.survey(
                questions=[{"name": "smokes", "ask": "histogram", "labels": ["no", "yes"]}, {"name": "hours", "ask": "mean"}],
                **SMALL,
            ),
            {"smokes": ["no", "yes"] * 500, "hours": half}, {},
        ),
        "texts": (plan.texts(candidates=["apple", "plum"], **GIVEN), ["apple", "plum"] * 500, {}),
        "heavy-hitters": (
            plan.heavy_hitters(alphabet="ab", max_length=3, n=20_000, epsilon=4, delta=1e-3), ["ab", "b"] * 10_000, {},
        ),
    }  # fmt: skip


@pytest.fixture(scope="module")
def answers() -> dict[str, Result]:
    return {name: run(made, values, **options) for name, (made, values, options) in kinds().items()}


def test_every_kind_of_answer_is_read_saved_and_loaded(answers: dict[str, Result], tmp_path: Path) -> None:
    for name, answer in answers.items():
        answer.save(tmp_path / f"{name}.json")
        again = Result.load(str(tmp_path / f"{name}.json"))
        assert isinstance(again, SavedResult)
        assert str(again) == str(answer), name
        assert again._repr_html_() == answer._repr_html_(), name
        assert repr(again) == repr(answer).replace("<Result", "<SavedResult")
        assert "\n" not in repr(answer)
        assert again.to_dict() == answer.to_dict()
        assert [one.name for one in again] == list(again.names) == list(answer.names)
        json.dumps(answer.to_dict(), allow_nan=False)
        assert (again.guarantee, again.spend, again.n, again.received) == (
            answer.guarantee, answer.spend, answer.n, answer.received,
        )  # fmt: skip
        again.save(tmp_path / "again.json")
        texts = [(tmp_path / f"{one}.json").read_text() for one in ("again", name)]
        assert json.loads(texts[0]) == json.loads(texts[1])


def test_every_answer_says_what_a_liar_can_do(answers: dict[str, Result]) -> None:
    for name, answer in answers.items():
        assert f"one false report can shift an estimate by at most {rounded_up(answer.max_shift)}" in str(answer), name


def test_a_loaded_answer_is_drawn_and_verified(answers: dict[str, Result], tmp_path: Path) -> None:
    answers["labels"].save(tmp_path / "answer.json")
    again = Result.load(tmp_path / "answer.json")
    assert again.plot().axes
    assert again.to_frame().equals(answers["labels"].to_frame())
    assert compose(again).epsilon(1e-6) == compose(answers["labels"]).epsilon(1e-6)
    assert verify(again, beside=[answers["labels"].plan]).confirmed
    assert verify(answers["labels"].plan).confirmed
    assert verify(again.certificate).confirmed


def test_labels_of_any_kind_are_looked_up(answers: dict[str, Result]) -> None:
    assert answers["numbers"][1].name == "1"
    assert answers["numbers"]["3"] == answers["numbers"][3] == answers["numbers"][3.0]
    assert answers["truths"][True].name == "true"
    assert answers["table"]["m", "yes"].name == "m, yes"
    assert answers["survey"]["smokes", "no"].name == "smokes: no"
    assert answers["survey"]["hours"] == answers["survey"]["hours: mean"]
    with pytest.raises(
        InvalidInput, match=r"'smokes' has 2 entries. Ask for one of them, e.g. answer\['smokes', 'no'\]"
    ):
        answers["survey"]["smokes"]
    for quantile in (0.5, "median"):
        with pytest.raises(InvalidInput, match=r"e.g. answer\['below 2'\]. A quantile is answer.quantile"):
            answers["distribution"][quantile]
    assert answers["labels"][0].name == "no"
    assert answers["labels"][-1].name == "yes"
    with pytest.raises(InvalidInput, match="there is no entry '0'"):  # not the first, which is 1
        answers["numbers"][0]
    with pytest.raises(InvalidInput, match="none at this position"):
        answers["labels"][2]
    others: tuple[Any, ...] = (None, ["no"], {}, slice(0, 1))
    for wrong in others:
        with pytest.raises(InvalidInput, match="found by its name or position"):
            answers["labels"][wrong]
    assert set(answers["numbers"].to_dict()["1"]) == {"estimate", "standard_error", "low", "high", "truth"}


def test_what_is_printed_is_what_the_command_line_shows(tmp_path: Path) -> None:
    made = plan.histogram(labels=["no", "yes"], **GIVEN)
    made.save(tmp_path / "plan.json")
    (tmp_path / "data.csv").write_text("answer\n" + "no\nyes\n" * 500)
    place, options = str(tmp_path / "answer.json"), ["--column", "answer", "-o"]
    arguments = ["run", str(tmp_path / "plan.json"), str(tmp_path / "data.csv"), *options, place]
    shown = CliRunner().invoke(cli, arguments, env={"XDG_STATE_HOME": str(tmp_path)})
    printed, shares = shown.stdout.removesuffix("\n").rsplit("\n", 1)
    assert printed == str(Result.load(place))
    assert re.fullmatch(r"shares of users: no \d+\.\d %; yes \d+\.\d %", shares)
    shown = CliRunner().invoke(cli, ["compare", "mean", "--n", "1000", "--epsilon", "1", "--delta", "1e-6"])
    compared = compare("mean", **GIVEN)
    assert shown.stdout == f"{compared}\n"
    assert repr(compared) == f"<Comparison: mean, {len(compared)} rows>"
    problem = Problem(randomizer=RandomizedResponse(size=2, epsilon0=1).blanket(), n=1000, delta=1e-6)
    solution = solve(bound_named("best"), problem)
    asked = ["account", "--randomizer", "rr", "--size", "2", "--epsilon0", "1", "--n", "1000", "--delta", "1e-6"]
    assert CliRunner().invoke(cli, asked).stdout.endswith(f"\n\n{solution}\n")
    assert repr(solution).startswith("<Solution: epsilon = ")
    index = ["index", "--randomizer", "rr", "--size", "2", "--epsilon0", "1"]
    found = str(shuffle_index(RandomizedResponse(size=2, epsilon0=1))).splitlines()[1].split()[2:]
    assert CliRunner().invoke(cli, index).stdout.split()[-3:] == found
    together = compose(made, made)
    composed = CliRunner().invoke(cli, ["compose", *[str(tmp_path / "plan.json")] * 2]).stdout.splitlines()[0]
    assert composed.partition(" in ")[0] == str(together).partition(" in ")[0] == "2 rounds"
    assert compose(made).epsilon() == 1
    assert str(compose(made)).splitlines()[1].startswith("delta = 1e-6: epsilon = 1, and at least 0.9")
    for delta in (1e-4, 1e-8):
        assert compose(made, made, delta=delta).epsilon() == together.epsilon(delta) != together.epsilon()
        assert f"delta = {rounded_up(delta)}: epsilon = " in str(compose(made, made, delta=delta))
    with pytest.raises(InvalidInput, match="Give `delta`"):
        compose(*together.collections).epsilon()
    verified = CliRunner().invoke(cli, ["verify", str(tmp_path / "plan.json")]).stdout
    assert verified == f"{tmp_path / 'plan.json'}: {verify(made)}\n"
    assert verify(tmp_path / "plan.json") == verify(str(tmp_path / "plan.json")) == verify(made)
    assert verify(tmp_path / "nowhere.json").verdict == "refused"
    assert verify(made.certificate).reason == "this is a method, not what it returns. Call it: certificate()."
    assert verify(place, beside=[tmp_path / "plan.json"]).confirmed


def test_reprs_are_one_line() -> None:
    randomizer = RandomizedResponse(size=2, epsilon0=1)
    finding = audit(randomizer, n=10, delta=1e-3, trials=2000)
    made = plan.histogram(labels=["no", "yes"], **GIVEN)
    things = [
        account(randomizer, n=1000, delta=1e-6), finding, verify(made), made.certificate(), made, made.protocol,
        compose(made), Session(epsilon=1, delta=1e-6), shuffle_index(randomizer), randomizer,
        Simulation(question="mean", n=1000, trials=10, rmse=1, expected_rmse=1, forecast_rmse=1, bias=[0.0], coverage=0.9),
        run(made, ["no", "yes"] * 500).estimate,
    ]  # fmt: skip
    for thing in things:
        assert "\n" not in repr(thing)
        assert str(thing)
    assert str(finding) == finding.explain()
    for thing in things[:3]:
        assert len(repr(thing)) < 200


def test_what_is_no_answer_is_not_loaded(answers: dict[str, Result], tmp_path: Path) -> None:
    made = answers["labels"].plan
    made.save(tmp_path / "plan.json")
    made.certificate().save(tmp_path / "certificate.json")
    for text, why in (("{}", "is not an answer"), ("[", "is not an answer"), ("[1]", "is not an answer")):
        (tmp_path / "other.json").write_text(text)
        with pytest.raises(InvalidInput, match=why):
            Result.load(tmp_path / "other.json")
    for name, why in (
        ("plan", "this is a plan"), ("certificate", "this is a certificate"), ("nowhere", "cannot read"),
        ("", "cannot read"),
    ):  # fmt: skip
        with pytest.raises(InvalidInput, match=why):
            Result.load(tmp_path / (f"{name}.json" if name else ""))
    for wrong in (None, 3, object(), b"answer.json", ["answer.json"], "a\0b"):
        with pytest.raises(InvalidInput, match="`path` must be a"):
            Result.load(wrong)  # type: ignore[arg-type]
        with pytest.raises(InvalidInput, match="`path` must be a"):
            made.save(wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="it is a folder"):
        answers["labels"].save(tmp_path)


@pytest.mark.parametrize("field", ["epsilon", "delta", "n", "bound"])
def test_an_edited_guarantee_is_not_loaded(answers: dict[str, Result], field: str) -> None:
    document = json.loads(json.dumps(answers["labels"].document()))
    edited = {"epsilon": 0.5, "delta": 1e-9, "n": 2000, "bound": "numeric"}[field]
    document["guarantee"][field] = edited
    with pytest.raises(InvalidInput, match="is not what its certificate is about"):
        SavedResult.from_document(document)
    document["guarantee"], document["certificate"] = None, None
    with pytest.raises(InvalidInput, match="it has no certificate"):
        SavedResult.from_document(document)


@pytest.mark.parametrize("field", ["estimate", "wording", "notes", "n", "truth", "spend"])
def test_damaged_answers_are_not_loaded(answers: dict[str, Result], field: str) -> None:
    for wrong in ([1], "x", {"a": 1}):
        document = json.loads(json.dumps(answers["labels"].document())) | {field: wrong}
        with pytest.raises(InvalidInput):
            SavedResult.from_document(document)


def test_intervals_of_a_file_are_those_that_were_written(answers: dict[str, Result]) -> None:
    found = SavedResult.from_document(answers["labels"].document(confidence=0.9, simultaneous=True))
    assert found.to_dict() == answers["labels"].to_dict(confidence=0.9, simultaneous=True)
    with pytest.raises(InvalidInput, match="saved with 90 % intervals that hold together"):
        found.to_dict(confidence=0.95)


def test_names_are_public() -> None:
    assert shuffledp.SavedResult is SavedResult


def test_what_is_read_off_has_names_of_its_own(answers: dict[str, Result]) -> None:
    """Shares, the largest, quantiles; each refused with what to do where the question has none."""
    shares = answers["numbers"].frequencies()
    assert list(shares.to_frame()["name"]) == ["1", "2", "3"]
    assert shares.value == pytest.approx(answers["numbers"].estimate.value / 1000)
    largest = answers["numbers"].top(2)
    assert largest[0] == answers["numbers"]["3"]
    assert largest[0].estimate >= largest[1].estimate
    assert answers["numbers"].quantile(0.5).value in {"2", "3"}
    median = answers["distribution"].quantile(0.5, confidence=0.9)
    assert (median.value, median.low, median.high) == answers["distribution"].statistics.quantile(0.5, 0.9)[1:]  # type: ignore[union-attr]
    for refused, why in (
        (lambda: answers["mean"].quantile(0.5), "has no quantiles"),
        (lambda: answers["survey"].quantile(0.5), "has no quantiles"),
        (lambda: answers["numbers"].quantile(0.5, "age"), "none is chosen by name"),
        (lambda: answers["distribution"].top(1), "no largest bins"),
        (lambda: answers["mean"].top(1), "not one histogram"),
    ):
        with pytest.raises(InvalidInput, match=why):
            refused()


@pytest.mark.parametrize("way", ["one", "all"])
def test_a_distribution_in_a_survey_has_its_quantiles(way: Any, tmp_path: Path) -> None:
    """In words, on pages, from files, in Python; those of the same messages as its entries are."""
    questions: list[dict[str, Any]] = [
        {"name": "smokes", "ask": "histogram", "labels": ["no", "yes"]},
        {"name": "age", "ask": "distribution", "low": 0, "high": 100, "resolution": 20},
        {"name": "hours", "ask": "distribution", "low": 0, "high": 10, "resolution": 5},
    ]
    made = plan.survey(questions=questions, way=way, n=4000, epsilon=4, delta=1e-3)
    people = {"smokes": ["no", "yes"] * 2000, "age": [20, 30, 40, 70] * 1000, "hours": [2.5] * 4000}
    answer = run(made, people, truth=True)
    read_off = answer.whole()["derived"]["by_question"]
    assert list(read_off) == ["age", "hours"]
    assert [one["share"] for one in read_off["age"]["quantiles"]] == [0.25, 0.5, 0.75]
    assert read_off["age"]["quantiles"][1]["truth"] == "[30, 35)"
    curve = answer.plan.protocol.reading.curves(answer.estimate)["age"]
    ages = [entry for entry in answer if entry.name.startswith("age: ")]
    assert curve.counts.value.tolist() == [entry.estimate for entry in ages]
    assert curve.counts.standard_error.tolist() == [entry.standard_error for entry in ages]
    median = answer.quantile(0.5, "age")
    assert [median.value, [median.low, median.high]] == [
        read_off["age"]["quantiles"][1][key] for key in ("value", "interval")
    ]
    assert float(median.low) <= 30 <= float(median.high) or float(median.low) <= 35 <= float(median.high)
    with pytest.raises(InvalidInput, match="Say which"):
        answer.quantile(0.5)
    shown = str(answer)
    assert "quantile of age" in shown
    assert "below 35" not in shown
    assert "quantile of age" in answer._repr_html_()
    assert len(answer.plot().axes) == 3
    answer.save(tmp_path / "answer.json")
    assert str(Result.load(tmp_path / "answer.json")) == shown
    derived_only = derived(answer, quantiles=(0.9,))["by_question"]["hours"]["quantiles"]
    assert [one["share"] for one in derived_only] == [0.9]
    check_asked(made, confidence=0.95, quantiles=(0.5,), others=False)
    for refused in (made, plan.survey(questions=[questions[0], {"name": "x", "ask": "mean"}], **SMALL)):
        with pytest.raises(InvalidInput, match="derived"):
            check_asked(refused, confidence=0.95, quantiles=(0.5,), others=refused is made)
    with pytest.raises(InvalidInput, match="only the quantiles"):
        derived(answer, frequencies=True)
    assert b"age: quantiles" in rendered(answer.whole(), tmp_path / "page.html")
