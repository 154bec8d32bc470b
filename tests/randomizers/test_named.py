"""Randomizers by name: each is what it says, its parameter given or left open, and what it does not take is refused."""

from typing import Any

import pytest

from shuffledp import Channel, InvalidInput
from shuffledp.core.blanket import RandomizerFamily
from shuffledp.randomizers.named import KINDS, RandomizerChoice, local_parameter, refuse_strays

CHANNEL = Channel([[0.75, 0.25], [0.25, 0.75]])
SHAPES: dict[str, dict[str, int]] = {
    "generic": {}, "rr": {"size": 4}, "plane": {"prime": 5}, "hadamard": {"size": 6},
    "local-hashing": {"size": 9, "range": 4}, "dummies": {"size": 3}, "laplace": {}, "gaussian": {},
}  # fmt: skip
VALUES = {"epsilon0": 1.5, "gamma": 0.4, "sigma": 0.8, "dummies": 40.0}


def choice(name: str) -> RandomizerChoice:
    return RandomizerChoice(name=name, matrix=None)


@pytest.mark.parametrize(
    ("name", "parameter"), [(name, one) for name in SHAPES for one in KINDS[name].parameters], ids=str
)
def test_the_law_the_family_and_what_runs_agree(name: str, parameter: str) -> None:
    shape, value = SHAPES[name], VALUES[parameter]
    law: Any = choice(name).at({**shape, parameter: value}, parameter)
    family = choice(name).at(dict(shape), parameter)
    assert isinstance(family, RandomizerFamily)
    assert family.parameter == parameter
    assert family.low < value < family.high
    assert str(family.blanket(value).gamma()) == str(law.gamma())
    assert family.blanket(value).label == law.label
    if name != "generic":
        runs = choice(name).that_runs({**shape, parameter: value}, parameter)
        assert float(runs.blanket().gamma()) == pytest.approx(float(law.gamma()), rel=1e-6)
    with pytest.raises(InvalidInput, match=f"Add `{parameter}`"):
        choice(name).that_runs(dict(shape), parameter)
    for missing in KINDS[name].needs:
        with pytest.raises(InvalidInput, match=f"Add `{missing}`"):
            choice(name).at({one: n for one, n in shape.items() if one != missing}, parameter)


def test_a_channel_is_its_matrix() -> None:
    for use in (choice("channel").at, choice("channel").that_runs):
        with pytest.raises(InvalidInput, match="`matrix=FILE`"):
            use({}, None)
    with_matrix = RandomizerChoice(name="channel", matrix=CHANNEL)
    assert with_matrix.at({}, None) == CHANNEL.blanket()
    assert with_matrix.that_runs({}, None) is CHANNEL


@pytest.mark.parametrize(
    ("name", "given_", "solve_for", "parameter"),
    [("rr", {"gamma"}, None, "gamma"), ("rr", {"epsilon0"}, None, "epsilon0"), ("rr", set(), None, "epsilon0"),
     ("rr", set(), "gamma", "gamma"), ("rr", set(), "n", "epsilon0"), ("gaussian", set(), "sigma", "sigma"),
     ("dummies", set(), None, "dummies"), ("channel", set(), None, None)],
)  # fmt: skip
def test_which_parameter_is_meant(name: str, given_: set[str], solve_for: str | None, parameter: str | None) -> None:
    assert local_parameter(name, given_, solve_for) == parameter


@pytest.mark.parametrize(
    ("name", "given_", "solve_for", "why"),
    [("rr", {"gamma", "epsilon0"}, None, "twice"), ("laplace", {"gamma"}, None, "It takes `epsilon0`"),
     ("rr", {"sigma"}, None, "`epsilon0` or `gamma`"), ("channel", {"epsilon0"}, None, "It takes `matrix`"),
     ("laplace", set(), "gamma", "has no gamma"), ("nobody", set(), None, "no randomizer 'nobody'")],
)  # fmt: skip
def test_what_is_not_meant_is_refused(name: str, given_: set[str], solve_for: str | None, why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        local_parameter(name, given_, solve_for)


def test_strays() -> None:
    for name, shape in SHAPES.items():
        refuse_strays(name, shape, None)
        with pytest.raises(InvalidInput, match="`matrix` belongs to channel"):
            refuse_strays(name, shape, CHANNEL)
    refuse_strays("channel", {}, CHANNEL)
    for name, stray in (("laplace", "size"), ("rr", "prime"), ("plane", "size"), ("rr", "range")):
        with pytest.raises(InvalidInput, match=f"`{stray}` belongs to"):
            refuse_strays(name, {stray}, None)


@pytest.mark.parametrize(
    ("shape", "why"),
    [({}, "`size` or `prime`"), ({"size": 3, "prime": 5}, "`size` or `prime`"), ({"size": 3, "dimension": 2}, "a plane")],
)  # fmt: skip
def test_what_dummies_hide(shape: dict[str, float | int], why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        choice("dummies").at({**shape, "dummies": 5.0}, "dummies")
    plane, space = (
        choice("dummies").at({"prime": 5, "dummies": 50.0, **more}, "dummies") for more in ({}, {"dimension": 3})
    )
    assert plane == choice("dummies").at({"prime": 5, "dummies": 50.0, "dimension": 2}, "dummies")
    assert plane != space
