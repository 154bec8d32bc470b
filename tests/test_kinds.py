"""What `make quick` leaves out, and that it leaves out no package."""

import ast
from pathlib import Path

import pytest

import kinds
from kinds import KINDS, ROOT, SOURCE, TESTS, of_file, of_test, packages, untouched

SLOW = (TESTS / "slow.txt").read_text(encoding="utf-8").splitlines()


def test_every_package_has_a_folder_of_tests_of_its_name() -> None:
    assert len(list(packages())) >= 15
    assert untouched(TESTS / package / "test_it.py" for package in packages()) == []


def test_every_package_has_a_quick_test(request: pytest.FixtureRequest) -> None:
    """Of all tests that there are, as they were collected here."""
    some = request.config.getoption("keyword") or request.config.getoption("markexpr")
    if some or not any(Path(given).resolve() == TESTS for given in request.config.args):
        pytest.skip("only some of the tests were collected")
    quick = [item.path for item in request.session.items if not any(item.get_closest_marker(kind) for kind in KINDS)]
    assert untouched(quick) == [], "no quick test is in the folder of these packages: take one out of slow.txt"


def test_a_package_without_a_quick_test_is_named() -> None:
    files = [TESTS / package / "test_it.py" for package in packages() if package != "cluster"]
    assert untouched([*files, TESTS / "test_package.py", SOURCE / "cluster" / "sums.py"]) == ["cluster"]


@pytest.mark.parametrize("line", SLOW)
def test_every_slow_test_still_exists(line: str) -> None:
    file, _, name = line.partition("::")
    assert (ROOT / file).is_file()
    names = {node.name for node in ast.walk(ast.parse((ROOT / file).read_text())) if isinstance(node, ast.FunctionDef)}
    assert not name or name.partition("[")[0] in names


def test_slow_tests_are_in_order_and_said_once() -> None:
    assert sorted(set(SLOW)) == SLOW


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("from oracles.browser import chromium", {"browser"}),
        ("import oracles.server", {"server"}),
        ("from oracles.spark import local_session", {"java"}),
        ("from oracles.spark_tasks import length", set()),
        ("import sphinx.application", {"notebook"}),
        ("import shuffledp  # oracles.browser", set()),
    ],
)
def test_a_file_is_what_it_imports(text: str, kind: set[str], tmp_path: Path) -> None:
    file = tmp_path / "test_it.py"
    file.write_text(f"{text}\n", encoding="utf-8")
    assert of_file(file) == kind


def test_a_test_is_what_it_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    here, node = Path(__file__), "tests/test_kinds.py::test_it"
    assert of_test(here, node, []) == set()
    assert of_test(here, node, ["tmp_path", "spark"]) == {"java"}
    assert of_test(here, f"{node}[1-spark]", []) == {"java"}
    assert of_test(here, f"{node}[postgresql]", []) == {"server"}
    assert of_test(here, f"{node}[sparkling]", []) == set()
    assert of_test(TESTS / "pins" / "test_pins.py", "tests/pins/test_pins.py::test_it", []) == {"pins"}
    monkeypatch.setattr(kinds, "_SLOW", frozenset({node, f"{node}_too[3]"}))
    assert of_test(here, f"{node}[memory]", []) == {"slow"}
    assert of_test(here, f"{node}_too[3]", []) == {"slow"}
    assert of_test(here, f"{node}_too[4]", []) == set()
