"""Spark for tests: one session on this machine that also answers Connect."""

import os
import sys
import warnings
from pathlib import Path
from typing import Any

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "3",
    "spark.default.parallelism": "2",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # short-lived: little is worth compiling
    "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.connect.grpc.binding.port": "0",
}


def local_session() -> Any:
    """On two cores, with four tries for each task."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise AssertionError("the tests need Spark. Run make test, or make .venv/.spark first.") from None
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["PYTHONPATH"] = str(Path(__file__).parents[1])  # so that executors find oracles/spark_tasks.py
    builder = SparkSession.builder.master("local[2,4]")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return builder.getOrCreate()


def connect_url(session: Any) -> str:
    """Where the same Spark answers Connect."""
    port = session.sparkContext._jvm.org.apache.spark.sql.connect.service.SparkConnectService.localPort()
    return f"sc://127.0.0.1:{port}"
