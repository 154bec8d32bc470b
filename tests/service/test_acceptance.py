"""Acceptance tests of the service, by their numbers: at full size in `make test-all`, smaller in `make test`."""

import itertools
import math
import random
import signal
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from scipy.stats import chisquare, spearmanr
from starlette.testclient import TestClient

from oracles.parties import (
    ANALYZER,
    EIGHT,
    LABELS,
    PARTIES,
    SHUFFLER,
    announced,
    prepared,
    released,
    sealed,
    serving,
)
from oracles.scale import full
from oracles.server import Place, Server
from shuffledp import InvalidInput, KeyedRandomness, NoClaim, plan
from shuffledp.core.counts import Counts
from shuffledp.core.report_outcome import Outcome
from shuffledp.engines.tally import tally_rows
from shuffledp.planning.plan import Plan
from shuffledp.service.analyzer.analyzer import OpenedBatch, analyze, open_batch, result_of
from shuffledp.service.analyzer.ledger import Ledger
from shuffledp.service.client.client import Announcement, Client
from shuffledp.service.client.sender import NotDelivered, submit
from shuffledp.service.sealing.hpke import seal_inner, unseal, wrap
from shuffledp.service.shuffler.http import OCTETS, Service, Tokens
from shuffledp.service.shuffler.release import release
from shuffledp.service.shuffler.shuffler import Shuffler
from shuffledp.service.stores.batch import NextKey
from shuffledp.service.stores.registry import open_store
from shuffledp.service.stores.store import Store
from shuffledp.service.task import Task
from shuffledp.service.wire.record import Header, decode_message, record_length

# A2: intervals

COLLECTIONS, USERS = 1000, 2000


def coverage(
    found: Plan, collected: list[Counts], truth: Callable[[int], tuple[int, float]], confidence: float
) -> float:
    """The share of collections whose interval, as the analyzer computes it, has the truth: of one entry of each."""
    hits = 0
    for collection, counts in enumerate(collected):
        entry, value = truth(collection)
        low, high = found.protocol.estimate(counts).interval(confidence)
        hits += bool(low[entry] <= value <= high[entry])
    return hits / len(collected)


@pytest.mark.parametrize("kind", ["histogram", "sum"])
def test_a2_intervals_cover_as_often_as_they_say(kind: str) -> None:
    """1,000 collections: intervals of 95 % cover 93.6 to 96.4 %, and the test would notice intervals of 90 %."""
    # another bin in each collection, and other coins, so that trials are independent
    bins = np.random.default_rng(2).choice(8, USERS, p=np.arange(1, 9) / 36)
    held = np.bincount(bins, minlength=8)
    if kind == "histogram":
        found, values = plan("histogram", n=USERS, epsilon=1.0, delta=1e-6, size=8), bins
    else:
        # the error of a sum is stated for the worst data: there the coverage is as stated, elsewhere it is more
        found = plan("sum", n=USERS, epsilon=1.0, delta=1e-6)
        values = np.full(USERS, found.protocol.worst(USERS).values[0])
    randomness = KeyedRandomness.seeded(2)
    collected = [tally_rows(found.protocol, values, randomness, first_row=j * USERS).counts for j in range(COLLECTIONS)]

    def truth(collection: int) -> tuple[int, float]:
        return (collection % 8, float(held[collection % 8])) if kind == "histogram" else (0, float(values.sum()))

    assert 0.936 <= coverage(found, collected, truth, 0.95) <= 0.964
    assert not 0.936 <= coverage(found, collected, truth, 0.90) <= 0.964
    task = Task(plan=found, window=60, max_age=60, **PARTIES)
    opened = OpenedBatch(received=USERS, counts=collected[0], rejected={})
    shown = result_of(opened, task, digest="d").document()["estimate"]["interval"]
    computed = np.array(found.protocol.estimate(collected[0]).interval(0.95)).T
    assert np.array(shown).reshape(-1, 2) == pytest.approx(computed, rel=1e-12)


# A4: replays


def test_a4_each_report_sent_three_times_on_eight_connections_counts_once(
    tmp_path: Path, scheme: str, place: Place
) -> None:
    """And never again: not after the release, not after a kill and a restart."""
    n = full(2000 if scheme == "sqlite" else 1000, 10_000)
    task = Task(plan=plan("histogram", n=n, epsilon=1.0, delta=1e-6, size=16), window=3600, max_age=7200, **PARTIES)
    prepared(tmp_path, task, SHUFFLER)
    sent = [sealed(j % 16, task) for j in range(n)]
    thrice = sent * 3
    random.Random(4).shuffle(thrice)
    store = place(tmp_path / "store.db")
    server = Server(tmp_path, store=store)

    def upload(records: list[bytes]) -> Counter[str]:
        outcomes: Counter[str] = Counter()
        with httpx.Client(headers={"Content-Type": OCTETS}, timeout=60) as web:
            for start in range(0, len(records), 100):
                body = b"".join(records[start : start + 100])
                answer = web.post(f"{server.url}/v2/tasks/{task.id}/reports", content=body)
                outcomes.update(answer.json()["outcomes"])
        return outcomes

    def upload_all(records: list[bytes]) -> Counter[str]:
        with ThreadPoolExecutor(8) as pool:
            return sum(pool.map(upload, [records[j::8] for j in range(8)]), Counter())

    try:
        assert upload_all(thrice) == {"accepted": n, "report_replayed": 2 * n}
        operator, analyst = (server.headers(role) for role in ("operator", "analyzer"))
        closing = httpx.post(f"{server.url}/v2/tasks/{task.id}/batches/close", headers=operator, timeout=60)
        batch = closing.json()
        assert batch["reports"] == n
        metrics = server.metrics()
        assert f'shuffledp_reports_total{{outcome="accepted",task="{task.id}"}} {n:.1f}\n' in metrics
        assert f'shuffledp_reports_total{{outcome="report_replayed",task="{task.id}"}} {2 * n:.1f}\n' in metrics
        data = httpx.get(f"{server.url}/v2/batches/{batch['batch']}", headers=analyst, timeout=60).content
        assert upload_all(sent) == {"report_replayed": n}
        server.stop(signal.SIGKILL)
        server = Server(tmp_path, store=store)
        assert upload_all(sent) == {"report_replayed": n}
        assert f'shuffledp_batch_fill{{task="{task.id}"}} 0.0\n' in server.metrics()
    finally:
        server.stop()
    opened = open_batch(data, task, ANALYZER)
    assert opened.counts.values.tolist() == [n // 16 + (j < n % 16) for j in range(16)]
    assert opened.rejected == {}


# A7: malformed reports

MALFORMED: dict[str, tuple[Callable[[Task, random.Random], bytes], str, str | None]] = {
    "short": (lambda task, _: sealed(1, task)[:-1], "invalid_message", None),
    "long": (lambda task, _: sealed(1, task) + b"x", "invalid_message", None),
    "wrong key id": (lambda task, _: bytes([9]) + sealed(1, task)[1:], "outdated_config", None),
    "wrong plan": (lambda task, _: sealed(1, replace(task, max_age=task.max_age + 1)), "decrypt_error", None),
    "bad tag": (lambda task, _: (good := sealed(1, task))[:-1] + bytes([good[-1] ^ 1]), "decrypt_error", None),
    "inner garbage": (
        lambda task, generator: wrap(generator.randbytes(record_length(1)), task, [SHUFFLER.public()]),
        "invalid_message", None,
    ),
    "out of domain": (lambda task, _: sealed(task.plan.protocol.alphabet, task), "accepted", "out_of_domain"),
    "empty": (lambda _, __: b"", "invalid_message", None),
}  # fmt: skip
"""How to make one, what the shuffler says, and what the analyzer says of those it gets."""


def test_a7_five_percent_malformed_reports_harm_no_other(tmp_path: Path, place: Place) -> None:
    """Every report sent is in exactly one counter, with the right reason; the batch is released and estimated."""
    n = full(2000, 20_000)
    honest = n - n // 20
    task = Task(plan=plan("histogram", n=honest, epsilon=1.0, delta=1e-6, size=8), window=60, max_age=60, **PARTIES)
    generator = random.Random(7)
    values = np.arange(honest) % 5  # bins 5, 6 and 7 are empty
    messages = task.plan.protocol.randomizer.randomize(values, KeyedRandomness.seeded(7), first_row=0)
    uploads = [(sealed(int(message), task), "accepted") for message in messages]
    expected: Counter[str] = Counter()
    for kind in itertools.islice(itertools.cycle(MALFORMED.values()), n // 20):
        make, at_shuffler, at_analyzer = kind
        uploads.append((make(task, generator), at_shuffler))
        if at_analyzer is not None:
            expected[at_analyzer] += 1
    generator.shuffle(uploads)
    shuffler = serving(task, place(tmp_path / "store.db"))
    for start in range(0, n, 100):
        part = uploads[start : start + 100]
        assert shuffler.accept(task.id, [record for record, _ in part]) == [outcome for _, outcome in part]
    assert shuffler.counters[task.id] == Counter(outcome for _, outcome in uploads)
    assert shuffler.counters[task.id].total() == n
    batch, data = released(shuffler, task)
    assert batch.count == shuffler.counters[task.id][Outcome.ACCEPTED]
    opened = open_batch(data, task, ANALYZER)
    assert opened.rejected == expected
    result = analyze(data, task, ANALYZER).document()
    assert result["n"] == honest
    refused = shuffler.counters[task.id].total() - shuffler.counters[task.id][Outcome.ACCEPTED]
    assert result["n"] + sum(result["rejected"].values()) + refused == n
    estimate = result["estimate"]
    for bin_, (value, error) in enumerate(zip(estimate["value"], estimate["standard_error"], strict=True)):
        assert abs(value - (values == bin_).sum()) < 6 * error


def test_a7_no_malformed_request_is_the_servers_fault(tmp_path: Path, place: Place) -> None:
    """Each kind as an upload by itself, and numbers too long to read: never a status of 500 or more."""
    tokens = Tokens(operator="o" * 16, analyzer="a" * 16)
    analyst, octets = {"Authorization": f"Bearer {tokens.analyzer}"}, {"Content-Type": OCTETS}
    shuffler = serving(EIGHT, place(tmp_path / "store.db"))
    with TestClient(Service(shuffler, tokens).app(), raise_server_exceptions=False) as web:
        path = f"/v2/tasks/{EIGHT.id}/reports"
        for name, (make, at_shuffler, _) in MALFORMED.items():
            answer = web.post(path, content=make(EIGHT, random.Random(7)), headers=octets)
            if name in ("short", "long", "empty"):
                assert (answer.status_code, answer.json()["type"]) == (400, "urn:shuffledp:invalid_message")
            else:
                assert (answer.status_code, answer.json()["outcomes"]) == (200, [at_shuffler])
        assert web.get("/v2/batches/" + "9" * 5000, headers=analyst).status_code == 404
        assert web.post(path, content=b"x", headers=octets | {"Content-Length": "9" * 5000}).status_code == 413


# A9: lengths


@pytest.mark.parametrize("size", [16, 1000])
def test_a9_every_value_has_one_length(size: int) -> None:
    """All k values, both layers."""
    task = Task(plan=plan("histogram", n=100_000, epsilon=1.0, delta=1e-6, size=size), window=60, max_age=60, **PARTIES)
    inners = [seal_inner(message, task, ANALYZER.public()) for message in range(size)]
    outers = [wrap(inner, task, [SHUFFLER.public()]) for inner in inners]
    assert {len(inner) for inner in inners} == {71}
    assert {len(outer) for outer in outers} == {126}
    assert open_batch(b"".join(inners), task, ANALYZER).counts.values.tolist() == [1] * size


# A10: the permutation


def ordered(store: Store, task_id: str, n: int, secret: bytes) -> list[int]:
    """In which order the store releases n reports that arrived in the order 0, 1, 2, ..."""
    key = NextKey(id=0, fingerprint="")
    store.add_task(task_id, "{}", hop=1, key=key, now=0.0)
    store.add_reports(task_id, [(j.to_bytes(16, "big"), j.to_bytes(71, "big")) for j in range(n)], keys={0: key})
    batch = store.start_closing(store.open_batch(task_id).id, at_least=n, secret=secret, key=key, now=1.0)
    assert batch is not None
    release(store, batch.id)
    data = b"".join(store.pieces(batch.id))
    return [int.from_bytes(data[start : start + 71], "big") for start in range(0, len(data), 71)]


def test_a10_every_permutation_of_five_is_equally_likely(scheme: str, tmp_path: Path, place: Place) -> None:
    generator, cells = random.Random(10), Counter[tuple[int, ...]]()
    times = full(60, 600) if scheme == "sqlite" else full(1, 60)  # a batch in a server takes longer
    for number in range(times):  # stores: one with many thousands of batches is slow
        store = open_store(":memory:" if scheme == "sqlite" else place(tmp_path / str(number)))
        cells.update(tuple(ordered(store, f"task {run}", 5, generator.randbytes(32))) for run in range(200))
        store.close()
    assert cells.total() == 200 * times
    assert chisquare([cells[order] for order in itertools.permutations(range(5))]).pvalue > 1e-9


def test_a10_the_order_of_release_says_nothing_about_the_order_of_arrival(tmp_path: Path, place: Place) -> None:
    n, store = full(20_000, 100_000), open_store(place(tmp_path / "store.db"))
    order = ordered(store, "task", n, random.Random(10).randbytes(32))
    store.close()
    assert sorted(order) == list(range(n))
    assert abs(float(spearmanr(np.arange(n), order).statistic)) < 6.2 / math.sqrt(n)


# A14: users who drop out


def test_a14_a_batch_of_eight_thousand_is_refused_where_nine_thousand_were_planned() -> None:
    """10,000 users are asked and the plan relies on 9,000: 8,000 give nothing, nor do 8,999, and 9,000 do."""
    task = Task(plan=plan("histogram", n=9000, epsilon=1.0, delta=1e-6, size=16), window=60, max_age=60, **PARTIES)
    # opening is not what is tested here
    shuffler = serving(task, unsealer=lambda records, *_: [record[: record_length(1)] for record in records])
    header = Header(0).encode()
    uploads = [(header + j.to_bytes(64, "big")).ljust(record_length(2), b"\0") for j in range(9000)]
    for start, end in ((0, 8000), (8000, 8999)):
        assert shuffler.accept(task.id, uploads[start:end]) == ["accepted"] * (end - start)
        assert shuffler.close(task.id, ignore_window=True) == "batch_too_small"
        assert shuffler.store.batches(task.id, "RELEASED") == []
        with pytest.raises(InvalidInput, match="no shuffler may release fewer than 9,000"):
            analyze(b"".join(upload[: record_length(1)] for upload in uploads[:end]), task, ANALYZER)
        counts = Counts.of(np.arange(end) % 16, 16)
        with pytest.raises(InvalidInput, match="the guarantee relies on 9,000 honest ones"):
            result_of(OpenedBatch(received=9000, counts=counts, rejected={}), task, digest="d")
    assert shuffler.accept(task.id, uploads[8999:]) == ["accepted"]
    assert released(shuffler, task)[0].count == 9000


@pytest.mark.parametrize(("n", "epsilon"), [(10_000, 1.00), (9000, 1.07), (8000, 1.16), (5000, 1.66)])
def test_a14_what_drop_outs_cost(n: int, epsilon: float) -> None:
    found = plan("histogram", n=10_000, epsilon=1.0, delta=1e-6, size=16)
    assert found.epsilon_at(n) == pytest.approx(epsilon, rel=0.01)


# A17: the budget, when the analyzer crashes


def test_a17_a_crash_between_spending_and_showing_never_under_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A budget for two: one analysis dies after it spent. It counts; repeating it is free; a third batch is refused."""
    task = Task(plan=plan("histogram", n=1000, epsilon=1.0, delta=1e-6, size=3), window=60, max_age=60, **PARTIES)
    one, two, three = (b"".join(seal_inner(j % 3, task, ANALYZER.public()) for j in range(1000)) for _ in range(3))
    ledger = Ledger(tmp_path / "ledger.jsonl", epsilon=1.7, delta=1e-6)
    assert analyze(one, task, ANALYZER, ledger=ledger).document()["ledger"]["releases"] == 1

    def die(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("shuffledp.service.analyzer.analyzer.result_of", die)
        with pytest.raises(KeyboardInterrupt):
            analyze(two, task, ANALYZER, ledger=ledger)
    again = Ledger(tmp_path / "ledger.jsonl")
    with pytest.raises(NoClaim, match="the budget is spent: 2 releases"):
        analyze(three, task, ANALYZER, ledger=again)
    repeated = analyze(two, task, ANALYZER, ledger=again).document()["ledger"]
    assert repeated["releases"] == 2
    assert 1.0 < repeated["spent_epsilon"] <= 1.7


# A18: retries


class Network:
    """In a sender's place: hands reports over, but requests and answers are lost in turn until ten are."""

    patience = 60.0

    def __init__(self, shuffler: Shuffler) -> None:
        self.shuffler, self.lost, self.inners = shuffler, 0, set[bytes]()

    async def deliver(self, task: Task, records: list[bytes], *, window: int) -> list[str]:
        (record,) = records
        inner = unseal(record, self.shuffler.ring, task.id)
        if isinstance(inner, bytes):
            self.inners.add(inner)
        if self.lost % 2 and self.lost < 10:
            self.lost += 1
            raise NotDelivered("the request is lost")
        outcomes = self.shuffler.accept(task.id, records, window)
        assert not isinstance(outcomes, str)
        if self.lost < 10 and outcomes != ["outdated_config"]:
            self.lost += 1
            raise NotDelivered("the answer is lost")
        return [*outcomes]

    async def describe(self, task: Task) -> Announcement:
        return announced(self.shuffler, task)


def test_a18_ten_retries_send_one_randomized_value(tmp_path: Path) -> None:
    """Each user's software starts anew for each attempt, and half-way the shuffler's key is another: one report each."""
    users, shuffler, loggable = full(100, 1000), serving(EIGHT), 0
    for user in range(users):
        network: Any = Network(shuffler)
        outcomes: list[str] = []
        while not outcomes:
            if network.lost == 5:
                old = shuffler.ring.keys[0].key_id
                shuffler.ring = shuffler.ring.rotated().destroyed(old)
            me = Client(task=EIGHT, analyzer=ANALYZER.public(), folder=tmp_path / str(user))
            try:
                outcomes.append(submit(me, LABELS[user % 8], sender=network).outcome)
            except NotDelivered:
                continue
        assert (network.lost, outcomes) == (10, ["report_replayed"])
        (inner,) = network.inners
        payload = unseal(inner, ANALYZER, EIGHT.id)
        assert isinstance(payload, bytes)
        loggable += decode_message(payload, 8) == user % 8
        assert me.waiting == []
    assert shuffler.store.open_batch(EIGHT.id).count == shuffler.counters[EIGHT.id][Outcome.ACCEPTED] == users
    assert loggable < users  # some values are not the true ones
