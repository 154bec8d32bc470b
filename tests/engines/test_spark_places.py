"""Where Spark is: Connect, the command line, a driver that dies, and a cluster of two workers that loses one."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import shuffledp
from oracles.process import assert_refused, called
from oracles.scale import full
from oracles.spark import Cluster, connect_url
from oracles.tree import python_path
from shuffledp import KeyedRandomness, Plan, run_file

pytestmark = [
    pytest.mark.xdist_group("spark"),
    pytest.mark.filterwarnings("ignore"),
]  # Spark warns of versions of pandas
WORDS = KeyedRandomness.seeded(5)


@pytest.fixture
def folder(tmp_path: Path, histogram: Plan) -> Path:
    """A plan, and people in three files."""
    (tmp_path / "plan.json").write_text(json.dumps(histogram.document()))
    names = np.array(["red", "green", "blue"])[np.random.default_rng(2).integers(0, 3, 3000)]
    for j in range(3):
        some = pa.table({"x": names[1000 * j :][:1000], "id": np.arange(1000 * j, 1000 * j + 1000)})
        parquet.write_table(some, tmp_path / f"people{j}.parquet", row_group_size=400)
    return tmp_path


def python(code: str, *arguments: str) -> "subprocess.Popen[str]":
    """A driver of its own."""
    environment = os.environ | {
        "PYTHONPATH": python_path(),
        "PYTHONWARNINGS": "ignore",
        "PYSPARK_PYTHON": sys.executable,
    }
    frugal = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    settings = f"--conf spark.executor.memory=512m --conf 'spark.executor.extraJavaOptions={frugal}' --conf "
    settings += f"spark.sql.shuffle.partitions=3 --driver-memory 512m --driver-java-options '{frugal}' pyspark-shell"
    environment |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_SUBMIT_ARGS": settings}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


TALLIED = """
import json, sys
from pathlib import Path
from functools import partial
from oracles.spark_tasks import waits_to_be_killed
from shuffledp import InvalidInput, KeyedRandomness, Plan
from shuffledp.cluster.spark_session import check_carries_secrets, session
from shuffledp.sources.file_source import FileSource
from shuffledp.engines.run import tally_source
from shuffledp.engines.spark import Spark
from shuffledp.sources.spark_table import SparkSource

folder, place, kind = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
plan, words = Plan.from_document(json.loads((folder / "plan.json").read_text())), KeyedRandomness.seeded(5)
with session(**{kind: place}) as spark:
    paths = sorted(folder.glob("*.parquet"))
    check_carries_secrets(spark)
    files = tally_source(plan, FileSource(paths, column="x"), words, engine=Spark(spark))
    table = spark.read.parquet(*map(str, paths)).repartition(4, "id")
    if kind == "master":
        table = table.mapInArrow(partial(waits_to_be_killed, folder=str(folder)), table.schema)
    rows = tally_source(plan, SparkSource(table, column="x", row_id="id"), words, engine="spark")
    try:
        wrong = table.selectExpr("cast(concat('31337', x) as int) as x", "id")
        tally_source(plan, SparkSource(wrong, column="x", row_id="id"), words, engine="spark")
    except InvalidInput as error:
        refused = str(error)
print(json.dumps([files.counts.values.tolist(), rows.counts.values.tolist(), refused]))
"""


def check_tallied(process: "subprocess.Popen[str]", histogram: Plan, folder: Path) -> None:
    said, complaints = process.communicate()
    assert process.returncode == 0, complaints
    assert "31337" not in complaints
    expected = run_file(
        histogram, sorted(folder.glob("*.parquet")), column="x", randomness=WORDS
    ).counts.values.tolist()
    files, rows, refused = json.loads(said.splitlines()[-1])
    assert files == rows == expected
    assert "CAST_INVALID_INPUT" in refused


IMPORTED = """
import shuffledp
from oracles.spark import local_session

def imported(batches):
    import pyarrow as pa
    import shuffledp.engines.spark
    for batch in batches:
        yield pa.RecordBatch.from_pydict({"file": [shuffledp.engines.spark.__file__] * batch.num_rows})

spark = local_session()
found = spark.range(4).repartition(2).mapInArrow(imported, "file string").distinct().collect()
print(*(row.file for row in found))
spark.stop()
"""


def test_executors_import_the_tree_under_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the package that is installed: a bug that is planted in the tree must be there, too."""
    tree, tests = tmp_path / "tree", Path(__file__).parents[1]
    tree.mkdir()
    (tree / "shuffledp").symlink_to(Path(shuffledp.__file__).parent)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tree), str(tests)]))
    driver = subprocess.run([sys.executable, "-c", IMPORTED], capture_output=True, text=True, check=False)
    assert driver.returncode == 0, driver.stderr
    assert driver.stdout.split() == [str(tree / "shuffledp" / "engines" / "spark.py")]


def test_connect_gives_the_same(spark: Any, histogram: Plan, folder: Path) -> None:
    check_tallied(python(TALLIED, str(folder), connect_url(spark), "remote"), histogram, folder)


@pytest.mark.skipif(not full(0, 1), reason="six processes of Java: in make test-all")
def test_a_worker_killed_in_the_middle_changes_nothing(histogram: Plan, folder: Path) -> None:
    with Cluster(folder / "cluster") as cluster:
        process = python(TALLIED, str(folder), cluster.url, "master")
        try:
            mark = folder / "executor"
            while not mark.exists() and process.poll() is None:
                time.sleep(0.05)
            assert mark.exists(), process.communicate()[1]
            cluster.kill_worker_of(int(mark.read_text()))
            check_tallied(process, histogram, folder)
        finally:
            process.kill()
            process.wait()


# The command line


def test_the_command_reads_files_and_tables(spark: Any, folder: Path) -> None:
    found = called("run plan.json --files *.parquet --column x --json --engine spark", cwd=folder)
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)["n"] == 3000


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ("people0.parquet --master local[2]", "say where Spark is. Use --engine spark"),
        ("people0.parquet --engine spark --master a --remote b", "Give one of --master, --remote"),
        ("--table people", "Use --engine spark"),
        ("people0.parquet --table people --engine spark", "Give DATA or --files, or --table"),
        ("", "Give DATA or --files, or --table"),
        ("--table people --engine spark --separator ;", "is not a CSV file"),
    ],
)
def test_options_that_do_not_fit(folder: Path, options: str, complaint: str) -> None:
    found = called(f"run plan.json --column x {options}", cwd=folder)
    assert_refused(found, complaint)


KILLED = """
import os, signal, sys
import shuffledp.cli.run as command
from shuffledp.cli import main
command.History.book = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
main()
"""
COMMAND = "import sys; from shuffledp.cli import main; main()"


def test_a_driver_killed_before_it_publishes_leaves_nothing(spark: Any, folder: Path) -> None:
    url, out = connect_url(spark), folder / "answers"
    out.mkdir()
    given = [
        "run",
        str(folder / "plan.json"),
        "--files",
        str(folder / "*.parquet"),
        "--column",
        "x",
        "--engine",
        "spark",
    ]
    given += ["--remote", url, "-o", str(out / "answer.json")]
    killed = python(KILLED, *given)
    said, _ = killed.communicate()
    assert killed.returncode == -signal.SIGKILL
    assert said == ""
    assert list(out.iterdir()) == []
    again = python(COMMAND, *given)
    _, complaints = again.communicate()
    assert again.returncode == 0, complaints
    assert json.loads((out / "answer.json").read_text())["n"] == 3000


def test_a_table_of_spark_by_its_name(spark: Any, folder: Path) -> None:
    spark.read.parquet(*map(str, folder.glob("*.parquet"))).createOrReplaceGlobalTempView("people")
    given = [
        "run",
        str(folder / "plan.json"),
        "--column",
        "x",
        "--engine",
        "spark",
        "--remote",
        connect_url(spark),
        "--json",
    ]
    processes = [
        python(COMMAND, *given, "--table", "global_temp.people", "--row-id", "id"),
        python(COMMAND, *given, "--table", "global_temp.people"),
        python(COMMAND, *given, "--table", "nowhere", "--row-id", "id"),
    ]
    (said, complaints), unnumbered, unknown = (process.communicate() for process in processes)
    assert [process.returncode for process in processes] == [0, 2, 2], complaints
    assert json.loads(said)["n"] == 3000
    assert "not remembered" in complaints
    assert "--row-id" in unnumbered[1]
    assert "has no table 'nowhere'" in unknown[1]
    assert all("Traceback" not in text for text in (complaints, unnumbered[1], unknown[1]))


# What docs/spark.md shows

PAGE = (Path(__file__).parents[2] / "docs" / "spark.md").read_text(encoding="utf-8")


def test_the_script_of_the_how_to(
    spark: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (script,) = re.findall(r"^```py\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    table = spark.read.parquet(*map(str, folder.glob("*.parquet")))
    table.withColumnsRenamed({"x": "answer", "id": "number"}).createOrReplaceTempView("people")
    monkeypatch.chdir(folder)
    exec(compile(script, "count.py", "exec"), {})
    assert json.loads(capsys.readouterr().out)["n"] == 3000


def test_the_commands_of_the_how_to_have_these_options() -> None:
    shown = "\n".join(re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)).replace("\\\n", " ")
    commands = re.findall(r"shuffledp (run|analyzer run|shuffler serve) (.*)", shown)
    assert len(commands) == 5
    for command, options in commands:
        known = called(f"{command} --help").stdout
        assert all(re.search(rf"{option}\b", known) for option in re.findall(r"--[a-z-]+", options))
