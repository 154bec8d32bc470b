"""Disks that are full: a clear error and nothing left behind, whatever was being written, on every engine."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from oracles.cramped import FULL, Finished, on_a_full_disk
from oracles.parties import SHUFFLER, SIXTEEN, prepared, sealed
from oracles.process import called
from oracles.server import Server, running
from oracles.spark import connect_url
from shuffledp import Plan, plan
from shuffledp.service.client.sender import Sender

ROWS = 3000


@pytest.fixture(scope="module")
def colours() -> Plan:
    return plan("histogram", n=1000, epsilon=1.0, delta=1e-6, labels=["red", "green", "blue"])


@pytest.fixture
def folder(tmp_path: Path, colours: Plan) -> Path:
    (tmp_path / "plan.json").write_text(json.dumps(colours.document()))
    names = np.array(["red", "green", "blue"])[np.random.default_rng(2).integers(0, 3, ROWS)]
    parquet.write_table(pa.table({"x": names}), tmp_path / "people.parquet", row_group_size=800)
    return tmp_path


@pytest.fixture
def batch(tmp_path: Path) -> Iterator[Server]:
    """A shuffler that has released a batch."""
    place = prepared(tmp_path / "service", SIXTEEN, SHUFFLER)
    with running(place) as server:
        reports = [sealed(j % 16, SIXTEEN) for j in range(SIXTEEN.release_size)]
        assert all(outcome.arrived for outcome in Sender(url=server.url).send(SIXTEEN, reports))
        closed = called(f"shuffler close task.json --url {server.url} --token operator.token", cwd=place)
        assert closed.returncode == 0, closed.stderr
        yield server


def check_refused(finished: Finished) -> None:
    assert finished.returncode == 2, finished
    assert re.search(rf"shuffledp: cannot (write|keep) [^:]*: ({FULL}).*\. [A-Z].*\.\n$", finished.stderr), (
        finished.stderr
    )
    assert "Traceback" not in finished.stderr
    assert finished.left == []


def rows_lines(where: str) -> list[str]:
    given = f"people.parquet --column x {where}"
    return [f"run plan.json {given} --json -o full/answer.json", f"export plan.json {given} -o full/table.parquet"]


def analyzer_line(server: Server, more: str) -> str:
    given = f"--url {server.url} --token service/analyzer.token --keys service/analyzer.key"
    return f"analyzer run service/task.json {given} --budget-epsilon 20 --budget-delta 1e-2 {more}"


def test_no_room_for_what_is_written(folder: Path) -> None:
    lines = [*rows_lines("--engine arrow"), "run plan.json people.parquet --column x --report full/page.html"]
    answer, table, page = on_a_full_disk(folder / "full", lines, cwd=folder)
    check_refused(answer)
    assert json.loads(answer.stdout)["n"] == ROWS  # what is booked is not lost
    check_refused(table)
    check_refused(page)


@pytest.mark.xdist_group("spark")
def test_no_room_for_what_is_written_by_way_of_spark(folder: Path, spark: Any, batch: Server) -> None:
    where = f"--engine spark --remote {connect_url(spark)}"
    opening = analyzer_line(batch, f"--ledger {folder}/ledger --opened {folder}/opened {where} -o full/result.json")
    answer, table, result = on_a_full_disk(folder / "full", [*rows_lines(where), opening], cwd=folder)
    check_refused(answer)
    assert json.loads(answer.stdout)["n"] == ROWS
    check_refused(table)
    check_refused(result)
    again = called(analyzer_line(batch, "--ledger ledger --opened opened --json"), cwd=folder)
    found = json.loads(again.stdout)
    assert (found["n"], found["ledger"]["releases"]) == (SIXTEEN.release_size, 1)  # the same batch, booked once


def test_no_room_for_an_analyzer(folder: Path, batch: Server) -> None:
    lines = [
        analyzer_line(batch, "--ledger full/ledger --opened opened"),
        analyzer_line(batch, "--ledger ledger --opened full/opened"),
        analyzer_line(batch, "--ledger ledger --opened opened -o full/result.json"),
    ]
    unbooked, unremembered, unwritten = on_a_full_disk(folder / "full", lines, cwd=folder)
    for finished in (unbooked, unremembered):
        assert finished.returncode == 2
        assert finished.stdout == ""
        assert re.search(FULL, finished.stderr)
        assert "Traceback" not in finished.stderr
    check_refused(unwritten._replace(left=[]))  # a register may have been begun there before


@pytest.mark.xdist_group("spark")
def test_no_room_in_the_folder_of_spark(folder: Path) -> None:
    small = "--driver-memory 512m --driver-java-options '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC' pyspark-shell"
    settings = {"SPARK_LOCAL_DIRS": str(folder / "full"), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_SUBMIT_ARGS": small}
    line = "run plan.json people.parquet --column x --engine spark --master local[2] -o answer.json"
    (finished,) = on_a_full_disk(folder / "full", [line], cwd=folder, environment=settings)
    assert finished.returncode == 2
    assert finished.stdout == ""
    assert re.search(
        r"a disk of Spark is full, so nothing is released\. Make room|Spark did not start", finished.stderr
    )
    assert "Traceback" not in finished.stderr
    assert not (folder / "answer.json").exists()
