"""Files of earlier versions: every one is read, verified, and reproduced bit for bit."""

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from frozen.freeze import answer, counts_of
from oracles.scale import full
from shuffledp import Certificate, Plan, Result, verify
from shuffledp.core import used_keys
from shuffledp.engines.export import read_export
from shuffledp.service.analyzer.analyzer import analyze
from shuffledp.service.analyzer.ledger import Ledger
from shuffledp.service.sealing.keys import KeyRing
from shuffledp.service.shuffler.shuffler import Shuffler
from shuffledp.service.stores.registry import open_store
from shuffledp.service.task import Task

SETS = sorted(path for path in Path(__file__).parent.iterdir() if path.is_dir() and not path.name.startswith("_"))
PLANS = [(folder, path.stem.removeprefix("plan-")) for folder in SETS for path in sorted(folder.glob("plan-*.json"))]
LONG = ("survey-all", "distribution", "many")
"""To verify these takes a while, so that is for `make test-all`."""
COMPOSED = {"survey-all": 0.879525}
"""What the reports received cost was composed less tightly before. It is this now, and the promise of the plan stays."""
named = [f"{folder.name}-{name}" for folder, name in PLANS]


def read(folder: Path, name: str) -> Any:
    packed = folder / f"{name}.json.gz"
    return json.loads(
        gzip.decompress(packed.read_bytes()) if packed.exists() else (folder / f"{name}.json").read_text()
    )


@pytest.fixture
def copied(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A set in a folder of its own; keys must be private, which git does not keep."""
    folder: Path = shutil.copytree(request.param, tmp_path / "set")
    for path in (*folder.glob("*.key"), folder / "store.db"):
        path.chmod(0o600)
    return folder


@pytest.fixture(autouse=True)
def _another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets share their keys, which everybody knows, and each was written by a process that had not used them."""
    monkeypatch.setattr(used_keys._HERE, "used", set())


def test_there_is_a_set() -> None:
    assert SETS
    assert len(PLANS) >= 17


@pytest.mark.parametrize(("folder", "name"), PLANS, ids=named)
def test_a_plan_is_read_and_its_messages_are_the_same(folder: Path, name: str) -> None:
    document = read(folder, f"plan-{name}")
    made = Plan.from_document(document)
    assert made.promise().items() <= document.items()
    found, before = answer(name, made), read(folder, f"result-{name}")
    assert counts_of(found) == read(folder, "counts")[name]
    again = json.loads(json.dumps(found.document()))
    if name in COMPOSED:
        tighter, before_that = (one["guarantee"].pop("realised_epsilon") for one in (again, before))
        assert tighter == pytest.approx(COMPOSED[name], abs=1e-6)
        assert tighter <= before_that
    for field in before.keys() - {"certificate", "derived", "notes"}:
        assert again[field] == near(before[field]), field


def near(value: Any) -> Any:
    """The same on another machine, whose sums of doubles may differ in the last digits."""
    if isinstance(value, dict):
        return {name: near(one) for name, one in value.items()}
    if isinstance(value, list):
        return [near(one) for one in value]
    return pytest.approx(value, rel=1e-6) if isinstance(value, float) else value


@pytest.mark.parametrize(("folder", "name"), PLANS, ids=named)
def test_a_plan_and_its_result_are_verified(folder: Path, name: str) -> None:
    if name in LONG and not full(0, 1):
        return
    document, result = read(folder, f"plan-{name}"), read(folder, f"result-{name}")
    found = verify(document)
    assert found.confirmed, found
    answered = verify(result, beside=[document])
    assert answered.confirmed, answered


@pytest.mark.parametrize(("folder", "name"), [*PLANS, *((folder, "service") for folder in SETS)])
def test_an_answer_is_loaded(folder: Path, name: str, tmp_path: Path) -> None:
    document = read(folder, f"result-{name}")
    (tmp_path / "answer.json").write_text(json.dumps(document))
    found = Result.load(tmp_path / "answer.json")
    assert str(found)
    assert found._repr_html_()
    assert found.document() == document
    assert list(found.to_dict()) == document["estimate"]["names"]
    assert (found.spend is None) == (document["spend"] is None)


@pytest.mark.parametrize("folder", SETS, ids=lambda folder: str(folder.name))
def test_certificates_are_verified(folder: Path) -> None:
    paths = list(folder.glob("certificate-*.json"))
    assert len(paths) >= 2
    for path in paths:
        assert verify(Certificate.load(path).document()).confirmed
        assert Certificate.load(path).document() == json.loads(path.read_text())


@pytest.mark.parametrize("folder", SETS, ids=lambda folder: str(folder.name))
def test_an_exported_table_is_read(folder: Path) -> None:
    found = read_export(folder / "export.parquet")
    assert found.plan == Plan.load(folder / "plan-labels.json")
    assert found.guarantee == found.plan.guarantee


@pytest.mark.parametrize("copied", SETS, ids=lambda folder: str(folder.name), indirect=True)
def test_a_service_goes_on(copied: Path) -> None:
    task = Task.from_document(read(copied, "task"))
    assert task.document() == read(copied, "task")
    assert verify(read(copied, "task")).confirmed
    rings = {name: KeyRing.load(copied / f"{name}.key") for name in ("shuffler", "analyzer")}
    for name, ring in rings.items():
        assert ring.public().document() == read(copied, f"{name}.pub")
    batch, before = (copied / "batch.bin").read_bytes(), read(copied, "result-service")
    spent = Ledger(copied / "ledger.jsonl").balance()
    found = analyze(batch, task, rings["analyzer"], ledger=Ledger(copied / "ledger.jsonl")).document()
    assert found["estimate"] == near(before["estimate"])
    costs = "spent_epsilon"  # a single release was charged 0.01 % more than its plan promises
    assert found["ledger"] | {costs: 0} == near(before["ledger"]) | {costs: 0}
    assert found["ledger"][costs] == pytest.approx(task.plan.guarantee.epsilon, rel=1e-9)
    assert before["ledger"][costs] * 0.9998 < found["ledger"][costs] <= before["ledger"][costs]
    assert (spent.releases, spent.head) == (1, before["ledger"]["head"])
    assert verify(before, beside=[task.document()]).confirmed
    store = open_store(f"sqlite:///{copied}/store.db")
    try:
        shuffler = Shuffler(store=store, ring=rings["shuffler"], clock=lambda: 0.0)
        shuffler.serve(task, rings["analyzer"].public())
        (released,) = store.batches(task.id, "RELEASED")
        assert b"".join(shuffler.fetch(released.id) or ()) == batch
        current = shuffler.current(task.id)
        assert current is not None
        assert current.count == 15
    finally:
        store.close()
