"""The checker, by itself: against enumerations, on certificates that shuffledp writes, and on ones that were made better."""

import ast
import copy
import hashlib
import json
import subprocess
import sys
from fractions import Fraction
from itertools import product
from math import exp, prod
from pathlib import Path
from typing import Any

import check
import pytest

HERE = Path(__file__).parent
CERTIFICATES = sorted((HERE / "certificates").glob("*.json"))


def changed(document: dict[str, Any], **claim: Any) -> dict[str, Any]:
    """With another claim and an honest hash."""
    found = copy.deepcopy(document)
    found["claim"] |= claim
    del found["sha256"]
    return found | {"sha256": hashlib.sha256(check.canonical(found).encode()).hexdigest()}


def read(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("file", CERTIFICATES, ids=lambda file: file.stem)
def test_certificates_are_confirmed_and_better_ones_refused(file: Path) -> None:
    document = read(file)
    check.check(document)
    epsilon = float.fromhex(document["claim"]["epsilon"])
    with pytest.raises(check.Refused):
        check.check(changed(document, epsilon=(epsilon * 0.998).hex()))


@pytest.mark.parametrize(("field", "value"), [("delta", "0x1p-30"), ("honest", "300"), ("epsilon", "0x1p-7")])
def test_an_edited_claim_is_refused(field: str, value: str) -> None:
    document = read(HERE / "certificates" / "response.json")
    edited = copy.deepcopy(document)
    edited["claim"][field] = value
    with pytest.raises(check.Refused, match="SHA-256"):
        check.check(edited)
    with pytest.raises(check.Refused):
        check.check(changed(document, **{field: value}))


def test_it_imports_the_standard_library_only() -> None:
    tree = ast.parse((HERE / "check.py").read_text(encoding="utf-8"))
    names = [a.name for node in ast.walk(tree) if isinstance(node, ast.Import) for a in node.names]
    names += [str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert {name.split(".")[0] for name in names} <= sys.stdlib_module_names


def test_the_expectation_is_above_the_enumerated_one_and_close() -> None:
    atoms = [(Fraction(7, 3), Fraction(1, 5)), (Fraction(-5, 2), Fraction(1, 3)), (Fraction(-1, 7), Fraction(1, 4))]
    listed = [*atoms, (Fraction(0), 1 - sum(mass for _, mass in atoms))]
    for n in (1, 2, 5, 6):
        exact = sum(
            (
                max(sum(v for v, _ in chosen), Fraction(0)) * prod((m for _, m in chosen), start=Fraction(1))
                for chosen in product(listed, repeat=n)
            ),
            Fraction(0),
        )
        found = check.expectation(atoms, n, Fraction(1, 10**6), 3000)
        assert exact <= found <= exact * (1 + Fraction(1, 500))


def test_the_divergence_of_coins_is_above_the_enumerated_one_and_close() -> None:
    q, r, growth = Fraction(4, 5), Fraction(1, 3), Fraction(5, 4)
    for ones, zeros in ((0, 3), (2, 2), (4, 1)):
        chances = [q] * ones + [r] * zeros

        def views(last: Fraction, chances: list[Fraction] = chances) -> list[Fraction]:
            found = [Fraction(0)] * (len(chances) + 2)
            for outcome in product((0, 1), repeat=len(chances) + 1):
                parts = (c if o else 1 - c for c, o in zip([*chances, last], outcome, strict=True))
                found[sum(outcome)] += prod(parts, start=Fraction(1))
            return found

        exact = sum(max(u - growth * v, Fraction(0)) for u, v in zip(views(q), views(r), strict=True))
        found = check.divergence(q, r, ones, zeros, growth)
        assert exact <= found <= exact + Fraction(1, 10**25)


def test_a_tail_that_is_dropped_is_counted() -> None:
    """Dropping far too much must show in the result: `lost` pays for it."""
    whole = check.Sum(Fraction(1), -2, [check.UNIT // 4] * 4, 0, check.UNIT)
    cut = whole.trimmed(check.UNIT // 3, 100)
    assert cut.lost == check.UNIT // 4
    assert cut.positive_part(Fraction(3)) >= whole.positive_part(Fraction(3))


def test_the_exponential_is_below_and_close() -> None:
    for exponent in (0.0, 1e-9, 0.3, 1.0, 20.0):
        found = check.exp_below(Fraction(exponent))
        assert found <= Fraction(exp(exponent)) * (1 + Fraction(1, 10**15))
        assert found >= Fraction(exp(exponent)) * (1 - Fraction(1, 10**14))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1e-6, "0.000001"), (1e-7, "1e-7"), (1.5e-10, "1.5e-10"), (0.25, "0.25"), (1.0, "1"), (123456.75, "123456.75"),
        (1e21, "1e+21"), (1.25e30, "1.25e+30"), (1e20, "100000000000000000000"), (-0.5, "-0.5"),
    ],
)  # fmt: skip
def test_numbers_are_written_as_rfc_8785_says(value: float, text: str) -> None:
    assert check.number(value) == text


def test_the_command(tmp_path: Path) -> None:
    good = HERE / "certificates" / "response.json"
    other = tmp_path / "other.json"
    other.write_text(json.dumps(changed(read(good), randomizer={"kind": "laplace", "epsilon0": 1.0})))
    bad = tmp_path / "bad.json"
    bad.write_text("[]")

    def run(*files: Path) -> tuple[int, str]:
        command = [sys.executable, "-I", str(HERE / "check.py"), *map(str, files)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    assert run(good)[0] == 0
    assert "confirmed" in run(good)[1]
    assert run(good, other)[0] == 3
    assert "cannot be checked here" in run(other)[1]
    assert run(bad) == (2, f"{bad}: refused: it cannot be read as a certificate\n")
    assert run()[0] == 2
