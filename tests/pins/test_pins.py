"""What was computed is still computed (tests/golden/pins.json): these tests notice change, and say nothing of what is right."""

import pytest

from pins.table import cases, differences, kept, pinned, seen


def test_every_case_is_in_the_table_and_the_table_has_no_other() -> None:
    assert list(kept()) == list(cases())


@pytest.mark.parametrize("name", cases())
def test_nothing_has_changed(name: str) -> None:
    found = differences(kept()[name], seen(name))
    assert not found, "\n".join(
        [*found[:12], f"{len(found)} in all. If that is meant: PYTHONPATH=tests python -m pins --write"]
    )


def test_a_change_is_noticed_and_what_other_machines_have_otherwise_is_not() -> None:
    name = next(iter(cases()))
    pins = pinned(name, {"f #1": ["3", 1.0, 2.0]}, [{"f #1": ["3", 1.0 + 2**-52, 2.0]}])
    assert differences(pins, {"f #1": ["3", 1.0 + 2**-50, 2.0]}) == []
    others: list[list[str | float]] = [
        ["4", 1.0, 2.0],
        ["3", 1.1, 2.0],
        ["3", 1.0, 2.0000000000000004],
        ["3", 1.0],
        ["3", 1.0, "inf"],
    ]
    for other in others:
        assert len(differences(pins, {"f #1": other})) == 1
    assert len(differences(pins, {})) == 1
    assert pinned(name, {"f #1": ["3", "x"], "g #1": ["1"]}, [{"f #1": ["3", "y"]}]) == {"f #1": ["3", "?"]}


def test_a_charge_of_one_unit_more_is_noticed_where_charges_are_magnified() -> None:
    """The point of magnifying: 8 units for 9 changes a bound by less than any tolerance, and its magnified one by far more."""
    name = "kernel of 30 drifting, charges magnified"
    pins, now = kept()[name], seen(name)
    place = next(place for place in pins if place.startswith("arithmetic/tilt:Tilted.log_m_at"))
    numbers = [i for i, pin in enumerate(pins[place]) if not isinstance(pin, str)]
    now[place] = [
        atom * (1 + 2.0**-30) if i == numbers[-1] and not isinstance(atom, str) else atom
        for i, atom in enumerate(now[place])
    ]
    assert len(differences(pins, now)) == 1
