"""docs/threat-model.md names tests that there are, and no test is named after a number that it does not have."""

import ast
import re
from pathlib import Path

from oracles.store_suite import CHECKS

ROOT = Path(__file__).parents[2]
ROWS = dict(
    re.findall(
        r"^\| ([TA]\d+) \| (.*) \|$", (ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8"), re.MULTILINE
    )
)
TESTS = {
    node.name
    for path in (ROOT / "tests").rglob("test_*.py")
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
}


def cited(row: str) -> set[str]:
    return {test for test, _ in re.findall(r"`(test_\w+)(\[\w+\])?`", row)}


def test_every_threat_and_acceptance_test_has_a_row() -> None:
    threats, shown = ([name for name in ROWS if name[0] == letter] for letter in "TA")
    assert threats == [f"T{number}" for number in range(1, len(threats) + 1)]
    assert shown == [f"A{number}" for number in range(1, len(shown) + 1)]
    assert len(threats) >= 36
    assert len(shown) >= 29
    assert [name for name in ROWS if not cited(ROWS[name])] == ["T23"]  # the software does nothing about it


def test_every_cited_test_is_there() -> None:
    assert {test for row in ROWS.values() for test in cited(row)} - TESTS == set()


def test_every_cited_check_of_a_suite_is_there() -> None:
    named = {check for row in ROWS.values() for check in re.findall(r"`test_a_registered_store\[(\w+)\]`", row)}
    assert named
    assert named <= {check.__name__ for check in CHECKS}


def test_a_test_that_is_named_after_a_number_is_in_its_row() -> None:
    numbered = [(found[1].upper(), test) for test in TESTS if (found := re.match(r"test_([at]\d+)_", test))]
    assert numbered
    assert [(number, test) for number, test in numbered if test not in cited(ROWS.get(number, ""))] == []
