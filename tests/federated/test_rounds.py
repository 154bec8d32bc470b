"""A round without Flower: updates become messages, are shuffled, and give their mean within a budget."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shuffledp import InvalidInput, KeyedRandomness, NoClaim, Plan, plan
from shuffledp.federated.flower import in_process_grid, report_mod, shuffled_averaging
from shuffledp.federated.rounds import Rounds
from shuffledp.federated.shuffling import ShuffledReports, shuffled
from shuffledp.federated.update_encoder import UpdateEncoder, protocol_of
from shuffledp.planning.release_cost import Spend, composed
from shuffledp.service.analyzer.ledger import Ledger

USERS, DIMENSION, ROUNDS = 1000, 4, 3


def planned(**options: Any) -> Plan:
    return plan.vector(dimension=DIMENSION, norm=2.0, n=USERS, epsilon=3.0, delta=1e-6, **options)


PLAN = planned(rounds=ROUNDS)
UPDATES = np.random.default_rng(5).normal(0.2, 0.3, (USERS, DIMENSION))


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger", epsilon=3.0, delta=1e-6)


def reports(made: Plan = PLAN, updates: Any = UPDATES) -> list[Any]:
    return list(UpdateEncoder(made).encode(updates).reports)


@pytest.mark.parametrize("repeats", [1, 3])
def test_the_mean_is_unbiased(repeats: int, tmp_path: Path) -> None:
    """Of 20 rounds with pinned seeds; 6.4 standard errors in four entries are passed by chance in one of 1e9 times."""
    made, runs = planned(messages_per_user=repeats), 20
    rounds = Rounds(made, Ledger(tmp_path / "ledger", epsilon=500.0, delta=1e-3))
    found = []
    for seed in range(runs):
        rounds.begin()
        encoded = UpdateEncoder(made).encode(UPDATES, randomness=KeyedRandomness.seeded(seed))
        found.append(rounds.mean(shuffled(made, encoded.reports)).value)
    mean, forecast = np.mean(found, axis=0), made.protocol.standard_error(UPDATES.mean(axis=0), USERS)
    assert (np.abs(mean - UPDATES.mean(axis=0)) < 6.4 * forecast / np.sqrt(runs)).all()
    assert (np.abs(mean - 0.7 * UPDATES.mean(axis=0)) > 6.4 * forecast / np.sqrt(runs)).any()
    assert np.std(found, axis=0, ddof=1) == pytest.approx(forecast, rel=0.5)


def test_a_round_beyond_the_budget_is_refused_and_not_booked(ledger: Ledger) -> None:
    rounds = Rounds(PLAN, ledger)
    for _ in range(ROUNDS):
        balance = rounds.begin()
        assert rounds.mean(shuffled(PLAN, reports())).guarantee == PLAN.guarantee
    assert balance.spent_epsilon == composed([Spend.of(PLAN)] * ROUNDS, 1e-6)
    with pytest.raises(NoClaim, match="the budget is spent"):
        rounds.begin()
    assert ledger.balance().releases == ROUNDS
    with pytest.raises(InvalidInput, match="no round was begun"):
        rounds.mean(shuffled(PLAN, reports()))


def test_another_training_of_the_same_clients_spends_from_the_same_budget(ledger: Ledger) -> None:
    """Rounds of two trainings are never taken for each other, which would cost nothing."""
    for _ in range(ROUNDS):
        Rounds(PLAN, ledger).begin()
    with pytest.raises(NoClaim, match="the budget is spent"):
        Rounds(PLAN, ledger).begin()


def test_a_round_gives_one_mean_and_only_if_it_was_booked(ledger: Ledger) -> None:
    rounds, sent = Rounds(PLAN, ledger), shuffled(PLAN, reports())
    with pytest.raises(InvalidInput, match="no round was begun"):
        rounds.mean(sent)
    rounds.begin()
    rounds.mean(sent)
    with pytest.raises(InvalidInput, match="no round was begun"):
        rounds.mean(sent)


def test_too_few_reports_are_not_let_out(ledger: Ledger) -> None:
    rounds = Rounds(PLAN, ledger)
    rounds.begin()
    few = shuffled(PLAN, reports()[:-1])
    assert not few.enough
    assert len(few.messages) == 0
    with pytest.raises(InvalidInput, match="only 999 clients"):
        rounds.mean(few)
    assert ledger.balance().releases == 1


def test_the_honest_fraction_counts(ledger: Ledger) -> None:
    made = planned(honest_fraction=0.9)
    assert shuffled(made, reports(made)).enough
    assert not shuffled(made, reports(made)[:-1]).enough


def test_the_order_of_clients_is_gone() -> None:
    """In a random order one of a thousand is where it was, and 40 are in one of 1e40 times."""
    sent = reports()
    found = shuffled(PLAN, sent)
    before = np.array([message for (message,) in sent], dtype=np.uint64)
    assert (np.sort(found.messages) == np.sort(before)).all()
    assert np.count_nonzero(found.messages == before) < 40
    assert (found.messages != shuffled(PLAN, sent).messages).any()
    assert "messages" not in repr(found)


BEYOND = PLAN.protocol.randomizer.messages


@pytest.mark.parametrize(
    "forged", [None, [], [BEYOND], [-1], [1.0], ["1"], [1, 1], (1,), 1, "1", [None], [True], {"messages": [1]}, [2**70]]
)
def test_what_is_no_report_is_rejected_and_counted(forged: object) -> None:
    found = shuffled(PLAN, [*reports(), forged])
    assert (found.clients, found.rejected) == (USERS, 1)
    assert len(found.messages) == USERS


def test_a_client_cannot_send_more_messages_than_others() -> None:
    made = planned(messages_per_user=3)
    found = shuffled(made, [*reports(made), [1] * 4, [1] * 2])
    assert (found.clients, found.rejected, len(found.messages)) == (USERS, 2, 3 * USERS)


def test_clipping_is_counted_and_bounds_what_a_client_can_do() -> None:
    """Long ones are cut down to the norm, and those that are no finite numbers are no change."""
    rows = np.zeros((6, DIMENSION))
    rows[0], rows[1], rows[2], rows[3, 0], rows[4, 1] = 1e300, 2.0, 0.5, np.nan, np.inf
    encoded = UpdateEncoder(PLAN).encode(rows, randomness=KeyedRandomness.seeded(1))
    assert (encoded.clipped, encoded.unusable) == (2, 2)
    cut = rows.copy()
    cut[:2], cut[3:] = 1.0, 0.0
    assert encoded.reports == UpdateEncoder(PLAN).encode(cut, randomness=KeyedRandomness.seeded(1)).reports
    assert rows[0, 0] == 1e300  # the caller's own stay as they are


@pytest.mark.parametrize("rows", [[1.0] * 4, [[1.0] * 5], [[1.0] * 3], [[1.0, 2.0], [1.0]], "text", [["a"] * 4], 3.0])
def test_updates_of_another_shape_are_refused(rows: object) -> None:
    with pytest.raises(InvalidInput, match="updates are rows of 4 numbers"):
        UpdateEncoder(PLAN).encode(rows)


def test_what_is_said_of_bad_updates_shows_none() -> None:
    with pytest.raises(InvalidInput) as found:
        UpdateEncoder(PLAN).encode([[123456.0] * 3])
    assert "123456" not in str(found.value)


def test_randomness_that_was_used_is_refused() -> None:
    words = KeyedRandomness.fresh()
    UpdateEncoder(PLAN).encode(UPDATES, randomness=words)
    with pytest.raises(InvalidInput, match="used before"):
        UpdateEncoder(PLAN).encode(UPDATES, randomness=words)


def test_a_plan_of_another_question_is_refused(ledger: Ledger) -> None:
    other = plan.mean(n=USERS, epsilon=1.0, delta=1e-6)
    wrong: Any
    for wrong in (other, "plan.json"):
        for use in (protocol_of, lambda made: Rounds(made, ledger), lambda made: shuffled(made, [])):
            with pytest.raises(InvalidInput, match=r"plan\.vector"):
                use(wrong)


def test_without_flower_it_is_said_how_to_get_it(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "flwr", None)
    for use in (
        lambda: report_mod(PLAN),
        lambda: shuffled_averaging(PLAN, ledger, shuffled_by="me"),
        lambda: in_process_grid(lambda message, _: message, []),
    ):
        with pytest.raises(InvalidInput, match=r"flwr.*pip install"):
            use()


def test_reports_of_another_plan_get_no_guarantee_of_this_one(ledger: Ledger) -> None:
    rounds, few = Rounds(PLAN, ledger), plan.vector(dimension=DIMENSION, norm=1.0, n=100, epsilon=3.0, delta=1e-3)
    rounds.begin()
    with pytest.raises(InvalidInput, match="shuffled under another plan"):
        rounds.mean(shuffled(few, []))
    enough = ShuffledReports(
        plan=PLAN.sha256, messages=np.zeros(3, dtype=np.uint64), clients=3, rejected=0, enough=True
    )
    with pytest.raises(InvalidInput, match="nothing is released"):
        rounds.mean(enough)


def test_a_shuffler_elsewhere_may_hand_over_messages_alone(ledger: Ledger) -> None:
    """What the server sees need not come from `shuffled`: messages and how many clients there are is all of it."""
    rounds = Rounds(PLAN, ledger)
    rounds.begin()
    messages = np.sort([message for (message,) in reports()]).astype(np.uint64)
    found = rounds.mean(
        ShuffledReports(plan=rounds.plan.sha256, messages=messages, clients=USERS, rejected=0, enough=True)
    )
    assert found.n == USERS
