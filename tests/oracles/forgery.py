"""Documents with one field edited, removed or added, and sealed again with an honest hash."""

import copy
from collections.abc import Iterator
from typing import Any

from shuffledp.core.canonical import digest

Place = tuple[str | int, ...]
SHOWN = ("sha256", "local", "forecast", "certificate")
"""What the hash of a plan is not about."""


def forged(document: dict[str, Any]) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Every field in turn: other values, other types, none at all, and one more beside it."""
    for at, value in list(_places(document)):
        for other in (one for one in _others(value) if one != value or type(one) is not type(value)):
            made, inside = _inside(document, at)
            inside[at[-1]] = other
            yield at, resealed(made)
        made, inside = _inside(document, at)
        del inside[at[-1]]
        yield at, resealed(made)
        if isinstance(value, dict):
            made, inside = _inside(document, (*at, ""))
            inside["epsilon_for_the_press"] = 0.01
            yield (*at, "epsilon_for_the_press"), resealed(made)


def resealed(document: dict[str, Any]) -> dict[str, Any]:
    """With honest hashes, whatever the document says now."""
    made = dict(document)
    for name in ("plan", "certificate"):
        if isinstance(made.get(name), dict):
            made[name] = resealed(made[name])
    left = SHOWN if "protocol" in made else ("sha256",) if str(made.get("kind", "")).endswith("certificate") else None
    if left is not None and "sha256" in made:
        made["sha256"] = digest({name: value for name, value in made.items() if name not in left})
    return made


def _places(value: Any, at: Place = ()) -> Iterator[tuple[Place, Any]]:
    if at:
        yield at, value
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, one in inner:
        if name != "sha256":
            yield from _places(one, (*at, name))


def _inside(document: dict[str, Any], at: Place) -> tuple[dict[str, Any], Any]:
    """A copy, and what holds this place in it."""
    made = copy.deepcopy(document)
    inside: Any = made
    for name in at[:-1]:
        inside = inside[name]
    return made, inside


def _others(value: Any) -> list[Any]:
    if isinstance(value, bool) or value is None:
        return [not value, 1, "x"]
    if isinstance(value, int):
        return [value + 1, value - 1, 2 * value + 3, 3, 2, 0, -1, str(value), True]
    if isinstance(value, float):
        return [value * 2, value / 2, value * 0.99, value + 1, 0.0, -1.0, 1e-300, str(value), None]
    if isinstance(value, str) and value.startswith("0x"):
        return [*_doubles(float.fromhex(value)), f"{value}0", f" {value}", value.upper(), "", None, 7]
    if isinstance(value, str):
        digits = [str(int(value) // 2), str(int(value) + 1), "1", f"{value}_0", f" {value}"] if value.isdigit() else []
        return [f"{value}x", "", None, 7, *digits]
    return [None, [], {}, "x"]


def _doubles(value: float) -> list[str]:
    """In hexadecimal: smaller and larger ones, none at all, and such as only some readers take."""
    near = [value * 0.5, value * 0.99, value * 0.999, value * 1.001, value * 2, 0.0, -value, 1e-300]
    odd = [
        "inf",
        "nan",
        "-inf",
        "0x1p+9999",
        "0x1.0000000000000p+9999",
        "0x1p+40",
        "0x1.0000000000000p+40",
        "0x1p-7",
        "1",
        "0x1",
        "1_0.0",
        repr(value),
    ]
    return [*(number.hex() for number in near), *odd]
