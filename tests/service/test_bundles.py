"""Reports of several messages: one length, taken apart by the shuffler next to the analyzer, and counted as reports."""

import asyncio
import json
import math
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from oracles import independent
from oracles.chatty import Chatty, batch_of, chatty_task
from oracles.parties import ANALYZER, EIGHT, SHUFFLER, announced, released, sealed, serving
from shuffledp import InvalidInput
from shuffledp.core.report_outcome import Outcome
from shuffledp.protocols import registry
from shuffledp.service.analyzer.analyzer import analyze
from shuffledp.service.client.client import Client, messages_of
from shuffledp.service.client.sender import Sender
from shuffledp.service.sealing.hpke import seal_bundle, seal_inner, unseal, wrap
from shuffledp.service.sealing.keys import KeyRing
from shuffledp.service.shuffler.http import OCTETS, Service, Tokens
from shuffledp.service.shuffler.limits import Limits
from shuffledp.service.shuffler.shuffler import Shuffler
from shuffledp.service.shuffler.waiting_uploads import Upload, WaitingUploads
from shuffledp.service.stores.crash_points import POINTS, Point
from shuffledp.service.stores.sqlite.store import SQLiteStore
from shuffledp.service.task import Task
from shuffledp.service.wire.bundle import bundled, compact, is_bundle, is_compact
from shuffledp.service.wire.record import Header, decode_message, encode_message, record_length

TASK = chatty_task()
TOKENS = Tokens(operator="operator-token-1234", analyzer="analyzer-token-1234")


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    registry.register(Chatty)
    yield
    registry.unregister(Chatty)


def report(*messages: int, task: Task = TASK) -> bytes:
    return wrap(seal_bundle(messages, task, ANALYZER.public()), task, [SHUFFLER.public()] * task.hops)


def opened_messages(data: bytes, task: Task = TASK) -> list[int]:
    """The messages of released bytes, in their order."""
    found = []
    for start in range(8, len(data), 71):
        payload = unseal(data[start : start + 71], ANALYZER, task.id)
        assert isinstance(payload, bytes)
        message = decode_message(payload, 64)
        assert message is not None
        found.append(message)
    return found


# One length


def test_a_report_has_one_length_however_many_messages_it_has() -> None:
    assert {len(report(*range(count))) for count in (1, 2, 3)} == {55 + 3 * 71 + 16} == {record_length(2, 3)}
    for count in (0, 4):
        with pytest.raises(InvalidInput, match="a report of this task has 1 to 3 messages"):
            report(*range(count))


def test_where_users_send_one_message_nothing_has_changed() -> None:
    """The bundle is the record, and what is kept is passed on as it is."""
    record = seal_inner(5, TASK, ANALYZER.public())
    assert bundled([record], 1) == record
    assert is_bundle(record)
    assert serving(EIGHT).accept(EIGHT.id, [sealed(1, EIGHT)]) == ["accepted"]
    lengths = [record_length(layers, slots) for slots in range(1, 400) for layers in (1, 2, 3, 4)]
    assert not any(map(is_compact, lengths))  # with a layer above it, a bundle is passed on whole
    for count in (1, 2, 3):
        kept = compact(seal_bundle(range(count), TASK, ANALYZER.public()))
        assert (len(kept), kept[0], is_compact(len(kept))) == (count * 71 + 1, 0, True)


def test_the_places_of_messages_do_not_tell_which_one_is_true() -> None:
    """They are in increasing order: only the set of them is said, in the report and in what is kept."""
    drawn = [messages_of(TASK, 40) for _ in range(60)]
    assert {len(messages) for messages in drawn} == {1, 2, 3}
    assert all(messages == sorted(messages) for messages in drawn)
    inner = unseal(report(9, 1, 5), SHUFFLER, TASK.id)
    assert isinstance(inner, bytes)
    assert opened_messages(bytes(8) + inner[:-16]) == [1, 5, 9]


# What the shuffler refuses


def foreign() -> bytes:
    return KeyRing.fresh("analyzer").introduced().rotated().public().active.key_id.to_bytes(1, "big")


def spoiled() -> dict[str, bytes]:
    """What may lie under the shuffler's layer and is no report."""
    one, two, three = (seal_inner(message, TASK, ANALYZER.public()) for message in (1, 2, 3))
    empty = bytes(71)
    slots = {
        "nothing": empty * 3,
        "too many": one + two + three + seal_inner(4, TASK, ANALYZER.public()),
        "too few slots": one + two,
        "the same twice": one + two + one,
        "a hole": one + empty + three,
        "nothing first": empty + one + two,
        "not only zeros behind": one + two + empty[:-1] + b"\1",
        "a mark behind": one + two + b"\1" + empty[1:],
        "another suite": one + two[:2] + b"\1" + two[3:] + empty,
        "another key": one + foreign() + two[1:] + empty,
    }
    salted = {what: inside + bytes(range(16)) for what, inside in slots.items()}
    return salted | {"no salt": one + two + three, "half a salt": one + two + empty + bytes(8)}


def test_whoever_holds_released_records_cannot_find_out_which_of_them_came_together() -> None:
    """Not by sending them again, alone or in pairs: without the salt a bundle is another one, whatever is in it."""
    shuffler, later = serving(TASK), serving(TASK)
    sent = [[message, message] if message % 2 else [message] for message in range(40)]
    bundles = [[seal_inner(message, TASK, ANALYZER.public()) for message in one] for one in sent]
    wrapped = [wrap(bundled(one, 3), TASK, [SHUFFLER.public()]) for one in bundles]
    assert shuffler.accept(TASK.id, wrapped) == ["accepted"] * len(sent)
    assert shuffler.accept(TASK.id, wrapped) == ["report_replayed"] * len(sent)  # a client that tries again
    tried = [wrap(bundled(one, 3), TASK, [SHUFFLER.public()]) for one in bundles]
    without = [bundled(one, 3)[:-16] + bytes(16) for one in bundles]
    tried += [wrap(one, TASK, [SHUFFLER.public()]) for one in without]
    assert shuffler.accept(TASK.id, tried) == later.accept(TASK.id, tried)


@pytest.mark.parametrize("what", spoiled())
def test_what_is_no_bundle_is_refused(what: str) -> None:
    shuffler = serving(TASK)
    bad = wrap(spoiled()[what], TASK, [SHUFFLER.public()])
    assert shuffler.accept(TASK.id, [report(1), bad, report(2, 3)]) == ["accepted", "invalid_message", "accepted"]
    assert shuffler.store.open_batch(TASK.id).count == 2


def test_whatever_is_changed_in_a_bundle_two_readers_agree_on_what_is_one() -> None:
    chance = random.Random(11)
    records = [seal_inner(message, TASK, ANALYZER.public()) for message in range(4)]
    agreed = Counter[bool]()
    for _ in range(3000):
        parts = chance.choices([*records, bytes(71)], k=chance.randint(0, 4))
        data = bytearray(b"".join(parts).ljust(chance.choice((213, 213, 213, 142, 284)), b"\0") + chance.randbytes(16))
        for _ in range(chance.choice((0, 0, 0, 1, 2))):
            place = chance.choice((0, 1, 2, 71, 73, 142, 212, chance.randrange(len(data))))
            data[place % len(data)] = chance.choice((0, 1, 0x20, 255))
        found = independent.taken_apart(bytes(data), 3) is not None
        assert (len(data) == 229 and is_bundle(bytes(data))) == found
        agreed[found] += 1
    assert min(agreed.values()) > 300


def test_a_bundle_for_another_key_than_the_announced_is_not_taken() -> None:
    shuffler, other = serving(TASK), KeyRing.fresh("analyzer").introduced().rotated()
    late = wrap(seal_bundle([1, 2], TASK, other.public()), TASK, [SHUFFLER.public()])
    assert shuffler.accept(TASK.id, [late]) == ["outdated_key"]


def test_a_report_counts_once_however_many_messages_it_has() -> None:
    """Toward the minimum, and when it is sent again."""
    shuffler, sent = serving(TASK), [report(j, j + 1, j + 2) for j in range(39)]
    assert shuffler.accept(TASK.id, sent * 2) == ["accepted"] * 39 + ["report_replayed"] * 39
    assert shuffler.close(TASK.id, ignore_window=True) == "batch_too_small"  # with 117 messages
    assert shuffler.accept(TASK.id, [report(63)]) == ["accepted"]
    batch, data = released(shuffler, TASK)
    assert (batch.count, len(data)) == (40, 8 + 118 * 71)
    assert int.from_bytes(data[:8], "big") == 40
    assert shuffler.accept(TASK.id, sent) == ["report_replayed"] * 39


# Release


def test_messages_of_one_user_are_apart_after_release() -> None:
    """2,000 users of three messages each: neighbours of one user are as rare as chance has it."""
    users, secret = 2000, bytes(range(32))
    many = replace(TASK, plan=replace(TASK.plan, min_batch=users))

    def unwrapped(records: Any, *_: Any) -> list[bytes]:
        return [record[55:] for record in records]

    shuffler = serving(many, unsealer=unwrapped, secrets=lambda: secret)
    header, chance = Header(0).encode(), np.random.default_rng(3)
    slots = [[header + user.to_bytes(4, "big") + chance.bytes(60) for _ in range(3)] for user in range(users)]
    assert set(shuffler.accept(many.id, [bytes(55) + bundled(one, 3) for one in slots])) == {"accepted"}
    _, data = released(shuffler, many)
    owners = [data[start + 7 : start + 11] for start in range(8, len(data), 71)]
    assert len(owners) == 3 * users
    neighbours = sum(one == other for one, other in pairwise(owners))
    assert neighbours < 20  # expected: 2; if bundles stayed together: 4,000
    assert sorted(data[start : start + 71] for start in range(8, len(data), 71)) == sorted(chain(*slots))


class Crash(Exception):  # noqa: N818 - reads as what it is
    pass


@pytest.mark.parametrize("point", [point for point in POINTS if point.startswith(("close: c", "release"))][:-1])
def test_a_crash_while_bundles_are_released_changes_nothing_but_the_time(
    tmp_path: Path, point: Point, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shuffledp.service.shuffler.release.CHUNK", 16)
    sent = [report(*range(j % 3 + 1)) for j in range(40)]

    def shuffler(name: str, dying: bool) -> Shuffler:
        def reached(here: Point) -> None:
            if dying and here == point:
                raise Crash

        store = SQLiteStore(tmp_path / name, reached=reached)
        made = Shuffler(store=store, ring=SHUFFLER, clock=lambda: 0.0, secrets=lambda: b"s" * 32, reached=reached)
        made.serve(TASK, ANALYZER.public())
        return made

    whole = shuffler("whole", False)
    whole.accept(TASK.id, sent)
    _, expected = released(whole, TASK)
    first = shuffler("store", True)
    first.accept(TASK.id, sent)
    with pytest.raises(Crash):
        first.close(TASK.id, ignore_window=True)
    first.store.close()
    # the task need not be served for its batch to be finished
    again = Shuffler(store=SQLiteStore(tmp_path / "store"), ring=SHUFFLER, clock=lambda: 0.0)
    (batch,) = again.store.batches(TASK.id, "RELEASED")
    assert b"".join(again.fetch(batch.id) or ()) == expected
    again.serve(TASK, ANALYZER.public())
    assert again.accept(TASK.id, sent) == ["report_replayed"] * 40


# Several hops


def test_an_outer_shuffler_passes_bundles_on_whole() -> None:
    two = replace(TASK, shufflers=("Alpha", "Gamma"))
    outer, inner = serving(two), Shuffler(store=SQLiteStore(":memory:"), ring=SHUFFLER, clock=lambda: 0.0)
    inner.serve(two, ANALYZER.public(), hop=1)
    sent = [report(*range(j % 3 + 1), task=two) for j in range(40)]
    assert {len(record) for record in sent} == {3 * 71 + 16 + 2 * 55}
    assert set(outer.accept(two.id, sent)) == {"accepted"}
    _, passed_on = released(outer, two)
    assert len(passed_on) == 40 * (3 * 71 + 16 + 55)  # nothing before it, and none of it can be told apart
    parts = [passed_on[start : start + 284] for start in range(0, len(passed_on), 284)]
    assert set(inner.accept(two.id, parts)) == {"accepted"}
    batch, data = released(inner, two)
    assert (batch.count, int.from_bytes(data[:8], "big"), len(opened_messages(data, two))) == (40, 40, 79)
    assert analyze(data, two, ANALYZER).n == 40


def test_with_several_shufflers_all_depends_on_the_one_that_takes_reports_apart() -> None:
    """Whoever works with it sees which messages are of one report, though not whose: that is no crowd."""
    two = replace(TASK, shufflers=("Alpha", "Gamma"))
    assert "The guarantee holds if Alpha, who takes apart what each user sends, follows the protocol" in two.trust
    assert "if the first shuffler" not in two.trust


def test_what_is_promised_if_shuffler_and_analyzer_collude(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "otherwise epsilon0 = " in TASK.trust
    monkeypatch.setattr("shuffledp.planning.plan.Plan.epsilon0", math.inf)
    assert "otherwise nothing remains" in TASK.trust
    same = replace(TASK, analyzer="Alpha", allow_same_operator=True)
    assert "against it nothing protects what a user sends" in same.trust
    with pytest.raises(InvalidInput, match=r"against it nothing protects what a user sends\. Name different ones"):
        replace(TASK, analyzer="Alpha")
    two_keys = KeyRing.fresh("analyzer").introduced().rotated()
    mixed = [seal_bundle([1], TASK, keys.public())[:71] for keys in (ANALYZER, two_keys) for _ in range(20)]
    with pytest.raises(InvalidInput, match="a person who is alone with a key is not protected at all"):
        analyze(batch_of(mixed, 40), TASK, ANALYZER)


# Clients


def test_the_same_messages_are_sealed_anew_and_never_drawn_again(tmp_path: Path) -> None:
    """A retry sends the same bytes; another window or key gets the same messages, dummies included."""
    shuffler, me = serving(TASK), Client(task=TASK, analyzer=ANALYZER.public(), folder=tmp_path)
    first = announced(shuffler, TASK)
    sent = me.report(7, first)
    assert sent is not None
    assert me.report(9, first) == me.again(first.window) == sent
    (kept,) = json.loads((tmp_path / f"{TASK.id}.json").read_text())["windows"].values()
    rotated = ANALYZER.introduced().rotated()
    shuffler.seal_to(TASK.id, rotated.public())
    shuffler.tick()
    later, me = announced(shuffler, TASK), replace(me, analyzer=rotated.public())
    assert later.window != first.window
    again = me.moved(later, window=first.window)
    assert again is not None
    assert len(again) == len(sent)
    for record, ring in ((sent, ANALYZER), (again, rotated)):
        bundle = unseal(record, SHUFFLER, TASK.id)
        assert isinstance(bundle, bytes)
        inside = [unseal(one, ring, TASK.id) for one in (bundle[j : j + 71] for j in range(0, 213, 71)) if any(one)]
        assert inside == [encode_message(message) for message in kept["messages"]]
    assert shuffler.accept(TASK.id, [again, again], later.window) == ["accepted", "report_replayed"]


def test_uploads_are_cut_by_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long reports are, an upload has no more than a shuffler takes by default."""
    sizes = list[int]()

    async def upload(_: Sender, __: Any, ___: str, part: list[bytes]) -> list[Outcome]:
        sizes.append(sum(map(len, part)))
        return [Outcome.ACCEPTED] * len(part)

    monkeypatch.setattr(Sender, "_upload", upload)
    sender = Sender(url="http://127.0.0.1:1")
    assert len(sender.send(TASK, [bytes(5000)] * 1000)) == 1000
    assert max(sizes) <= Limits().max_upload_bytes < max(sizes) + 5000
    sizes.clear()
    sender.send(TASK, [bytes(126)] * 1000)
    assert sizes == [500 * 126] * 2


# The service's limits


def test_limits_follow_the_length_of_a_report() -> None:
    shuffler = serving(TASK)
    with pytest.raises(InvalidInput, match=r"has 284 bytes, and an upload may have 267\. Raise --max-upload-bytes"):
        Service(shuffler, TOKENS, Limits(max_upload_bytes=267))
    limits = Limits(max_upload_bytes=284 * 3, max_incoming_bytes=284 * 2, rate_per_address=0.2)
    app = Service(shuffler, TOKENS, limits, clock=lambda: 0.0).app()

    async def answers() -> list[int]:
        transport = httpx.ASGITransport(app=app, client=("192.0.2.1", 1))
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://shuffler") as web,
        ):
            where, how = f"/v2/tasks/{TASK.id}/reports", {"Content-Type": OCTETS}
            bodies = [report(1)[:-1], report(1, 2, 3), report(4) + report(5)]
            return [(await web.post(where, content=body, headers=how)).status_code for body in bodies]

    assert asyncio.run(answers()) == [
        400,
        200,
        429,
    ]  # two in ten seconds were charged: one that is cut short, and a whole one

    async def may_wait(count: int) -> bool:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        records = [bytes(268)] * count
        return WaitingUploads(limits).add(
            Upload(task="", window=None, records=records, sender="", done=done, since=0.0)
        )

    assert [asyncio.run(may_wait(count)) for count in (2, 3)] == [True, False]
