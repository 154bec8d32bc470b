"""A protocol that only this file knows goes everywhere: nothing in the package names what it can do.

Run as a program, this file is the command line with that protocol registered.
"""

import csv
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray

from shuffledp import Channel, KeyedRandomness, LatticeChannel, Plan, plan, run, run_file
from shuffledp.accounting.account import calibrate
from shuffledp.cli import cli
from shuffledp.core import blanket
from shuffledp.core.document import Document, fields
from shuffledp.core.population import Population
from shuffledp.core.randomness import RandomSource
from shuffledp.domains.labels import Labels
from shuffledp.domains.listed import Listed
from shuffledp.planning import registry as planning
from shuffledp.planning.error_targets import epsilon_possible, users_needed
from shuffledp.planning.families.histogram import HistogramQuestion
from shuffledp.planning.family import PlannedFamily
from shuffledp.planning.options import LABELS
from shuffledp.protocols import registry as protocols
from shuffledp.protocols.counting import Counting
from shuffledp.protocols.description import Description
from shuffledp.protocols.one_message import OneMessage

Reals = NDArray[np.float64]


def staircase(size: int, gamma: float) -> LatticeChannel:
    """Each step away from the truth is half as likely as the one before; with probability gamma anything."""
    steps = 0.5 ** (3 * np.abs(np.subtract.outer(np.arange(size), np.arange(size))))
    law = (1 - gamma) * steps / steps.sum(axis=1, keepdims=True) + gamma / size
    return LatticeChannel.of(Channel(law / law.sum(axis=1, keepdims=True)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratings(Counting, OneMessage):
    """How many users give each rating, from ratings that err towards their neighbours."""

    randomizer: LatticeChannel
    domain: Listed
    kind = "ratings"
    reference: ClassVar[str] = "this test"
    description = Description(question="ratings", measure="users")

    @property
    def _law(self) -> Reals:
        return np.array([self.randomizer.probability(np.arange(self.alphabet), x) for x in range(self.domain.size)])

    def sentence(self) -> str:
        return "each user sends a rating near the true one"

    def encode(self, values: NDArray[Any], randomness: RandomSource, *, first_row: int) -> NDArray[np.unsignedinteger]:
        return values

    def debias(self, counts: NDArray[np.int64], n: int) -> Reals:
        return np.asarray(counts @ np.linalg.inv(self._law))

    def variance(self, users: Reals, n: int) -> Reals:
        weights = np.linalg.inv(self._law)
        return np.asarray(users @ (self._law @ weights**2 - np.eye(self.domain.size)))

    def worst(self, n: int) -> Population:
        errors = (self._law @ np.linalg.inv(self._law) ** 2 - np.eye(self.domain.size)).sum(axis=1)
        return Population(values=np.array([int(np.argmax(errors))]), users=np.array([n]))

    def max_shift(self, n: int) -> float:
        weights = np.linalg.inv(self._law)
        return float(np.max(weights.max(axis=0) - weights.min(axis=0)))

    def document(self) -> Document:
        return {"kind": self.kind, "domain": self.domain.document(), "randomizer": self.randomizer.document()}

    @classmethod
    def from_document(cls, document: object) -> Self:
        return cls(**fields(document, cls.kind, domain=Labels.from_document, randomizer=LatticeChannel.from_document))

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(randomizer=staircase(3, 0.2), domain=Labels(("low", "middle", "high")))]


class RatingsQuestion(HistogramQuestion):
    """A histogram by another name, of labels."""

    called, options = ("ratings",), (LABELS,)


class RatingsFamily(PlannedFamily[RatingsQuestion]):
    """The least noise that is private enough."""

    question_type = RatingsQuestion

    def propose(self, question: RatingsQuestion) -> Ratings:
        size = question.domain.size
        family = blanket.RandomizerFamily(
            parameter="gamma", blanket=lambda gamma: staircase(size, gamma).blanket(), low=1e-6, high=0.9,
            more_private="larger",
        )  # fmt: skip
        gamma = calibrate(family, n=question.honest, epsilon=question.epsilon, delta=question.delta)
        return Ratings(randomizer=staircase(size, gamma), domain=question.domain)


if __name__ in ("__main__", "__mp_main__"):
    protocols.register(Ratings)
    planning.register(RatingsFamily)
if __name__ == "__main__":
    from shuffledp.cli import main

    main()


STARS = ("one", "two", "three", "four", "five")
N = 3000
TRUTH = dict(zip(STARS, (300, 500, 700, 900, 800), strict=True))


@pytest.fixture
def registered() -> Iterator[None]:
    protocols.register(Ratings)
    planning.register(RatingsFamily)
    yield
    protocols.unregister(Ratings)
    planning.unregister(RatingsFamily)


@pytest.fixture
def people() -> list[str]:
    everyone = [star for star, often in TRUTH.items() for _ in range(often)]
    np.random.default_rng(1).shuffle(everyone)
    return everyone


@pytest.fixture
def folder(tmp_path: Path, people: list[str]) -> Path:
    with (tmp_path / "people.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("rating",), *((person,) for person in people)])
    with (tmp_path / "truth.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("rating", "users"), *TRUTH.items()])
    return tmp_path


def near_the_truth(estimate: dict[str, Any]) -> bool:
    return estimate["names"] == list(STARS) and all(
        abs(value - TRUTH[name]) < 7 * error
        for name, value, error in zip(estimate["names"], estimate["value"], estimate["standard_error"], strict=True)
    )


@pytest.mark.usefixtures("registered")
def test_from_python(folder: Path, people: list[str]) -> None:
    found = plan("ratings", n=N, epsilon=2.0, delta=1e-6, labels=STARS)
    assert isinstance(found.protocol, Ratings)
    assert Plan.from_document(json.loads(json.dumps(found.document()))) == found
    randomness = KeyedRandomness.seeded(3)
    memory = run(found, people, randomness=randomness, truth=True)
    for engine in ("arrow", "memory"):
        file = run_file(found, folder / "people.csv", column="rating", randomness=randomness, truth=True, engine=engine)
        assert (file.estimate.value == memory.estimate.value).all()
        assert file.truth is not None
        assert file.truth.tolist() == list(TRUTH.values())
    assert users_needed("ratings", rmse_share=0.05, epsilon=2.0, delta=1e-6, labels=STARS).rmse_share <= 0.05
    assert epsilon_possible("ratings", n=N, delta=1e-6, rmse=100.0, labels=STARS).rmse <= 100.0


@pytest.fixture
def shuffledp(folder: Path, registered: None, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """The command line, in this process."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))

    def call(line: str, given: str = "") -> str:
        done = CliRunner().invoke(cli, line.split(), input=given, prog_name="shuffledp")
        assert done.exit_code == 0, (done.output, done.exception)
        return done.stdout

    return call


@pytest.fixture
def url(folder: Path, shuffledp: Callable[..., str]) -> Iterator[str]:
    """A plan, a task and a shuffler that serves it."""
    shuffledp(f"plan ratings --labels {','.join(STARS)} --n {N} --epsilon 2 --delta 1e-6 -o plan.json")
    for role in ("shuffler", "analyzer"):
        shuffledp(f"keygen {role} -o {role}.key")
    for token in ("operator", "fetch"):
        shuffledp(f"tokens key -o {token}.token")
    shuffledp(
        "task new plan.json --window 3600 --max-age 7200 --shuffler Alpha --analyzer Beta --honest-fraction 1 "
        "--release-margin 0 -o task.json"
    )
    line = (
        "shuffler serve task.json --store sqlite:///store.db --keys shuffler.key --next-keys analyzer.pub.json "
        "--operator-token operator.token --analyzer-token fetch.token --port 0"
    )
    with subprocess.Popen(
        [sys.executable, __file__, *line.split()], cwd=folder, stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout is not None
            port = next(text.split()[-1] for text in server.stdout if text.startswith("listening on port"))
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait(60)


def test_from_the_command_line(folder: Path, url: str, shuffledp: Callable[..., str]) -> None:
    """Plan, run, simulate, compare, task, clients, shuffler, analyzer, ledger and report."""
    assert "ratings" in shuffledp("plan --help")
    for engine in ("arrow", "memory"):
        ran = json.loads(
            shuffledp(f"run plan.json people.csv --column rating --engine {engine} --report run.html --json")
        )
        assert near_the_truth(ran["estimate"])
    assert "five" in (folder / "run.html").read_text()
    simulated = json.loads(shuffledp("simulate plan.json --truth truth.csv --trials 2000 --seed 1 --json"))
    assert simulated["rmse"] == pytest.approx(simulated["expected_rmse"], rel=0.05)
    compared = json.loads(
        shuffledp(
            f"compare ratings --labels {','.join(STARS)} --n {N} --epsilon 2 --delta 1e-6 --simulate --seed 1 --json"
        )
    )["candidates"]
    assert [row["name"] for row in compared] == ["shuffledp"]
    assert compared[0]["simulated"] == pytest.approx(compared[0]["rmse"], rel=0.02)
    assert "epsilon0" in shuffledp("task show task.json")
    shuffledp(f"client submit task.json --url {url} --analyzer-keys analyzer.pub.json --state mine", given="four")
    shuffledp(f"simulate-clients task.json people.csv --column rating --url {url} --analyzer-keys analyzer.pub.json")
    shuffledp(f"shuffler close task.json --url {url} --token operator.token")
    result = json.loads(
        shuffledp(
            f"analyzer run task.json --url {url} --token fetch.token --keys analyzer.key --ledger ledger.jsonl "
            "--budget-epsilon 3 --budget-delta 1e-6 --report page.html --json"
        )
    )
    assert result["n"] == sum(TRUTH.values()) + 1
    assert near_the_truth(result["estimate"])
    assert result["ledger"]["releases"] == 1
    assert 0 < result["ledger"]["spent_epsilon"] <= 2.01  # composition rounds up
    assert json.loads((folder / "ledger.jsonl").read_text().splitlines()[1])["randomizer"]["kind"] == "lattice"
    assert "five" in (folder / "page.html").read_text()
    assert json.loads(shuffledp("ledger show ledger.jsonl --json"))["releases"] == 1
