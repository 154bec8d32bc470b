"""The history of releases: whoever asks the same people again is told what all answers together cost, and never too little."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import permutations
from pathlib import Path
from types import SimpleNamespace

import pytest

from shuffledp import Guarantee, Plan, plan
from shuffledp.accounting.composition import compose
from shuffledp.accounting.group import group
from shuffledp.planning.over_time import OverTime
from shuffledp.planning.release_cost import Spend
from shuffledp.results.history import History

LARGE = plan("histogram", n=2000, epsilon=1.0, delta=1e-6, size=4)
SMALL = plan("histogram", n=200_000, epsilon=0.1, delta=1e-7, size=4)
HALF = plan("histogram", n=2000, epsilon=0.7, delta=1e-6, size=4, honest_fraction=0.5)


def of_rows(made: Plan, most: int) -> Guarantee:
    """What a person with so many rows is promised."""
    return group(made.protocol.randomizer, n=made.guarantee.n, delta=made.guarantee.delta, rows=most)


def total(note: str, how: str = "by composition") -> tuple[float, float]:
    """Epsilon and delta of all answers together, as a note says."""
    stated = note.split("All answers together are (")[1]
    assert stated.endswith(f"-differentially private {how}.")
    epsilon, delta = stated.split(")")[0].split(", ")
    return float(epsilon), float(delta)


def composed(made: Sequence[Plan], delta: float) -> object:
    """What the accountant says of these, each a collection of its own with a crowd of its own."""
    epsilon = compose([part for one in made for part in Spend.of(one).collections()]).epsilon(delta)
    return pytest.approx((epsilon, delta), rel=1e-3)


@pytest.fixture
def people(tmp_path: Path) -> Path:
    return written(tmp_path / "people.csv", "1")


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path / "state" / "releases.jsonl")


def written(path: Path, value: str) -> Path:
    path.write_text(f"value\n{value}\n")
    return path


@pytest.mark.parametrize("asked", list(permutations((LARGE, SMALL, HALF))), ids=lambda _: "order")
def test_all_answers_are_composed_in_whatever_order_they_were_given(
    history: History, people: Path, asked: tuple[Plan, ...]
) -> None:
    """At the delta of the answer that is given now."""
    assert history.note(asked[0], asked[0].guarantee, [people]) == []
    for count, times in ((1, "once"), (2, "2 times")):
        now = asked[count]
        (note,) = history.note(now, now.guarantee, [people])
        assert f"this file was already used {times} (not with this plan)" in note
        assert total(note) == composed(asked[: count + 1], now.guarantee.delta)
    (again,) = history.note(asked[0], asked[0].guarantee, [people])
    assert "already used 3 times (1 with this plan)" in again
    assert total(again) == composed([*asked, asked[0]], asked[0].guarantee.delta)


@pytest.mark.parametrize("first", [True, False])
def test_answers_that_the_accountant_cannot_compose_are_added_up(history: History, people: Path, first: bool) -> None:
    """Of several rows per person, beside another one: epsilons and deltas, all of them."""
    dear, cheap = of_rows(LARGE, 2), of_rows(SMALL, 2)
    for made, promise in ((LARGE, dear), (SMALL, cheap))[:: 1 if first else -1]:
        notes = history.note(made, promise, [people])
    epsilon, delta = total(notes[0], "by basic composition")
    assert 1 <= epsilon / (dear.epsilon + cheap.epsilon) < 1.00001
    assert 1 <= delta / (dear.delta + cheap.delta) < 1.00001


def test_one_that_cannot_be_composed_makes_all_of_them_add_up(history: History, people: Path) -> None:
    """It does not vanish from the sum: an answer whose cost was not kept, between two whose cost was."""
    for made in (LARGE, SMALL):
        history.note(made, made.guarantee, [people])
    path = history._path
    before = path.read_text().splitlines()
    for forgotten in (0, 1):
        lines = [json.loads(line) for line in before]
        lines[forgotten]["spend"] = None
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        (note,) = history.note(SMALL, SMALL.guarantee, [people])
        assert total(note, "by basic composition") == (1.20001, 1.2e-6)  # rounded up


@pytest.mark.parametrize("files", [1, 2])
def test_a_round_beyond_those_planned_is_noticed_whatever_the_file(
    history: History, tmp_path: Path, files: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer about several files is one round; each is given at another time."""
    clock = iter(datetime(2026, 1, day, tzinfo=UTC) for day in range(1, 32))
    monkeypatch.setattr("shuffledp.results.history.datetime", SimpleNamespace(now=lambda _: next(clock)))
    weekly = replace(LARGE, over_time=OverTime(rounds=2, per_person=2, epsilon=9.0, delta=1e-6))
    heard = []
    for week in range(3):
        people = [written(tmp_path / f"{week}-{name}.csv", f"{week} {name}") for name in range(files)]
        history.note(LARGE, LARGE.guarantee, people[:1])
        heard.append([note for note in history.note(weekly, weekly.guarantee, people) if "rounds" in note])
    assert [len(notes) for notes in heard] == [0, 0, 1]
    assert heard[2][0].startswith("The plan is one of 2 rounds, and this is answer 3 by it")


def test_rounds_that_are_planned_are_no_second_spending_and_other_plans_are(
    history: History, tmp_path: Path, people: Path
) -> None:
    weekly = replace(LARGE, over_time=OverTime(rounds=3, per_person=3, epsilon=9.0, delta=1e-6))
    for _ in range(3):
        assert history.note(weekly, weekly.guarantee, [people]) == []
    again, beyond = history.note(weekly, weekly.guarantee, [people])
    assert again.startswith("The budget is spent again, because this file was already used 3 times (3 with this plan)")
    assert beyond.startswith("The plan is one of 3 rounds, and this is answer 4 by it")
    assert weekly.over_time is not None
    other = written(tmp_path / "other.csv", "2")
    monthly = replace(weekly, over_time=replace(weekly.over_time, rounds=4))
    history.note(SMALL, SMALL.guarantee, [other])
    (again,) = history.note(monthly, monthly.guarantee, [people, other])
    assert again.startswith("The budget is spent again")


@pytest.mark.parametrize("order", list(permutations(range(3))), ids=str)
def test_answers_that_protect_different_units_are_not_added_up(
    history: History, people: Path, order: tuple[int, ...]
) -> None:
    """Whichever of them comes first, in the middle or last."""
    promises = [LARGE.guarantee, LARGE.guarantee, of_rows(LARGE, 3)]
    for place in order:
        notes = history.note(LARGE, promises[place], [people])
    assert "They protect different things" in notes[0]
    assert "All answers together" not in notes[0]


def test_several_files_are_as_often_answered_as_the_one_that_was_answered_most(
    history: History, tmp_path: Path
) -> None:
    """In whatever order they are named; and each of them is remembered."""
    once, twice, never = (written(tmp_path / f"{name}.csv", name) for name in ("1", "2", "3"))
    history.note(LARGE, LARGE.guarantee, [twice])
    history.note(SMALL, SMALL.guarantee, [once, twice])
    asked = [LARGE, SMALL]
    for count, files in enumerate(([never, twice, once], [twice, once, never], [once, never, twice]), start=2):
        (note,) = history.note(HALF, HALF.guarantee, files)
        asked.append(HALF)
        assert f"already used {count} times" in note
        assert total(note) == composed(asked, HALF.guarantee.delta)
    (note,) = history.note(LARGE, LARGE.guarantee, [never])
    assert "already used 3 times (not with this plan)" in note


def test_lines_that_cannot_be_read_hide_no_others(history: History, people: Path) -> None:
    """Before, between and after those that can."""
    for made in (LARGE, SMALL):
        history.note(made, made.guarantee, [people])
    path = history._path
    first, second = path.read_text().splitlines()
    path.write_text("\n".join(["{", first, "[]", second, '{"data": 1}', ""]))
    note, unreadable = history.note(HALF, HALF.guarantee, [people])
    assert total(note) == composed([LARGE, SMALL, HALF], HALF.guarantee.delta)
    assert unreadable.startswith("3 line(s)")


def test_another_file_has_another_budget_and_a_copy_of_one_has_not(history: History, tmp_path: Path) -> None:
    """People are known by what is in the file, not by its name."""
    history.note(LARGE, LARGE.guarantee, [written(tmp_path / "one.csv", "1")])
    assert history.note(LARGE, LARGE.guarantee, [written(tmp_path / "two.csv", "2")]) == []
    (note,) = history.note(LARGE, LARGE.guarantee, [written(tmp_path / "copy.csv", "1")])
    assert "already used once (1 with this plan)" in note


@pytest.mark.parametrize("lost", [0, 1])
def test_a_file_that_could_not_be_written_down_is_told(
    history: History, tmp_path: Path, lost: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first of several, or the last."""
    files, kept = [written(tmp_path / f"{name}.csv", name) for name in ("1", "2")], History._append
    written_down = iter([place != lost for place in range(2)])
    monkeypatch.setattr(History, "_append", lambda self, release: next(written_down) and kept(self, release))
    assert history.note(LARGE, LARGE.guarantee, files) == [
        "This release could not be written down, so a second one will not be noticed."
    ]
