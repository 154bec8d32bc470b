"""Write a set of files as one version of the package writes them: `python freeze.py FOLDER`, with that version installed.

Later versions must read every one of them, verify what it claims, and reproduce its messages bit for bit. A set is written
once, by the version that it is named after, and never again.
"""

import gzip
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

from shuffledp import KeyedRandomness, Laplace, Plan, RandomizedResponse, account, run
from shuffledp.certificates.certificate import Certificate
from shuffledp.engines.export import message_table
from shuffledp.planning.from_targets import plan_for as plan
from shuffledp.planning.rounds import plan_rounds
from shuffledp.results.derived import derived
from shuffledp.service.analyzer.analyzer import analyze
from shuffledp.service.analyzer.ledger import Ledger
from shuffledp.service.sealing.hpke import seal_message
from shuffledp.service.sealing.keys import KeyRing
from shuffledp.service.shuffler.shuffler import Shuffler
from shuffledp.service.stores.registry import open_store
from shuffledp.service.task import Task
from shuffledp.sources.values import ValuesSource

LABELS = ["no", "yes", "perhaps"]
SURVEY = [
    {"name": "smokes", "ask": "histogram", "labels": ["no", "yes"], "weight": 2},
    {"name": "hours", "ask": "mean", "low": 0.0, "high": 24.0},
]
SMALL: dict[str, Any] = {"n": 2000, "epsilon": 1.0, "delta": 1e-6}
LARGE: dict[str, Any] = {"n": 20_000, "epsilon": 1.0, "delta": 1e-6}


def plans() -> dict[str, Plan]:
    """One of every family, with what can be said besides."""
    found: dict[str, Plan] = {
        "labels": plan("histogram", labels=LABELS, honest_fraction=0.9, dropout=0.25, **SMALL),
        "intervals": plan("histogram", size=5, low=-1.0, high=4.0, **SMALL),
        "many": plan("histogram", size=2000, **LARGE),
        "table": plan("histogram", labels=["no", "yes"], by={"sex": ["f", "m"]}, **SMALL),
        "dummies": plan("histogram", size=400, messages_per_user=3.0, **SMALL),
        "mean": plan("mean", low=-5.0, high=5.0, **SMALL),
        "sum": plan("sum", high=2.5, precision=7, **SMALL),
        "query": plan("query", **SMALL),
        "paper": plan("query", paper=True, **LARGE),
        "groups": plan("mean", high=60.0, by={"carrier": ["AA", "DL"]}, **LARGE),
        "distribution": plan("distribution", low=0.0, high=100.0, resolution=50, **LARGE),
        "texts": plan("texts", candidates=["apple", "pear"], **LARGE),
        "heavy-hitters": plan("heavy-hitters", alphabet="abc", max_length=3, **LARGE),
        "rounds": plan_rounds("mean", n=4000, epsilon=1.0, delta=1e-6, rounds=12, rounds_per_person=3),
    }
    for way in ("one", "all", "table"):
        found[f"survey-{way}"] = plan("survey", questions=SURVEY, way=way, **LARGE)
    return {name: one.worded(title=f"A plan: {name}", unit="units") for name, one in found.items()}


def values_of(made: Plan) -> list[Any]:
    """The same few values, again and again."""
    samples = made.protocol.domain.samples()
    return [samples[j % len(samples)] for j in range(made.min_batch + 5)]


def randomness_of(name: str) -> KeyedRandomness:
    """A key of its own for each plan: everybody knows it, so nobody may use it for real."""
    return KeyedRandomness(hashlib.sha256(f"frozen {name}".encode()).digest(), private=True)


def answer(name: str, made: Plan) -> Any:
    """What the plan says about its values under its key."""
    asked: dict[str, Any] = {"query": lambda value: value} if made.protocol.description.asked else {}
    asked |= {"candidates": ["apple", "plum"]} if made.question == "texts" else {}
    return run(made, values_of(made), randomness=randomness_of(name), **asked)


def counts_of(result: Any) -> str:
    """A name for the counts of messages."""
    return hashlib.sha256(result.counts.values.astype("<i8").tobytes()).hexdigest()


def _write(folder: Path, name: str, document: Any) -> None:
    path = folder / f"{name}.json"
    text = json.dumps(document, indent=1, allow_nan=False) + "\n"
    if len(text) > 20_000:
        path.with_suffix(".json.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    else:
        path.write_text(text, encoding="utf-8")


def service(folder: Path) -> None:
    """A task, keys, a store with a released and an open batch, the released bytes, a ledger, and its result."""
    keys = KeyRing.fresh("shuffler"), KeyRing.fresh("analyzer")
    for ring, name in zip(keys, ("shuffler", "analyzer"), strict=True):
        ring.save(folder / f"{name}.key")
        _write(folder, f"{name}.pub", ring.public().document())
    task = Task(
        plan=plan("histogram", n=50, epsilon=1.0, delta=1e-2, labels=LABELS, honest_fraction=0.9), window=60,
        max_age=600, shufflers=("Alpha",), analyzer="Beta", honest_fraction=0.9,
    )  # fmt: skip
    _write(folder, "task", task.document())
    store = open_store(f"sqlite:///{folder}/store.db")
    shuffler = Shuffler(store=store, ring=keys[0], clock=lambda: 0.0)
    shuffler.serve(task, keys[1].public())
    records = [seal_message(record % 3, task, keys[1].public(), [keys[0].public()]) for record in range(75)]
    shuffler.accept(task.id, records[:60])
    batch: Any = shuffler.close(task.id, ignore_window=True)
    released = b"".join(shuffler.fetch(batch.id) or ())
    (folder / "batch.bin").write_bytes(released)
    shuffler.accept(task.id, records[60:])
    store.close()
    ledger = Ledger(folder / "ledger.jsonl", epsilon=10.0, delta=1e-2)
    _write(folder, "result-service", analyze(released, task, keys[1], ledger=ledger).document())
    (folder / "ledger.jsonl.lock").unlink(missing_ok=True)


def main(folder: Path) -> None:
    """All of them."""
    folder.mkdir(parents=True)
    counts = {}
    for name, made in plans().items():
        _write(folder, f"plan-{name}", made.document())
        found = answer(name, made)
        counts[name] = counts_of(found)
        _write(folder, f"result-{name}", found.document() | {"derived": derived(found)})
    _write(folder, "counts", counts)
    randomizers: dict[str, Any] = {
        "response": RandomizedResponse(size=4, epsilon0=2.0),
        "laplace": Laplace(epsilon0=1.0),
    }
    for name, randomizer in randomizers.items():
        promise = account(randomizer, n=1000, delta=1e-6, bound="numeric")
        _write(folder, f"certificate-{name}", Certificate.of(randomizer, promise, reports=1200).document())
    made = plans()["labels"]
    message_table(made, ValuesSource(values_of(made)), randomness=randomness_of("export")).write(
        folder / "export.parquet"
    )
    service(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
