"""Sessions of Spark: one that is there, one on a cluster, or one on this machine."""

import gc
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import urlsplit

from shuffledp.core.installed import not_installed
from shuffledp.errors import InvalidInput

_QUIET: Final = {
    "spark.log.level": "OFF",  # what a task complains about may quote a value; we say what went wrong
    "spark.ui.showConsoleProgress": "false",
    "spark.io.encryption.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(1 << 18),
}
"""Settings of a session that is started here; those of a session that exists are its owner's."""
_LOCAL: Final = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}
_SECURED: Final = ("spark.network.crypto.enabled", "spark.ssl.rpc.enabled")
_LOGGERS: Final = ("DataFrameQueryContextLogger", "SQLQueryContextLogger", "pyspark.sql.connect.logging")
_HERE: Final = ("localhost", "127.0.0.1", "::1")


def current_session() -> Any:
    """The session that is active, or a new one as Spark is configured: on this machine if nothing is."""
    spark = _spark()
    with quiet():
        return spark.SparkSession.getActiveSession() or _started(None, None)


@contextmanager
def session(*, master: str | None = None, remote: str | None = None) -> Iterator[Any]:
    """A session on a cluster (`master`), through Spark Connect (`remote`), or as Spark is configured; stopped afterwards.

    One that is there already is used if nothing else is asked for, and goes on.
    """
    if master is not None and remote is not None:
        raise InvalidInput("Spark is reached by its master or through Connect. Give one of --master, --remote.")
    spark = _spark()
    with quiet():
        before = spark.SparkSession.getActiveSession()
    if before is not None:
        if (master, remote) != (None, None):
            raise InvalidInput("there is a session of Spark already. Stop it, or leave out --master and --remote.")
        yield before
        return
    started = _started(master, remote)
    try:
        yield started
    finally:
        with quiet():
            started.stop()


@contextmanager
def quiet() -> Iterator[None]:
    """Hear neither warnings about versions of pandas, which is not used, nor logged errors, which may quote a value."""
    from pyspark.logger import PySparkLogger

    loggers = [PySparkLogger.getLogger(name) for name in _LOGGERS]
    before = [logger.disabled for logger in loggers]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for logger in loggers:
            logger.disabled = True
        try:
            yield
        finally:
            for logger, disabled in zip(loggers, before, strict=True):
                logger.disabled = disabled


def forget_tables() -> None:
    """Let go of tables that nobody uses any more, with all that was sent for them.

    Python finds them in cycles only when it happens to look, and the driver's heap is full of what they hold long before.
    """
    gc.collect()


def check_carries_secrets(spark: Any) -> None:
    """Refuse to send keys to executors that are reached over a network in clear."""
    if any(setting(spark, name) == "true" for name in _SECURED):
        return
    if is_connect(spark):
        place = urlsplit(setting(spark, "spark.remote") or spark.client._builder.url.geturl())
        if place.hostname in _HERE or "use_ssl=true" in place.path.lower():
            master = setting(spark, "spark.master") or ""
            if _is_here(master):
                return
    elif _is_here(spark.sparkContext.master):
        return
    raise InvalidInput(
        "the keys would go to Spark's executors over a network that is not encrypted. Set spark.authenticate and "
        "spark.network.crypto.enabled (and use_ssl=true with Connect), or use a master on this machine."
    )


def setting(spark: Any, name: str) -> str | None:
    """A setting of a session; None if there is none."""
    value = spark.conf.get(name, None)
    return None if value is None else str(value).lower() if str(value).lower() in ("true", "false") else str(value)


def is_connect(spark: Any) -> bool:
    """Whether a session or a table is reached through Spark Connect."""
    return ".connect." in f"{type(spark).__module__}."


def _is_here(master: str) -> bool:
    return master.startswith("local") or urlsplit(master).hostname in _HERE


def _started(master: str | None, remote: str | None) -> Any:
    builder = _spark().SparkSession.builder
    if remote is not None:
        builder = builder.remote(remote)
    else:
        os.environ.setdefault(
            "PYSPARK_PYTHON", sys.executable
        )  # the executors' Python is this one, unless said otherwise
        here = master is not None and _is_here(master)
        for name, value in (_QUIET | (_LOCAL if here or _nothing_configured(master) else {})).items():
            builder = builder.config(name, value)
        if master is not None:
            builder = builder.master(master)
    failure = ""
    try:
        with quiet():
            return builder.getOrCreate()
    except Exception as error:
        failure = getattr(error, "getCondition", lambda: None)() or type(error).__name__
    raise InvalidInput(
        f"Spark did not start ({failure}). Check the address of the cluster, and that Java 17 is installed where it runs."
    )


def _nothing_configured(master: str | None) -> bool:
    """Whether Spark will run on this machine because nobody said otherwise."""
    places = ("MASTER", "SPARK_REMOTE", "SPARK_HOME", "SPARK_CONF_DIR", "PYSPARK_SUBMIT_ARGS", "PYSPARK_GATEWAY_PORT")
    return master is None and not any(os.environ.get(name) for name in places)


def _spark() -> Any:
    try:
        import pyspark.sql
    except ImportError:
        raise not_installed("Spark needs pyspark", "run", "spark") from None
    return pyspark.sql
