"""What tests need that a fresh machine has not, or a loop of a minute has no time for: `make quick` leaves these out.

A whole file is of a kind if it imports what the kind is recognised by; a single test if it asks for its fixture. What is slow
is written down in `slow.txt`: tests that took more than a second of the processor, and files of statistics over many runs.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Final

TESTS: Final = Path(__file__).parent
ROOT: Final = TESTS.parent
SOURCE: Final = ROOT / "src" / "shuffledp"

KINDS: Final = {
    "browser": "a real Chromium",
    "server": "processes of ours or a PostgreSQL server",
    "java": "Spark, which runs on Java",
    "flower": "Flower, in an environment of its own",
    "notebook": "kernels, built pages, or a wheel in an environment of its own",
    "pins": "nothing, but says only that something has changed",
    "slow": "more than a second of the processor",
}
"""Markers, and what such tests need."""
_IMPORTS: Final = {
    "oracles.browser": "browser",
    "oracles.planner": "browser",
    "oracles.server": "server",
    "oracles.postgres": "server",
    "oracles.result": "server",
    "oracles.store_suite": "server",
    "oracles.terminal": "server",
    "oracles.node": "server",
    "oracles.spark": "java",
    "oracles.flower": "flower",
    "oracles.installed": "notebook",
    "nbclient": "notebook",
    "nbformat": "notebook",
    "sphinx": "notebook",
}
"""What the tests of a file need if it imports this module."""
_FIXTURES: Final = {"spark": "java", "postgres": "server"}
_PARAMETERS: Final = {"spark": "java", "postgresql": "server"}
"""Fixtures that some parameters of a test ask for."""
_SLOW: Final = frozenset((TESTS / "slow.txt").read_text(encoding="utf-8").split())


@cache
def of_file(path: Path) -> frozenset[str]:
    """What every test of a file is."""
    name = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name
    found = {"pins"} if name.startswith("tests/pins/") else set[str]()
    if path.name.startswith("test_") and path.suffix == ".py":
        imports = re.findall(r"^(?:from|import) ([\w.]+)", path.read_text(encoding="utf-8"), re.MULTILINE)
        found |= {
            kind for module, kind in _IMPORTS.items() if any(f"{one}.".startswith(f"{module}.") for one in imports)
        }
    return frozenset(found | ({"slow"} if name in _SLOW else set()))


def of_test(path: Path, node: str, fixtures: Iterable[str]) -> frozenset[str]:
    """What one test is: as its file, and by its own fixtures, parameters and time."""
    found = set(of_file(path)) | {kind for fixture, kind in _FIXTURES.items() if fixture in fixtures}
    parameters = re.split(r"[\[\]-]", node)
    found |= {kind for parameter, kind in _PARAMETERS.items() if parameter in parameters}
    if node in _SLOW or node.partition("[")[0] in _SLOW:
        found.add("slow")
    return frozenset(found)


def untouched(chosen: Iterable[Path]) -> list[str]:
    """Packages that have no test among the chosen files: tests of a package are in the folder of its name."""
    there = {path.relative_to(TESTS).parts[0] for path in chosen if path.is_relative_to(TESTS)}
    return sorted(set(packages()) - there)


def packages() -> Iterator[str]:
    """Every package of the library."""
    return (folder.parent.name for folder in SOURCE.glob("*/__init__.py"))
