"""Shuffle-model differential privacy: account, plan, run.

Names are loaded on first use, so `import shuffledp` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shuffledp.accounting.account import account, bounds, calibrate
    from shuffledp.accounting.accuracy import summation_error_floor
    from shuffledp.accounting.composition import Collection, compose, to_pld
    from shuffledp.accounting.solve import Solution
    from shuffledp.core.guarantee import Guarantee
    from shuffledp.core.words import KeyedWords, SystemWords
    from shuffledp.errors import Contradiction, InvalidInput, NoClaim, NotDefined, ShuffledpError
    from shuffledp.randomizers.channel import Channel
    from shuffledp.randomizers.gaussian import Gaussian
    from shuffledp.randomizers.generic import Generic
    from shuffledp.randomizers.laplace import Laplace
    from shuffledp.randomizers.lattice import LatticeChannel
    from shuffledp.randomizers.response import RandomizedResponse

__version__ = "0.1.0"

_HOME = {
    "Channel": "randomizers.channel",
    "Collection": "accounting.composition",
    "Contradiction": "errors",
    "Gaussian": "randomizers.gaussian",
    "Generic": "randomizers.generic",
    "Guarantee": "core.guarantee",
    "InvalidInput": "errors",
    "KeyedWords": "core.words",
    "Laplace": "randomizers.laplace",
    "LatticeChannel": "randomizers.lattice",
    "NoClaim": "errors",
    "NotDefined": "errors",
    "RandomizedResponse": "randomizers.response",
    "ShuffledpError": "errors",
    "Solution": "accounting.solve",
    "SystemWords": "core.words",
    "account": "accounting.account",
    "bounds": "accounting.account",
    "calibrate": "accounting.account",
    "compose": "accounting.composition",
    "summation_error_floor": "accounting.accuracy",
    "to_pld": "accounting.composition",
}

__all__ = [
    "Channel",
    "Collection",
    "Contradiction",
    "Gaussian",
    "Generic",
    "Guarantee",
    "InvalidInput",
    "KeyedWords",
    "Laplace",
    "LatticeChannel",
    "NoClaim",
    "NotDefined",
    "RandomizedResponse",
    "ShuffledpError",
    "Solution",
    "SystemWords",
    "account",
    "bounds",
    "calibrate",
    "compose",
    "summation_error_floor",
    "to_pld",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'shuffledp' has no attribute {name!r}")
    value = getattr(import_module(f"shuffledp.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
