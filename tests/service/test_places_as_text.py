"""Wherever Python takes a file or a folder, a text does as well as a Path."""

from pathlib import Path

import pytest

from shuffledp import InvalidInput, plan
from shuffledp.core.population import Population
from shuffledp.engines.export import message_table, read_export
from shuffledp.results.history import History
from shuffledp.service.analyzer.ledger import Ledger
from shuffledp.service.analyzer.opened_reports import OpenedReports
from shuffledp.service.client.client import Announcement, Client
from shuffledp.service.sealing.keys import KeyFile, KeyList, KeyRing
from shuffledp.service.stores.registry import open_store, restore_store
from shuffledp.service.stores.witness_file import Witness
from shuffledp.service.task import Task
from shuffledp.sources.candidates_file import read_candidates
from shuffledp.sources.population_file import read_population
from shuffledp.sources.survey_file import read_survey
from shuffledp.sources.values import ValuesSource


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def task() -> Task:
    asked = plan("histogram", n=500, epsilon=1.0, delta=1e-6, labels=["no", "yes"])
    return Task(
        plan=asked, window=3600, max_age=86400, shufflers=("A",), analyzer="B", honest_fraction=1.0
    )  # fmt: skip


def test_keys_and_a_client(task: Task) -> None:
    analyzer, shuffler = KeyRing.fresh("analyzer"), KeyRing.fresh("shuffler")
    analyzer.save("analyzer.key")
    assert KeyRing.load("analyzer.key").public() == KeyRing.load(Path("analyzer.key")).public() == analyzer.public()
    assert KeyFile("analyzer.key", "analyzer", KeyRing.load).current().public() == analyzer.public()
    announced = Announcement(window=1, keys=shuffler.public(), key_id=0, next_keys=analyzer.public())
    as_text = Client(task=task, analyzer=analyzer.public(), folder="me/too").report("yes", announced)
    assert as_text == Client(task=task, analyzer=analyzer.public(), folder=Path("me/too")).report("no", announced)
    with pytest.raises(InvalidInput, match="cannot read nothing"):
        KeyList.load("nothing.json")
    with pytest.raises(InvalidInput, match="must be a string or a path; got a int"):
        KeyRing.load(3)  # type: ignore[arg-type]


def test_an_analyzer_and_a_store(task: Task) -> None:
    Ledger("ledger.jsonl", epsilon=1.0, delta=1e-6).check()
    with OpenedReports("opened").of(task.id):
        assert Path("opened").is_dir()
    for place in ("store.db", Path("other.db")):
        store = open_store(place)
        Witness("seen").follow(store)
        store.backup(f"copy-of-{place}")
        store.close()
        restore_store(f"copy-of-{place}", Path(f"new-{place}"), nothing_released_since=False)
        assert Path(f"new-{place}").exists()


def test_tables_and_lists(task: Task) -> None:
    message_table(task.plan, ValuesSource(["no", "yes"] * 250)).write("table.parquet")
    assert read_export("table.parquet").n == 500
    Path("texts.txt").write_text("a\nb\n")
    assert read_candidates("texts.txt") == ["a", "b"]
    Path("people.csv").write_text("no,300\nyes,200\n")
    assert isinstance(read_population("people.csv", task.plan.protocol.domain), Population)
    Path("survey.toml").write_text('[[question]]\nname = "smokes"\n')
    assert read_survey("survey.toml") == [{"name": "smokes"}]
    assert History("releases.jsonl").note(task.plan, task.plan.guarantee, [Path("people.csv")]) == []
