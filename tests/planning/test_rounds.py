"""One round of many: all together meet the guarantee, and nobody takes part more often than planned."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oracles.parties import ANALYZER, PARTIES, announced, serving
from oracles.process import called
from shuffledp import Channel, Guarantee, InvalidInput, NoClaim, Plan, account
from shuffledp.accounting.account import bound_named
from shuffledp.accounting.composition import Collection, compose
from shuffledp.core.population import Population
from shuffledp.planning.over_time import OverTime
from shuffledp.planning.release_cost import Spend
from shuffledp.planning.rounds import asked_per_round, choices, fewer, plan_rounds, rounds_possible, spent
from shuffledp.protocols.sampling import sampled_error
from shuffledp.service.analyzer.ledger import Ledger, LedgerEntry
from shuffledp.service.client.client import Client
from shuffledp.service.task import Task

WEEK: dict[str, Any] = {"n": 50_000, "epsilon": 1.0, "delta": 1e-6, "size": 4}


@pytest.fixture(scope="module")
def daily() -> Plan:
    return plan_rounds("histogram", rounds=7, **WEEK)


def test_all_rounds_together_just_meet_the_guarantee(daily: Plan) -> None:
    """By the accountant that knows nothing of plans."""
    blanket = daily.protocol.randomizer.blanket()

    def together(rounds: int) -> float:
        return compose([Collection(blanket=blanket, n=50_000, rounds=rounds, bound=bound_named("best"))]).epsilon(1e-6)

    assert 0.999 < together(7) <= 1.0 < together(8)
    assert 1 / 7 < daily.guarantee.epsilon < 1 / math.sqrt(7)  # better than adding up
    assert spent(daily, [7])[7] == pytest.approx(together(7), rel=1e-6)


def test_a_ledger_with_that_budget_lasts_for_all_rounds(daily: Plan, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.jsonl", epsilon=1.0, delta=1e-6)
    for day in range(7):
        ledger.book(LedgerEntry(task="t", batch=f"day {day}", spend=Spend.of(daily)))
    with pytest.raises(Exception, match="the budget is spent: 7 releases"):
        ledger.book(LedgerEntry(task="t", batch="day 7", spend=Spend.of(daily)))


def test_the_file_proves_all_rounds(daily: Plan) -> None:
    """What was edited is refused, also if its hash was made again; plans without rounds have no such field."""
    assert Plan.from_document(daily.document()) == daily
    assert "over_time" not in replace(daily, over_time=None).document()
    assert daily.over_time is not None
    for changes in ({"rounds": 8, "per_person": 8}, {"epsilon": 0.99}, {"delta": 1e-7}):
        wrong = replace(daily, over_time=replace(daily.over_time, **changes))
        with pytest.raises(InvalidInput, match="does not follow"):
            Plan.from_document(wrong.document())
    promise = daily.promise()
    for strange in (
        {"rounds": 7},
        {**promise["over_time"], "per_person": 0},
        {**promise["over_time"], "rounds": "7"},
        None,
    ):
        with pytest.raises(InvalidInput):
            Plan.from_document(promise | {"over_time": strange})


def test_a_random_part_of_the_people_composes_over_their_own_rounds() -> None:
    part = plan_rounds("histogram", rounds=7, rounds_per_person=2, **WEEK)
    blanket = part.protocol.randomizer.blanket()
    assert part.min_batch == part.guarantee.n == 14_285
    together = compose([Collection(blanket=blanket, n=14_285, rounds=2, bound=bound_named("best"))]).epsilon(1e-6)
    assert 0.999 < together <= 1.0
    assert "at most 2 of 7 rounds" in part.explain()


def test_a_client_takes_part_no_more_often_than_planned(tmp_path: Path) -> None:
    """However many windows the shuffler announces."""
    small = plan_rounds("histogram", n=500, epsilon=2.0, delta=1e-3, size=4, rounds=10, rounds_per_person=2)
    task, now = Task(plan=small, window=60, max_age=600, **PARTIES), [1e9]
    shuffler = serving(task)
    client = Client(task=task, analyzer=ANALYZER.public(), folder=tmp_path, clock=lambda: now[0])
    for window in range(2):
        assert client.report(1, replace(announced(shuffler, task), window=window)) is not None
        now[0] += 1000
    with pytest.raises(InvalidInput, match="at most 2 reports of one person"):
        client.report(1, replace(announced(shuffler, task), window=2))
    assert client.report(3, replace(announced(shuffler, task), window=1)) is not None  # the one that exists
    assert client.reports == 2


def test_asking_fewer_people_costs_what_is_forecast(daily: Plan) -> None:
    """A random third of the people, simulated; and the table says so."""
    protocol: Any = daily.protocol
    n, asked, random = 3000, 1000, np.random.default_rng(1)
    worst = protocol.worst_sampled(n, 1 - asked / n)
    forecast = sampled_error(protocol, asked, n)
    assert forecast is not None
    everybody, squares = np.repeat(worst.values, worst.users), []
    for _ in range(4000):
        some = np.bincount(random.choice(everybody, asked, replace=False), minlength=4)
        found = protocol.simulate(Population(values=np.arange(4), users=some), random, 1)[0] * n / asked
        squares.append(float(np.square(found - worst.users).sum()))
    assert np.mean(squares) == pytest.approx(forecast, rel=0.05)
    assert forecast > 3 * protocol.mean_squared_error(asked) * (n / asked) ** 2  # most of it is the sample
    rows = choices(daily, "histogram", n=50_000, size=4)
    assert [row.per_person for row in rows] == [7, 1]
    assert [row.plan is not None for row in rows] == [True, True]
    assert rows[0].rmse == pytest.approx(daily.rmse)
    assert (rows[1].rmse or 0) > (rows[0].rmse or 0)


def test_an_error_of_one_round_says_what_all_of_them_cost(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"n": 50_000, "size": 4, "dropout": 0.3, "honest_fraction": 0.95}
    found = rounds_possible("histogram", rmse=200.0, delta=1e-6, rounds=7, **asked)
    assert found.over_time is not None
    assert found.rmse <= 200.0
    assert found.min_batch == 35_000
    assert Plan.from_document(found.document()) == found
    blanket = found.protocol.randomizer.blanket()
    entry = Collection(blanket=blanket, n=found.guarantee.n, rounds=7, bound=bound_named("best"))
    assert compose([entry]).epsilon(1e-6) == pytest.approx(found.over_time.epsilon, rel=1e-4)
    tight = replace(found.over_time, epsilon=0.999 * found.over_time.epsilon)
    assert not replace(found, over_time=tight).holds()
    again = plan_rounds("histogram", rounds=7, epsilon=found.over_time.epsilon, delta=1e-6, **asked)
    assert again.rmse == pytest.approx(found.rmse, rel=1e-2)
    line = "plan histogram --size 4 --n 50000 --dropout 0.3 --honest-fraction 0.95 --delta 1e-6 --rounds 7"
    done = called(f"{line} --rmse 200 --json", cwd=tmp_path)
    assert json.loads(done.stdout) == found.document()
    for wrong in ("--rmse 200 --rounds-per-person 2", "--rmse 200 --rmse-share 0.1", "--rmse 200 --epsilon 1", ""):
        refused = called(f"{line} {wrong}", cwd=tmp_path)
        assert (refused.returncode, refused.stdout) == (2, ""), wrong


@pytest.mark.parametrize("per_person", [1, 3, 5])
@pytest.mark.parametrize("honest_fraction", [1.0, 0.3])
def test_what_rounds_have_spent_relies_on_honest_reports_only(per_person: int, honest_fraction: float) -> None:
    """Liars and people who did not answer hide nobody, in no round: neither in what is promised nor in what is spent."""
    asked: dict[str, Any] = {**WEEK, "honest_fraction": honest_fraction, "dropout": 0.2}
    made = plan_rounds("histogram", rounds=5, rounds_per_person=per_person, **asked)
    reports = 40_000 * per_person // 5
    assert (made.min_batch, made.guarantee.n) == (reports, int(reports * honest_fraction))
    blanket = made.protocol.randomizer.blanket()
    for rounds, epsilon in spent(made, range(1, per_person + 1)).items():
        one = Collection(blanket=blanket, n=made.guarantee.n, rounds=rounds, bound=bound_named("numeric"))
        assert epsilon == pytest.approx(compose([one]).epsilon(1e-6), rel=2e-3)
    assert 0.99 < spent(made, [per_person])[per_person] <= 1.0
    for row in choices(made, "histogram", n=50_000, size=4, dropout=0.2, honest_fraction=honest_fraction):
        assert row.plan is not None
        assert row.plan.min_batch == 40_000 * row.per_person // 5
        assert row.plan.guarantee.n == int(row.plan.min_batch * honest_fraction)


def test_one_round_proves_rounds_only_at_its_own_delta(daily: Plan) -> None:
    """Also where nobody takes part in a second one."""
    one, randomizer = daily.guarantee, daily.protocol.randomizer
    alone = OverTime(rounds=7, per_person=1, epsilon=one.epsilon, delta=one.delta)
    assert alone.holds(randomizer, one)
    assert not replace(alone, delta=one.delta / 10).holds(randomizer, one)
    assert not replace(alone, epsilon=one.epsilon * 0.99).holds(randomizer, one)
    assert not replace(alone, per_person=2).holds(randomizer, one)
    for delta in (one.delta * 10, one.delta, one.delta / 10):
        after = replace(alone, delta=delta).epsilon_after(1, randomizer, one)
        least = account(randomizer, n=one.n, delta=delta).epsilon
        assert 0.998 * least <= after <= 1.01 * least


def test_rounds_are_composed_and_not_only_their_epsilons_added_up() -> None:
    """What gives a person away once in 10,000 rounds does so twice in two, at whatever epsilon."""
    bare = Channel([[0.9899, 0.01, 0.0001], [0.01, 0.99, 0.0]])
    one = Guarantee(epsilon=20.0, delta=1.001e-4, n=100, bound="numeric", reference="")
    total = OverTime(rounds=2, per_person=2, epsilon=40.0, delta=2.002e-4)
    assert total.holds(bare, one)
    assert not replace(total, delta=one.delta).holds(bare, one)
    assert replace(total, per_person=1, delta=one.delta).holds(bare, one)


def test_rounds_that_are_not_proved_are_no_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a search found: the promise of all rounds is certified before anybody gets it."""
    monkeypatch.setattr(OverTime, "holds", lambda *_: False)
    for per_person in (1, 2):
        with pytest.raises(NoClaim, match="could not be certified"):
            plan_rounds("histogram", rounds=7, rounds_per_person=per_person, **WEEK)
    with pytest.raises(NoClaim, match="could not be certified"):
        rounds_possible("histogram", n=50_000, size=4, rmse=200.0, delta=1e-6, rounds=7)


def test_rounds_that_make_no_sense_are_refused() -> None:
    for rounds, per_person in ((0, 1), (10**6, 1), (7, 0), (7, 8), (7, True)):
        with pytest.raises(InvalidInput):
            OverTime(rounds=rounds, per_person=per_person, epsilon=1.0, delta=1e-6)
    with pytest.raises(InvalidInput, match="nobody would be asked"):
        asked_per_round(10, OverTime(rounds=100, per_person=1, epsilon=1.0, delta=1e-6))
    assert fewer(365) == [365, 73, 15, 3, 1]
    assert fewer(1) == [1]


def test_the_command_says_what_rounds_cost_and_draws_it(tmp_path: Path) -> None:
    line = "plan mean --n 1e4 --epsilon 1 --delta 1e-6 --rounds 4 -o plan.json --plot cost.png"
    done = called(line, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "everybody takes part in all 4 rounds, which together are (1, 1e-6)-differentially private" in done.stdout
    assert "4 (this plan)" in done.stdout
    assert (tmp_path / "cost.png").read_bytes().startswith(b"\x89PNG")
    assert '"over_time"' in (tmp_path / "plan.json").read_text()
    composed = called("compose plan.json", cwd=tmp_path)
    assert composed.stdout.startswith("4 rounds in 1 collection, ")
    for wrong in ("--rounds 4 --rmse 0.1", "--rounds-per-person 2", "--rounds 4 --paper"):
        refused = called(f"plan mean --n 1e4 --epsilon 1 --delta 1e-6 {wrong}", cwd=tmp_path)
        assert (refused.returncode, refused.stdout) == (2, "")
