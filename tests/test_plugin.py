"""The example of a plug-in, built and installed beside shuffledp in an empty environment, works as well as what is built in."""

import json
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hatchling.builders.wheel import WheelBuilder

from oracles.installed import ROOT, add, build, install, remove

PLUGIN = ROOT / "examples" / "plugin"
SCRIPT = """
import json, sys
import shuffledp
assert "shuffledp_unrelated" not in sys.modules and "importlib.metadata" not in sys.modules
from shuffledp import Certificate, KeyedRandomness, Plan, Session, account, audit, plan, run, verify
from shuffledp.randomizers.registry import RANDOMIZERS, from_document

shuffledp.account(shuffledp.RandomizedResponse(size=2, gamma=0.5), n=1000, delta=1e-6)
assert "shuffledp_unrelated" not in sys.modules
coin = RANDOMIZERS["unrelated-question"].of(0.2)
assert from_document(coin.document()) == coin
found = plan("sensitive", n=5000, epsilon=1.0, delta=1e-6, harmless=0.25)
assert Plan.from_document(json.loads(json.dumps(found.document()))) == found
people = ["yes"] * 1200 + ["no"] * 3800
answer = run(found, people, randomness=KeyedRandomness.seeded(1)).estimate
assert all(abs(answer.value - (3800, 1200)) < 7 * answer.standard_error), answer
session = Session(epsilon=2.0, delta=1e-5)
session.run(found, people)
assert 0 < session.spent <= 1.01
assert audit(coin, view="local", trials=20_000, randomness=KeyedRandomness.seeded(2)).verdict == "consistent"
assert "'unrelated-question'" in verify(Certificate.of(coin, account(coin, n=1000, delta=1e-6))).reason
questions = [{"name": "drugs", "ask": "sensitive"}, {"name": "hours", "ask": "mean", "low": 0, "high": 12}]
survey = plan("survey", n=5000, epsilon=2.0, delta=1e-6, questions=questions, way="all")
assert [part.kind for part in survey.protocol.randomizer.parts] == ["unrelated-question", "response"]
print("done")
"""


class Environment(NamedTuple):
    place: Path
    folder: Path
    variables: dict[str, str]

    def typed(self, *randomness: str) -> "subprocess.CompletedProcess[str]":
        command = [str(self.place / "bin" / randomness[0]), *randomness[1:]]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=self.folder, env=self.variables)

    def answered(self, *randomness: str) -> Any:
        done = self.typed("shuffledp", *randomness, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Both wheels in it."""
    folder = tmp_path_factory.mktemp("plugin")
    variables = install(build(folder / "dist"), folder / "env")
    (wheel,) = WheelBuilder(str(PLUGIN)).build(directory=str(folder / "dist"), versions=["standard"])
    add(Path(wheel), folder / "env")
    return Environment(folder / "env", folder, variables)


def test_from_python(environment: Environment) -> None:
    done = environment.typed("python", "-c", SCRIPT)
    assert done.stdout.strip() == "done", done.stderr


def test_from_the_command_line(environment: Environment) -> None:
    asked = ("--n", "5000", "--delta", "1e-6")
    typed = environment.answered("account", "--randomizer", "unrelated-question", "--gamma", "0.2", *asked)
    assert 0 < typed["results"][0]["value"] < 1
    assert "unrelated-question" in environment.typed("shuffledp", "curve", "--help").stdout
    assert "--harmless" in environment.typed("shuffledp", "plan", "--help").stdout
    planned = environment.answered(
        "plan", "sensitive", *asked, "--epsilon", "1", "--harmless", "0.25", "-o", "plan.json"
    )
    assert planned["protocol"]["randomizer"]["kind"] == "unrelated-question"
    (environment.folder / "truth.csv").write_text("answer,users\nno,3800\nyes,1200\n")
    simulated = environment.answered("simulate", "plan.json", "--truth", "truth.csv", "--trials", "2000", "--seed", "1")
    assert simulated["rmse"] == pytest.approx(simulated["expected_rmse"], rel=0.1)
    compared = environment.answered("compare", "sensitive", *asked, "--epsilon", "1")
    assert [row["name"] for row in compared["candidates"]] == ["shuffledp"]
    refused = environment.typed("shuffledp", "verify", "plan.json")
    assert refused.returncode == 3
    assert "no independent proof for randomizers of kind 'unrelated-question'" in refused.stdout
    audited = environment.answered("audit", "plan.json", "--n", "30", "--epsilon", "9", "--trials", "5000")
    assert audited["verdict"] != "violated"


def test_a_broken_one_is_named_and_its_absence_is_plain(environment: Environment) -> None:
    asked = ("shuffledp", "plan", "sensitive", "--n", "5000", "--delta", "1e-6", "--epsilon", "1")
    (module,) = environment.place.glob("lib/*/site-packages/shuffledp_unrelated/randomizer.py")
    whole = module.read_text()
    module.write_text("import no_such_module")
    for line in (asked, ("shuffledp", "account", "--randomizer", "unrelated-question", "--gamma", "0.2", "--n", "9")):
        broken = environment.typed(*line)
        assert broken.returncode == 2
        assert broken.stderr.count("\n") == 1
        assert "the package shuffledp-unrelated 0.1.0 provides" in broken.stderr
        assert "No module named 'no_such_module'. Repair or uninstall that package." in broken.stderr
    ours = environment.typed(
        "shuffledp", "account", "--randomizer", "rr", "--size", "3", "--gamma", "0.2", "--n", "9", "--delta", "0.1"
    )
    assert ours.returncode == 0
    module.write_text(whole)
    remove("shuffledp-unrelated", environment.place)
    assert "there is no question 'sensitive'" in environment.typed(*asked).stderr
