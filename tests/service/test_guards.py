"""Every guard of bytes, batches, analyzer and ledger on both sides: the last value that is refused, and the first that is not."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oracles.parties import EIGHT, SHUFFLER, sealed
from shuffledp import InvalidInput
from shuffledp.core.counts import Counts
from shuffledp.results.budget import LARGEST_DELTA, Budget
from shuffledp.service.analyzer.analyzer import OpenedBatch, result_of
from shuffledp.service.analyzer.ledger import Ledger, LedgerEntry, first_line
from shuffledp.service.analyzer.opened_reports import OpenedReports, first_of_each
from shuffledp.service.sealing.hpke import unseal
from shuffledp.service.shuffler.permutation import order
from shuffledp.service.wire.bundle import COUNT, bundled, compact, is_bundle, is_compact
from shuffledp.service.wire.record import (
    HEADER,
    LAYER,
    PAYLOAD,
    SALT,
    SEALED,
    Header,
    decode_message,
    encode_message,
    key_id_of,
    record_length,
    report_id,
    split,
)
from shuffledp.service.wire.released_batch import ReleasedBatch, key_ids, pieces, report_ids

TWO = replace(EIGHT, shufflers=("Alpha", "Gamma"))


def record(key: int, filling: int, length: int = SEALED) -> bytes:
    """Bytes with the header of a key, which nobody can open."""
    return Header(key).encode() + bytes([filling]) * (length - HEADER.size)


# Bytes.


def test_lengths_on_the_wire() -> None:
    assert (HEADER.size, PAYLOAD, LAYER, SEALED, COUNT) == (7, 16, 55, 71, 8)
    assert [record_length(k) for k in (1, 2, 3)] == [71, 126, 181]
    assert [record_length(2, slots) for slots in (1, 2, 5)] == [126, 213, 426]


def test_key_ids_are_bytes() -> None:
    assert [Header(k).encode()[0] for k in (0, 255)] == [0, 255]
    for wrong in (-1, 256):
        with pytest.raises(InvalidInput, match="from 0 to 255"):
            Header(wrong)
    assert key_id_of(Header(9).encode()) == 9
    assert key_id_of(Header(9).encode()[:-1]) is None
    assert key_id_of(b"") is None


def test_a_message_is_below_the_size_and_the_rest_is_zeros() -> None:
    assert [decode_message(encode_message(k), 8) for k in (0, 7, 8)] == [0, 7, None]
    payload = encode_message(3)
    assert payload == bytes(7) + b"\3" + bytes(8)
    assert decode_message(payload + b"\0", 8) is None
    assert decode_message(payload[:-1], 8) is None
    assert [decode_message(payload[:j] + b"\1" + payload[j + 1 :], 8) for j in (8, 15)] == [None, None]
    assert decode_message((5 << 56).to_bytes(8, "big") + bytes(8), 1 << 60) == 5 << 56


def test_uploads_are_whole_records() -> None:
    assert split(b"", 3) is None
    assert split(b"abcd", 3) is None
    assert split(b"abc", 3) == [b"abc"]
    assert split(b"abcdef", 3) == [b"abc", b"def"]


def test_a_bundle_has_one_key_and_no_record_twice() -> None:
    one, two, other = record(5, 1), record(5, 2), record(6, 3)
    for sealed_, slots in (([one], 1), ([one], 3), ([one, two], 2), ([one, two], 3)):
        made_ = bundled(sealed_, slots)
        assert len(made_) == slots * SEALED + (SALT if slots > 1 else 0)
        assert is_bundle(made_)
        assert compact(made_) == b"".join(sealed_) + b"\0"
        assert is_compact(len(compact(made_)))
    for wrong, slots in (([], 1), ([one, two], 1)):
        with pytest.raises(InvalidInput, match=f"1 to {slots} messages; got {len(wrong)}"):
            bundled(wrong, slots)
    assert not is_bundle(one + other)
    assert not is_bundle(one + one)
    assert not is_bundle(bytes(SEALED))
    assert not is_bundle(bytes(SEALED) + one)
    assert not is_bundle(b"\5" + bytes(6) + b"\1" * 64)  # another suite
    assert not any(is_compact(record_length(layers)) for layers in (1, 2, 3, 4, 5))


def test_a_batch_states_how_many_reports_have_its_messages() -> None:
    some = b"".join(record(5, j) for j in range(4))
    for stated in (2, 3, 4):
        found = ReleasedBatch.of(stated.to_bytes(COUNT, "big") + some).reports(2)
        assert (found.number, len(found.messages), found.extra) == (stated, 4, 4 - stated)
    for stated in (0, 1, 5):
        with pytest.raises(InvalidInput, match="4 messages, and each must have 1 to 2"):
            ReleasedBatch.of(stated.to_bytes(COUNT, "big") + some).reports(2)
    one = ReleasedBatch.of(some).reports(1)
    assert (one.number, one.extra) == (4, 0)
    for wrong in (b"", some[:-1], some + b"\0"):
        with pytest.raises(InvalidInput, match="not a whole number of records"):
            ReleasedBatch.of(wrong).reports(1)


def test_records_are_cut_counted_and_named() -> None:
    some = [record(k, j) for j, k in enumerate([5, 7, 7, 5, 7])] + [b"\5" + bytes(SEALED - 1)]
    records = ReleasedBatch.of(b"".join(some)).records(SEALED)
    assert key_ids(records) == {7: 3, 5: 2}
    assert list(key_ids(records)) == [7, 5]
    assert list(key_ids(records[:2])) == [5, 7]
    only = np.array([True, False, True, True, False, False])
    for together in (1, 2, 4, 6, 100):
        assert [one for piece in pieces(records, None, together) for one in piece] == some
        assert [one for piece in pieces(records, only, together) for one in piece] == [some[0], some[2], some[3]]
        assert max(len(piece) for piece in pieces(records, None, together)) == min(together, 6)
    assert report_ids(records).tobytes() == b"".join(map(report_id, some))


def test_the_first_of_each_id_is_taken() -> None:
    ids = np.array([b"c" * 16, b"a" * 16, b"c" * 16, b"b" * 16, b"a" * 16], dtype="S16")
    assert first_of_each(ids).tolist() == [1, 3, 0]


def test_the_order_of_release_is_that_of_encrypted_ids() -> None:
    """Pinned: both halves of a block decide, the first before the second."""
    ids = np.arange(160, dtype=np.uint8).reshape(10, 16)
    found = order(ids, bytes(range(32)))
    assert sorted(found.tolist()) == list(range(10))
    assert order(ids[::-1], bytes(range(32))).tolist() == (9 - found).tolist()
    assert order(ids, bytes(32)).tolist() != found.tolist()


@pytest.mark.parametrize("sizes", [(2, 5), (5, 2), (3, 3)])
def test_what_was_opened_in_another_batch_is_known_whichever_is_larger(tmp_path: Path, sizes: tuple[int, int]) -> None:
    def ids(*values: int) -> Any:
        return np.array([bytes([v]) * 16 for v in values], dtype="S16")

    before, now = ids(*range(1, 1 + sizes[0])), ids(*range(2, 2 + sizes[1]))
    with OpenedReports(tmp_path).of("t") as remembered:
        remembered.remember(before, "first")
        assert remembered.among(now, "first").tolist() == [False] * sizes[1]
        assert remembered.among(now, "second").tolist() == [v < 1 + sizes[0] for v in range(2, 2 + sizes[1])]
        remembered.remember(ids(6, 200), "third")
        assert remembered.among(ids(6, 7), "second").tolist() == [True, sizes[0] > 6]
    assert not list(tmp_path.glob("*.ids"))
    with OpenedReports(tmp_path).of("u") as other:
        assert not other.among(now, "second").any()


# The analyzer and its ledger.


def test_a_result_needs_as_many_valid_reports_as_the_guarantee_relies_on() -> None:
    needed, size = EIGHT.plan.guarantee.n, EIGHT.plan.protocol.alphabet
    counts = np.zeros(size, dtype=np.int64)
    counts[0] = needed
    good = OpenedBatch(received=needed + 5, counts=Counts(counts), rejected={"x": 5})
    assert good.valid == needed
    assert result_of(good, EIGHT, digest="0" * 64).realised_honest == EIGHT.plan.honest_of(needed + 5)
    for bad in (replace(good, extra=1), replace(good, counts=Counts(counts - np.eye(1, size, dtype=np.int64)[0]))):
        assert bad.valid == needed - 1
        with pytest.raises(InvalidInput, match=rf"only {needed - 1} of the {needed + 5} .* relies on {needed} .*5 x"):
            result_of(bad, EIGHT, digest="0" * 64)
    assert replace(good, extra=10**6).valid == 0


def test_a_budget_has_limits_that_are_allowed_themselves() -> None:
    Budget(epsilon=1e-9, delta=LARGEST_DELTA)
    for wrong in ({"delta": math.nextafter(LARGEST_DELTA, 1)}, {"delta": 0.0}, {"epsilon": 0.0}, {"epsilon": 701.0}):
        with pytest.raises(InvalidInput):
            Budget(**({"epsilon": 1.0, "delta": 1e-6} | wrong))


def test_a_head_is_64_digits_and_a_new_ledger_needs_a_whole_budget(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    for head in ("", "0" * 63, "0" * 65, "g" * 64, "A" * 64):
        with pytest.raises(InvalidInput, match="64 hexadecimal digits"):
            Ledger(path, epsilon=1.0, delta=1e-6, expect_head=head)
    some: list[dict[str, Any]] = [{}, {"epsilon": 1.0}, {"delta": 1e-6}]
    for given in some:
        with pytest.raises(InvalidInput, match="needs a budget"):
            Ledger(path, **given).balance()
    with pytest.raises(InvalidInput, match=r"at most 0\.01"):
        Ledger(path, epsilon=1.0, delta=0.5)
    assert Ledger(path, epsilon=1.0, delta=1e-6).balance().spent_epsilon == 0
    with pytest.raises(InvalidInput, match="cannot open"):
        Ledger(tmp_path / "none" / "ledger", epsilon=1.0, delta=1e-6).check()


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("[]", "was altered"), ("{", "was altered"), ('{"version": 3, "epsilon": 1.0}', "was altered"),
            ('{"version": 3, "epsilon": "1", "delta": 1e-06}', "was altered"),
        ('{"delta": 1e-06, "epsilon": 1.0, "version": 4}', "another version"),
            ('{"delta": 1e-06, "epsilon": 1.0, "version": 1}', "another version"),
        ('{"delta": 0.5, "epsilon": 1.0, "version": 3}', "was altered"), ('{"previous": "' + "0" * 64 + '"}', "previous format"),
    ],
)  # fmt: skip
def test_a_first_line_that_is_no_budget_is_refused(tmp_path: Path, line: str, says: str) -> None:
    path = tmp_path / "ledger"
    path.write_text(line + "\n")
    with pytest.raises(InvalidInput, match=says):
        Ledger(path).check()


def test_only_whole_lines_count_and_another_budget_is_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    for version in (2, 3):
        path.write_text(first_line(Budget(epsilon=1.0, delta=1e-6), version) + "\nhalf a line")
        assert Ledger(path, epsilon=1.0, delta=1e-6).balance().releases == 0
        assert Ledger(path, epsilon=1.0).balance().budget_epsilon == 1.0
        others: dict[str, Any] = {"epsilon": 2.0, "delta": 1e-5}
        for name, other in others.items():
            with pytest.raises(InvalidInput, match=f"another {name}"):
                Ledger(path, **{name: other}).check()


@pytest.mark.parametrize("wrong", [{"task": 1}, {"batch": None}, {"randomizer": None, "size": 5}, {"more": 1}])
def test_an_entry_of_a_ledger_has_its_fields(wrong: dict[str, Any]) -> None:
    good = {
        "task": "t",
        "batch": "b",
        "n": 5,
        "bound": "best",
        "randomizer": {"kind": "response", "size": 2, "threshold": "5"},
    }
    assert LedgerEntry.read(dict(good)).entry() == good
    old = {"task": "t", "batch": "b", "n": 5, "bound": "best", "size": 2, "threshold": 5}
    assert LedgerEntry.read(old).entry() == good
    with pytest.raises((ValueError, TypeError, KeyError)):
        LedgerEntry.read(good | wrong)


def test_records_of_every_kind_of_outcome_are_told_apart() -> None:
    good = sealed(3, EIGHT)
    ring = SHUFFLER
    assert isinstance(unseal(good, ring, EIGHT.id), bytes)
    key = ring.public().active.key_id
    assert unseal(good[: LAYER - 1], ring, EIGHT.id) == "invalid_message"
    assert unseal(good[:LAYER], ring, EIGHT.id) == "decrypt_error"
    assert unseal(good[:1] + b"\7" + good[2:], ring, EIGHT.id) == "invalid_message"
    assert unseal(bytes([(key + 1) % 256]) + good[1:], ring, EIGHT.id) == "outdated_config"
    assert unseal(good, ring, EIGHT.id, hop=2) == "decrypt_error"
    assert unseal(good, ring, TWO.id) == "decrypt_error"
