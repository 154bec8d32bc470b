"""The analyzer and the ledger: bad records are isolated, the guarantee is stated, the budget is kept through crashes."""

import json
import os
import signal
from collections import Counter
from multiprocessing import active_children
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oracles.parties import PARTIES
from shuffledp import Collection, InvalidInput, NoClaim, RandomizedResponse, compose, plan
from shuffledp.accounting.account import bound_named
from shuffledp.core.counts import Counts
from shuffledp.engines.answer import estimated
from shuffledp.esa.analyzer import analyze, one_lie, open_batch
from shuffledp.esa.client import randomized
from shuffledp.esa.crypto import seal
from shuffledp.esa.keys import KeyRing
from shuffledp.esa.ledger import START, Ledger, Spend
from shuffledp.esa.task import Task
from shuffledp.esa.wire import encode_message

RING = KeyRing.fresh("analyzer")
TASK = Task(
    plan=plan("histogram", n=1000, epsilon=1.0, delta=1e-6, labels=["a", "b", "c"]), window=60, max_age=60, **PARTIES
)


def sealed(message: int) -> bytes:
    return seal(encode_message(message), RING.public().active, "analyzer", TASK.id)


def batch(values: list[str], extra: list[bytes]) -> bytes:
    return b"".join([sealed(randomized(TASK, value)) for value in values] + extra)


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
    result = analyze(open_batch(data, TASK, RING), TASK, digest="d" * 64)
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
    json.dumps(result, allow_nan=False)


def test_a_helper_killed_while_it_opens_loses_and_doubles_nothing() -> None:
    data = b"".join(sealed(j % 3) for j in range(150)) * 120
    heard, killed = list[float](), list[int]()

    def watch(share: float) -> None:
        heard.append(share)
        if share > 0.3 and not killed:
            helper = active_children()[0]
            killed.append(helper.pid or 0)
            os.kill(killed[0], signal.SIGKILL)

    opened = open_batch(data, TASK, RING, processes=2, watch=watch)
    assert killed
    assert (opened.received, opened.counts.values.tolist(), opened.rejected) == (18_000, [6000] * 3, {})
    assert heard == sorted(set(heard))
    assert heard[-1] == 1


def test_too_few_valid_reports_give_no_result() -> None:
    data = batch(["a"] * 999, [b"\0" * 71] * 50)
    with pytest.raises(InvalidInput, match="only 999 of 1,049 reports are valid"):
        analyze(open_batch(data, TASK, RING), TASK, digest="d" * 64)


def test_sums_too() -> None:
    task = Task(plan=plan("mean", n=300, epsilon=2.0, delta=1e-4, high=10.0), window=60, max_age=60, **PARTIES)
    data = b"".join(
        seal(encode_message(randomized(task, 4.0)), RING.public().active, "analyzer", task.id) for _ in range(400)
    )
    result = analyze(open_batch(data, task, RING), task, digest="d" * 64)
    low, high = result["estimate"]["interval"]
    assert low < result["estimate"]["value"] < high
    assert abs(result["estimate"]["value"] - 4) < 8 * result["estimate"]["standard_error"]


def test_a16_fakes_shift_a_bin_by_the_stated_amount() -> None:
    """1 % of reports say c without randomizing: the shift is (m / n)((1 - gamma/k) / (1 - gamma) - f_c)."""
    protocol: Any = TASK.plan.protocol
    generator = np.random.default_rng(1)
    n, fakes = 100_000, 1000
    users = np.array([60_000, 30_000, 10_000])
    honest = (users * (n - fakes) / n).astype(np.int64)
    counts = protocol.simulate(np.tile(honest, (200, 1)), generator)
    counts[:, 2] += fakes
    found = protocol.debias(counts)[:, 2] / n
    g = protocol.gamma
    shift = fakes / n * ((1 - g / 3) / (1 - g) - 0.1)
    assert found.mean() == pytest.approx(0.1 + shift, abs=3 * found.std() / np.sqrt(200))


def test_a16_one_lie_moves_an_estimate_by_what_the_result_says() -> None:
    """The largest change of any estimate when one message becomes another is the stated one, for every task."""
    for kind, settings in (
        ("histogram", {"size": 3}),
        ("sum", {"low": -1.0, "high": 4.0}),
        ("mean", {"low": 0.0, "high": 9.0}),
    ):
        planned = plan(kind, n=50, epsilon=4.0, delta=1e-2, **settings)  # type: ignore[arg-type]
        base = np.full(planned.size, 100)
        found = []
        for message in range(planned.size):
            counts = base.copy()
            counts[message] += 1
            found.append(estimated(planned, Counts(counts), planned.guarantee).value)
        change = max(np.abs(one - other).max() for one in found for other in found)
        assert change == pytest.approx(one_lie(planned, int(base.sum()) + 1))


@pytest.mark.parametrize("data", [b"", b"x", bytes(70), bytes(72)])
def test_what_is_not_a_batch(data: bytes) -> None:
    with pytest.raises(InvalidInput, match="not a batch"):
        open_batch(data, TASK, RING)
    with pytest.raises(InvalidInput, match="keys of the shuffler"):
        open_batch(bytes(71), TASK, KeyRing.fresh("shuffler"))


# The ledger


def spend(batch_digest: str) -> Spend:
    return Spend(task="t", batch=batch_digest, size=5, threshold=1 << 60, n=100_000, bound="best")


def budget_for(rounds: int) -> float:
    """The epsilon that just allows that many rounds."""
    blanket = RandomizedResponse(size=5, gamma=2**-4).blanket()
    return (
        compose([Collection(blanket=blanket, n=100_000, rounds=rounds, bound=bound_named("best"))]).epsilon(1e-6)
        * 1.0001
    )


def test_a17_a_budget_for_twelve_rounds_lasts_twelve_rounds(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.jsonl", epsilon=budget_for(12), delta=1e-6)
    assert ledger.balance().head == START
    heads = []
    for round_ in range(30):
        if round_ < 12:
            heads.append(ledger.spend(spend(f"batch {round_}")).head)
        else:
            with pytest.raises(NoClaim, match="the budget is spent: 12 releases") as refused:
                ledger.spend(spend(f"batch {round_}"))
            said = float(str(refused.value).split("epsilon = ")[1].split(",")[0])
            assert budget_for(13) / 1.0001 <= said * (1 + 1e-12)  # shown rounded up
    assert len(set(heads)) == 12
    assert ledger.balance().releases == 12
    assert ledger.balance().head == heads[-1]
    again = ledger.spend(spend("batch 3"))  # an analysis that is repeated costs nothing more
    assert (again.releases, again.head) == (12, heads[-1])


def test_a17_a_crash_never_under_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed after the line is on disk: it counts. Killed while writing: the torn line goes, and nothing was released."""
    path = tmp_path / "ledger.jsonl"
    ledger = Ledger(path, epsilon=budget_for(3), delta=1e-6)
    ledger.spend(spend("one"))

    def die(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", die)
    with pytest.raises(KeyboardInterrupt):
        ledger.spend(spend("two"))
    monkeypatch.undo()
    assert ledger.balance().releases == 2
    with path.open("ab") as file:
        file.write(b'{"batch": "thr')
    assert ledger.balance().releases == 2
    assert ledger.spend(spend("three")).releases == 3


def test_an_altered_ledger_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    ledger = Ledger(path, epsilon=budget_for(3), delta=1e-6)
    for name in ("one", "two"):
        ledger.spend(spend(name))
    lines = path.read_text().splitlines()
    for altered in (
        lines[1:],
        [lines[0].replace("100000", "900000"), lines[1]],
        [lines[1], lines[0]],
        [*lines, "nonsense"],
    ):
        path.write_text("\n".join(altered) + "\n")
        with pytest.raises(InvalidInput, match="was altered"):
            ledger.balance()
    with pytest.raises(InvalidInput, match="cannot open"):
        Ledger(tmp_path / "nowhere" / "x", epsilon=1.0, delta=1e-6).balance()


def test_results_spend_before_they_are_shown(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.jsonl", epsilon=1.2, delta=1e-6)
    opened = open_batch(batch(["a"] * 1000, []), TASK, RING)
    result = analyze(opened, TASK, digest="one", ledger=ledger)
    assert result["ledger"]["releases"] == 1
    assert result["ledger"]["head"] == ledger.balance().head
    assert result["ledger"]["spent_epsilon"] == pytest.approx(1.0, rel=0.05)
    with pytest.raises(NoClaim):
        analyze(opened, TASK, digest="two", ledger=ledger)
