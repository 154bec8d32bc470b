"""Run something with nothing remembered from before, and write down what it returned."""

import functools
import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from pins.atoms import Atom, atoms
from shuffledp.errors import ShuffledpError

MAGNIFIED: Final = 2.0**-38
"""In place of 2^-53: charges for the last bits are then large enough to be told apart from one another."""
Seen = dict[str, list[Atom]]
"""Atoms by entry."""


def watched(case: Callable[[], Any], *, magnified: bool) -> Seen:
    """What comes of it, entry by entry; an error is a result as well."""
    with _unit(MAGNIFIED if magnified else None):
        try:
            result = case()
        except (ShuffledpError, ArithmeticError, ValueError, TypeError) as error:
            result = f"{type(error).__name__}: {error}"
    if isinstance(result, list) and result:
        return {str(place): atoms(entry) for place, entry in enumerate(result)}
    return {"all": atoms(result)}


@contextmanager
def _unit(size: float | None) -> Iterator[None]:
    """Another unit in the last place, in all modules; nothing is remembered before or after."""
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("shuffledp.") and module]
    changed = [module for module in modules if size is not None and "ULP" in vars(module)]
    kept = [module.ULP for module in changed]
    forget()
    for module in changed:
        module.ULP = size  # type: ignore[attr-defined]
    try:
        yield
    finally:
        for module, old in zip(changed, kept, strict=True):
            module.ULP = old  # type: ignore[attr-defined]
        forget()


def forget() -> None:
    """Clear every cache of the package."""
    for cached in _caches():
        cached.cache_clear()


@functools.cache
def _caches() -> list[Any]:
    kind = functools._lru_cache_wrapper
    return [
        one for one in gc.get_objects()
        if isinstance(one, kind) and getattr(one, "__module__", "").startswith("shuffledp.")
    ]  # fmt: skip


@contextmanager
def shaken(seed: int) -> Iterator[None]:
    """Elementary functions that are off by up to two units in the last place, as those of another machine may be."""
    import math

    random = np.random.default_rng(seed)
    names = ("exp", "expm1", "log", "log1p", "sin", "cos", "tan", "arctan2")
    ufuncs = {name: getattr(np, name) for name in names}
    plain = {name: getattr(math, name) for name in ("exp", "expm1", "log", "log1p", "sin", "cos", "tan", "atan2")}

    def off(value: Any) -> Any:
        by = 1 + random.integers(-2, 3, size=np.shape(value)) * 2.0**-53
        return np.where(np.isfinite(value) & (value != np.round(value.real)), value * by, value)

    def many(name: str) -> Callable[..., Any]:
        def function(*given: Any, **options: Any) -> Any:
            found = off(np.asarray(ufuncs[name](*given, **options)))
            return found if found.ndim else found[()]

        return function

    def one(name: str) -> Callable[..., float]:
        return lambda *given: float(off(np.float64(plain[name](*given))))

    try:
        for name in ufuncs:
            setattr(np, name, many(name))
        for name in plain:
            setattr(math, name, one(name))
        yield
    finally:
        for name, function in ufuncs.items():
            setattr(np, name, function)
        for name, function in plain.items():
            setattr(math, name, function)
