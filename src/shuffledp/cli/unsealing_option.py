"""The option that says what opens records, processes or Spark, and what it means."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import click

from shuffledp.cli.keyword import Choice
from shuffledp.cli.spark_options import check_engine
from shuffledp.cluster.spark_session import session
from shuffledp.engines.spark import Spark
from shuffledp.service.sealing.spark_unsealing import SparkFirst, SparkUnsealers
from shuffledp.service.sealing.unsealing import Unsealers
from shuffledp.service.shuffler.limits import Limits

unsealing_option: Final = click.option(
    "--engine",
    type=Choice(["processes", "spark"]),
    default="processes",
    show_default=True,
    help="What opens records: processes of this machine, or Spark.",
)


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
    check_engine(engine, master, remote)
    if engine != Spark.name:
        yield Unsealers(processes, timeout=limits.helper_timeout)
        return
    with session(master=master, remote=remote) as spark:
        patience = limits.answer_timeout / 2  # so that there is time to open the reports here
        yield SparkFirst(SparkUnsealers(spark), processes, timeout=limits.helper_timeout, patience=patience)
