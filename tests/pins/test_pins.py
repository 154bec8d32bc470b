"""What was computed is still computed (tests/golden/pins.json): these tests notice change, and say nothing of what is right."""

import re

import pytest

from pins.table import TABLE, cases, differences, kept, pinned, seen


def test_every_case_is_in_the_table_and_the_table_has_no_other() -> None:
    assert list(kept()) == list(cases())


@pytest.mark.parametrize("name", cases())
def test_nothing_has_changed(name: str) -> None:
    found = differences(kept()[name], seen(name))
    assert not found, "\n".join(
        [*found[:12], f"{len(found)} in all. If that is meant: PYTHONPATH=tests python -m pins --write"]
    )


def test_nothing_private_is_pinned_and_the_table_is_small() -> None:
    """What a function calls on its way, and how often, may change."""
    private = re.compile(r"(?:^|[\s:./])_\w")
    assert not [name for name, pins in kept().items() for one in (name, *pins) if private.search(one)]
    assert TABLE.stat().st_size <= 150_000


def test_a_change_is_noticed_and_what_other_machines_have_otherwise_is_not() -> None:
    name = next(iter(cases()))
    pins = pinned(name, {"0": ["3", 1.0, 2.0]}, [{"0": ["3", 1.0 + 2**-52, 2.0]}])
    assert differences(pins, {"0": ["3", 1.0 + 2**-50, 2.0]}) == []
    others: list[list[str | float]] = [
        ["4", 1.0, 2.0],
        ["3", 1.1, 2.0],
        ["3", 1.0, 2.0000000000000004],
        ["3", 1.0],
        ["3", "inf", 2.0],
        ["3", 1.0, "inf"],
    ]
    for other in others:
        assert len(differences(pins, {"0": other})) == 1
    assert len(differences(pins, {})) == 1
    open_text = pinned(name, {"0": ["3", "x"], "1": ["1"]}, [{"0": ["3", "y"], "1": []}])
    assert list(open_text) == ["0"]
    assert differences(open_text, {"0": ["3", "z"]}) == []
    assert len(differences(open_text, {"0": ["4", "x"]})) == 1


def test_a_charge_of_one_unit_more_is_noticed_where_charges_are_magnified() -> None:
    """The point of magnifying: 8 units for 9 changes a bound by less than any tolerance, and its magnified one by far more."""
    name = "kernel of 30 drifting, charges magnified"
    pins, now = kept()[name], seen(name)
    assert differences(pins, now) == []
    charged = [i for i, atom in enumerate(now["0"]) if isinstance(atom, float) and 2.0**-37 < atom < 2.0**-25]
    assert charged
    now["0"] = [atom * (9 / 8) if i in charged and isinstance(atom, float) else atom for i, atom in enumerate(now["0"])]
    assert len(differences(pins, now)) == len(charged)
