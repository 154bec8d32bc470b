"""Heavy hitters on real texts: how many of the frequent ones are found, and how many that nobody holds.

The texts are the words of Python's reference manual, as the standard library ships them (pydoc_data.topics): each occurrence of
a word is one person who holds it. Fifty runs from a file, each under a new key and with new coins, and one through the service:
sealed reports, a shuffler, a released batch, the analyzer.
"""

import csv
import re
import secrets
import time
from collections import Counter
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from shuffledp import Plan, Policy, Result, plan, run_file
from shuffledp.core.randomness import SystemRandomness
from shuffledp.protocols.randomized import randomized
from shuffledp.service.analyzer.analyzer import analyze
from shuffledp.service.sealing.hpke import seal_message
from shuffledp.service.sealing.keys import KeyRing
from shuffledp.service.shuffler.shuffler import Shuffler
from shuffledp.service.stores.batch import Batch
from shuffledp.service.stores.sqlite.store import SQLiteStore
from shuffledp.service.task import Task

RUNS = 50
LONGEST = 12
ERRORS = 5
"""A word is frequent if at least so many forecast standard errors hold it."""


def randomness() -> list[str]:
    """All of them, cut to the longest that is planned for."""
    topics: dict[str, str] = import_module("pydoc_data.topics").topics
    return [word[:LONGEST] for word in re.findall("[a-z]+", " ".join(topics.values()).lower())]


def frequent(planned: Plan, often: Counter[str]) -> list[str]:
    """The words that should be found."""
    protocol: Any = planned.protocol
    errors = np.sqrt(protocol.law.variance(np.array(list(often.values()), dtype=float), planned.min_batch))
    return [word for word, error in zip(often, errors, strict=True) if often[word] >= ERRORS * error]


def through_files(planned: Plan, texts: list[str], folder: Path) -> Result:
    """One run, under a new key."""
    path = folder / "people.csv"
    if not path.exists():
        with path.open("w", newline="") as file:
            csv.writer(file, quoting=csv.QUOTE_ALL).writerows(
                [("word",), *((text,) for text in texts)]
            )  # "null" is a word

    protocol: Any = replace(planned.protocol, key=secrets.token_hex(16))  # type: ignore[type-var]
    return run_file(replace(planned, protocol=protocol), path, column="word", policy=Policy())


def through_the_service(planned: Plan, texts: list[str]) -> Result:
    """One collection."""
    task = Task(plan=planned, window=3600, max_age=7200, shufflers=("Alpha",), analyzer="Beta", honest_fraction=1.0)
    ours, theirs = KeyRing.fresh("shuffler"), KeyRing.fresh("analyzer")
    shuffler = Shuffler(store=SQLiteStore(":memory:"), ring=ours, clock=lambda: 0.0)
    shuffler.serve(task, theirs.public())
    messages = randomized(planned.protocol, texts, SystemRandomness()).messages
    for start in range(0, len(texts), 1000):
        some = [
            seal_message(int(one), task, theirs.public(), [ours.public()]) for one in messages[start : start + 1000]
        ]
        shuffler.accept(task.id, some)
    batch = shuffler.close(task.id, ignore_window=True)
    if not isinstance(batch, Batch):
        raise SystemExit(f"the batch was not released: {batch}")
    return analyze(b"".join(shuffler.fetch(batch.id) or ()), task, theirs)


def main() -> None:
    """Print shares, and what was stated beside them."""
    texts = randomness()
    often = Counter(texts)
    planned = plan("heavy-hitters", n=len(texts), epsilon=1.0, delta=1e-6, alphabet="a-z", max_length=LONGEST)
    print(planned.explain())
    wanted = frequent(planned, often)
    print(f"{len(texts):,} words, {len(often):,} different, {len(wanted)} held by {ERRORS} standard errors or more")
    found, false, stated, seconds = 0, 0, 0.0, 0.0
    with TemporaryDirectory() as folder:
        for _ in range(RUNS):
            start = time.process_time()
            result = through_files(planned, texts, Path(folder))
            seconds += time.process_time() - start
            found += sum(word in result.names for word in wanted)
            false += sum(name not in often for name in result.names)
            stated += 0.0 if result.estimate.threshold is None else result.estimate.threshold.false_positives
    print(
        f"files, {RUNS} runs: {100 * found / (RUNS * len(wanted)):.2f} % of them found, {seconds / RUNS:.2f} CPU-seconds a run"
    )
    print(f"texts found that nobody holds: {false / RUNS:.2f} a run; stated {stated / RUNS:.2f}")
    result = through_the_service(planned, texts)
    hits, wrong = sum(word in result.names for word in wanted), sum(name not in often for name in result.names)
    print(f"service: {hits} of {len(wanted)} found, {wrong} that nobody holds")


if __name__ == "__main__":
    main()
