"""The table of pins: what is in it, and what differs from it."""

import functools
import hashlib
import json
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, Final

from pins import laws, numbers, refusals
from pins.atoms import Atom, atoms
from pins.watch import Seen, watched

TABLE: Final = Path(__file__).parents[1] / "golden" / "pins.json"
EXACTLY: Final = 0.0
NEARLY: Final = 2.0**-51
"""What a number in doubles may be off, relative to itself, if no trial moved it: sums in another order."""
_NUMBERS: Final = 12
"""Of one entry, so many are written out. Those that are the same everywhere are in its digest."""
Pin = str | list[str]
"""A digest of what must be equal; and numbers at their places, each with how far it may be off, or nothing where it is open."""
_REFUSED: Final = "refused or not: "


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
    if name.startswith(_REFUSED):
        return {place: [told] if isinstance(told, str) else atoms(told) for place, told in case().items()}
    return watched(case, magnified=magnified)


def pinned(name: str, here: Seen, elsewhere: list[Seen]) -> dict[str, Pin]:
    """What is the same wherever it was tried, and how far numbers were apart."""
    close = cases()[name][1]
    return {
        place: _pin(mine, [one.get(place, []) for one in elsewhere], close)
        for place, mine in here.items()
        if all(len(one.get(place, [])) == len(mine) for one in elsewhere)
    }


def _pin(mine: list[Atom], others: list[list[Atom]], close: float) -> Pin:
    apart, written = dict[int, str](), 0
    for i, atom in enumerate(mine):
        there = [other[i] for other in others]
        if isinstance(atom, str) or any(isinstance(other, str) for other in there):
            if any(other != atom for other in there):
                apart[i] = f"{i}"
            continue
        off = max((abs(other - atom) for other in there if not isinstance(other, str)), default=0.0)
        if off > 0 or close > 0:
            apart[i] = f"{i} {atom!r} {max(16 * off, close * abs(atom)):.2g}" if written < _NUMBERS else f"{i}"
            written += 1
    digest = _digest(mine, apart)
    return [digest, *apart.values()] if apart else digest


def _digest(given: list[Atom], apart: Collection[int]) -> str:
    """Of all that must be equal, and of how much there is."""
    equal = [atom if isinstance(atom, str) else atom.hex() for i, atom in enumerate(given) if i not in apart]
    return hashlib.sha256(repr((len(given), equal)).encode()).hexdigest()[:8]


def differences(pins: Mapping[str, Pin], now: Seen) -> list[str]:
    """What is not as it was, in words."""
    found = []
    for place, pin in pins.items():
        given = now.get(place)
        if given is None:
            found.append(f"{place}: there is no such entry any more")
            continue
        digest, apart = (pin, []) if isinstance(pin, str) else (pin[0], [one.split() for one in pin[1:]])
        if _digest(given, {int(one[0]) for one in apart}) != digest:
            found.append(f"{place}: a number, a text or their order has changed; it is {str(given[:8])[:300]} now")
        found += [
            f"{place}: was {was} (give or take {off}), is {given[int(i)]}"
            for i, was, off in (one for one in apart if len(one) == 3)
            if int(i) < len(given) and not _near(given[int(i)], float(was), float(off))
        ]
    return found


def _near(atom: Atom, was: float, off: float) -> bool:
    return not isinstance(atom, str) and abs(atom - was) <= off


@functools.cache
def kept() -> dict[str, dict[str, Pin]]:
    """The table as it is written down."""
    found: dict[str, dict[str, Pin]] = json.loads(TABLE.read_text(encoding="utf-8"))["cases"]
    return found
