"""JSON and TOML nested without end, or that parsers read differently: one sentence and exit code 2, wherever it is read."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from oracles.node import node
from oracles.parties import ANALYZER, EIGHT, SHUFFLER, announced, prepared, serving
from oracles.process import assert_refused, called
from shuffledp import Certificate, InvalidInput, Plan, Policy, plan, run, verify
from shuffledp.baselines.registry import from_document as protocol_of
from shuffledp.core.canonical import canonical, digest
from shuffledp.core.parsing import DEEPEST, Unreadable, parse_exactly, parse_json, parse_toml, plain
from shuffledp.engines.export import read_export
from shuffledp.planning.release_cost import Spend
from shuffledp.randomizers.registry import from_document as randomizer_of
from shuffledp.results.history import History
from shuffledp.service.analyzer.ledger import Ledger
from shuffledp.service.client.client import Client
from shuffledp.service.sealing.keys import KeyList
from shuffledp.service.task import Task

JSON = {
    "unclosed": "[" * 100_000,
    "lists": "[" * 900 + "]" * 900,
    "few levels too many": "[" * (DEEPEST + 2) + "]" * (DEEPEST + 2),
    "objects": '{"protocol":' * 5000 + "1" + "}" * 5000,
    "a plan": '{"protocol": ' + "[" * 300 + "]" * 300 + ', "version": 3, "guarantee": {}, "sha256": "0"}',
    "a task": '{"version": 2, "shufflers": ' + "[" * 300 + "]" * 300 + "}",
    "twice": '{"version": 3, "version": 3}',
    "no number": '{"version": NaN}',
    "infinite": '{"version": 1e999}',
}
TOML = {
    "arrays": "x = " + "[" * 50_000 + "]" * 50_000,
    "tables": "x = " + "{a = " * 5000 + "1" + "}" * 5000,
    "names": "a." * 3000 + "b = 1",
    "headers": "[" + "a." * 3000 + "b]\n",
}
STORE = "--next-keys analyzer.pub.json --store s.db --operator-token operator --analyzer-token token"
COMMANDS = (
    "verify deep.json",
    "compose deep.json --delta 1e-6",
    "run deep.json people.csv --column x",
    "export deep.json people.csv --column x -o out.parquet",
    "simulate deep.json --truth people.csv",
    "task new deep.json --window 60 --max-age 60 --shuffler A --analyzer B --honest-fraction 1 -o task.json",
    "task show deep.json",
    "task show task.json --keys deep.json",
    "keygen analyzer -o deep.json --rotate",
    "client submit deep.json --url http://127.0.0.1:1 --analyzer-keys analyzer.pub.json --state reports",
    "client submit task.json --url http://127.0.0.1:1 --analyzer-keys deep.json --state reports",
    "analyzer run deep.json --url http://127.0.0.1:1 --token token --keys analyzer.key",
    "analyzer run task.json --url http://127.0.0.1:1 --token token --keys deep.json",
    f"shuffler serve deep.json --keys shuffler.key {STORE}",
    f"shuffler serve task.json --keys deep.json {STORE}",
    "ledger show deep.json",
    "audit --protocol deep.json",
    "account --randomizer channel --matrix deep.json --n 100 --delta 1e-6",
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = prepared(tmp_path_factory.mktemp("deep") / "place", EIGHT, SHUFFLER)
    (folder / "people.csv").write_text("x\na\n")
    for name in ("token", "operator"):
        (folder / name).write_text(f"{name}-secret-secret-secret-secret")
        (folder / name).chmod(0o600)
    return folder


@pytest.mark.parametrize("what", JSON)
def test_verify_reads_no_such_file(what: str, place: Path) -> None:
    refused("verify deep.json", what, place)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command.split()[:3]))
def test_no_command_reads_such_json(command: str, place: Path) -> None:
    for what in ("unclosed", "a plan", "a task"):
        refused(command, what, place)


def refused(command: str, what: str, place: Path) -> None:
    (place / "deep.json").write_text(JSON[what] + ("\n" if "ledger" in command else ""))
    (place / "deep.json").chmod(0o600)
    done = called(command, cwd=place)
    assert_refused(done, "deep.json")
    assert "Recursion" not in done.stderr


@pytest.mark.parametrize("what", TOML)
@pytest.mark.parametrize("command", ["shuffler serve --config", "plan survey --n 100 --epsilon 1 --delta 1e-6"])
def test_no_command_reads_such_toml(command: str, what: str, place: Path) -> None:
    (place / "deep.toml").write_text(TOML[what])
    done = called(f"{command} deep.toml", cwd=place)
    assert_refused(done, "deep.toml is no", "it is nested too deeply")


def nested(levels: int, inside: Callable[[Any], Any]) -> Any:
    document: Any = {"kind": "response", "size": 2, "threshold": "1"}
    for _ in range(levels):
        document = inside(document)
    return document


SHAPES: dict[str, Callable[[Any], Any]] = {
    "lists": lambda inner: [inner],
    "objects": lambda inner: {"protocol": inner, "kind": "shuffledp certificate", "format": 1},
    "together": lambda inner: {"kind": "together", "parts": [inner, inner]},
    "mixtures": lambda inner: {"kind": "mixture", "weights": [1], "parts": [inner]},
    "surveys": lambda inner: {"kind": "survey-one", "asked": [inner]},
}
READERS: dict[str, Callable[[Any], object]] = {
    "plan": Plan.from_document,
    "task": Task.from_document,
    "a plan's task": lambda deep: Task.from_document(EIGHT.document() | {"plan": deep}),
    "certificate": Certificate.from_document,
    "keys": KeyList.from_document,
    "keys of": lambda deep: KeyList.from_document({"role": "shuffler", "keys": deep}),
    "randomizer": randomizer_of,
    "protocol": protocol_of,
    "spend": lambda deep: Spend.from_document({"randomizer": deep, "n": 10, "bound": "best"}),
    "plain": plain,
    "canonical": canonical,
    "digest": digest,
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("levels", [70, 330, 5000])
@pytest.mark.parametrize("shape", [name for name in SHAPES if name != "together"])
def test_no_reader_of_objects_does(shape: str, levels: int, reader: str) -> None:
    """Python objects need no parser; `canonical` reads as many levels as it can."""
    deep = nested(levels, SHAPES[shape])
    if reader in ("canonical", "digest") and levels < 5000:
        assert READERS[reader](deep)
        return
    with pytest.raises(InvalidInput):
        READERS[reader](deep)


@pytest.mark.parametrize("shape", [name for name in SHAPES if name != "together"])
@pytest.mark.parametrize("levels", [70, 330, 5000])
def test_verify_refuses_them(levels: int, shape: str) -> None:
    assert verify(nested(levels, SHAPES[shape])).verdict == "refused"


def test_what_is_kept_is_not_taken_for_damaged_by_a_traceback(tmp_path: Path) -> None:
    """States, histories, ledgers and headers, of which others may hold the pen."""
    deep = JSON["unclosed"]
    client = Client(task=EIGHT, analyzer=ANALYZER.public(), folder=tmp_path)
    client.report("a", announced(serving(EIGHT), EIGHT))
    (state,) = tmp_path.glob("*.json")
    for text in JSON.values():
        state.write_text(text)
        with pytest.raises(InvalidInput, match="is damaged"):
            client.report("a", announced(serving(EIGHT), EIGHT))
    (tmp_path / "history").write_text(deep + "\n")
    (tmp_path / "people").write_text("x")
    answer = run(EIGHT.plan, ["a"] * 50)
    notes = History(tmp_path / "history").book(answer, [tmp_path / "people"])
    assert any("1 line(s)" in note for note in notes)
    (tmp_path / "ledger").write_text(deep + "\n")
    with pytest.raises(InvalidInput, match="was altered"):
        Ledger(tmp_path / "ledger").balance()
    for text in JSON.values():
        table = pa.table({"message": pa.array([0, 1], pa.uint8())}).replace_schema_metadata({b"shuffledp": text})
        parquet.write_table(table, tmp_path / "table.parquet")
        with pytest.raises(InvalidInput, match=r"table\.parquet"):
            read_export(tmp_path / "table.parquet")


def test_a_deep_row_of_a_person_is_no_record_and_not_shown() -> None:
    asked = [{"name": "smokes", "ask": "histogram", "labels": ["no", "yes"]}]
    made = plan("survey", n=60, epsilon=2.0, delta=1e-2, questions=[*asked, asked[0] | {"name": "drinks"}], way="one")
    rows = [json.dumps({"smokes": "no", "drinks": "yes"})] * 60
    for deep in JSON.values():
        with pytest.raises(InvalidInput, match="is not a record") as refused:
            run(made, [*rows, deep])
        assert "[[" not in str(refused.value)
        with pytest.raises(InvalidInput, match="there are several values"):
            run(made, rows, policy=Policy(missing_as=deep, missing="refuse"))


def test_what_parsers_read_differently() -> None:
    assert parse_json(b'{"a": 1.0, "b": 1e2, "c": -0.0, "d": 590000000000000000000}') == {
        "a": 1, "b": 100, "c": 0, "d": 5.9e20
    }  # fmt: skip
    assert [type(value) for value in parse_json("[1.0, 1e300, true, 9007199254740993]")] == [int, float, bool, float]
    assert parse_exactly("[1.0, 9007199254740993]") == [1.0, 9007199254740993]
    assert type(parse_exactly("1.0")) is float
    assert parse_toml("a = 1.0") == {"a": 1.0}
    for text in ('{"n": 1, "n": 1}', '[{"a": {"n": 1, "n": 2}}]', '{"a": 1, "\\u0061": 2}'):
        with pytest.raises(Unreadable, match="a name occurs twice"):
            parse_json(text)
    for text in ("NaN", "[-Infinity]", "1e400"):
        with pytest.raises(Unreadable, match="too large or not a number"):
            parse_json(text)
    with pytest.raises(Unreadable, match="not valid Unicode"):
        parse_json('{"a": "\\ud800"}')
    for data in (b"\xff", "", "{", "01", "'a'", "9" * 5000, "\ufeff{}"):
        with pytest.raises(Unreadable, match="not JSON") as refused:
            parse_json(data)
        assert refused.value.__context__ is None


def test_the_javascript_client_refuses_them_in_a_sentence() -> None:
    script = (
        "import { verifyTask } from './shuffledp.js'; import { readFileSync } from 'node:fs';"
        "for (const line of readFileSync(0, 'utf8').split('\\n')) {"
        "  await verifyTask(JSON.parse(line), '0'.repeat(64)).catch((error) => console.log(error.name, error.kind)); }"
    )
    deep = "[" * 100_000 + "]" * 100_000
    given = "\n".join([deep, f'{{"version": 2, "plan": {{"version": 3, "protocol": {deep}}}}}'])
    done = node("--input-type=module", "-e", script, given=given)
    assert done.stdout.split() == ["ShuffledpError", "untrusted", "ShuffledpError", "invalid"], done.stderr
