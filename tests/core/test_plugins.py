"""What installed packages bring: found by name, imported when asked for, and a broken one is one sentence with its name."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from shuffledp.core.plugins import Registry, class_by_kind, object_by_name
from shuffledp.errors import InvalidInput

GROUP = "shuffledp.bells"
BELL = """
class Small:
    kind = "small"
    def ring(self): return "ding"

class Other(Small):
    kind = "other"

class Silent:
    kind = "silent"
"""


def install(folder: Path, package: str, names: dict[str, str], source: str = BELL, group: str = GROUP) -> None:
    """A package as an installer leaves it: a module and its metadata."""
    module = package.replace("-", "_")
    (folder / f"{module}.py").write_text(source)
    about = folder / f"{module}-1.5.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.5\n")
    lines = [f"[{group}]", *(f"{name} = {module}:{what}" for name, what in names.items())]
    (about / "entry_points.txt").write_text("\n".join(lines) + "\n")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def bells(**own: Any) -> Registry[Any]:
    return Registry("a class of bells", GROUP, own, class_by_kind("ring"))


def test_a_plug_in_is_imported_when_it_is_asked_for(folder: Path) -> None:
    install(folder, "bell-foundry", {"small": "Small", "other": "Other"})
    registry = bells(large="dong")
    assert registry["large"] == "dong"
    assert list(registry) == ["large", "small", "other"]
    assert len(registry) == 3
    assert "small" in registry
    assert "silent" not in registry
    assert registry.of_others() == ("small", "other")
    assert "bell_foundry" not in sys.modules
    assert registry["small"]().ring() == "ding"
    assert registry["small"] is registry["small"]
    assert {kind.kind for name, kind in registry.items() if name != "large"} == {"small", "other"}
    with pytest.raises(KeyError):
        registry["silent"]
    del sys.modules["bell_foundry"]


BROKEN = {
    "imports what is not there": (
        "import no_such_module_at_all",
        "ModuleNotFoundError: No module named 'no_such_module_at_all'",
    ),
    "is no Python": ("def (", "SyntaxError"),
    "ends the program": ("raise SystemExit(3)", "SystemExit: 3"),
    "fails in several lines": ("raise ValueError('first\\nsecond')", "ValueError: first. Repair"),
    "fails without a word": ("raise ValueError", "ValueError. Repair"),
    "would steer a terminal": ("raise ValueError('\\x1b[2J')", r"ValueError: \\x1b\[2J"),
    "lacks what it names": ("", "AttributeError"),
    "names something else": ("Small = 7", "what it points to is not a class of bells"),
    "names an instance": (f"{BELL}\nSmall = Small()", "what it points to is not a class of bells"),
    "cannot ring": ("class Small:\n    kind = 'small'", "what it points to is not a class of bells"),
    "says no kind": ("class Small:\n    def ring(self): pass", "what it points to is not a class of bells"),
    "has another name": (BELL.replace('"small"', '"tiny"'), "what it points to has another name"),
}


@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_plug_in_is_one_sentence_that_names_the_package(folder: Path, how: str) -> None:
    source, why = BROKEN[how]
    install(folder, "bell-foundry", {"small": "Small"}, source)
    registry = bells()
    assert "small" in registry  # it is not imported for that
    with pytest.raises(InvalidInput, match=why) as refused:
        registry["small"]
    assert "the package bell-foundry 1.5 provides a class of bells 'small'" in str(refused.value)
    assert "\n" not in str(refused.value)
    sys.modules.pop("bell_foundry", None)


def test_two_packages_may_not_bring_the_same(folder: Path) -> None:
    install(folder, "bell-foundry", {"small": "Small"})
    install(folder, "bell-shop", {"small": "Small"})
    with pytest.raises(
        InvalidInput, match=r"the packages bell-\w+ 1.5 and bell-\w+ 1.5 both provide a class of bells 'small'"
    ):
        bells()["small"]


def test_one_package_that_is_found_twice_is_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in an editable installation beside a built one."""
    install(folder, "bell-foundry", {"small": "Small"})
    again = folder / "again"
    again.mkdir()
    install(again, "bell-foundry", {"small": "Small"})
    monkeypatch.syspath_prepend(str(again))
    assert bells()["small"].kind == "small"
    del sys.modules["bell_foundry"]


def test_what_shuffledp_has_itself_stays(folder: Path) -> None:
    install(folder, "bell-foundry", {"small": "Small"})
    registry = bells(small="ours")
    assert registry["small"] == "ours"
    with pytest.raises(
        InvalidInput, match=r"bell-foundry 1.5 provides a class of bells 'small', and shuffledp already has one"
    ):
        list(registry)


class Bell:
    kind = "bell"
    name = "bell"

    def ring(self) -> str:
        return "ding"


def test_what_is_registered_can_be_replaced_and_forgotten() -> None:
    registry = bells(large="dong")
    registry.add(Bell)
    again = type("Bell", (Bell,), {"kind": "bell"})  # the cell of a notebook was run again
    registry.add(again)
    assert registry["bell"] is again
    registry.remove(Bell)
    registry.remove(Bell)
    assert list(registry) == ["large"]
    with pytest.raises(InvalidInput, match="shuffledp already has a class of bells 'large'"):
        registry.add(type("Large", (Bell,), {"kind": "large"}))
    for wrong, what in ((Bell(), "a Bell"), (7, "a int"), (type("Heir", (Bell,), {}), r"a class \(Heir\)")):
        with pytest.raises(InvalidInput, match=f"must be a class of bells; got {what}"):
            registry.add(wrong)


def test_an_object_is_known_by_its_name_or_made_of_its_class() -> None:
    accept = object_by_name("ring")
    bell = Bell()
    assert accept(bell) == ("bell", bell)
    made = accept(Bell)
    assert made is not None
    assert made[0] == "bell"
    assert isinstance(made[1], Bell)
    assert accept("bell") is None
    assert accept(type("Nameless", (), {"ring": None})) is None


@pytest.mark.parametrize("line", ["account --randomizer clock --n 100 --delta 1e-6"])
def test_the_command_line_says_it_in_a_sentence(tmp_path: Path, line: str) -> None:
    install(tmp_path, "clock-makers", {"clock": "Clock"}, "import springs", "shuffledp.randomizers")
    paths = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", "shuffledp", *line.split()], capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHONPATH": paths},
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "the package clock-makers 1.5 provides a class of randomizers 'clock', which cannot be loaded" in done.stderr


def test_nothing_is_read_where_nothing_is_asked_for() -> None:
    """Whoever imports shuffledp, or accounts for a randomizer of ours, pays for no plug-ins."""
    program = (
        "import sys, shuffledp; shuffledp.account(shuffledp.RandomizedResponse(size=2, gamma=0.5), n=100, delta=1e-3); "
        "assert 'importlib.metadata' not in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
