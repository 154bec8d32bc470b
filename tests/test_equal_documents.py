"""Equal documents are read alike, whoever wrote them: canonically, by a JavaScript engine, with 1 as 1.0 or 1.0 as 1."""

import hashlib
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from oracles.node import node
from oracles.parties import ANALYZER, EIGHT, MEAN, SHUFFLER, announced, released, sealed, serving
from oracles.process import called
from oracles.scale import full
from shuffledp import Certificate, Guarantee, Plan, account, plan, run, verify
from shuffledp.baselines.registry import from_document as protocol_of
from shuffledp.baselines.registry import protocols
from shuffledp.cli.documents import read_plan
from shuffledp.cli.task import read_task
from shuffledp.core.canonical import canonical, digest
from shuffledp.engines.export import message_table, read_export
from shuffledp.planning.release_cost import Spend
from shuffledp.planning.rounds import plan_rounds
from shuffledp.protocols.deployable import Deployable
from shuffledp.randomizers.registry import RANDOMIZERS
from shuffledp.randomizers.registry import from_document as randomizer_of
from shuffledp.results.history import Release
from shuffledp.service.analyzer.analyzer import analyze
from shuffledp.service.analyzer.ledger import Ledger, LedgerEntry
from shuffledp.service.client.client import Client
from shuffledp.service.sealing.keys import KeyList, KeyRing
from shuffledp.service.task import Task
from shuffledp.sources.values import ValuesSource

WRITERS = ("canonical", "javascript", "floats", "indented")
PROMISE: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "bound": "best", "reference": ""}


def with_floats(value: Any) -> Any:
    """Every whole number as 7.0."""
    if isinstance(value, dict):
        return {name: with_floats(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [with_floats(inner) for inner in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def written(documents: list[Any], writer: str) -> list[str]:
    """The same documents as texts, by others."""
    if writer == "javascript":
        given = "\n".join(json.dumps(document) for document in documents)
        script = (
            "require('fs').readFileSync(0, 'utf8').split('\\n')"
            ".forEach((line) => console.log(JSON.stringify(JSON.parse(line))))"
        )
        done = node("-e", script, given=given)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()
    if writer == "canonical":
        return [canonical(document).decode() for document in documents]
    if writer == "floats":
        return [json.dumps(with_floats(document), sort_keys=True) for document in documents]
    return [json.dumps(document, indent=2) for document in documents]


def as_json(document: Any) -> Any:
    return json.loads(json.dumps(document))


@cache
def plans() -> list[Plan]:
    """Of every protocol, with whole epsilons, rounds and words."""
    found = []
    for kind in protocols().values():
        if issubclass(kind, Deployable):
            protocol: Any = kind.examples()[0]
            promise = account(protocol.randomizer, n=100_000, delta=1e-6)
            found.append(Plan(protocol=protocol, guarantee=promise, min_batch=125_000))
    rounds = plan_rounds("mean", n=4000, rounds=4, rounds_per_person=1, epsilon=1.0, delta=1e-6, low=-1.0, high=3.0)
    vast = plan("sum", n=4000, epsilon=2.0, delta=1e-6, high=5.9e20)
    return [*found, rounds, vast, vast.worded(title="1.0")]


@pytest.mark.parametrize("writer", WRITERS)
def test_plans(writer: str, tmp_path: Path) -> None:
    made = plans()
    assert len({type(one.protocol) for one in made}) >= 10
    made = made[WRITERS.index(writer) % 2 :: full(2, 1)]  # each in two of the forms, in test-all in every form
    whole = [one.document() for one in made]
    for document, promised, text, short in zip(
        whole,
        made,
        written(whole, writer),
        written([one.promise() for one in made], writer),
        strict=True,
    ):
        (tmp_path / "plan.json").write_text(text)
        found = read_plan(tmp_path / "plan.json")
        assert found == Plan.from_document(json.loads(text)) == Plan.from_document(json.loads(short))
        assert found.sha256 == promised.sha256 == document["sha256"]
        assert canonical(found.document()["forecast"]) == canonical(document["forecast"])


@pytest.mark.parametrize("writer", WRITERS)
def test_tasks(writer: str, tmp_path: Path) -> None:
    made = [
        Task(plan=plans()[-1], window=60, max_age=600, shufflers=("A", "B"), analyzer="C", honest_fraction=1.0),
        EIGHT,
        MEAN,
    ]
    for task, text in zip(made, written([as_json(task.document()) for task in made], writer), strict=True):
        (tmp_path / "task.json").write_text(text)
        assert read_task(tmp_path / "task.json").id == Task.from_document(json.loads(text)).id == task.id


@pytest.mark.parametrize("writer", WRITERS)
def test_tasks_in_javascript(writer: str) -> None:
    """Its client finds the same id and accepts them, those of one round of many included."""
    asked: dict[str, Any] = {"labels": ["a", "b"], "delta": 1e-2}
    made = [
        plan("histogram", n=60, epsilon=1.0, **asked),
        plan_rounds("histogram", n=60, epsilon=4.0, rounds=2, **asked),
    ]
    tasks = [
        Task(plan=one, window=60, max_age=600, shufflers=("A",), analyzer="B", honest_fraction=1.0) for one in made
    ]
    script = (
        "import { verifyTask } from './shuffledp.js'; import { readFileSync } from 'node:fs';"
        "for (const line of readFileSync(0, 'utf8').split('\\n')) {"
        "  const [id, text] = JSON.parse(line); console.log((await verifyTask(JSON.parse(text), id)).id); }"
    )
    texts = written([as_json(task.document()) for task in tasks], writer)
    given = "\n".join(json.dumps([task.id, text]) for task, text in zip(tasks, texts, strict=True))
    done = node("--input-type=module", "-e", script, given=given)
    assert done.stdout.split() == [task.id for task in tasks], done.stderr


@pytest.mark.parametrize("writer", WRITERS)
def test_randomizers_and_protocols(writer: str) -> None:
    made: list[tuple[Any, Callable[[Any], Any]]] = [
        (one, randomizer_of) for kind in RANDOMIZERS.values() for one in kind.examples()
    ]
    made += [
        (one, protocol_of) for kind in protocols().values() if issubclass(kind, Deployable) for one in kind.examples()
    ]
    texts = written([as_json(one.document()) for one, _ in made], writer)
    for (one, read), text in zip(made, texts, strict=True):
        assert canonical(read(json.loads(text)).document()) == canonical(one.document())


@pytest.mark.parametrize("writer", WRITERS)
def test_certificates(writer: str) -> None:
    promise = Guarantee(n=1000, **PROMISE)
    made = [Certificate.of(one, promise) for kind in RANDOMIZERS.values() for one in kind.examples()]
    for certificate, text in zip(made, written([as_json(one.document()) for one in made], writer), strict=True):
        found = Certificate.from_document(json.loads(text))
        assert canonical(found.document()) == canonical(certificate.document())


@pytest.mark.parametrize("writer", WRITERS)
def test_what_is_verified(writer: str) -> None:
    """Certificates, plans, tasks and results, of `run` and of the service."""
    small = plan("histogram", n=50, epsilon=1.0, delta=1e-2, labels=["a", "b"])
    task = Task(plan=small, window=60, max_age=600, shufflers=("A",), analyzer="B", honest_fraction=1.0)
    shuffler = serving(task)
    shuffler.accept(task.id, [sealed(record % 2, task) for record in range(60)])
    _, batch = released(shuffler, task)
    made = [
        small.certificate().document(), small.document(), task.document(),
        run(small, ["a", "b"] * 30).document(), analyze(batch, task, ANALYZER).document(),
    ]  # fmt: skip
    before = [as_json(one) for one in made]
    for document, text in zip(before, written(before, writer), strict=True):
        found = verify(json.loads(text))
        assert found.confirmed, found
        assert found.document() == verify(document).document()


@pytest.mark.parametrize("writer", WRITERS)
def test_keys(writer: str, tmp_path: Path) -> None:
    SHUFFLER.save(tmp_path / "keys")
    public, private = written([SHUFFLER.public().document(), json.loads((tmp_path / "keys").read_text())], writer)
    (tmp_path / "list.json").write_text(public)
    (tmp_path / "keys").write_text(private)
    assert KeyList.load(tmp_path / "list.json") == KeyList.from_document(json.loads(public)) == SHUFFLER.public()
    assert KeyRing.load(tmp_path / "keys").public() == SHUFFLER.public()


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("version", [2, 3])
def test_ledgers(version: int, writer: str, tmp_path: Path) -> None:
    """Their hashes are of the bytes of each line, so that whoever writes them anew computes these anew."""
    path = tmp_path / "ledger.jsonl"
    randomizer = plan("histogram", n=1000, epsilon=1.0, delta=1e-6, size=3).protocol.randomizer
    for name in ("one", "two"):
        spend = Spend(randomizer=randomizer.document(), n=1000, bound="best")
        balance = Ledger(path, epsilon=4.0, delta=1e-6).book(LedgerEntry(task="t", batch=name, spend=spend))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[0]["version"] = version
    if version == 2:  # with the threshold as a number of 64 bits, which only Python wrote and keeps
        for line in lines[1:]:
            held = line.pop("randomizer")
            line |= {"size": held["size"], "threshold": held["threshold"]}
    previous, rewritten = "", []
    for line, _ in zip(lines, written(lines, "indented"), strict=True):
        if previous:
            line["previous"] = previous
        text = written([line], "canonical" if writer == "indented" else writer)[0]
        if version == 2 and "threshold" in line:
            text = text.replace(f'"{line["threshold"]}"', line["threshold"])
        previous = hashlib.sha256(text.encode()).hexdigest()
        rewritten.append(text)
    path.write_text("\n".join(rewritten) + "\n")
    found = Ledger(path, epsilon=4.0, delta=1e-6).balance()
    assert (found.spent_epsilon, found.releases) == (balance.spent_epsilon, 2)
    assert (found.budget_epsilon, found.delta) == (4.0, 1e-6)
    more = LedgerEntry(task="t", batch="one", spend=spend)
    assert Ledger(path).book(more).releases == 2  # it is known again


@pytest.mark.parametrize("writer", WRITERS[:3])
def test_the_history(writer: str) -> None:
    made = plan("histogram", n=1000, epsilon=1.0, delta=1e-6, size=3)
    line = {
        "data": "a", "plan": made.sha256, "epsilon": 1.0, "delta": 1e-6, "unit": "replace-one", "when": "2026-01-01",
        "spend": {"randomizer": made.protocol.randomizer.document(), "n": 1000, "bound": "best"},
    }  # fmt: skip
    assert Release.read(written([line], writer)[0]).spend == Spend.of(made)


@pytest.mark.parametrize("writer", WRITERS)
def test_the_header_of_an_exported_table(writer: str, tmp_path: Path) -> None:
    made, path = plan("histogram", n=1000, epsilon=1.0, delta=1e-6, size=3), tmp_path / "table.parquet"
    source = ValuesSource([j % 3 for j in range(1000)])
    message_table(made, source, engine="memory").write(path)
    before, table = read_export(path), parquet.read_table(path)
    text = written([json.loads(table.schema.metadata[b"shuffledp"])], writer)[0]
    parquet.write_table(table.replace_schema_metadata({b"shuffledp": text}), path)
    assert read_export(path).document() == before.document()
    edited = text.replace("1000", "1001")
    assert edited != text
    parquet.write_table(table.replace_schema_metadata({b"shuffledp": edited}), path)
    with pytest.raises(ValueError, match="was changed"):
        read_export(path)


@pytest.mark.parametrize("writer", WRITERS)
def test_what_a_client_keeps(writer: str, tmp_path: Path) -> None:
    shuffler = serving(EIGHT)
    client = Client(task=EIGHT, analyzer=ANALYZER.public(), folder=tmp_path, clock=lambda: 1_700_000_000.0)
    report = client.report("a", announced(shuffler, EIGHT))
    (file,) = tmp_path.glob("*.json")
    file.write_text(written([json.loads(file.read_text())], writer)[0])
    assert client.report("b", announced(shuffler, EIGHT)) == report
    assert len(client.waiting) == 1


@pytest.mark.parametrize("writer", WRITERS)
def test_what_is_composed(writer: str, tmp_path: Path) -> None:
    """Plans, answers and accounts on the command line."""
    made = plan_rounds("histogram", n=1000, rounds=2, epsilon=2.0, delta=1e-6, labels=["a", "b", "c"])
    answer = run(made, ["a", "b"] * 500)
    said = called("account --randomizer rr --size 3 --epsilon0 1 --n 1000 --delta 1e-6 --rounds 2 --json")
    documents = [made.document(), as_json(answer.document()), json.loads(said.stdout)]
    shown = []
    for texts in (written(documents, "indented"), written(documents, writer)):
        for name, text in zip(("plan", "answer", "account"), texts, strict=True):
            (tmp_path / f"{name}.json").write_text(text)
        done = called("compose plan.json answer.json account.json --json", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        shown.append(done.stdout)
    assert shown[0] == shown[1]


FROZEN = [
    path
    for path in sorted((Path(__file__).parent / "frozen").iterdir())
    if path.is_dir() and path.name != "__pycache__"
]


@pytest.mark.parametrize("folder", FROZEN, ids=lambda folder: str(folder.name))
@pytest.mark.parametrize("writer", WRITERS)
def test_every_file_of_earlier_versions(writer: str, folder: Path, tmp_path: Path) -> None:
    """All JSON files of a set that was frozen, but results: `verify` reads one, and `compose` all that have a spend."""
    files = sorted({*folder.glob("*.json"), *folder.glob("*.key")} - {*folder.glob("counts.json")})
    documents = [json.loads(path.read_text()) for path in files]
    read = set[str]()
    for path, document, text in zip(files, documents, written(documents, writer), strict=True):
        kind, _, _ = path.name.partition("-")
        place = tmp_path / path.name
        place.write_text(text)
        place.chmod(0o600)
        if kind == "plan":
            assert Plan.load(place).sha256 == document["sha256"]
        elif kind == "certificate":
            assert Certificate.load(place) == Certificate.load(path)
        elif kind == "result":
            if document["spend"] is not None:
                assert Spend.from_document(json.loads(text)["spend"]) == Spend.from_document(document["spend"])
            if path.name == "result-labels.json":
                assert verify(json.loads(text)).document() == verify(document).document()
        elif path.name == "task.json":
            assert read_task(place).id == Task.from_document(document).id
        elif path.suffix == ".key":
            before = tmp_path / f"{path.name} before"
            before.write_bytes(path.read_bytes())
            before.chmod(0o600)
            assert KeyRing.load(place).public() == KeyRing.load(before).public()
        else:
            assert path.name.endswith(".pub.json"), path
            assert KeyList.load(place) == KeyList.load(path)
        read.add(kind)
    assert {"plan", "certificate", "result", "task.json", "analyzer.key", "analyzer.pub.json"} <= read


@pytest.mark.parametrize("writer", WRITERS)
def test_the_golden_plan_of_an_earlier_version(writer: str) -> None:
    """It is refused for the same reason, however it is written."""
    golden = json.loads((Path(__file__).parent / "golden" / "plan-version-2.json").read_text())
    with pytest.raises(ValueError, match="not of version 3"):
        Plan.from_document(json.loads(written([golden], writer)[0]))


def test_hashes_are_those_of_rfc_8785_as_before() -> None:
    """So that ids of tasks and plans stay what they were."""
    assert digest({"a": 1, "b": [2.0, 0.5]}) == digest({"b": [2, 0.5], "a": 1.0})
    assert digest({"a": 1}) == hashlib.sha256(b'{"a":1}').hexdigest()
