"""The ledger: a budget that cannot be changed, spent before anything is opened, kept through crashes, not to be rolled back."""

import hashlib
import json
import math
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from oracles.process import assert_refused
from oracles.process import called as run
from shuffledp import Collection, Generic, InvalidInput, Laplace, NoClaim, RandomizedResponse, compose
from shuffledp.accounting.account import bound_named
from shuffledp.planning.release_cost import Spend
from shuffledp.service.analyzer.ledger import Ledger, LedgerEntry


def release(batch_digest: str) -> LedgerEntry:
    randomizer = RandomizedResponse.of_threshold(size=5, threshold=1 << 60)
    return LedgerEntry(
        task="t", batch=batch_digest, spend=Spend(randomizer=randomizer.document(), n=100_000, bound="best")
    )


def budget_for(rounds: int) -> float:
    """The epsilon that just allows that many rounds."""
    blanket = RandomizedResponse(size=5, gamma=2**-4).blanket()
    return (
        compose([Collection(blanket=blanket, n=100_000, rounds=rounds, bound=bound_named("best"))]).epsilon(1e-6)
        * 1.0001
    )


def test_a17_a_budget_for_twelve_rounds_lasts_twelve_rounds(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.jsonl", epsilon=budget_for(12), delta=1e-6)
    heads = [ledger.balance().head]
    for round_ in range(30):
        if round_ < 12:
            heads.append(ledger.book(release(f"batch {round_}")).head)
        else:
            with pytest.raises(NoClaim, match="the budget is spent: 12 releases") as refused:
                ledger.book(release(f"batch {round_}"))
            said = float(str(refused.value).split("epsilon = ")[1].split(" at delta = 1e-6, above ")[0])
            assert budget_for(13) / 1.0001 <= said * (1 + 1e-12)  # shown rounded up
    assert len(set(heads)) == 13
    assert ledger.balance().releases == 12
    assert ledger.balance().head == heads[-1]
    again = ledger.book(release("batch 3"))  # an analysis that is repeated costs nothing more
    assert (again.releases, again.head) == (12, heads[-1])


def test_a_budget_can_be_spent_to_its_end_and_no_further(tmp_path: Path) -> None:
    exactly = Ledger(tmp_path / "first", epsilon=9.0, delta=1e-6).book(release("one")).spent_epsilon
    assert Ledger(tmp_path / "second", epsilon=exactly, delta=1e-6).book(release("one")).spent_epsilon == exactly
    with pytest.raises(NoClaim, match="this release alone would be"):
        Ledger(tmp_path / "third", epsilon=math.nextafter(exactly, 0), delta=1e-6).book(release("one"))
    assert not (tmp_path / "third").exists()


def test_a17_a_crash_never_under_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed after the line is on disk: it counts. Killed while writing: the torn line goes, and nothing was released."""
    path = tmp_path / "ledger.jsonl"
    ledger = Ledger(path, epsilon=budget_for(3), delta=1e-6)
    ledger.book(release("one"))

    def die(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", die)
    with pytest.raises(KeyboardInterrupt):
        ledger.book(release("two"))
    monkeypatch.undo()
    assert ledger.balance().releases == 2
    with path.open("ab") as file:
        file.write(b'{"batch": "thr')
    assert ledger.balance().releases == 2
    assert ledger.book(release("three")).releases == 3


def test_a_release_is_on_disk_with_its_name_before_it_counts_as_booked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bytes, then the folder's entry, each time."""
    path, synced = tmp_path / "ledger.jsonl", list[str]()

    def fsync(handle: int) -> None:
        number = os.fstat(handle).st_ino
        synced.append({tmp_path.stat().st_ino: "folder", path.stat().st_ino: path.read_text()}[number])

    monkeypatch.setattr(os, "fsync", fsync)
    ledger = Ledger(path, epsilon=budget_for(3), delta=1e-6)
    for name in ("one", "two"):
        synced.clear()
        ledger.book(release(name))
        assert synced == [path.read_text(), "folder"]
        assert json.loads(synced[0].splitlines()[-1])["batch"] == name


def test_where_no_turn_can_be_taken_nothing_is_booked(tmp_path: Path) -> None:
    """Two releases at once could both fit."""
    path = tmp_path / "ledger.jsonl"
    path.with_name("ledger.jsonl.lock").mkdir()
    with pytest.raises(InvalidInput, match=r"cannot write the ledger .*\. Nothing is opened"):
        Ledger(path, epsilon=budget_for(3), delta=1e-6).book(release("one"))
    assert not path.exists()


def test_an_altered_ledger_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    ledger = Ledger(path, epsilon=budget_for(3), delta=1e-6)
    for name in ("one", "two"):
        ledger.book(release(name))
    budget, one, two = path.read_text().splitlines()
    more = json.dumps(json.loads(budget) | {"epsilon": 9.0}, sort_keys=True)
    for altered in (
        [one, two],
        [budget, two],
        [more, one, two],
        ["[]", one, two],
        [budget.replace(" ", ""), one, two],
        [budget, one.replace("100000", "900000"), two],
        [budget, two, one],
        [budget, one, two, "nonsense"],
    ):
        path.write_text("\n".join(altered) + "\n")
        with pytest.raises(InvalidInput, match="was altered"):
            Ledger(path).balance()
    with pytest.raises(InvalidInput, match="cannot open"):
        Ledger(tmp_path / "nowhere" / "x", epsilon=1.0, delta=1e-6).balance()


def test_another_budget_for_the_same_population_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    with pytest.raises(InvalidInput, match="is new and needs a budget"):
        Ledger(path, epsilon=1.0).book(release("one"))
    head = Ledger(path, epsilon=budget_for(2), delta=1e-6).book(release("one")).head
    before = path.read_bytes()
    others: list[dict[str, Any]] = [
        {"epsilon": 600.0},
        {"epsilon": 600.0, "delta": 1e-6},
        {"epsilon": budget_for(2), "delta": 1e-5},
    ]
    for other in others:
        with pytest.raises(InvalidInput, match=r"has a budget of epsilon = .* at delta = 1e-6; got another"):
            Ledger(path, **other).book(release("two"))
    assert path.read_bytes() == before
    assert Ledger(path).balance().head == head  # the budget may be left out
    assert Ledger(path, epsilon=budget_for(2), delta=1e-6).book(release("two")).releases == 2


def test_a_release_that_does_not_fit_leaves_no_new_ledger(tmp_path: Path) -> None:
    with pytest.raises(NoClaim):
        Ledger(tmp_path / "ledger.jsonl", epsilon=budget_for(1) / 2, delta=1e-6).book(release("one"))
    assert list(tmp_path.iterdir()) == []


def test_a_delta_that_allows_everything_is_refused(tmp_path: Path) -> None:
    for delta in (0.5, 0.0101):
        with pytest.raises(
            InvalidInput, match=r"at most 0.01; got .* Delta is how often everything about a person may"
        ):
            Ledger(tmp_path / "ledger.jsonl", epsilon=1.0, delta=delta)
    Ledger(tmp_path / "ledger.jsonl", epsilon=1.0, delta=0.01)
    (tmp_path / "edited.jsonl").write_text('{"delta": 0.5, "epsilon": 1.0, "version": 2}\n')
    with pytest.raises(InvalidInput, match="was altered"):
        Ledger(tmp_path / "edited.jsonl").balance()


def test_a_ledger_of_the_former_format_is_refused_with_what_to_do(tmp_path: Path) -> None:
    former = {"task": "t", "batch": "one", "size": 5, "threshold": 1 << 60, "n": 100_000, "bound": "best"}
    path = tmp_path / "ledger.jsonl"
    path.write_text(json.dumps(former | {"previous": "0" * 64}, sort_keys=True) + "\n")
    for ledger in (Ledger(path), Ledger(path, epsilon=1.0, delta=1e-6)):
        with pytest.raises(
            InvalidInput, match=r"previous format, which does not state its budget\. Keep it, and start a new"
        ):
            ledger.book(release("two"))
    path.write_text('{"delta": 1e-06, "epsilon": 1.0, "version": 4}\n')
    with pytest.raises(InvalidInput, match="is of another version"):
        Ledger(path).balance()


def test_an_expected_head_finds_a_ledger_that_was_rolled_back_cut_short_or_replaced(tmp_path: Path) -> None:
    path, other = tmp_path / "ledger.jsonl", tmp_path / "other.jsonl"
    heads = [
        Ledger(path, epsilon=budget_for(3), delta=1e-6).book(release(name)).head for name in ("one", "two", "three")
    ]
    Ledger(other, epsilon=budget_for(3), delta=1e-6).book(release("another"))
    for head in heads:  # the last one or any before it
        assert Ledger(path, expect_head=head).balance().head == heads[-1]
    whole = path.read_text()
    cut = "".join(whole.splitlines(keepends=True)[:-1])
    for bad in (cut, other.read_text(), "", None):
        path.unlink() if bad is None else path.write_text(bad)
        for given in ({}, {"epsilon": budget_for(3), "delta": 1e-6}):
            with pytest.raises(InvalidInput, match="rolled back, cut short or replaced"):
                Ledger(path, **given, expect_head=heads[-1]).book(release("four"))
        assert bad is None or path.read_text() == bad
    path.write_text(cut)
    assert Ledger(path, expect_head=heads[1]).balance().releases == 2
    with pytest.raises(InvalidInput, match="64 hexadecimal digits"):
        Ledger(path, expect_head="abc")


def test_the_command_shows_a_ledger_without_being_told_its_budget(tmp_path: Path) -> None:
    balance = Ledger(tmp_path / "ledger.jsonl", epsilon=1.5, delta=1e-6).book(release("one"))
    shown = run(f"ledger show ledger.jsonl --expect-head {balance.head}", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert "of 1.5 spent at delta = 1e-6 in 1 release\n" in shown.stdout
    assert f"ledger head {balance.head}\n" in shown.stdout
    refused = run(f"ledger show ledger.jsonl --expect-head {'0' * 64}", cwd=tmp_path)
    assert_refused(refused, "rolled back, cut short or replaced")


def test_a_ledger_of_version_2_is_read_and_continued(tmp_path: Path) -> None:
    """It held the size and threshold of a randomized response; what it counted still counts."""
    path, head = (
        tmp_path / "ledger.jsonl",
        json.dumps({"version": 2, "epsilon": budget_for(2), "delta": 1e-6}, sort_keys=True),
    )
    former = {"task": "t", "batch": "one", "size": 5, "threshold": 1 << 60, "n": 100_000, "bound": "best"}
    line = json.dumps(former | {"previous": hashlib.sha256(head.encode()).hexdigest()}, sort_keys=True)
    path.write_text(f"{head}\n{line}\n")
    assert Ledger(path).book(release("one")).releases == 1  # the same batch
    assert Ledger(path).book(release("two")).releases == 2
    with pytest.raises(NoClaim, match="the budget is spent: 2 releases"):
        Ledger(path).book(release("three"))


def test_any_randomizer_composes(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.jsonl", epsilon=9.0, delta=1e-6)
    spent = []
    for randomizer in (Laplace(epsilon0=1.0), Generic(epsilon0=1.0), RandomizedResponse(size=5, epsilon0=1.0)):
        spend = Spend(randomizer=randomizer.document(), n=100_000, bound="best")
        spent.append(ledger.book(LedgerEntry(task="t", batch=randomizer.kind, spend=spend)).spent_epsilon)
    assert 0 < spent[0] < spent[1] < spent[2]


def test_what_somebody_else_books_while_one_waits_for_the_turn_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two who both found room for one more: the second decides again when it is its turn."""
    path = tmp_path / "ledger"
    budget: dict[str, Any] = {"epsilon": budget_for(2), "delta": 1e-6}
    waiting = Ledger(path, **budget)
    turn = Ledger._alone

    def late(ledger: Ledger, other: str) -> Any:
        monkeypatch.setattr(Ledger, "_alone", turn)
        Ledger(path, **budget).book(release(other))
        return turn(ledger)

    monkeypatch.setattr(Ledger, "_alone", lambda ledger: late(ledger, "a"))
    assert waiting.book(release("b")).releases == 2
    assert Ledger(path).balance().releases == 2
    path.unlink()
    Ledger(path, **budget).book(release("a"))
    monkeypatch.setattr(Ledger, "_alone", lambda ledger: late(ledger, "b"))
    with pytest.raises(NoClaim, match="the budget is spent: 2 releases"):
        waiting.book(release("c"))
    assert Ledger(path).balance().releases == 2


def test_only_the_very_same_release_costs_nothing_more(tmp_path: Path) -> None:
    """Another task, another crowd, another bound or another randomizer of a batch with the same digest is booked."""
    ledger, first = Ledger(tmp_path / "ledger.jsonl", epsilon=9.0, delta=1e-6), release("one")
    spent = ledger.book(first).spent_epsilon
    other = RandomizedResponse.of_threshold(size=5, threshold=1 << 61).document()
    for count, again in enumerate(
        (
            replace(first, task="u"),
            replace(first, spend=replace(first.spend, n=90_000)),
            replace(first, spend=replace(first.spend, bound="numeric")),
            replace(first, spend=replace(first.spend, randomizer=other)),
        ),
        start=2,
    ):
        balance = ledger.book(again)
        assert balance.releases == count
        assert balance.spent_epsilon > spent
        assert ledger.book(again) == balance
        spent = balance.spent_epsilon


def test_no_line_can_be_taken_out_repeated_or_moved(tmp_path: Path) -> None:
    """But for the last ones, which only a head that is remembered elsewhere vouches for."""
    path = tmp_path / "ledger.jsonl"
    ledger = Ledger(path, epsilon=9.0, delta=1e-6)
    for name in ("one", "two", "three", "four"):
        ledger.book(release(name))
    budget, *lines = path.read_text().splitlines()
    kept = len(lines)
    wrong = [lines[:j] + lines[j + 1 :] for j in range(kept - 1)]
    wrong += [[*lines, line] for line in lines]
    wrong += [lines[: j + 1] + lines[j:] for j in range(kept)]
    wrong += [
        [*lines[:j], lines[k], *lines[j + 1 : k], lines[j], *lines[k + 1 :]] for k in range(kept) for j in range(k)
    ]
    assert len({tuple(some) for some in wrong}) > 12
    for some in wrong:
        path.write_text("\n".join([budget, *some, ""]))
        with pytest.raises(InvalidInput, match="was altered"):
            Ledger(path).balance()


def test_a_release_that_was_booked_after_another_head_does_not_fit_in(tmp_path: Path) -> None:
    """Two copies of a ledger that went on apart: the lines of one are not taken for lines of the other."""
    one, other = tmp_path / "one.jsonl", tmp_path / "other.jsonl"
    Ledger(one, epsilon=9.0, delta=1e-6).book(release("first"))
    other.write_bytes(one.read_bytes())
    Ledger(one).book(release("here"))
    head = Ledger(other).book(release("there")).head
    one.write_text(one.read_text() + other.read_text().splitlines()[-1] + "\n")
    with pytest.raises(InvalidInput, match="was altered"):
        Ledger(one).balance()
    with pytest.raises(InvalidInput, match=r"does not hold the expected head|was altered"):
        Ledger(one, expect_head=head).balance()


@pytest.mark.parametrize("epsilon", [0.5, 1.9, 2.1, 600.0])
def test_neither_a_larger_nor_a_smaller_budget_is_taken_for_the_files(tmp_path: Path, epsilon: float) -> None:
    path = tmp_path / "ledger.jsonl"
    Ledger(path, epsilon=2.0, delta=1e-6).book(release("one"))
    with pytest.raises(InvalidInput, match="got another epsilon"):
        Ledger(path, epsilon=epsilon).balance()
    for delta in (1e-5, 1e-7):
        with pytest.raises(InvalidInput, match="got another delta"):
            Ledger(path, delta=delta).balance()


def test_what_a_crash_left_of_a_line_is_gone_with_the_next_one(tmp_path: Path) -> None:
    """However long it was, and whether or not it could be read."""
    path = tmp_path / "ledger.jsonl"
    Ledger(path, epsilon=9.0, delta=1e-6).book(release("one"))
    whole = path.read_bytes()
    line = (
        json.dumps(
            release("torn").entry() | {"previous": hashlib.sha256(whole.splitlines()[-1]).hexdigest()}, sort_keys=True
        )
    ).encode()
    for torn in (b"{", line[:-1], line, b"x" * 5000):
        path.write_bytes(whole + torn)
        assert Ledger(path).balance().releases == 1
        assert Ledger(path).book(release("two")).releases == 2
        lines = path.read_bytes().split(b"\n")
        assert lines[-1] == b""
        assert [json.loads(one).get("batch") for one in lines[:-1]] == [None, "one", "two"]
        assert Ledger(path).balance().releases == 2


def test_a_head_that_nobody_booked_is_missed_in_a_ledger_without_releases(tmp_path: Path) -> None:
    """A file that was cut down to its budget, or that holds another budget."""
    path = tmp_path / "ledger.jsonl"
    head = Ledger(path, epsilon=9.0, delta=1e-6).book(release("one")).head
    path.write_text(path.read_text().splitlines()[0] + "\n")
    assert Ledger(path).balance().releases == 0
    assert Ledger(path, expect_head=Ledger(path).balance().head).balance().releases == 0
    for expected in (head, "0" * 64):
        with pytest.raises(InvalidInput, match="does not hold the expected head"):
            Ledger(path, expect_head=expected).balance()


def test_crowds_of_different_sizes_are_not_taken_for_one(tmp_path: Path) -> None:
    """A small one costs what it costs by itself, wherever it stands among large ones."""
    small = replace(release("small"), spend=replace(release("small").spend, n=1000))
    alone = Ledger(tmp_path / "alone.jsonl", epsilon=9.0, delta=1e-6).book(small).spent_epsilon
    for place in range(3):
        ledger = Ledger(tmp_path / f"{place}.jsonl", epsilon=9.0, delta=1e-6)
        booked = [release("one"), release("two")]
        booked.insert(place, small)
        spent = [ledger.book(one).spent_epsilon for one in booked]
        assert spent == sorted(spent)
        assert alone < spent[-1] < 1.5 * alone
