"""Spark for tests: one session on this machine that also answers Connect."""

import os
import re
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from oracles.tree import python_path

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
    os.environ["PYTHONPATH"] = python_path()  # executors import the tree under test, and oracles/spark_tasks.py
    builder = SparkSession.builder.master("local[2,4]")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return builder.getOrCreate()


def connect_url(session: Any) -> str:
    """Where the same Spark answers Connect."""
    service = "org.apache.spark.sql.connect.service.SparkConnectService$"
    running = session.sparkContext._jvm.java.lang.Class.forName(service).getField("MODULE$").get(None)
    return f"sc://127.0.0.1:{running.localPort()}"


class Recut:
    """A session in which what the driver sends to tasks is cut, or disturbed, in another way."""

    def __init__(self, session: Any, cut: Callable[[Any], Any]) -> None:
        self._session, self._cut = session, cut

    def createDataFrame(self, data: Any) -> Any:  # noqa: N802 - as Spark has it
        """What the session makes of it, cut."""
        return self._cut(self._session.createDataFrame(data))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)


class Cluster:
    """A master and workers, each a process of its own, on this machine; stopped by process id."""

    def __init__(self, folder: Path, workers: int = 2) -> None:
        self._folder, self._workers = folder, workers
        self._running = list["subprocess.Popen[bytes]"]()
        self.url = ""
        folder.mkdir()

    def __enter__(self) -> Self:
        try:
            master = self._started("master.Master", "--port", "0", "--webui-port", "0")
            self.url = self._said(master, r"Starting Spark master at (spark://\S+)")
            for _ in range(self._workers):
                worker = self._started("worker.Worker", "--cores", "1", "--memory", "1g", "--webui-port", "0", self.url)
                self._said(worker, "Successfully registered with master")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self._running):
            process.terminate()  # a worker ends its executors
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def kill_worker_of(self, executor: int) -> None:
        """Kill an executor and the worker that started it."""
        parent = int(Path(f"/proc/{executor}/stat").read_text().rsplit(")", 1)[1].split()[1])
        (worker,) = (process for process in self._running if process.pid == parent)
        worker.kill()
        worker.wait()
        os.kill(executor, signal.SIGKILL)

    def _started(self, name: str, *arguments: str) -> int:
        import pyspark

        home = Path(pyspark.__file__).parent
        java = Path(os.environ["JAVA_HOME"], "bin", "java") if os.environ.get("JAVA_HOME") else "java"
        options = [
            "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC",
            "-Xmx300m",
            f"-Dlog4j2.configurationFile={_log(self._folder)}",
        ]
        command = [
            str(java),
            *options,
            "-cp",
            f"{home}/jars/*",
            f"org.apache.spark.deploy.{name}",
            "--host",
            "127.0.0.1",
        ]
        environment = os.environ | {
            "SPARK_HOME": str(home), "SPARK_SCALA_VERSION": "2.13", "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_WORKER_DIR": str(self._folder), "SPARK_LOCAL_DIRS": str(self._folder),
            "PYTHONPATH": python_path(), "PYSPARK_PYTHON": sys.executable,
        }  # fmt: skip
        number = len(self._running)
        with (self._folder / f"{number}.log").open("wb") as log:
            self._running.append(subprocess.Popen([*command, *arguments], stdout=log, stderr=log, env=environment))
        return number

    def _said(self, number: int, what: str) -> str:
        """Once a process said something: that."""
        while True:
            log = (self._folder / f"{number}.log").read_text(errors="replace")
            found = re.search(what, log)
            if found:
                return found[1] if found.groups() else found[0]
            assert self._running[number].poll() is None, log
            time.sleep(0.05)


def _log(folder: Path) -> Path:
    """Log everything to standard error."""
    path = folder / "log4j2.properties"
    path.write_text(
        "rootLogger.level = info\nrootLogger.appenderRef.out.ref = out\nappender.out.type = Console\nappender.out.name = out\n"
        "appender.out.target = SYSTEM_ERR\nappender.out.layout.type = PatternLayout\nappender.out.layout.pattern = %m%n%ex\n"
    )
    return path
