"""Options that say where Spark is, and the engine that they mean."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import click

from shuffledp.cli.choice import Choice
from shuffledp.cluster.session import session
from shuffledp.engines.engine import Engine
from shuffledp.engines.registry import engine_named
from shuffledp.engines.spark import Spark
from shuffledp.errors import InvalidInput
from shuffledp.service.sealing.spark_unsealing import SparkFirst, SparkUnsealers
from shuffledp.service.sealing.unsealing import Unsealers
from shuffledp.service.shuffler.limits import Limits

SPARK_OPTIONS: Final = [
    click.option(
        "--master",
        metavar="URL",
        help="Spark's master, e.g. local[2] or spark://host:7077 [default: as Spark is configured, or this machine].",
    ),
    click.option("--remote", metavar="URL", help="Or Spark Connect, e.g. sc://host:15002."),
]


unsealing_option: Final = click.option(
    "--engine",
    type=Choice(["processes", "spark"]),
    default="processes",
    show_default=True,
    help="What opens records: processes of this machine, or Spark.",
)


def check_place(engine: str, master: str | None, remote: str | None) -> None:
    """Refuse an address of Spark for what does not run there."""
    if engine != Spark.name and (master is not None or remote is not None):
        raise InvalidInput("--master and --remote say where Spark is. Use --engine spark.")


def spark_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """A command with all of them."""
    for option in reversed(SPARK_OPTIONS):
        command = option(command)
    return command


@contextmanager
def chosen_tallier(engine: str, master: str | None, remote: str | None) -> Iterator[SparkUnsealers | None]:
    """What opens records on Spark while this lasts; None for processes of this machine."""
    if engine != Spark.name:
        yield None
        return
    with session(master=master, remote=remote) as spark:
        yield SparkUnsealers(spark)


@contextmanager
def chosen_unsealers(
    engine: str, master: str | None, remote: str | None, *, processes: int, limits: Limits
) -> Iterator[Unsealers]:
    """What opens the reports of a service while this lasts."""
    check_place(engine, master, remote)
    if engine != Spark.name:
        yield Unsealers(processes, timeout=limits.helper_timeout)
        return
    with session(master=master, remote=remote) as spark:
        patience = limits.answer_timeout / 2  # so that there is time to open the reports here
        yield SparkFirst(SparkUnsealers(spark), processes, timeout=limits.helper_timeout, patience=patience)


@contextmanager
def chosen_engine(engine: str, master: str | None, remote: str | None) -> Iterator[Engine]:
    """The engine of that name; with a session of Spark while this lasts if it needs one."""
    check_place(engine, master, remote)
    if engine != Spark.name:
        yield engine_named(engine)
        return
    with session(master=master, remote=remote) as spark:
        yield Spark(spark)
