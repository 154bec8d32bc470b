"""Blocks of the pages that test_docs.py neither types in a terminal nor runs as Python: each is executed here, or checked."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import click
import psycopg
import pyarrow as pa
import pytest
from pyarrow import parquet

from oracles.node import CLIENT, node
from oracles.parties import ANALYZER, PARTIES, SHUFFLER, prepared
from oracles.postgres import PostgresServer
from oracles.process import called
from oracles.server import running
from shuffledp import plan
from shuffledp.cli import cli
from shuffledp.service.stores.registry import open_store
from shuffledp.service.task import Task
from test_docs import BLOCK, PAGES, ROOT

ELSEWHERE = {
    ("README.md", "text"): "tests/test_readme.py",
    ("CONTRIBUTING.md", "text"): "tests/test_map.py",
    ("docs/architecture.md", "text"): "tests/test_map.py",
    ("docs/wire.md", "text"): "tests/service/test_wire_document.py",
    ("docs/wire.md", "json"): "tests/service/test_wire_document.py",
}
HERE = {
    ("docs/add-a-protocol.md", "toml"),
    ("docs/postgresql.md", "text"),
    ("docs/postgresql.md", "sh"),
    ("docs/service-operate.md", "js"),
    ("docs/spark.md", "sh"),
    ("docs/spark.md", "py"),
}
COMMAND = re.compile(r"(?:^|`|\$ |\| |/bin/|=\S* )shuffledp ((?:[a-z][\w-]* )?[^`\n]*)", re.MULTILINE)


def blocks(page: str, language: str) -> list[str]:
    return [body for kind, body in BLOCK.findall((ROOT / page).read_text(encoding="utf-8")) if kind == language]


def test_every_block_is_accounted_for() -> None:
    """No fence, and no indented block, is a way around execution."""
    found = set()
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        found |= {(str(page.relative_to(ROOT)), language) for language, _ in BLOCK.findall(text)}
        bare = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
        assert "```" not in bare, page.name
        assert not re.search(r"\n\n {4}(?:\$|pip|make|shuffledp|python|import|from) ?", bare), page.name
    assert {one for one in found if one[1] not in ("console", "python")} == ELSEWHERE.keys() | HERE
    assert all((ROOT / test).exists() for test in ELSEWHERE.values())


def named(words: str) -> list[str]:
    """What is wrong with a command: a subcommand or an option that does not exist."""
    command: click.Command = cli
    wrong, context = list[str](), click.Context(cli)
    for word in re.sub(r"\"[^\"]*\"|'[^']*'", "TEXT", words).split():
        if isinstance(command, click.Group):
            below = command.get_command(context, word)
            if below is None:
                return wrong if not re.fullmatch(r"[a-z][a-z-]+", word) or command is cli else [*wrong, word]
            command = below
        elif word.startswith("--"):
            known = {option for one in command.get_params(context) for option in (*one.opts, *one.secondary_opts)}
            option = word.split("=")[0].rstrip(".,;:)")
            wrong += [option] if option not in known else []
    return wrong


def test_wrong_commands_are_noticed() -> None:
    assert named("account --randomizer rr --n 5") == []
    assert named("account --colour red") == ["--colour"]
    assert named("shuffler dance store.db") == ["dance"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_in_sentences_exist(page: Path) -> None:
    """Also where nothing is executed, every command and option is one that there is."""
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    assert {words: wrong for words in COMMAND.findall(text) if (wrong := named(words))} == {}


def test_the_database_is_set_up_as_described(tmp_path: Path, postgres: PostgresServer) -> None:
    """The role, database and schema; then a store moves there from SQLite."""
    (statements,) = blocks("docs/postgresql.md", "text")
    before, after = statements.split("\\c shuffledp\n")
    there = postgres.url().replace("postgres@", "shuffledp@").replace("/postgres?", "/shuffledp?")
    try:
        postgres.run(*before.strip().split("\n"))
        with psycopg.connect(there.replace("shuffledp@", "postgres@"), autocommit=True) as connection:
            connection.execute(after.encode())
        open_store(f"sqlite:///{tmp_path / 'store.db'}").close()
        (commands,) = blocks("docs/postgresql.md", "sh")
        for line in commands.replace("postgresql://shuffledp@db.example/shuffledp", there).splitlines():
            done = called(line.removeprefix("shuffledp "), cwd=tmp_path)
            assert done.returncode == 0, done.stderr
        assert called(["shuffler", "status", there], cwd=tmp_path).returncode == 0
    finally:
        postgres.run("DROP DATABASE IF EXISTS shuffledp WITH (FORCE)", "DROP ROLE IF EXISTS shuffledp")


def test_a_web_page_reports_as_described(tmp_path: Path) -> None:
    task = Task(
        plan=plan("histogram", n=50, epsilon=8.0, delta=1e-2, labels=["yes", "no"]),
        window=3600,
        max_age=7200,
        **PARTIES,
    )
    prepared(tmp_path, task, SHUFFLER)
    (script,) = blocks("docs/service-operate.md", "js")
    listed = ANALYZER.public()
    (fingerprint,) = (listed.fingerprint(key) for key in listed.keys)
    with running(tmp_path) as server:
        for shown, real in {
            "https://shuffler.example": server.url, "1926fe36...": task.id, "9c1f...": fingerprint,
            "./shuffledp.js": f"{CLIENT}/shuffledp.js",
        }.items():  # fmt: skip
            assert shown in script
            script = script.replace(shown, real)
        done = node("--input-type=module", "-e", f"{script}\nconsole.log(earlier);")
    assert done.stdout == "false\n", done.stderr


def test_a_package_brings_a_protocol_as_described(tmp_path: Path) -> None:
    """Once it is installed, the command line plans its question."""
    (script,) = blocks("docs/add-a-protocol.md", "toml")
    (tmp_path / "my_package").mkdir()
    (tmp_path / "my_package" / "ratings.py").write_text("from test_new_protocol import Ratings, RatingsFamily\n")
    about = tmp_path / "my_package-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1.0\n")
    groups = tomllib.loads(script)["project"]["entry-points"]
    lines = [text for group, names in groups.items() for text in (f"[{group}]", *map(" = ".join, names.items()))]
    (about / "entry_points.txt").write_text("\n".join(lines) + "\n")
    command = "plan ratings --labels a,b,c --n 3000 --epsilon 1 --delta 1e-6"
    done = subprocess.run(
        [sys.executable, "-m", "shuffledp", *command.split()],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT / 'tests'}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "3,000 users" in done.stdout


@pytest.mark.xdist_group("spark")
def test_rows_in_spark_as_described(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The script on a table, and the first command on files, in the session that is there."""
    monkeypatch.chdir(tmp_path)
    asked = plan("histogram", n=300, epsilon=4.0, delta=1e-4, labels=["yes", "no"])
    Path("plan.json").write_text(json.dumps(asked.document()))
    answers = pa.table({"number": range(400), "answer": ["yes", "no"] * 200})
    Path("people").mkdir()
    parquet.write_table(answers, "people/first.parquet")
    spark.read.parquet(str(tmp_path / "people")).createOrReplaceTempView("people")
    (script,) = blocks("docs/spark.md", "py")
    capsys.readouterr()
    exec(compile(script, "docs/spark.md", "exec"), {})
    assert json.loads(capsys.readouterr().out)["n"] == 400
    first = blocks("docs/spark.md", "sh")[0].splitlines()[1].removeprefix("shuffledp ")
    assert ' --master "local[2]"' in first
    done = called(first.replace(' --master "local[2]"', ""), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "400 reports" in done.stdout
