"""Every engine by its name. To add one, register it here; tests/conformance/test_engines.py judges it."""

from typing import Final

from shuffledp.core import given
from shuffledp.engines.arrow import Arrow
from shuffledp.engines.engine import Engine
from shuffledp.engines.memory import Memory
from shuffledp.engines.spark import Spark
from shuffledp.errors import unknown

ENGINES: Final[dict[str, Engine]] = {engine.name: engine for engine in (Arrow(), Memory(), Spark())}


def engine_named(name: str | Engine) -> Engine:
    """The engine of that name; one that was made already is itself."""
    if not isinstance(name, str):
        return given.with_method(name, "tally", "engine", f"one of {', '.join(ENGINES)}")  # type: ignore[no-any-return]
    if name not in ENGINES:
        raise unknown("engine", name, ENGINES)
    return ENGINES[name]
