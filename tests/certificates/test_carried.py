"""Plans and results carry a certificate of their claim."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from oracles.process import called
from oracles.scale import full
from shuffledp import Plan, account, plan, verify
from shuffledp.baselines.registry import protocols
from shuffledp.errors import InvalidInput
from shuffledp.protocols.deployable import Deployable

DEPLOYED = {kind: protocol.examples()[0] for kind, protocol in protocols().items() if issubclass(protocol, Deployable)}


@pytest.mark.parametrize("kind", DEPLOYED)
def test_the_plan_of_every_protocol_is_confirmed(kind: str) -> None:
    protocol: Any = DEPLOYED[kind]
    honest = full(10_000, 100_000)
    promise = account(protocol.randomizer, n=honest, delta=1e-6)
    document = Plan(protocol=protocol, guarantee=promise, min_batch=honest * 5 // 4).document()
    found = verify(json.loads(json.dumps(document)))
    assert found.confirmed, found
    assert found.certificate is not None
    assert (found.certificate.honest, found.certificate.reports) == (honest, honest * 5 // 4)


def test_a_certificate_of_something_else_is_refused() -> None:
    good = plan("histogram", n=2000, epsilon=1.0, delta=1e-6, size=4)
    other = replace(good, guarantee=replace(good.guarantee, epsilon=2.0)).document()["certificate"]
    swapped = good.document() | {"certificate": other}
    assert "not about its guarantee" in verify(swapped).reason
    with pytest.raises(InvalidInput, match="not about its guarantee"):
        Plan.from_document(swapped)
    assert Plan.from_document(good.document()) == good
    without = {name: value for name, value in good.document().items() if name != "certificate"}
    assert Plan.from_document(without) == good


def test_results_carry_one(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("colour\n" + "red\nblue\n" * 300)
    made = called("plan histogram --labels red,blue,green --n 600 --epsilon 1 --delta 1e-6 -o p.json", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    ran = called("run p.json people.csv --column colour --json", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    (tmp_path / "r.json").write_text(ran.stdout)
    shown = called("verify p.json r.json", cwd=tmp_path)
    assert shown.returncode == 0, shown.stdout
    assert shown.stdout.count("confirmed") == 2
    result = json.loads(ran.stdout)
    result["guarantee"]["epsilon"] = 0.5
    (tmp_path / "r.json").write_text(json.dumps(result))
    assert called("verify r.json", cwd=tmp_path).returncode == 3
