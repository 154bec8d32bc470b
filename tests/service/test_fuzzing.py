"""A8: whatever bytes or text others send or leave behind is understood or refused, and memory stays."""

import functools
import json
import random
import resource
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.mutation import STRANGE, damaged, misspelt, places, replaced, resigned
from oracles.parties import ANALYZER, EIGHT, MEAN, SHUFFLER, announced, sealed, serving
from oracles.scale import full
from shuffledp import InvalidInput
from shuffledp.cli.task import read_task
from shuffledp.errors import ShuffledpError
from shuffledp.planning.plan import Plan
from shuffledp.planning.release_cost import Spend
from shuffledp.service.analyzer.analyzer import open_batch
from shuffledp.service.analyzer.batch_fetcher import BatchFetcher
from shuffledp.service.analyzer.ledger import Ledger, LedgerEntry
from shuffledp.service.client.client import Client
from shuffledp.service.client.sender import Sender
from shuffledp.service.sealing.hpke import seal_inner, unseal, wrap
from shuffledp.service.sealing.keys import KeyList
from shuffledp.service.shuffler.admission import OneTimeTokens
from shuffledp.service.task import Task
from shuffledp.service.wire.record import decode_message, record_length, split

REFUSALS = ("invalid_message", "outdated_config", "decrypt_error")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.sampled_from(STRANGE),
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(st.text(max_size=8), inside, max_size=4),
    max_leaves=8,
)


def resident() -> int:
    """Bytes of memory in use; where the system does not say, the most that was ever used."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


class Fuzzed:
    """Every parser that reads what others wrote; each method damages something valid and reads it once."""

    def __init__(self, folder: Path) -> None:
        self.random = random.Random(8)
        self.folder, self.file = folder, folder / "file"
        self.shuffler = serving(EIGHT)
        self.task_id = EIGHT.id
        self.outer = sealed(3, EIGHT)
        self.inner = seal_inner(3, EIGHT, ANALYZER.public())
        self.body = b"".join(sealed(j, EIGHT) for j in range(3))
        self.documents = [EIGHT.document(), MEAN.document()]
        self.places = [list(places(document)) for document in self.documents]
        self.keys = SHUFFLER.introduced().public().document()
        self.keys_text = json.dumps(self.keys)
        self.ledger = Ledger(self.file, epsilon=9.0, delta=1e-6)
        for j in range(3):
            self.ledger.book(LedgerEntry(task="t", batch=str(j), spend=Spend.of(EIGHT.plan)))
        self.ledger_text = self.file.read_text()
        me = Client(task=EIGHT, analyzer=ANALYZER.public(), folder=folder / "state")
        self.announced = announced(serving(EIGHT), EIGHT)
        me.report("a", self.announced)
        (self.state,) = (folder / "state").glob("*.json")
        self.me, self.state_text = me, self.state.read_text()

    def record(self) -> None:
        broken = damaged(self.outer, self.random)
        assert broken == self.outer or unseal(broken, SHUFFLER, self.task_id) in REFUSALS

    def inner_record(self) -> None:
        broken = damaged(self.inner, self.random)
        assert broken == self.inner or unseal(broken, ANALYZER, self.task_id) in REFUSALS
        message = decode_message(broken[: self.random.randrange(20)], 8)
        assert message is None or 0 <= message < 8

    def upload(self) -> None:
        records = split(damaged(self.body, self.random), record_length(2))
        if records is not None:
            assert len(self.shuffler.accept(self.task_id, records)) == len(records)

    def batch(self) -> None:
        opened = open_batch(damaged(self.inner * 2, self.random), EIGHT, ANALYZER)
        assert opened.counts.total + sum(opened.rejected.values()) == opened.received

    def key_list(self) -> None:
        try:
            document = json.loads(self.broken(self.keys_text))
        except (ValueError, RecursionError):
            return
        wrap(self.inner, EIGHT, [KeyList.from_document(document)])

    def key_file(self) -> None:
        wrap(self.inner, EIGHT, [KeyList.load(self.written(self.keys_text))])

    def key_list_tree(self) -> None:
        place = self.random.choice(list(places(self.keys)))
        strange = self.random.choice((*STRANGE, "A" * 43 + "="))  # the last is a point of small order
        wrap(self.inner, EIGHT, [KeyList.from_document(replaced(self.keys, place, strange))])

    def task(self) -> None:
        found = read_task(self.written(json.dumps(self.random.choice(self.documents))))
        assert found.plan.holds()

    def task_tree(self) -> None:
        which = self.random.randrange(2)
        place = self.random.choice(self.places[which])
        document = resigned(replaced(self.documents[which], place, self.random.choice(STRANGE)))
        assert Task.from_document(document).plan.holds()

    def ledger_line(self) -> None:
        self.written(self.ledger_text)
        self.ledger.balance()

    def ledger_tree(self) -> None:
        *lines, last = self.ledger_text.splitlines()
        entry = json.loads(last)
        changed = replaced(entry, self.random.choice(list(places(entry))), self.random.choice(STRANGE))
        self.file.write_text("\n".join([*lines, json.dumps(changed)]) + "\n")
        self.ledger.balance()

    def client_state(self) -> None:
        self.state.write_bytes(self.broken(self.state_text))
        assert len(self.me.waiting) <= self.me.reports
        if self.me.waiting == [1]:
            self.me.report("b", self.announced)

    def written(self, text: str) -> Path:
        self.file.write_bytes(self.broken(text))
        return self.file

    def broken(self, text: str) -> bytes:
        """Text damaged as bytes or as JSON."""
        if self.random.random() < 0.5:
            return damaged(text.encode(), self.random)
        return misspelt(text, self.random).encode("utf-8", "surrogatepass")


def test_a8_whatever_is_read_is_understood_or_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Damaged records, uploads, batches, tasks, key lists, ledgers: no exception but ours, and no growth of memory."""

    class Composed:
        def epsilon(self, _: float) -> float:
            return 0.0

    # composing takes seconds and reads nothing; what it is given is still made
    monkeypatch.setattr("shuffledp.planning.release_cost.compose", lambda _: Composed())
    fuzzed = Fuzzed(tmp_path)
    # per thousand: opening records is what everybody can make a shuffler do; proving a plan takes milliseconds
    shares = {
        fuzzed.record: 600, fuzzed.inner_record: 150, fuzzed.upload: 60, fuzzed.batch: 20, fuzzed.key_list: 100,
        fuzzed.key_list_tree: 40, fuzzed.key_file: 5, fuzzed.task: 5, fuzzed.task_tree: 10, fuzzed.ledger_line: 4,
        fuzzed.ledger_tree: 3, fuzzed.client_state: 3,
    }  # fmt: skip
    thousands = full(50, 1000)
    assert sum(shares.values()) == 1000
    understood: Counter[str] = Counter()
    before, cases = 0, 0
    for thousand in range(thousands + 1):
        if thousand == 1:  # the first is a warm-up
            before, cases = resident(), 0
        for attempt, share in shares.items():
            for _ in range(share):
                cases += 1
                try:
                    attempt()
                except ShuffledpError:
                    continue
                understood[attempt.__name__] += 1
    assert cases == full(50_000, 1_000_000)
    assert resident() - before < 50e6
    # damage does not always matter; if all were refused, nothing behind the first check would have been tried
    assert set(understood) | {"task"} == {attempt.__name__ for attempt in shares}  # a damaged task has the wrong hash
    assert fuzzed.shuffler.store.open_batch(EIGHT.id).count == 3


@settings(max_examples=full(200, 5000))
@given(st.data())
def test_a8_any_json_in_any_field_is_refused_or_proved(data: st.DataObject) -> None:
    strange = data.draw(JSON)
    document = data.draw(st.sampled_from([EIGHT.document(), MEAN.document()]))
    place = data.draw(st.sampled_from(list(places(document))))
    try:
        found = Task.from_document(resigned(replaced(document, place, strange)))
    except InvalidInput:
        pass
    else:
        assert found.plan.holds()
    keys = SHUFFLER.public().document()
    place = data.draw(st.sampled_from(list(places(keys))))
    for other in (replaced(keys, place, strange), strange):
        for read in (KeyList.from_document, Task.from_document, Plan.from_document):
            try:
                read(other)
            except InvalidInput:
                continue


@settings(max_examples=full(200, 5000))
@given(st.binary(max_size=300))
def test_a8_any_bytes_are_handled(data: bytes) -> None:
    for ring in (SHUFFLER, ANALYZER):
        assert unseal(data, ring, EIGHT.id) in REFUSALS
    assert decode_message(data, 8) in (None, *range(8))
    split(data, record_length(2))
    assert OneTimeTokens(bytes(32)).spent_as(data, EIGHT.id) is None


@pytest.mark.parametrize("status", [200, 400])
@pytest.mark.parametrize(
    "body", [b"", b"\xff", b"{", b"null", b"[]", b"{}", b"[" * 100_000, b'{"outcomes": 5, "batches": 5, "task": [], "keys": 1}',
             b'{"outcomes": [], "batches": [5]}', b'{"outcomes": ["lost"]}', b'{"outcomes": [{}]}',
             b'{"batches": [{"batch": Infinity, "sha256": null}]}'],
)  # fmt: skip
def test_a8_clients_survive_any_answer(body: bytes, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(*_: Any, **__: Any) -> httpx.Response:
        return httpx.Response(status, stream=httpx.ByteStream(body), headers={"Content-Type": "application/json"})

    monkeypatch.setattr(
        httpx, "AsyncClient", functools.partial(httpx.AsyncClient, transport=httpx.MockTransport(answer))
    )
    sender, fetcher = Sender(url="https://x", attempts=2, pause=0.0), BatchFetcher(url="https://x", token="t")
    with pytest.raises(ShuffledpError):
        sender.send(EIGHT, [sealed(1, EIGHT)])
    for ask in (sender.described, fetcher.fetch):
        with pytest.raises(InvalidInput):
            ask(EIGHT)
