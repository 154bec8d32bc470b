"""docs/architecture.md is a map of what is there: nothing on it is missing, and nothing large is missing from it."""

import re
import runpy
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "shuffledp"
MAP = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
FILE = re.compile(r"[\w./-]+\.(?:py|md|jinja)|(?:[\w-]+/)+[\w-]*")


def in_the_tree(text: str) -> Iterator[str]:
    """Files and packages of the drawn tree: a package stands at the margin, its files below it, before the description."""
    (tree,) = re.findall(r"^```text\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    package = ""
    for line in tree.splitlines():
        names = re.split(r" {2,}| (?!\S+\.(?:py|jinja)\b)", line.strip())[0].split()
        assert names, line
        if not line.startswith(" "):
            package = names[0] if names[0].endswith("/") else ""
            yield names[0]
        else:
            yield from (package + name for name in names)


def in_the_text(text: str) -> Iterator[str]:
    """Whatever is set in code and looks like a file or a folder, outside blocks."""
    for name in re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)):
        if FILE.fullmatch(name):
            yield name


def missing(names: Iterator[str]) -> list[str]:
    return [name for name in names if not any((folder / name).exists() for folder in (SOURCE, ROOT, ROOT / "docs"))]


def test_every_file_on_the_map_exists() -> None:
    assert missing(in_the_tree(MAP)) == []
    assert missing(in_the_text(MAP)) == []
    assert len(list(in_the_tree(MAP))) > 100
    assert len(list(in_the_text(MAP))) > 60


def test_the_order_of_imports_is_the_one_that_is_enforced() -> None:
    (drawn,) = re.findall(r"^```text\n(.*?)^```$", CONTRIBUTING, re.MULTILINE | re.DOTALL)
    (service,) = re.findall(r"^Inside `service` the order is: (.*)\.$", CONTRIBUTING, re.MULTILINE)
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    enforced = [" > ".join(one["layers"]).replace("shuffledp.", "") for one in contracts if one["type"] == "layers"]
    assert [" ".join(drawn.split()), service] == enforced


def test_a_file_that_is_gone_is_noticed() -> None:
    assert missing(
        in_the_tree("```text\ncore/    nouns\n  randomness.py gone.py   words\n  lost.py missing.py\n```")
    ) == [
        "core/gone.py",
        "core/lost.py",
        "core/missing.py",
    ]
    assert missing(in_the_text("`core/randomness.py` and `core/gone.py`, `nowhere/`, and `plan`")) == [
        "core/gone.py",
        "nowhere/",
    ]


def test_every_package_is_on_the_map() -> None:
    drawn = set(in_the_tree(MAP))
    packages = {f"{file.parent.relative_to(SOURCE)}/" for file in SOURCE.rglob("__init__.py")} - {"./"}
    assert packages <= drawn
    assert {file.name for file in SOURCE.glob("*.py")} <= drawn


def test_every_package_is_in_the_picture_and_every_step_is_one_of_them() -> None:
    drawn = runpy.run_path(str(ROOT / "tools" / "packages.py"))
    assert set(drawn["BOXES"]) == {folder.parent.name for folder in SOURCE.glob("*/__init__.py")}
    assert len({place[:2] for place in drawn["BOXES"].values()}) == len(drawn["BOXES"])
    assert {*drawn["PLAN"], *drawn["VALUE"]} <= set(drawn["BOXES"])


@pytest.mark.parametrize("registry", sorted(SOURCE.rglob("registry.py")), ids=lambda path: path.parent.name)
def test_every_registry_has_a_recipe(registry: Path) -> None:
    recipes = MAP.partition("## Adding things")[2].partition("## Threats")[0]
    assert f"`{registry.relative_to(SOURCE)}`" in recipes


def test_the_numbers_that_tests_cite_are_listed() -> None:
    listed = re.findall(r"^\| ([AT]\d+) \|", MAP, re.MULTILINE)
    full = re.findall(
        r"^\| ([AT]\d+) \|", (ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert listed == full
    tests = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    cited = {f"{kind.upper()}{number}" for kind, number in re.findall(r"def test_([at])(\d+)_", tests)}
    assert len(cited) > 20
    assert cited <= set(listed)
