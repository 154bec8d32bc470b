"""Certificates are confirmed, and refused once anything in them is better than what was proved."""

import copy
import json
import random
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from oracles.claims import KINDS, random_certificate
from oracles.process import assert_refused, called
from oracles.scale import full
from shuffledp import Certificate, Channel, Gaussian, Generic, Guarantee, Laplace, RandomizedResponse, account, verify
from shuffledp.cli import cli
from shuffledp.core.canonical import digest
from shuffledp.randomizers.dummies import Dummies
from shuffledp.randomizers.identity import Identity
from shuffledp.randomizers.registry import RANDOMIZERS

EACH = full(1, 40)
RESPONSE = RandomizedResponse(size=10, epsilon0=1.0).as_run()


def certified(randomizer: Any, **numbers: Any) -> Certificate:
    return Certificate.of(randomizer, account(randomizer, **numbers))


def rehashed(document: dict[str, Any]) -> dict[str, Any]:
    """With an honest hash and an honest statement, whatever the claim is now."""
    claim = document["claim"]
    body = {name: value for name, value in document.items() if name != "sha256"}
    body["statement"] = Certificate(
        randomizer=claim["randomizer"],
        honest=int(claim["honest"]),
        reports=int(claim["reports"]),
        rounds=int(claim["rounds"]),
        epsilon=float.fromhex(claim["epsilon"]),
        delta=float.fromhex(claim["delta"]),
        assumes=tuple(claim["assumes"]),
    ).statement
    return body | {"sha256": digest(body)}


@cache
def certificates(kind: str) -> list[Certificate]:
    rng = random.Random(f"certificates of {kind}")
    return [random_certificate(kind, rng) for _ in range(EACH)]


@pytest.mark.parametrize("kind", KINDS)
def test_claims_are_confirmed_and_0_2_percent_better_ones_are_not(kind: str) -> None:
    for certificate in certificates(kind):
        found = verify(certificate.document())
        assert found.confirmed, (certificate, found.reached)
        better = replace(certificate, epsilon=certificate.epsilon * 0.998)
        assert verify(better.document()).verdict == "refused", certificate


def test_every_kind_of_randomizer_is_known() -> None:
    """Some example of each is confirmed."""
    for kind, randomizer in RANDOMIZERS.items():
        example = randomizer.examples()[1 if kind == "lattice" else 0]  # the first leaves a message uncovered
        n = full(10_000, 100_000)
        epsilon = account(example, n=n, delta=1e-4).epsilon
        claim = Guarantee(epsilon=epsilon, delta=1e-4, n=n, bound="best", reference="")
        assert verify(Certificate.of(example, claim).document()).confirmed, kind


BETTER: dict[str, Any] = {
    "epsilon": lambda text: (float.fromhex(text) * 0.998).hex(),
    "delta": lambda text: (float.fromhex(text) * 0.9).hex(),
    "honest": lambda text: str(int(text) * 99 // 100),
    "rounds": lambda text: "2",
    "randomizer": lambda document: document | {"threshold": str(int(document["threshold"]) * 99 // 100)},
}


@pytest.mark.parametrize("field", BETTER)
def test_an_edited_claim_is_refused_even_with_its_hash_made_anew(field: str) -> None:
    document = certified(RESPONSE, n=10_000, delta=1e-6).document()
    edited = copy.deepcopy(document)
    edited["claim"][field] = BETTER[field](edited["claim"][field])
    assert "SHA-256" in verify(edited).reason
    assert not verify(rehashed(edited)).confirmed
    assert verify(rehashed(document)).confirmed  # the same without an edit


def test_a_weaker_claim_is_confirmed() -> None:
    certificate = certified(RESPONSE, n=10_000, delta=1e-6)
    for weaker in (
        replace(certificate, epsilon=certificate.epsilon * 1.1),
        replace(certificate, delta=1e-5),
        replace(certificate, honest=20_000, reports=20_000),
    ):
        assert verify(weaker.document()).confirmed


def paths(node: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """To everything in a document, itself included."""
    inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return [at, *(path for key, child in inner for path in paths(child, (*at, key)))]


def found_at(document: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        document = document[key]
    return document


@pytest.mark.parametrize("kind", KINDS)
def test_any_field_that_is_edited_is_refused(kind: str) -> None:
    """Everything is changed, dropped and added to, one thing at a time."""
    for certificate in certificates(kind):
        document = certificate.document()
        for path, new in edits_of(document):
            edited: Any = copy.deepcopy(document)
            if path:
                found_at(edited, path[:-1])[path[-1]] = new
            else:
                edited = new
            found = verify(edited)
            assert found.verdict == "refused", path
            assert found.reason.endswith(".")


def edits_of(document: Any) -> list[tuple[tuple[Any, ...], Any]]:
    """Where, and what stands there instead."""
    edits = list[tuple[tuple[Any, ...], Any]]()
    for path in paths(document):
        node = found_at(document, path)
        if path:
            others: tuple[Any, ...] = (None, "x", 7, 0.5, [], {}, ["x"])
            close: dict[type, Any] = {
                int: lambda n: n + 1,
                float: lambda x: x * 0.998,
                str: lambda t: t + "1",
                list: lambda v: v[::-1],
            }
            others += (close[type(node)](node),) if type(node) in close else ()
            edits += [(path, new) for new in others if new != node or type(new) is not type(node)]
        if isinstance(node, dict):
            edits += [(path, {name: child for name, child in node.items() if name != left}) for left in node]
            edits.append((path, node | {"more": "1"}))
        if isinstance(node, list):
            edits += [(path, [*node, "1"]), *((path, node[:k] + node[k + 1 :]) for k in range(len(node)))]
    return edits


@pytest.mark.parametrize("kind", KINDS)
def test_missing_and_unknown_fields_are_refused_even_with_the_hash_made_anew(kind: str) -> None:
    document = random_certificate(kind, random.Random(f"edits of {kind}")).document()
    for path in paths(document):
        if isinstance(found_at(document, path), dict):
            for name in {*found_at(document, path), "more"} - {"sha256"}:
                edited = copy.deepcopy(document)
                node = found_at(edited, path)
                if name in node:
                    del node[name]
                else:
                    node[name] = "1"
                body = {field: value for field, value in edited.items() if field != "sha256"}
                assert verify(body | {"sha256": digest(body)}).verdict == "refused", (path, name)


def test_words_that_say_something_else_are_refused() -> None:
    document = certified(RESPONSE, n=10_000, delta=1e-6).document()
    body = document | {"statement": document["statement"].replace("10,000", "1,000")}
    del body["sha256"]
    assert "different things" in verify(body | {"sha256": digest(body)}).reason


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("epsilon", "nan"), ("epsilon", "inf"), ("epsilon", "-0x1.0p+0"), ("epsilon", "0.5"), ("epsilon", "0x1p+12"),
        ("delta", "0x1.8p+0"), ("honest", "0"), ("honest", "-3"), ("honest", "1e3"), ("honest", "10001"), ("rounds", "0"),
        ("randomizer", {"kind": "response", "size": 10, "threshold": "0"}),
        ("randomizer", {"kind": "response", "size": 1, "threshold": "5"}),
        ("randomizer", {"kind": "response", "size": 10, "threshold": "5", "more": 1}),
        ("randomizer", {"kind": "channel", "matrix": [[0.5, 0.5], [0.5, 0.4]]}),
        ("randomizer", {"kind": "channel", "matrix": [[0.5, 0.5], [1.0]]}),
        ("randomizer", {"kind": "lattice", "counts": [["1", "2"], ["3", "4"]], "inputs": [0, 1], "outputs": [0, 1], "label": ""}),
        ("randomizer", {"kind": "laplace", "epsilon0": -1.0}), ("randomizer", {"kind": "laplace", "epsilon0": True}),
        ("randomizer", {"kind": "design", "structure": {"kind": "affine", "prime": 9, "dimension": 2}, "threshold": "5"}),
        ("randomizer", {"kind": "mixture", "weights": [1], "parts": []}), ("randomizer", {"kind": "unheard of"}),
    ],
)  # fmt: skip
def test_values_that_cannot_be_are_refused(field: str, value: Any) -> None:
    document = certified(RESPONSE, n=10_000, delta=1e-6).document()
    document["claim"][field] = value
    del document["sha256"]
    assert verify(document | {"sha256": digest(document)}).verdict == "refused"


def test_nothing_below_the_certified_lower_end_is_confirmed() -> None:
    """Whatever the method, a claim that contradicts an explicit dataset is false."""
    from shuffledp.accounting.best import Best
    from shuffledp.arithmetic.balls import exp_down

    channel = Channel([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6], [0.4, 0.3, 0.3]])
    for randomizer in (RESPONSE, RandomizedResponse(size=2, epsilon0=2.0).as_run(), Laplace(epsilon0=2.0), channel):
        for n in (30, 20_000):
            epsilon = account(randomizer, n=n, delta=1e-5).epsilon
            lower = exp_down(Best().claim(randomizer.blanket(), n=n, epsilon=epsilon).log_delta.lower)
            false = Guarantee(epsilon=epsilon, delta=lower * (1 - 1e-9), n=n, bound="best", reference="")
            assert not verify(Certificate.of(randomizer, false).document()).confirmed


def test_what_is_assumed_is_said() -> None:
    certificate = certified(Gaussian(sigma=2.0), n=10_000, delta=1e-6)
    assert "worst pair" in certificate.statement
    assert verify(certificate.document()).confirmed
    silent = verify(replace(certificate, assumes=()).document())
    assert silent.verdict == "refused"
    assert "other assumptions" in silent.reason


def test_the_local_guarantee_and_delta_0() -> None:
    for randomizer in (Generic(epsilon0=1.0), Laplace(epsilon0=1.0), RESPONSE):
        local = randomizer.epsilon0
        for epsilon, confirmed in ((local, True), (local * 0.999, False)):
            claim = Guarantee(epsilon=epsilon, delta=0.0, n=1, bound="best", reference="")
            assert verify(Certificate.of(randomizer, claim).document()).confirmed == confirmed


def test_huge_crowds_and_strong_noise() -> None:
    for randomizer, n in ((RESPONSE, 10**18), (Generic(epsilon0=0.01), 10**12), (Laplace(epsilon0=300.0), 1000)):
        assert verify(certified(randomizer, n=n, delta=1e-9).document()).confirmed


def test_dummies_are_charged_for_what_is_drawn() -> None:
    """Delta cannot be below what the capped Poisson number costs, even where the exact law would allow it."""
    dummies = Dummies(structure=Identity(size=2), dummies=1.0)
    claim = Guarantee(epsilon=30.0, delta=1e-36, n=10**6, bound="best", reference="")
    assert not verify(Certificate.of(dummies, claim).document()).confirmed


def test_no_numpy_is_loaded(tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    file.write_text(json.dumps(certified(Channel([[0.7, 0.3], [0.2, 0.8]]), n=1000, delta=1e-6).document()))
    code = (
        "import json, sys; from shuffledp import verify; "
        "found = verify(json.load(open(sys.argv[1]))); "
        "print(found.verdict, [m for m in sys.modules if m.split('.')[0] in ('numpy', 'scipy')], "
        "[m for m in sys.modules if m.startswith(('shuffledp.arith', 'shuffledp.acc', 'shuffledp.randomizers'))])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(file)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "confirmed [] []"


def test_the_command(tmp_path: Path) -> None:
    runner, good, bad = CliRunner(), tmp_path / "good.json", tmp_path / "bad.json"
    options = f"--randomizer rr --size 5 --gamma 0.3 --n {2000} --delta 1e-6 --honest-fraction 0.9".split()
    written = runner.invoke(cli, ["account", *options, "--certificate", str(good)])
    assert written.exit_code == 0, written.output
    assert json.loads(good.read_text())["claim"]["honest"] == "1800"
    shown = runner.invoke(cli, ["verify", str(good)])
    assert shown.exit_code == 0
    assert "confirmed" in shown.output
    assert "1,800 honest reports among 2,000 or more" in shown.output
    document = json.loads(good.read_text())
    document["claim"]["epsilon"] = (0.01).hex()
    bad.write_text(json.dumps(rehashed(document)))
    refused = runner.invoke(cli, ["verify", str(good), str(bad), "--json"])
    assert refused.exit_code == 3
    first, second = json.loads(refused.output)["results"]
    assert (first["verdict"], second["verdict"]) == ("confirmed", "refused")
    assert second["delta_proved"] > 1e-6


@pytest.mark.parametrize(
    "randomizer", ["plane --prime 7", "hadamard --size 10", "local-hashing --size 100 --range 4", "laplace"]
)
def test_a_parameter_that_was_solved_for_is_certified(randomizer: str, tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    command = f"account --randomizer {randomizer} --n 5000 --epsilon 0.5 --delta 1e-6 --certificate {file}"
    assert CliRunner().invoke(cli, command.split()).exit_code == 0
    assert CliRunner().invoke(cli, ["verify", str(file)]).exit_code == 0


def test_a_sweep_has_no_certificate(tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    command = f"account --randomizer laplace --epsilon0 1 --n 100,1000 --delta 1e-6 --certificate {file}"
    found = CliRunner().invoke(cli, command.split())
    assert found.exit_code != 0
    assert "one claim" in str(found.exception)
    assert not file.exists()


def test_certificates_follow_their_schema() -> None:
    import jsonschema  # type: ignore[import-untyped]

    schema = json.loads((Path(__file__).parents[2] / "docs" / "certificate.schema.json").read_text())
    rng = random.Random(3)
    for kind in KINDS:
        jsonschema.validate(random_certificate(kind, rng).document(), schema)
    broken = certified(RESPONSE, n=1000, delta=1e-6).document()
    broken["claim"]["honest"] = 1000
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(broken, schema)
    assert set(RANDOMIZERS) == set(
        schema["properties"]["claim"]["properties"]["randomizer"]["properties"]["kind"]["enum"]
    )


def test_channels_and_their_rounds(tmp_path: Path) -> None:
    """`best` takes the cushion bound here, which is verified for one round; rounds are verified by the blanket."""
    (tmp_path / "rows.txt").write_text(".7 .2 .1\n.1 .3 .6\n.4 .3 .3")
    asked = "account --randomizer channel --matrix rows.txt --n 1e6 --delta 1e-6 --certificate c.json"
    assert called(asked, cwd=tmp_path).returncode == 0
    shown = called("verify c.json", cwd=tmp_path)
    assert shown.returncode == 0
    assert "mixed crowds with a cushion" in shown.stdout
    refused = called(f"{asked} --rounds 3", cwd=tmp_path)
    assert_refused(refused, "Add --bound numeric")
    assert called(f"{asked} --rounds 3 --bound numeric", cwd=tmp_path).returncode == 0
    shown = called("verify c.json", cwd=tmp_path)
    assert shown.returncode == 0
    assert "composed on a contour" in shown.stdout


def test_rounds_of_two_messages_are_verified_by_a_cover(tmp_path: Path) -> None:
    """Their epsilon is well below that of the blanket, and half a per cent less is not confirmed."""
    asked = "account --randomizer rr --size 2 --epsilon0 1 --n 100 --delta 1e-3 --rounds 3 --json --certificate c.json"
    tight, loose = (
        json.loads(called(f"{asked} --bound {bound}", cwd=tmp_path).stdout)["results"][0]["value"]
        for bound in ("best", "numeric")
    )
    assert tight < 0.95 * loose
    assert called(asked, cwd=tmp_path).returncode == 0
    certificate = Certificate.load(tmp_path / "c.json")
    assert verify(certificate).confirmed
    assert not verify(replace(certificate, epsilon=0.995 * certificate.epsilon)).confirmed
