"""The analyzer counts users where a batch is of messages, on the safe side."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import poisson

from oracles.chatty import Chatty, batch_of, chatty_task
from oracles.parties import ANALYZER, EIGHT, PARTIES, SHUFFLER, prepared
from oracles.process import called
from oracles.server import running
from shuffledp import InvalidInput, KeyedRandomness, plan
from shuffledp.protocols import registry
from shuffledp.results.balance import Balance
from shuffledp.service.analyzer.analyzer import NO_BUDGET, analyze, open_batch
from shuffledp.service.analyzer.ledger import LedgerEntry
from shuffledp.service.analyzer.opened_reports import OpenedReports
from shuffledp.service.sealing.hpke import seal_inner
from shuffledp.service.task import Task

TASK = chatty_task(size=4, n=40, honest_fraction=0.9)
"""It relies on 36 honest reports of 40."""


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    registry.register(Chatty)
    yield
    registry.unregister(Chatty)


class Booked:
    """In a ledger's place: composing takes seconds, and is not what is shown here."""

    def __init__(self) -> None:
        self.entries: list[LedgerEntry] = []

    def book(self, entry: LedgerEntry) -> Balance:
        self.entries.append(entry)
        return Balance(releases=1, spent_epsilon=1.0, budget_epsilon=9.0, delta=1e-2, head="h")


@pytest.fixture
def ledger() -> Any:
    return Booked()


def sealed(count: int) -> list[bytes]:
    return [seal_inner(j % 4, TASK, ANALYZER.public()) for j in range(count)]


def damaged(record: bytes) -> bytes:
    return record[:-1] + bytes([record[-1] ^ 1])


@pytest.mark.parametrize(
    ("stated", "messages", "why"),
    [
        (39, 100, "has 39 reports, and no shuffler may release fewer than 40"),
        (0, 100, "says that 0 reports have 100 messages"),
        (33, 100, "says that 33 reports have 100 messages, and each must have 1 to 3"),
        (101, 100, "says that 101 reports have 100 messages"),
        (2**64 - 1, 100, "says that 18,446,744,073,709,551,615 reports"),
    ],
)
def test_a_number_of_reports_that_cannot_be_is_refused_unopened(
    stated: int, messages: int, why: str, ledger: Any
) -> None:
    with pytest.raises(InvalidInput, match=f"{why}.*Nothing was opened or booked"):
        analyze(batch_of(sealed(messages), stated), TASK, ANALYZER, ledger=ledger)
    assert ledger.entries == []


def test_where_dummies_are_missing_nothing_is_opened(ledger: Any) -> None:
    """Clients that send none, or somebody who lets only those through who send none, expose everybody."""
    dummies = plan("histogram", n=1000, epsilon=1.0, delta=1e-6, size=16, messages_per_user=2)
    task = Task(plan=dummies, window=60, max_age=600, **PARTIES)
    fewest = dummies.protocol.fewest_messages(1000)
    mean = 1000 * (dummies.protocol.messages_per_user - 1)
    assert poisson.cdf(fewest - 1001, mean) < 1e-12 < poisson.cdf(fewest - 1000 + mean / 20, mean)
    one = [seal_inner(j % 16, task, ANALYZER.public()) for j in range(1000)]
    beside = [seal_inner(j % 16, task, ANALYZER.public()) for j in range(fewest - 1000)]
    assert analyze(batch_of([*one, *beside], 1000), task, ANALYZER, ledger=ledger).n == 1000
    ledger.entries.clear()
    for few in (beside[1:], []):
        with pytest.raises(InvalidInput, match=rf"send at least {len(beside)}: what should hide .* Nothing was opened"):
            analyze(batch_of([*one, *few], 1000), task, ANALYZER, ledger=ledger)
    assert ledger.entries == []


def test_a_batch_without_the_number_of_its_reports_is_none() -> None:
    """Nor is one that has it where users send one message each."""
    for cut in (0, 3, 8):
        with pytest.raises(InvalidInput, match="its length is not a whole number of records"):
            analyze(batch_of(sealed(100), 50)[cut:][: 100 * 71], TASK, ANALYZER)
    for data in (b"", b"1234567", bytes(8), b"".join(sealed(100))):
        with pytest.raises(InvalidInput, match="its length is not a whole number of records"):
            analyze(data, TASK, ANALYZER)
    one = [seal_inner(j % 8, EIGHT, ANALYZER.public()) for j in range(50)]
    with pytest.raises(InvalidInput, match="its length is not a whole number of records"):
        analyze(batch_of(one, 50), EIGHT, ANALYZER)


def test_users_and_messages_are_both_told(ledger: Any) -> None:
    """Each of five messages that are rejected may be of another user."""
    records = sealed(80)
    records[:2] = map(damaged, records[:2])
    records[2:4] = [seal_inner(4, TASK, ANALYZER.public()) for _ in range(2)]
    result = analyze(batch_of([*records, records[-1]], 42), TASK, ANALYZER, ledger=ledger).document()
    assert (result["n"], result["received"]) == (37, 42)
    assert result["rejected"] == {"decrypt_error": 2, "out_of_domain": 2, "report_replayed": 1}
    assert result["guarantee"]["realised_honest"] == 37  # nine tenths of 42
    (note,) = result["notes"]
    assert "The 42 reports, as the shuffler counted them, have 81 messages together, at most 3 each." in note
    plain = analyze(batch_of(sealed(80), 40), TASK, ANALYZER).document()
    assert (plain["n"], plain["rejected"], plain["notes"][-1]) == (40, {}, NO_BUDGET)


@pytest.mark.parametrize("bad", [4, 5])
def test_too_many_rejected_messages_are_too_few_users(bad: int, ledger: Any) -> None:
    """The guarantee relies on 36 of 40 users: the fifth message that does not open may be of a fifth user."""
    records = sealed(80)
    data = batch_of([*map(damaged, records[:bad]), *records[bad:]], 40)
    if bad == 4:
        assert analyze(data, TASK, ANALYZER, ledger=ledger).n == 36
    else:
        with pytest.raises(
            InvalidInput, match=r"only 35 of the 40 reports received are valid.*rejected: 5 decrypt_error.*stays booked"
        ):
            analyze(data, TASK, ANALYZER, ledger=ledger)
    assert [entry.spend.n for entry in ledger.entries] == [36]
    everything = batch_of([*map(damaged, records)], 40)
    with pytest.raises(InvalidInput, match="only 0 of the 40 reports"):
        analyze(everything, TASK, ANALYZER)


def test_repeated_messages_are_as_many_users_that_are_missing(tmp_path: Path) -> None:
    """In one batch, and across two, where they may be honest users who are missing: refused before anything is opened."""
    remembered, first = OpenedReports(tmp_path / "opened"), sealed(60)
    assert analyze(batch_of(first, 40), TASK, ANALYZER, opened_reports=remembered).n == 40
    few = "only 35 of the 40 reports received are neither repeated nor opened"
    for again, across in ((4, r"4 of the 40 reports received were opened before .* needs 40 others"), (5, few)):
        with pytest.raises(InvalidInput, match=across):
            analyze(batch_of(sealed(60 - again) + first[:again], 40), TASK, ANALYZER, opened_reports=remembered)
    others = sealed(56)
    found = analyze(batch_of(others + others[:4], 40), TASK, ANALYZER, opened_reports=remembered)
    assert (found.n, found.rejected) == (36, {"report_replayed": 4})
    others = sealed(55)
    with pytest.raises(InvalidInput, match=few):
        analyze(batch_of(others + others[:5], 40), TASK, ANALYZER, opened_reports=remembered)


def test_the_estimate_of_the_service_is_that_of_the_protocol() -> None:
    """Messages of 60 users, opened in another order, give the estimate of their counts; on average it is the truth."""
    protocol, users = TASK.plan.protocol, 60
    values = np.arange(users) % 4
    messages: Any = protocol.randomize(values, KeyedRandomness.seeded(1), first_row=0)
    people = list(protocol.by_user(messages, users))
    assert [message for sent in people for message in sent] == messages.values.tolist()
    assert [len(sent) for sent in people] == messages.each.tolist()
    records = [seal_inner(message, TASK, ANALYZER.public()) for sent in people for message in sent]
    np.random.default_rng(2).shuffle(records)
    data = batch_of(records, users)
    result = analyze(data, TASK, ANALYZER)
    assert result.estimate.value.tolist() == protocol.estimate(protocol.count(messages)).value.tolist()
    assert open_batch(data, TASK, ANALYZER).valid == users
    many: Any = protocol.randomize(np.zeros(20_000, dtype=np.int64), KeyedRandomness.seeded(3), first_row=0)
    estimate = protocol.estimate(protocol.count(many))
    assert (abs(estimate.value - np.array([20_000, 0, 0, 0])) < 6 * estimate.standard_error).all()


def test_messages_of_many_users_are_told_apart() -> None:
    """More than are looked at together."""
    protocol = TASK.plan.protocol
    messages: Any = protocol.randomize(np.zeros(700, dtype=np.int64), KeyedRandomness.seeded(4), first_row=0)
    people = list(protocol.by_user(messages, 700))
    assert people == [messages.of_row(row).tolist() for row in range(700)]


# From end to end


@pytest.mark.parametrize(
    ("asked", "people", "mine", "total"),
    [
        ("histogram --size 4 --messages-per-user 2", [j % 4 for j in range(50)], 3, 51),
        ("sum --high 9 --messages-per-user 5", [9 * (j % 2) for j in range(50)], 9, 234),
    ],
    ids=["counts", "digits"],
)
def test_a_collection_with_dummies_and_a_real_shuffler(
    asked: str, people: list[int], mine: int, total: int, tmp_path: Path, shuffledp: Callable[[str], str]
) -> None:
    """Tokens, clients, one that retries, a release and its analysis, from the command line."""
    shuffledp(f"plan {asked} --n 40 --epsilon 2 --delta 1e-2 -o plan.json")
    shuffledp(
        "task new plan.json --window 3600 --max-age 7200 --shuffler Alpha --analyzer Beta --honest-fraction 1 "
        "--release-margin 0 -o task.json"
    )
    task = Task.from_document(json.loads((tmp_path / "task.json").read_text()))
    most = task.plan.protocol.most_messages
    prepared(tmp_path, task, SHUFFLER)
    shown = shuffledp("task show task.json")
    assert f"a report has 1 to {most} messages, whatever the value, and {55 + 71 * most + 16:,} bytes" in shown
    assert "does not collude with the analyzer; otherwise nothing remains" in shown
    (tmp_path / "people.csv").write_text("value\n" + "".join(f"{value}\n" for value in people))
    shuffledp("tokens key -o admission.key")
    shuffledp("tokens issue task.json --key admission.key --count 51 -o tokens.txt")
    tokens = (tmp_path / "tokens.txt").read_text().splitlines()
    (tmp_path / "others.txt").write_text("\n".join(tokens[1:]) + "\n")
    (tmp_path / "mine.txt").write_text(tokens[0] + "\n")
    (tmp_path / "value").write_text(str(mine))
    with running(tmp_path, "--admission-key admission.key --processes 1") as server:
        to = f"--url {server.url} --analyzer-keys analyzer.pub.json"
        shuffledp(f"client submit task.json {to} --state mine --token mine.txt --value-file value")
        assert "stands" in shuffledp(f"client submit task.json {to} --state mine --token mine.txt --value-file value")
        sent = shuffledp(f"simulate-clients task.json people.csv --column value {to} --tokens others.txt --json")
        assert json.loads(sent)["outcomes"] == {"accepted": 50}
        twice = called(f"simulate-clients task.json people.csv --column value {to} --tokens others.txt", cwd=tmp_path)
        assert twice.stdout == "not_admitted: 50\n"
        closed = json.loads(shuffledp(f"shuffler close task.json --url {server.url} --token operator.token --json"))
        assert closed["reports"] == 51
        assert f'shuffledp_reports_total{{outcome="accepted",task="{task.id}"}} 51.0' in server.metrics()
        run = f"analyzer run task.json --url {server.url} --token analyzer.token --keys analyzer.key"
        result = json.loads(shuffledp(f"{run} --json"))
    assert (result["n"], result["received"], result["rejected"]) == (51, 51, {})
    assert result["guarantee"]["epsilon_if_shuffler_and_analyzer_collude"] is None
    assert f"at most {most} each" in result["notes"][0]
    off = 0.0 if len(result["estimate"]["value"]) > 1 else 6 * result["estimate"]["standard_error"][0]
    assert sum(result["estimate"]["value"]) == pytest.approx(total, abs=off)  # of which the dummies are taken off
