"""A value as a short list of atoms to be compared one by one: texts that must be equal, numbers that may be a little off."""

import dataclasses
import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from fractions import Fraction
from typing import Any, Final

import numpy as np
from flint import arb, fmpq, fmpz

Atom = str | float
_FEW: Final = 6
"""Whole numbers that are compared one by one."""
_DEEPEST: Final = 4
_LONGEST: Final = 48
"""Texts that are longer are known by a digest."""


def atoms(value: Any) -> list[Atom]:
    """What is compared of a value."""
    return _of(value, 0)


def _of(value: Any, depth: int) -> list[Atom]:
    if isinstance(value, bool | np.bool_ | None.__class__):
        return [str(value)]
    if isinstance(value, int | np.integer | fmpz | fmpq | Fraction):
        return [_short(str(value))]
    if isinstance(value, str | bytes):
        return [_short(value if isinstance(value, str) else value.hex())]
    if isinstance(value, float | np.floating):
        return [_number(float(value))]
    if isinstance(value, complex | np.complexfloating):
        return [_number(float(value.real)), _number(float(value.imag))]
    if isinstance(value, arb):
        return [_number(float(value.mid())), _number(float(value.rad()))]
    if isinstance(value, np.ndarray):
        return _array(value)
    if depth > _DEEPEST or isinstance(value, type | Callable):
        return [type(value).__name__]
    return _inside(value, depth)


def _inside(value: Any, depth: int) -> list[Atom]:
    if isinstance(value, Mapping):
        return [f"{len(value)} keys", *_some((part for pair in value.items() for part in pair), depth)]
    if isinstance(value, Set):
        return [_short(str(sorted(map(str, value))))]
    if isinstance(value, Sequence):
        if value and all(isinstance(one, float) for one in value):
            return _array(np.array(value))
        if len(value) > _FEW and all(isinstance(one, int | fmpz | Fraction) for one in value):
            return [f"{len(value)} numbers", _short(str(list(map(str, value))))]
        return [f"{len(value)} entries", *_some(value, depth)]
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value) if not field.name.startswith("_")]
        parts = (getattr(value, name, None) for name in names)
        return [type(value).__name__, *_some(parts, depth)]
    own = {name: part for name, part in getattr(value, "__dict__", {}).items() if not name.startswith("_")}
    own |= {
        name: getattr(value, name, None) for name in getattr(type(value), "__slots__", ()) if not name.startswith("_")
    }
    return [type(value).__name__, *_some((part for _, part in sorted(own.items())), depth)]


def _some(parts: Iterable[Any], depth: int) -> list[Atom]:
    return [atom for part in parts for atom in _of(part, depth + 1)]


def _array(value: np.ndarray[Any, Any]) -> list[Atom]:
    """Whole numbers exactly; of others sums in which nothing cancels, one of them with another weight at every place."""
    shape = f"{value.dtype.kind}{list(value.shape)}"
    if value.dtype.kind not in "fc":
        return [shape, _short(str(value.tolist()))]
    flat = np.ascontiguousarray(value).reshape(-1)
    if value.dtype.kind == "c":
        flat = flat.view(np.float64)
    flat = flat.astype(np.float64)
    finite = np.isfinite(flat)
    odd = "" if finite.all() else f" but {_short(str([str(one) for one in flat[~finite].tolist()]))}"
    flat = flat[finite]
    if len(flat) <= 3:
        return [shape + odd, *map(_number, flat.tolist())]
    weights = 0.5 + (np.arange(len(flat)) * 2654435761 % 4096) / 4096
    sums = (np.maximum(flat, 0.0), np.minimum(flat, 0.0), weights * np.abs(flat))
    return [shape + odd, *(_number(math.fsum(one.tolist())) for one in sums), _number(float(np.abs(flat).max()))]


def _number(value: float) -> Atom:
    return value if math.isfinite(value) else str(value)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else hashlib.sha256(text.encode()).hexdigest()[:16]
