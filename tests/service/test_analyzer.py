"""The analyzer: what cannot be private stays sealed, spends are booked first, bad records are isolated, guarantees are stated."""

import hashlib
import json
import os
import signal
from collections import Counter
from dataclasses import replace
from multiprocessing import active_children
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oracles.parties import PARTIES
from shuffledp import InvalidInput, NoClaim, account, plan
from shuffledp.core.counts import Counts
from shuffledp.core.digits import rounded_up
from shuffledp.results.privacy_unit import CLIENT, REPORT
from shuffledp.service.analyzer.analyzer import NO_BUDGET, OpenedBatch, analyze, open_batch, result_of
from shuffledp.service.analyzer.ledger import Ledger
from shuffledp.service.analyzer.opened_reports import OpenedReports
from shuffledp.service.client.client import messages_of
from shuffledp.service.sealing.hpke import seal
from shuffledp.service.sealing.keys import KeyRing
from shuffledp.service.sealing.unsealing import Unsealers
from shuffledp.service.task import Task
from shuffledp.service.wire.record import Header, encode_message

RING = KeyRing.fresh("analyzer")
TASK = Task(
    plan=plan("histogram", n=1000, epsilon=1.0, delta=1e-6, labels=["a", "b", "c"]), window=60, max_age=60, **PARTIES
)


def sealed(message: int) -> bytes:
    return seal(encode_message(message), RING.public().active, "analyzer", TASK.id)


def batch(values: list[str], extra: list[bytes]) -> bytes:
    return b"".join([sealed(messages_of(TASK, value)[0]) for value in values] + extra)


def test_a7_bad_records_are_isolated_and_counted() -> None:
    good = sealed(1)
    bad = {
        "outdated_config": bytes([9]) + good[1:],
        "decrypt_error": good[:-1] + bytes([good[-1] ^ 1]),
        "invalid_message": good[:1] + b"\xff\xff" + good[3:],
        "out_of_domain": sealed(3),
    }
    odd = seal(b"\0" * 15 + b"\x01", RING.public().active, "analyzer", TASK.id)
    values = ["a"] * 700 + ["b"] * 400
    data = batch(values, [*bad.values(), odd])
    for processes in (1, 2):
        opened = open_batch(data * 15, TASK, RING, processes=processes)  # enough to be worth a pool
        assert opened.received == 15 * 1105
        assert opened.counts.total == 16_500
        assert opened.rejected == dict.fromkeys(bad, 15) | {"out_of_domain": 30}
    result = result_of(open_batch(data, TASK, RING), TASK, digest="d" * 64).document()
    assert result["n"] == 1100
    assert result["rejected"] == Counter([*bad, "out_of_domain"])
    assert result["received"] == result["n"] + sum(result["rejected"].values())
    for value, truth, error in zip(
        result["estimate"]["value"], (700, 400, 0), result["estimate"]["standard_error"], strict=True
    ):
        assert abs(value - truth) < 7 * error
    assert result["guarantee"]["realised_epsilon"] < 1 < result["guarantee"]["epsilon_if_shuffler_and_analyzer_collude"]
    assert "otherwise epsilon0 =" in result["trust"]
    assert result["ledger"] is None
    assert result["notes"] == [NO_BUDGET]
    json.dumps(result, allow_nan=False)


@pytest.mark.parametrize("hops", [1, 2, 3])
def test_whom_a_result_protects_depends_on_who_knows_the_senders(hops: int) -> None:
    """Clients report once a batch to one shuffler; the last of several sees reports, not whose they are."""
    task = replace(TASK, shufflers=("Alpha", "Gamma", "Delta")[:hops])
    key = RING.public().active
    data = b"".join(seal(encode_message(j % 3), key, "analyzer", task.id) for j in range(1000))
    unit = analyze(data, task, RING).document()["guarantee"]["unit"]
    assert unit == (CLIENT if hops == 1 else REPORT)


@pytest.mark.parametrize("valid", [1000, 1001, 1400, 1999])
@pytest.mark.parametrize("honest_fraction", [1.0, 0.6])
def test_what_is_realised_relies_on_the_honest_share_of_what_came_and_on_no_more_than_is_valid(
    valid: int, honest_fraction: float
) -> None:
    """Of 2,000 reports that were shuffled, some cannot be opened: whoever lies may be among the others."""
    made = plan("histogram", n=1000, epsilon=1.0, delta=1e-6, labels=["a", "b", "c"], honest_fraction=honest_fraction)
    task = replace(TASK, plan=made, honest_fraction=honest_fraction)
    counts = Counts(np.array([valid - 5, 3, 2]))
    opened = OpenedBatch(received=2000, counts=counts, rejected={"decrypt_error": 2000 - valid})
    result = result_of(opened, task, digest="d" * 64)
    honest = min(valid, 2000 * made.guarantee.n // 1000)
    assert (result.n, result.received, result.realised_honest) == (valid, 2000, honest)
    assert result.realised_epsilon == account(made.protocol.randomizer, n=honest, delta=1e-6).epsilon
    assert result.guarantee == made.guarantee


def test_a_helper_killed_while_it_opens_loses_and_doubles_nothing() -> None:
    data = b"".join(sealed(j % 3) for j in range(150)) * 120
    heard, killed, others = list[float](), list[int](), active_children()  # left by other tests of this process

    def watch(share: float) -> None:
        heard.append(share)
        if share > 0.3 and not killed:
            helper = next(child for child in active_children() if child not in others)
            killed.append(helper.pid or 0)
            os.kill(killed[0], signal.SIGKILL)

    opened = open_batch(data, TASK, RING, processes=2, watch=watch)
    assert killed
    assert (opened.received, opened.counts.values.tolist(), opened.rejected) == (18_000, [6000] * 3, {})
    assert heard == sorted(set(heard))
    assert heard[-1] == 1


def test_sums_too() -> None:
    task = Task(plan=plan("mean", n=300, epsilon=2.0, delta=1e-4, high=10.0), window=60, max_age=60, **PARTIES)
    data = b"".join(
        seal(encode_message(messages_of(task, 4.0)[0]), RING.public().active, "analyzer", task.id) for _ in range(400)
    )
    result = analyze(data, task, RING)
    low, high = result.estimate.interval()
    assert low[0] < result.estimate.value[0] < high[0]
    assert abs(result.estimate.value[0] - 4) < 8 * result.estimate.standard_error[0]


def test_a16_fakes_shift_a_bin_by_the_stated_amount() -> None:
    """1 % of reports say c without randomizing: the shift is (m / n)((1 - gamma/k) / (1 - gamma) - f_c)."""
    protocol: Any = TASK.plan.protocol
    generator = np.random.default_rng(1)
    n, fakes = 100_000, 1000
    users = np.array([60_000, 30_000, 10_000])
    honest = (users * (n - fakes) / n).astype(np.int64)
    counts = protocol.simulated_counts(np.tile(honest, (200, 1)), generator)
    counts[:, 2] += fakes
    found = protocol.debias(counts, n)[:, 2] / n
    g = protocol.gamma
    shift = fakes / n * ((1 - g / 3) / (1 - g) - 0.1)
    assert found.mean() == pytest.approx(0.1 + shift, abs=3 * found.std() / np.sqrt(200))


def test_a16_one_false_report_moves_an_estimate_by_what_the_result_says() -> None:
    """The largest change of any estimate when one message becomes another is the stated one, for every task."""
    for question, settings in (
        ("histogram", {"size": 3}),
        ("sum", {"low": -1.0, "high": 4.0}),
        ("mean", {"low": 0.0, "high": 9.0}),
    ):
        planned = plan(question, n=50, epsilon=4.0, delta=1e-2, **settings)
        base = np.full(planned.protocol.alphabet, 100)
        found = []
        for message in range(planned.protocol.alphabet):
            counts = base.copy()
            counts[message] += 1
            found.append(planned.protocol.estimate(Counts(counts)).value)
        change = max(np.abs(one - other).max() for one in found for other in found)
        assert change == pytest.approx(planned.protocol.max_shift(int(base.sum()) + 1))


@pytest.mark.parametrize("data", [b"", b"x", bytes(70), bytes(72)])
def test_what_is_not_a_batch(data: bytes) -> None:
    with pytest.raises(InvalidInput, match="not a batch"):
        open_batch(data, TASK, RING)
    with pytest.raises(InvalidInput, match="keys belong to the shuffler"):
        open_batch(bytes(71), TASK, KeyRing.fresh("shuffler"))


# Before anything is opened

FEW = Task(
    plan=plan("histogram", n=200, epsilon=3.0, delta=1e-3, size=3, honest_fraction=0.95),
    window=60,
    max_age=60,
    **PARTIES | {"honest_fraction": 0.95},
)
"""200 reports, of which the guarantee relies on 190."""


def reports(count: int, task: Task = FEW, ring: KeyRing = RING) -> list[bytes]:
    return [seal(encode_message(j % 3), ring.public().active, "analyzer", task.id) for j in range(count)]


def kept(folder: Path) -> list[Path]:
    """All files below a folder but the empty one that analyses wait at."""
    found = [path for path in folder.rglob("*") if path.is_file()]
    return [path for path in found if path.name != "lock" or path.read_bytes()]


class Books:
    """A ledger and a memory of what was opened, in a folder."""

    def __init__(self, folder: Path, epsilon: float = 9.0) -> None:
        self.ledger = Ledger(folder / "ledger.jsonl", epsilon=epsilon, delta=1e-3)
        self.opened = OpenedReports(folder / "opened")

    def analyze(self, records: list[bytes], ring: KeyRing = RING, **more: Any) -> dict[str, Any]:
        found = analyze(b"".join(records), FEW, ring, ledger=self.ledger, opened_reports=self.opened, **more)
        return found.document()


@pytest.fixture
def books(tmp_path: Path) -> Books:
    return Books(tmp_path)


def never(*_: Any, **__: Any) -> None:
    pytest.fail("something was opened")


def test_a_batch_that_mixes_keys_is_refused_before_anything_is_opened(
    books: Books, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """199 clients have the list of after a rotation and one has that of before: its record names its key in clear."""
    ring = RING.rotated()
    monkeypatch.setattr("shuffledp.service.sealing.unsealing.Unsealers.tallies", never)
    with pytest.raises(InvalidInput) as refused:
        books.analyze([*reports(199, ring=ring), *reports(1)], ring)
    said = str(refused.value)
    assert "199 records name key 1 and 1 record names key 0" in said
    assert f"protected by epsilon0 = {rounded_up(FEW.plan.protocol.epsilon0 or 0.0)} only" in said
    assert "Nothing was opened or booked" in said
    assert kept(tmp_path) == []
    three = [*reports(100), *reports(90, ring=ring), *reports(10, ring=ring.rotated())]
    with pytest.raises(
        InvalidInput, match=r"100 records name key 0, 90 records name key 1 and 10 records name key 2\."
    ):
        books.analyze(three, ring)


def test_a_record_of_another_suite_is_no_group_but_garbage(books: Books) -> None:
    odd = [bytes([9]) + b"\xff\xff" + record[3:] for record in reports(5)]
    result = books.analyze(reports(195) + odd)
    assert (result["n"], result["rejected"]) == (195, {"invalid_message": 5})


def test_a_batch_that_no_shuffler_may_release_is_not_opened(
    books: Books, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shuffledp.service.sealing.unsealing.Unsealers.tallies", never)
    with pytest.raises(
        InvalidInput, match=r"has 199 reports, and no shuffler may release fewer than 200\. Nothing was"
    ):
        books.analyze(reports(199))
    assert kept(tmp_path) == []


def test_two_hundred_copies_are_one_report(books: Books, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shuffledp.service.sealing.unsealing.Unsealers.tallies", never)
    with pytest.raises(InvalidInput, match="only 1 of the 200 reports received are neither repeated nor opened before"):
        books.analyze(reports(1) * 200)
    assert kept(tmp_path) == []


def test_a_repeated_report_counts_once(books: Books) -> None:
    records = reports(200)
    result = books.analyze([*records[:100], *records[:50], *records[100:], records[0]])
    assert (result["n"], result["received"], result["rejected"]) == (200, 251, {"report_replayed": 51})
    plain = analyze(b"".join(records + records[:7]), FEW, RING).document()  # with nothing to remember it in
    assert (plain["n"], plain["rejected"]) == (200, {"report_replayed": 7})


def test_a_report_is_opened_in_one_batch_only(books: Books, tmp_path: Path) -> None:
    """And analysing a batch again is no replay: it says the same, whatever was opened since."""
    first, second = reports(200), reports(200)
    results = [books.analyze(first), books.analyze(second + first[:20])]
    assert [result["n"] for result in results] == [200, 200]
    assert results[1]["rejected"] == {"report_replayed": 20}
    again = Books(tmp_path)
    assert again.analyze(first)["rejected"] == {}
    assert again.analyze(second + first[:20])["rejected"] == {"report_replayed": 20}
    assert again.analyze(first)["ledger"]["releases"] == 2
    with pytest.raises(InvalidInput, match="only 180 of the 201 reports received"):
        again.analyze([*reports(180), *second[:10], *first[:11]])


def test_a_batch_that_is_released_again_with_a_few_people_more_does_not_show_them(
    books: Books, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As from a store that was set back: 210 in both batches, 20 in the second only."""
    first, later = reports(210), reports(20)
    books.analyze(first)
    before = kept(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr("shuffledp.service.sealing.unsealing.Unsealers.tallies", never)
        with pytest.raises(InvalidInput, match="only 20 of the 230 reports received"):
            books.analyze(first + later)
        for new in (190, 199):  # enough for the honest ones that are relied on, if the 210 were all dishonest
            with pytest.raises(
                InvalidInput, match=rf"210 of the {210 + new} reports received were opened before in another"
            ):
                books.analyze(first + reports(new))
    assert kept(tmp_path) == before


def test_of_a_batch_with_people_from_another_the_others_alone_are_opened(books: Books) -> None:
    """A result about the new ones, whose guarantee relies on no more of them than on any that many reports."""
    first, later = reports(210), reports(200)
    books.analyze(first)
    result = books.analyze(first + later)
    assert (result["n"], result["received"], result["rejected"]) == (200, 410, {"report_replayed": 210})
    assert result["guarantee"]["realised_honest"] == 190
    assert result["guarantee"]["realised_epsilon"] == FEW.plan.epsilon_at(190)


# Booked before it is opened


def test_the_spend_is_booked_and_the_ids_are_kept_before_anything_is_opened(
    books: Books, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records, seen = reports(200), list[int]()

    def die(*_: Any) -> None:
        seen.append(books.ledger.balance().releases)
        (ids,) = (tmp_path / "opened").rglob("*.ids")
        assert ids.read_bytes() == b"".join(sorted(hashlib.sha256(record).digest()[:16] for record in records))
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("shuffledp.service.sealing.unsealing.Unsealers.tallies", die)
        with pytest.raises(KeyboardInterrupt):
            books.analyze(records)
    assert seen == [1]
    assert books.analyze(records)["ledger"]["releases"] == 1  # again: the same spend
    with pytest.raises(InvalidInput, match="only 180 of the 200"):  # what was to be opened counts as opened
        books.analyze(reports(180) + records[:20])


def test_a_release_that_does_not_fit_opens_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    books = Books(tmp_path, epsilon=2.0)
    monkeypatch.setattr("shuffledp.service.sealing.unsealing.Unsealers.tallies", never)
    with pytest.raises(
        NoClaim, match=r"nothing is spent, but this release alone would be epsilon = .* at delta = 0.001"
    ):
        books.analyze(reports(200))
    assert kept(tmp_path) == []


def test_garbage_does_not_cost_the_honest_reports(books: Books) -> None:
    """Ten of 200 are garbage, and the guarantee relies on 190."""
    garbage = [record[:-1] + bytes([record[-1] ^ 1]) for record in reports(10)]
    result = books.analyze(reports(190) + garbage)
    assert (result["n"], result["received"], result["rejected"]) == (190, 200, {"decrypt_error": 10})
    assert result["guarantee"]["realised_honest"] == 190


def test_a_refusal_after_opening_says_what_was_seen_and_stays_booked(books: Books) -> None:
    records = reports(189)
    garbage = [record[:-1] + bytes([record[-1] ^ 1]) for record in reports(9)]
    out = [seal(encode_message(3), RING.public().active, "analyzer", FEW.id)]
    with pytest.raises(InvalidInput) as refused:
        books.analyze([*records, *garbage, *out, *records[:1]])
    said = str(refused.value)
    assert "only 189 of the 200 reports received are valid, and the guarantee relies on 190 honest ones" in said
    assert "(rejected: 9 decrypt_error, 1 out_of_domain, 1 report_replayed)" in said
    assert "the spend stays booked because the reports were opened" in said
    assert books.ledger.balance().releases == 1
    opened = OpenedBatch(received=200, counts=Counts(np.array([189, 0, 0])), rejected={"decrypt_error": 11})
    with pytest.raises(InvalidInput, match=r"\(rejected: 11 decrypt_error\)\. No result is given\. Find out"):
        result_of(opened, FEW, digest="d")


@pytest.mark.parametrize(("received", "valid", "honest"), [(200, 200, 190), (250, 250, 237), (250, 192, 192)])
def test_the_realised_epsilon_counts_on_no_more_honest_reports_than_the_plan_assumes(
    received: int, valid: int, honest: int
) -> None:
    """So many percent of those received, and never more than are valid."""
    counts = Counts(np.array([valid, 0, 0]))
    result = result_of(OpenedBatch(received=received, counts=counts, rejected={}), FEW, digest="d").document()
    assert result["guarantee"]["realised_honest"] == honest
    assert result["guarantee"]["realised_epsilon"] == FEW.plan.epsilon_at(honest)


# Large batches


def test_few_records_are_objects_at_the_same_time(books: Books, monkeypatch: pytest.MonkeyPatch) -> None:
    """300,000 records, each rejected as it comes: the analyzer hands on a bounded number and holds no list of them."""
    n, handed = 300_000, list[int]()
    random = np.random.default_rng(5).integers(0, 256, (n, 71), dtype=np.uint8)
    random[:, :7] = np.frombuffer(Header(0).encode(), dtype=np.uint8)

    def tallies(_: Unsealers, records: list[bytes], *__: Any) -> list[Counter[Any]]:
        handed.append(len(records))
        return [Counter({0: len(records)})]

    monkeypatch.setattr(Unsealers, "tallies", tallies)
    result = analyze(random.tobytes(), FEW, RING, opened_reports=books.opened)
    assert result.n == n == sum(handed)
    assert max(handed) <= 1 << 17
