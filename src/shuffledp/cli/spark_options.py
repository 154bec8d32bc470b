"""Options that say where Spark is, and the engine that they mean."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import click

from shuffledp.cluster.spark_session import session
from shuffledp.engines.engine import Engine
from shuffledp.engines.registry import engine_named
from shuffledp.engines.spark import Spark
from shuffledp.errors import InvalidInput

SPARK_OPTIONS: Final = [
    click.option(
        "--master",
        metavar="URL",
        help="Spark's master, e.g. local[2] or spark://host:7077 [default: as Spark is configured, or this machine].",
    ),
    click.option("--remote", metavar="URL", help="Or Spark Connect, e.g. sc://host:15002."),
]


def check_engine(engine: str, master: str | None, remote: str | None) -> None:
    """Refuse an address of Spark for what does not run there."""
    if engine != Spark.name and (master is not None or remote is not None):
        raise InvalidInput("--master and --remote say where Spark is. Use --engine spark.")


def spark_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """A command with all of them."""
    for option in reversed(SPARK_OPTIONS):
        command = option(command)
    return command


@contextmanager
def chosen_engine(engine: str, master: str | None, remote: str | None) -> Iterator[Engine]:
    """The engine of that name; with a session of Spark while this lasts if it needs one."""
    check_engine(engine, master, remote)
    if engine != Spark.name:
        yield engine_named(engine)
        return
    with session(master=master, remote=remote) as spark:
        yield Spark(spark)
