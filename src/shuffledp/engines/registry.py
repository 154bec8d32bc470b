"""Every engine by its name."""

from typing import Final

from shuffledp.core import argument
from shuffledp.core.plugins import Registry, object_by_name
from shuffledp.engines.arrow import Arrow
from shuffledp.engines.engine import Engine
from shuffledp.engines.memory import Memory
from shuffledp.engines.spark import Spark
from shuffledp.errors import unknown

ENGINES: Final = Registry[Engine](
    "an engine",
    "shuffledp.engines",
    {engine.name: engine for engine in (Arrow(), Memory(), Spark())},
    object_by_name("tally"),
)
"""Every engine by its name. A new one of our own goes here; tests/conformance/test_engines.py judges it."""


def register(engine: Engine) -> None:
    """Make an engine known by its `name`.

    An installed package does the same without a call, by an entry point of that name in the group `shuffledp.engines`, which
    is the engine or a class that makes it without arguments.
    """
    ENGINES.add(engine)


def unregister(engine: Engine) -> None:
    """Forget an engine that was registered."""
    ENGINES.remove(engine)


def engine_named(name: str | Engine) -> Engine:
    """The engine of that name; one that was made already is itself."""
    if not isinstance(name, str):
        return argument.with_method(name, "tally", "engine", f"one of {', '.join(ENGINES)}")  # type: ignore[no-any-return]
    if name not in ENGINES:
        raise unknown("engine", name, ENGINES)
    return ENGINES[name]
