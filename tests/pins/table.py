"""The table of pins: what is in it, and what differs from it."""

import functools
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from pins import laws, numbers, refusals
from pins.atoms import Atom, atoms
from pins.watch import Seen, watched

TABLE: Final = Path(__file__).parents[1] / "golden" / "pins.json"
EXACTLY: Final = 0.0
NEARLY: Final = 2.0**-51
"""What a number in doubles may be off, relative to itself, if no trial moved it: sums in another order."""
Pin = str | list[str]
"""A text, or a number in hexadecimal and how far it may be off."""
_REFUSED: Final = "refused or not: "
UNSETTLED: Final = "?"
"""What another machine may have otherwise."""


@functools.cache
def cases() -> Mapping[str, tuple[Callable[[], Any], float, bool]]:
    """By name: what is run, how close numbers must be, and whether charges are magnified."""
    exact = laws.core() | laws.randomizers() | numbers.formulas()
    found: dict[str, tuple[Callable[[], Any], float, bool]] = {
        name: (case, EXACTLY, False) for name, case in exact.items()
    }
    for name, case in numbers.numeric().items():
        found[name] = (case, NEARLY, False)
        if name not in numbers.SLOW:
            found[f"{name}, charges magnified"] = (case, NEARLY, True)
    for name, probe in refusals.probes().items():
        found[f"{_REFUSED}{name}"] = (functools.partial(refusals.outcomes, probe), EXACTLY, False)
    return found


def seen(name: str) -> Seen:
    """What a case does now."""
    case, _, magnified = cases()[name]
    if name.startswith(_REFUSED):  # the messages as they are: they say enough
        return {place: [told] if isinstance(told, str) else atoms(told) for place, told in case().items()}
    return watched(case, magnified=magnified)


def pinned(name: str, here: Seen, elsewhere: list[Seen]) -> dict[str, list[Pin]]:
    """What is the same wherever it was tried, and how far numbers were apart."""
    close = cases()[name][1]
    found = {}
    for place, mine in here.items():
        others = [one.get(place) for one in elsewhere]
        if all(other is not None and len(other) == len(mine) for other in others):
            found[place] = [_pin(atom, [other[i] for other in others if other], close) for i, atom in enumerate(mine)]
    return {place: pins for place, pins in found.items() if any(pin != UNSETTLED for pin in pins)}


def _pin(atom: Atom, others: list[Atom], close: float) -> Pin:
    if isinstance(atom, str):
        return atom if all(other == atom for other in others) else UNSETTLED
    if any(isinstance(other, str) for other in others):
        return UNSETTLED
    apart = max((abs(other - atom) for other in others if not isinstance(other, str)), default=0.0)
    return [atom.hex(), f"{max(16 * apart, close * abs(atom)):.2g}"]


def differences(pins: Mapping[str, list[Pin]], now: Seen) -> list[str]:
    """What is not as it was, in words."""
    found = []
    for place, wanted in pins.items():
        given = now.get(place)
        if given is None:
            found.append(f"{place}: it is not called so often any more")
        elif len(given) != len(wanted):
            found.append(f"{place}: it returned something of another shape")
        else:
            found += [
                f"{place}: was {_shown(pin)}, is {atom}"
                for pin, atom in zip(wanted, given, strict=True)
                if not _same(pin, atom)
            ]
    return found


def _same(pin: Pin, atom: Atom) -> bool:
    if isinstance(pin, str):
        return pin in (UNSETTLED, atom)
    return not isinstance(atom, str) and abs(atom - float.fromhex(pin[0])) <= float(pin[1])


def _shown(pin: Pin) -> str:
    return pin if isinstance(pin, str) else f"{float.fromhex(pin[0])!r} (give or take {pin[1]})"


@functools.cache
def kept() -> dict[str, dict[str, list[Pin]]]:
    """The table as it is written down."""
    found: dict[str, dict[str, list[Pin]]] = json.loads(TABLE.read_text(encoding="utf-8"))["cases"]
    return found
