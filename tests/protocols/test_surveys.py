"""Several questions of the same people: what is claimed is true, what is forecast happens, and no coin is used twice."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations_with_replacement, permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from oracles.chatty import batch_of
from oracles.enumeration import divergence, true_delta, view
from oracles.parties import ANALYZER, PARTIES
from oracles.process import assert_refused, called
from oracles.scale import full
from shuffledp import Channel, InvalidInput, KeyedRandomness, Plan, Policy, RandomizedResponse, plan, run, run_file
from shuffledp.accounting.account import bound_named
from shuffledp.accounting.releases import composed_claim
from shuffledp.cli.option_names import as_flags
from shuffledp.core.population import Population
from shuffledp.engines.registry import engine_named
from shuffledp.engines.tally import tally_rows
from shuffledp.planning.choose import certified
from shuffledp.planning.from_targets import survey_strategies
from shuffledp.planning.question import Terms
from shuffledp.protocols.survey import Asked
from shuffledp.protocols.survey_all import AllOfThem
from shuffledp.protocols.survey_one import OneOfAll
from shuffledp.protocols.survey_table import JointTable
from shuffledp.protocols.text_frequencies import TextFrequencies
from shuffledp.randomizers.mixture import Mixture
from shuffledp.randomizers.together import Together, TogetherBlanket
from shuffledp.service.analyzer.analyzer import analyze
from shuffledp.service.analyzer.ledger import Ledger
from shuffledp.service.client.client import messages_of
from shuffledp.service.sealing.hpke import seal_inner
from shuffledp.service.task import Task
from shuffledp.sources.file_source import FileSource
from shuffledp.sources.frame import FrameSource

COIN, THREE = RandomizedResponse(size=2, gamma=0.25).as_run(), RandomizedResponse(size=3, gamma=0.5).as_run()
QUESTIONS: list[dict[str, Any]] = [
    {"name": "smokes", "ask": "histogram", "labels": ["no", "yes"], "weight": 2},
    {"name": "region", "ask": "histogram", "labels": ["north", "south", "east"]},
    {"name": "hours", "ask": "mean", "low": 0, "high": 10},
]
N = 600


def rows_of(randomizer: Any) -> list[list[float]]:
    return [randomizer.probability(np.arange(randomizer.messages), x).tolist() for x in range(randomizer.symbols)]


def planned(way: str, n: int = N, **more: Any) -> Plan:
    return plan("survey", n=n, epsilon=2.0, delta=1e-6, questions=QUESTIONS, way=way, **more)


@pytest.fixture(scope="module")
def plans() -> dict[str, Plan]:
    return {way: planned(way) for way in ("one", "all", "table")}


@pytest.fixture(scope="module")
def people() -> list[dict[str, Any]]:
    random = np.random.default_rng(3)
    return [
        {
            "smokes": ["no", "yes"][int(random.random() < 0.3)],
            "region": ["north", "south", "east"][int(random.integers(3))],
            "hours": round(float(random.uniform(0, 10)), 2),
        }
        for _ in range(N)
    ]


# What is claimed


def test_one_of_several_claims_what_the_matrix_of_both_questions_does() -> None:
    """And the truth over all datasets is inside the enclosure."""
    survey = OneOfAll.examples()[0]
    whole = Channel(rows_of(survey.randomizer))
    for n in (1, 7, 300):
        ours, theirs = (
            bound_named("numeric").claim(blanket, n=n, epsilon=0.4, side="upper").log_delta.upper
            for blanket in (survey.randomizer.blanket(), whole.blanket())
        )
        assert ours == pytest.approx(theirs, abs=1e-6)
    for n in (1, 2):
        truth = true_delta(rows_of(survey.randomizer), n, 0.4)
        claim = bound_named("best").claim(survey.randomizer.blanket(), n=n, epsilon=0.4, side="both").log_delta
        assert math.exp(claim.lower) <= truth * (1 + 1e-9)
        assert truth <= math.exp(claim.upper) * (1 + 1e-9)


def apart(parts: tuple[Any, ...], n: int, epsilon: float) -> float:
    """The truth if everybody answers every part and each part is shuffled by itself: all datasets, all views."""
    rows, worst = [rows_of(part) for part in parts], 0.0
    values = list(product(*(range(part.symbols) for part in parts)))

    def seen(held: list[tuple[int, ...]]) -> dict[tuple[int, ...], float]:
        views = [view(law, column) for law, column in zip(rows, zip(*held, strict=True), strict=True)]
        return {
            sum((counts for counts, _ in together), ()): math.prod(mass for _, mass in together)
            for together in product(*(one.items() for one in views))
        }

    for others in combinations_with_replacement(values, n - 1):
        laws = {value: seen([*others, value]) for value in values}
        worst = max(worst, *(divergence(laws[x], laws[z], epsilon) for x, z in permutations(values, 2)))
    return worst


@pytest.mark.parametrize("parts", [(COIN, COIN), (COIN, THREE)], ids=["alike", "different"])
def test_all_questions_together_are_no_less_private_than_claimed(parts: tuple[Any, ...]) -> None:
    """By enumeration; to forget one question would be noticed."""
    for n, epsilon in ((1, 1.0), (2, 0.3)):
        truth = apart(parts, n, epsilon)
        blanket = Together(parts=parts).blanket()
        assert truth <= math.exp(bound_named("best").claim(blanket, n=n, epsilon=epsilon).log_delta.upper)
        forgotten = composed_claim(TogetherBlanket(parts=blanket.parts[:1]), bound_named("best"), n=n, epsilon=epsilon)
        if n == 1:
            assert math.exp(forgotten.log_delta.upper) < truth


def test_all_questions_say_no_more_than_each_of_them_and_no_less_than_adding_up() -> None:
    blanket = Together(parts=(COIN, COIN)).blanket()
    one = bound_named("numeric").claim(COIN.blanket(), n=1000, epsilon=0.5, side="upper").log_delta.upper
    both = bound_named("best").claim(blanket, n=1000, epsilon=1.0).log_delta.upper
    assert both <= math.log(2) + one + 1e-9
    assert bound_named("best").claim(blanket, n=1000, epsilon=0.5).log_delta.upper > one


@pytest.mark.parametrize("way", ["one", "all", "table"])
def test_a_survey_with_less_blanket_than_is_private_is_refused(way: str, plans: dict[str, Plan]) -> None:
    """A file whose hash was made again, too."""
    found = plans[way]
    assert Plan.from_document(found.document()) == found
    survey: Any = found.protocol
    questions = []
    for one in survey.questions:
        randomizer = one.protocol.randomizer
        less = RandomizedResponse.of_threshold(size=randomizer.size, threshold=randomizer.threshold * 99 // 100)
        questions.append(replace(one, protocol=replace(one.protocol, randomizer=less)))
    weaker = replace(found, protocol=type(survey)(questions=tuple(questions)))
    assert not weaker.holds()
    with pytest.raises(InvalidInput, match="does not follow"):
        Plan.from_document(weaker.document())


# What is forecast


@pytest.mark.parametrize("way", ["one", "all", "table"])
def test_simulated_errors_are_those_forecast(way: str, plans: dict[str, Plan]) -> None:
    protocol: Any = plans[way].protocol
    worst = protocol.worst(N)
    errors = protocol.simulate(worst, np.random.default_rng(1), 20_000) - protocol.expected(worst)
    assert math.sqrt(np.square(errors).sum(axis=1).mean()) == pytest.approx(protocol.rmse(N), rel=0.03)
    if way == "one":  # the randomizers alone would be far off
        noise = sum(one.protocol.mean_squared_error(N) for one in protocol.questions)
        assert math.sqrt(noise) < 0.5 * protocol.rmse(N)


def test_the_best_way_is_chosen_and_the_others_are_shown(plans: dict[str, Plan]) -> None:
    best = min(plans.values(), key=lambda found: found.protocol.cost(N))  # type: ignore[attr-defined]
    assert best == plans["all"]
    table = {"n": 60, "epsilon": 1.0, "delta": 1e-2, "questions": QUESTIONS[:2], "way": "table"}
    assert [strategy.made is not None for strategy in survey_strategies("survey", table)] == [True]


def test_twelve_questions_of_a_hundred_thousand_people() -> None:
    """One question each errs by the sample, a table by its 4,096 cells; all questions are an order of magnitude better."""
    twelve = [{"name": f"q{j}", "ask": "histogram", "labels": ["no", "yes"]} for j in range(12)]
    n, found = 100_000, dict[str, float]()
    for way in ("one", "table", "all")[: full(2, 3)]:
        protocol: Any = plan("survey", n=n, epsilon=1.0, delta=1e-6, questions=twelve, way=way).protocol
        worst = protocol.worst(n)
        errors = protocol.simulate(worst, np.random.default_rng(1), 2000) - protocol.expected(worst)
        found[way] = float(np.sqrt(np.square(errors).mean()))
        assert found[way] == pytest.approx(protocol.forecast(n).by_question["q0"], rel=0.03)
    assert found["one"] == pytest.approx(524.9, rel=0.03)
    assert found["table"] == pytest.approx(238.1, rel=0.03)
    assert found.get("all", 20.69) == pytest.approx(20.69, rel=0.03)


# What is sent


def test_no_two_questions_share_their_coins() -> None:
    """Of equal questions with equal answers, half of all messages are lies, and each lies by itself."""
    coin = OneOfAll.examples()[0].questions[0].protocol
    half = replace(coin, randomizer=RandomizedResponse(size=2, gamma=0.5).as_run())  # type: ignore[type-var]
    survey = AllOfThem(questions=tuple(Asked(name=name, protocol=half) for name in "abc"))
    values = survey.domain.clean([{"a": "male", "b": "male", "c": "male"}] * 20_000).values
    sent = survey.randomize(values, KeyedRandomness.seeded(1), first_row=0).values.reshape(-1, 3) % 2
    assert sent.mean(axis=0) == pytest.approx([0.75] * 3, abs=0.02)
    assert np.abs(np.corrcoef(sent.T) - np.eye(3)).max() < 0.04


def test_questions_are_rounded_by_coins_of_their_own() -> None:
    hours = JointTable.examples()[1].questions[1].protocol
    survey = JointTable(questions=(Asked(name="a", protocol=hours), Asked(name="b", protocol=hours)))
    values = survey.domain.clean([{"a": 0.5, "b": 0.5}] * 20_000).values
    cells = np.unravel_index(
        survey.encode(values, KeyedRandomness.seeded(2), first_row=0).astype(np.int64), survey.shape
    )
    assert abs(np.corrcoef(np.array(cells)).min()) < 0.04


@pytest.mark.parametrize("way", ["one", "all", "table"])
def test_files_frames_and_lists_give_one_answer(
    way: str, plans: dict[str, Plan], people: list[dict[str, Any]], tmp_path: Path
) -> None:
    randomness, frame = KeyedRandomness.seeded(4), pd.DataFrame(people)
    frame.to_csv(tmp_path / "people.csv", index=False)
    frame.to_parquet(tmp_path / "people.parquet")
    expected = run(plans[way], people, randomness=randomness, truth=True)
    assert expected.truth is not None
    assert expected.truth[0] == sum(person["smokes"] == "no" for person in people)
    assert expected.truth[-1] == pytest.approx(np.mean([person["hours"] for person in people]))
    assert expected.names[0] == "smokes: no"
    assert expected.names[-1] == "hours: mean"
    assert np.abs((expected.estimate.value - expected.truth) / expected.estimate.standard_error).max() < 5
    for found in (
        run(plans[way], frame, randomness=randomness, truth=True),
        run_file(plans[way], tmp_path / "people.csv", randomness=randomness, truth=True),
        run_file(plans[way], tmp_path / "people.parquet", randomness=randomness, truth=True),
    ):
        assert (found.estimate.value == expected.estimate.value).all()
        assert np.array_equal(found.truth, expected.truth)  # type: ignore[arg-type]


def test_somebody_who_skips_a_question_is_skipped_or_counted_as_the_policy_says(
    plans: dict[str, Plan], people: list[dict[str, Any]]
) -> None:
    gaps = [*people, {"smokes": "yes", "region": None, "hours": 3}, {"smokes": "yes", "region": "north", "hours": 30}]
    with pytest.raises(InvalidInput, match=r"^region: in data row [0-9,]+ the value is missing") as refused:
        run(plans["all"], gaps[:-1])
    assert "yes" not in str(refused.value)
    with pytest.raises(InvalidInput, match=r"^hours: in data row [0-9,]+ the value is outside \[0, 10\]"):
        run(plans["all"], [*people, gaps[-1]])
    found = run(plans["all"], gaps, policy=Policy(missing="skip", outside="clamp"))
    assert (found.n, found.rejected, found.adjusted) == (N + 1, {"missing": 1}, {"clamped": 1})
    stand_ins = '{"smokes": "no", "region": "south", "hours": 5}'
    assert run(plans["all"], gaps[:-1], policy=Policy(missing_as=stand_ins)).adjusted == {"missing": 1}
    with pytest.raises(InvalidInput, match=r'^region: .* the value is missing. .* `missing_as={"region": VALUE}`'):
        run(plans["all"], gaps[:-1], missing_as={"smokes": "no"})


def test_a_stand_in_is_needed_only_where_something_is_missing(
    plans: dict[str, Plan], people: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However it is written, in Python and on the command line, and as the first error advises."""
    gaps = [*people, {"smokes": "yes", "region": None, "hours": 3}, {"smokes": "yes", "region": "east", "hours": None}]
    both: dict[str, Any] = {"region": "south", "hours": 5}
    forms: list[Any] = [both, json.dumps(both), {"smokes": "no", **both}, {"region": "south", "hours": np.float64(5)}]
    found = [run(plans["all"], gaps, missing_as=given) for given in forms]
    assert [dict(one.adjusted) for one in found] == [{"missing": 2}] * 4
    assert run(plans["all"], gaps[:-1], missing_as="region=south").adjusted == {"missing": 1}
    named: Any = {"region": "south"}
    assert run(plans["all"], gaps[:-1], policy=Policy(missing_as=named)).adjusted == {"missing": 1}
    odd = [*people, {"smokes": "maybe", "region": "north", "hours": 3}]
    assert run(plans["all"], odd, other={"smokes": "no"}).adjusted == {"other": 1}
    wrong: list[tuple[Any, str]] = [
        ({}, "for each column"), ({"region": [1]}, "for each column"), ({"a": 1}, "the plan does not have"),
        ("south", r'give `missing_as={"region": VALUE}`'), (["region=south", "hours=5"], "got a list"),
        ("region=south, hours=5", r'missing_as={"smokes": VALUE, "region": VALUE}`'),
    ]  # fmt: skip
    for given, why in wrong:
        with pytest.raises(InvalidInput, match=why):
            run(plans["all"], gaps, missing_as=given)
    with pytest.raises(InvalidInput, match=r"^region: .*`missing_as={\"region\": VALUE, \"hours\": VALUE}`\.$"):
        run(plans["all"], gaps)
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(gaps).to_csv("people.csv", index=False)
    plans["all"].save("plan.json")
    done = called("run plan.json people.csv")
    assert "Use --missing skip or --missing-as region=VALUE --missing-as hours=VALUE." in done.stderr
    done = called("run plan.json people.csv --missing-as region=south --missing-as hours=5")
    assert "adjusted: 2 missing" in done.stdout, done.stderr
    assert (
        "Use --missing skip or --missing-as region=VALUE --missing-as hours=VALUE."
        in called("run plan.json people.csv --missing-as region=south").stderr
    )
    for twice in (
        "--missing-as south --missing-as hours=5",
        "--other a --other b",
        "--missing-as hours=5 --missing-as hours=6",
    ):
        done = called(f"run plan.json people.csv {twice}")
        assert (done.returncode, done.stdout) == (2, "")
        assert "given 2 times" in done.stderr or "a column twice" in done.stderr


def test_the_first_error_says_if_skipping_would_leave_too_few(
    plans: dict[str, Plan], people: list[dict[str, Any]]
) -> None:
    gap = {"smokes": "yes", "region": None, "hours": 3}
    with pytest.raises(
        InvalidInput,
        match=rf'Use `missing_as={{"region": VALUE}}`. Skipping leaves {N - 1} of {N} rows, fewer than the plan\'s {N}: '
        rf"plan again, with `n={N - 1}` or a `dropout`, or with a label of its own",
    ) as few:
        run(plans["all"], [*people[1:], gap])
    assert "missing='skip'" not in str(few.value)
    mean = plan("mean", n=1000, epsilon=1.0, delta=1e-6)
    with pytest.raises(InvalidInput, match=r"plan again, with `n=999` or a `dropout`\.$"):  # a number has no label
        run(mean, [0.5] * 999 + [None])
    with pytest.raises(InvalidInput, match="the value is missing") as enough:
        run(plans["all"], [*people, gap])
    assert "Skipping" not in str(enough.value)


# One task for all


@pytest.mark.parametrize("way", ["one", "all"])
def test_the_service_answers_all_questions_and_books_once(
    way: str, plans: dict[str, Plan], people: list[dict[str, Any]], tmp_path: Path
) -> None:
    task = Task(plan=plans[way], window=60, max_age=600, **PARTIES)
    assert Task.from_document(task.document()) == task
    each = 3 if way == "all" else 1
    records = []
    for person in people:
        messages = messages_of(task, person)
        assert len(messages) == each
        records += [seal_inner(message, task, ANALYZER.public()) for message in messages]
    np.random.default_rng(1).shuffle(records)
    batch = batch_of(records, N) if way == "all" else b"".join(records)
    ledger = Ledger(tmp_path / "ledger.jsonl", epsilon=2.02, delta=1e-6)
    result = analyze(batch, task, ANALYZER, ledger=ledger)
    truth = run(plans[way], people, truth=True).truth
    assert truth is not None
    assert np.abs((result.estimate.value - truth) / result.estimate.standard_error).max() < 5
    assert ledger.balance().releases == 1
    assert ledger.balance().spent_epsilon == pytest.approx(2.0, rel=1e-2)


def test_a_liar_who_answers_one_question_thrice_spoils_nothing(plans: dict[str, Plan]) -> None:
    survey: Any = plans["all"].protocol
    values = survey.domain.clean([{"smokes": "no", "region": "north", "hours": 5}] * N).values
    counts = survey.count(survey.randomize(values, KeyedRandomness.seeded(5), first_row=0)).values
    before, worst = survey.debias(counts, N), 0.0
    for lies in combinations_with_replacement(range(survey.alphabet), 3):
        moved = counts[:-1].copy()
        np.subtract.at(moved, [0, 2, survey.alphabet - 1], 1)
        np.add.at(moved, list(lies), 1)
        if moved.min() < 0:
            continue
        after = survey.debias(survey.tallied(moved, N).values, N)
        worst = max(worst, float(np.abs(after - before).max()))
    assert 1 < worst <= survey.max_shift(N)


def test_a_liar_is_as_bad_as_at_the_question_where_lies_are_worst() -> None:
    small, large = ({"name": f"to {high}", "ask": "mean", "low": 0, "high": high} for high in (1, 100))
    shifts = []
    for questions in ([small, {**small, "name": "again"}], [small, large], [large, small]):
        survey: Any = plan("survey", n=N, epsilon=2.0, delta=1e-6, questions=questions, way="one").protocol
        shifts.append(survey.max_shift(N))
    assert min(shifts[1:]) > 50 * shifts[0]


# What is refused


def change(**changes: Any) -> Callable[[], list[dict[str, Any]]]:
    return lambda: [QUESTIONS[0], QUESTIONS[1] | changes]


@pytest.mark.parametrize(
    ("questions", "why"),
    [
        (list, "a survey needs its questions"),
        (lambda: QUESTIONS[:1], "at least two questions"),
        (lambda: [QUESTIONS[0], QUESTIONS[0]], "two questions are called 'smokes'"),
        (lambda: [QUESTIONS[0], 3], "question 2 is not a table of fields"),
        (change(name=""), "question 2 needs a name"),
        (change(ask="median"), "question 'region': there is no question 'median'. A distribution has"),
        (change(ask="survey"), "question 'region': there is no question 'survey'. Use one of histogram"),
        (change(weight=0), "question 'region': weight must be a whole number"),
        (change(colour="red"), "question 'region': a histogram has no field 'colour'"),
        (change(size=3), "question 'region': the number of bins is the number of labels"),
        (lambda: [QUESTIONS[0], {"name": "q", "ask": "texts"}], "question 'q'"),
    ],
)
def test_what_is_wrong_with_a_question_is_said_by_its_name(questions: Callable[[], Any], why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        plan("survey", n=N, epsilon=1.0, delta=1e-6, questions=questions(), way="one")


@pytest.mark.parametrize(
    ("toml", "why"),
    [
        ("", "lists no questions"),
        ("question = 3", "lists no questions"),
        ("title = 'x'", "has no use for 'title'"),
        ("[[question]", "it is not TOML"),
        ("[[question]]\nname = 'a'", "question 'a': ask must be one of"),
    ],
)
def test_a_file_of_questions_is_read_strictly(toml: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "survey.toml").write_text(toml)
    done = called("plan survey survey.toml --n 1000 --epsilon 1 --delta 1e-6 -o plan.json", cwd=tmp_path)
    assert_refused(done, why)
    assert not (tmp_path / "plan.json").exists()


def test_a_population_of_rows_can_be_simulated(plans: dict[str, Plan]) -> None:
    survey: Any = plans["one"].protocol
    rows = ['{"smokes": "no", "region": "north", "hours": 1}', '{"smokes": "yes", "region": "east", "hours": 9}']
    population = Population(values=survey.domain.read(rows), users=np.array([450, 150]))
    assert survey.expected(population).tolist() == [450, 150, 450, 0, 150, 3.0]


# Groups, distributions and texts


def with_texts(kind: type[OneOfAll] | type[AllOfThem]) -> Any:
    """A table, a distribution on two grids, and any text."""
    drink = Asked(name="drink", protocol=TextFrequencies.examples()[0])
    return kind(questions=(*OneOfAll.examples()[2].questions, drink))


@pytest.mark.parametrize("kind", [OneOfAll, AllOfThem])
def test_tables_distributions_and_texts_err_as_forecast(kind: Any) -> None:
    """Question by question; the noise of the randomizers alone would be noticed where a sample answers."""
    survey, n, runs = with_texts(kind), 2000, 1500
    worst = survey.worst(n)
    off = survey.simulate(worst, np.random.default_rng(1), runs) - survey.expected(worst)
    for one, part, forecast in zip(survey.questions, survey.answers_of(np.square(off)), survey.errors(n), strict=True):
        assert math.sqrt(part.sum(axis=-1).mean()) == pytest.approx(math.sqrt(forecast), rel=0.06), one.name
    if kind is OneOfAll:
        own = [
            one.protocol.expected_error(part)
            for one, part in zip(survey.questions, survey.parts_of(worst), strict=True)
        ]
        assert all(small < 0.8 * error for small, error in zip(own, survey.errors(n), strict=True))


@pytest.mark.parametrize("kind", [OneOfAll, AllOfThem])
def test_messages_of_tables_distributions_and_texts_are_decoded(kind: Any) -> None:
    """Also those of a plan that was read from its file, once it is said which texts to ask about."""
    survey = kind.from_document(with_texts(kind).document())
    with pytest.raises(InvalidInput, match="which ones to ask about"):
        survey.about(None)
    survey = survey.about(["apple"])
    rows = [{"sex": "male", "smokes": "yes", "age": 3, "drink": "apple"}] * 900
    rows += [{"sex": "female", "smokes": "no", "age": 9, "drink": "tea"}] * 300
    values = survey.domain.clean(rows).values
    said = survey.reading.of(
        survey.estimate(survey.count(survey.randomize(values, KeyedRandomness.seeded(3), first_row=0)))
    )
    truth = survey.reading.exactly(survey.true_answer(survey.truth(values)))
    assert said.names[:2] == ("smokes: female, no", "smokes: female, yes")
    assert truth[[0, 3]].tolist() == [300, 900]
    assert np.abs((said.value - truth) / said.standard_error).max() < 5


def test_a_distribution_in_a_mixture_claims_what_its_matrix_does() -> None:
    """Its grids are parts of the mixture, as often as they are drawn; with another weight the claim would be another."""
    survey = OneOfAll.examples()[2]
    whole, wrong = Channel(rows_of(survey.randomizer)), replace(survey, questions=survey.questions[::-1])
    assert survey.randomizer.weights == (5, 6, 9)
    for n in (1, 40):
        ours, theirs = (
            bound_named("numeric").claim(blanket, n=n, epsilon=0.4, side="upper").log_delta.upper
            for blanket in (survey.randomizer.blanket(), whole.blanket())
        )
        assert ours == pytest.approx(theirs, abs=1e-6)
    assert wrong.randomizer.weights == (6, 9, 5)
    heavier = replace(survey, questions=tuple(replace(one, weight=1) for one in survey.questions))
    other = bound_named("numeric").claim(heavier.randomizer.blanket(), n=40, epsilon=0.4, side="upper").log_delta.upper
    assert abs(other - ours) > 1e-3
    truth = true_delta(rows_of(survey.randomizer), 1, 0.4)
    claim = bound_named("best").claim(survey.randomizer.blanket(), n=1, epsilon=0.4, side="both").log_delta
    assert math.exp(claim.lower) <= truth * (1 + 1e-9)
    assert truth <= math.exp(claim.upper) * (1 + 1e-9)


def test_a_mixture_beside_another_question_is_no_less_private_than_claimed() -> None:
    """By enumeration of everybody's messages, the grid of a distribution being drawn at random."""
    levels = Mixture(weights=(1, 2), parts=(COIN, COIN))
    truth = apart((levels, COIN), 1, 0.5)
    blanket = Together(parts=(levels, COIN)).blanket()
    assert truth <= math.exp(bound_named("best").claim(blanket, n=1, epsilon=0.5).log_delta.upper)
    forgotten = composed_claim(TogetherBlanket(parts=blanket.parts[1:]), bound_named("best"), n=1, epsilon=0.5)
    assert truth > math.exp(forgotten.log_delta.upper)


def test_means_by_group_are_read_and_what_is_beside_them_too() -> None:
    survey = AllOfThem.examples()[3]
    assert survey.domain.table_columns == ("carrier", "delay")
    rows = [{"carrier": "AA", "delay": 1}] * 1000 + [{"carrier": "DL", "delay": 0.25}] * 1000
    values = survey.domain.clean(rows).values
    estimate = survey.estimate(survey.count(survey.randomize(values, KeyedRandomness.seeded(6), first_row=0)))
    said = survey.reading.of(estimate)
    assert said.names == ("delay: AA", "delay: B6", "delay: DL", "carrier: AA", "carrier: B6", "carrier: DL")
    assert said.value[[0, 2]] == pytest.approx([1.0, 0.25], abs=0.15)
    assert list(said.refused) == ["delay: B6"]
    assert math.isnan(said.interval()[0][1])
    assert survey.reading.beside(estimate)["delay: users"].value == pytest.approx([1000, 0, 1000], abs=150)
    assert survey.reading.shift(said) > 1.9 * survey.questions[0].protocol.reading.shift(said.parts[0])  # type: ignore[attr-defined]


def test_a_file_with_groups_gives_the_answer_of_a_list(tmp_path: Path) -> None:
    survey = AllOfThem.examples()[3]
    rows = [{"carrier": "AA" if j % 2 else "DL", "delay": (j % 5) / 4} for j in range(400)]
    frame = pd.DataFrame(rows)
    frame.to_csv(tmp_path / "people.csv", index=False)
    expected = tally_rows(survey, rows, KeyedRandomness.seeded(1)).counts.values
    for source in (FileSource(tmp_path / "people.csv"), FrameSource(frame)):
        found = engine_named("arrow").tally(survey, source, KeyedRandomness.seeded(1), Policy()).counts.values
        assert (found == expected).all()


@pytest.mark.parametrize(
    ("question", "way", "why"),
    [
        (
            {"ask": "heavy-hitters", "max_length": 3},
            "all",
            "question 'q', a plan of heavy-hitters, cannot be one of several",
        ),
        ({"ask": "histogram", "size": 9, "messages_per_user": 1.2}, "all", "dummies hide one question"),
        ({"ask": "texts"}, "all", "List the candidates"),
        ({"ask": "distribution", "low": 0, "high": 1, "resolution": 4}, "table", "does not fit a table"),
    ],
)
def test_what_cannot_be_asked_so_is_refused_with_a_reason(question: dict[str, Any], way: str, why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        plan("survey", n=N, epsilon=1.0, delta=1e-2, questions=[QUESTIONS[0], {"name": "q"} | question], way=way)


def test_means_by_group_are_not_asked_of_a_sample() -> None:
    with pytest.raises(InvalidInput, match="is asked of everybody"):
        OneOfAll(questions=AllOfThem.examples()[3].questions)


def test_a_column_has_the_same_values_for_all_questions() -> None:
    delay, carrier = AllOfThem.examples()[3].questions
    with pytest.raises(InvalidInput, match="'carrier' has different values"):
        AllOfThem(questions=(delay, replace(carrier, protocol=OneOfAll.examples()[0].questions[1].protocol)))


@pytest.mark.parametrize("survey", [OneOfAll.examples()[2], AllOfThem.examples()[3]], ids=lambda one: one.kind)
def test_the_service_answers_questions_by_group_and_about_a_distribution(survey: Any) -> None:
    n = 400
    found = certified(Terms(n=n, epsilon=8.0, delta=1e-2), survey)
    task = Task(plan=found, window=60, max_age=600, **PARTIES)
    assert Task.from_document(task.document()) == task
    people = [json.loads(survey.domain.samples()[j % 2]) for j in range(n)]
    records = [seal_inner(one, task, ANALYZER.public()) for person in people for one in messages_of(task, person)]
    np.random.default_rng(1).shuffle(records)
    batch = batch_of(records, n) if survey.most_messages > 1 else b"".join(records)
    result = analyze(batch, task, ANALYZER)
    values = survey.domain.clean(people).values
    truth = survey.reading.exactly(survey.true_answer(survey.truth(values)))
    off = np.abs((result.estimate.value - truth) / result.estimate.standard_error)
    assert result.names == survey.reading.of(survey.estimate(result.counts)).names
    assert np.nanmax(off) < 5


PEOPLE = pd.DataFrame(
    {"happy": ["no", "yes"] * 500, "educ": [12.0] * 990 + [None] * 10, "workstat": ["full"] * 500 + ["at home"] * 500}
)
"""Answers, of which one column has missing cells, and one a label that nobody listed."""


@pytest.fixture(scope="module")
def work() -> Plan:
    labels = {"happy": ["no", "yes"], "workstat": ["full", "part", "other"]}
    asked: list[dict[str, Any]] = [
        {"name": name, "ask": "histogram", "labels": texts} for name, texts in labels.items()
    ]
    asked.insert(1, {"name": "educ", "ask": "mean", "low": 0, "high": 20})
    return plan("survey", n=990, epsilon=2.0, delta=1e-6, questions=asked)


@pytest.mark.parametrize("rows", [PEOPLE, PEOPLE[::-1]], ids=["educ later", "educ first"])
def test_the_first_refusal_names_all_columns_that_do_not_fit_and_what_mends_each(
    work: Plan, rows: pd.DataFrame
) -> None:
    with pytest.raises(InvalidInput) as refused:
        run(work, rows)
    assert "`missing='skip'` or `missing_as={\"educ\": VALUE}`" in str(refused.value)
    assert '`other={"workstat": LABEL}`' in str(refused.value)
    typed = as_flags(str(refused.value))
    assert "--missing skip or --missing-as educ=VALUE" in typed
    assert "--other workstat=LABEL" in typed
    assert run(work, rows, missing="skip", other={"workstat": "other"}).n == 990


def test_a_refusal_about_labels_names_missing_cells_too_unless_they_are_settled(work: Plan) -> None:
    turned = PEOPLE.rename(columns={"happy": "workstat", "workstat": "happy"})
    turned["workstat"] = "full"
    with pytest.raises(
        InvalidInput, match=r'`other=\{"happy": LABEL\}`.* Some value of educ is missing, too: use'
    ) as refused:
        run(work, turned)
    assert '`missing_as={"educ": VALUE}`' in str(refused.value)
    for settled in ({"missing": "skip"}, {"missing_as": {"educ": 12}}):
        with pytest.raises(InvalidInput, match="not one of the plan's bins") as refused:
            run(work, turned, **settled)
        assert "missing" not in str(refused.value)


def test_too_few_to_skip_are_told_though_labels_do_not_fit_either(work: Plan) -> None:
    fewer = PEOPLE.assign(educ=[12.0] * 900 + [None] * 100)
    with pytest.raises(InvalidInput, match="Skipping leaves 900 of 1,000 rows, fewer than the plan's 990") as refused:
        run(work, fewer)
    assert '`other={"workstat": LABEL}`' in str(refused.value)


def test_a_stand_in_without_a_name_is_refused_with_the_questions_that_can_have_it(work: Plan) -> None:
    with pytest.raises(InvalidInput, match=r'give `other=\{"workstat": LABEL\}`\. It can be given for workstat\.'):
        run(work, PEOPLE, other="other")
    with pytest.raises(InvalidInput, match="It can be given for happy, workstat"):
        run(work, PEOPLE, other="nobody's label")


def test_labels_of_a_survey_are_matched_loosely_if_asked_for(work: Plan) -> None:
    shouted = PEOPLE.assign(educ=12, workstat=["FULL ", "other"] * 500)
    with pytest.raises(InvalidInput, match="use `match='loosely'`"):
        run(work, shouted)
    assert run(work, shouted, match="loosely").n == 1000


def test_a_column_of_a_survey_is_not_named(work: Plan) -> None:
    with pytest.raises(InvalidInput, match="Leave out `column` if the table has these columns"):
        run(work, PEOPLE, column="happy")
