"""What is installed, and a command for what is missing that works wherever the package came from."""

import re
import shlex
import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from shuffledp.core import installed

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = {name: needed for name, needed in PROJECT["optional-dependencies"].items() if name != "all"}


def asked(command: str) -> set[str]:
    program, word, *wanted = shlex.split(command)
    assert (program, word) == ("pip", "install")
    return {re.sub(r"\s", "", one) for one in wanted}


@pytest.mark.parametrize("extra", EXTRAS)
def test_what_is_missing_is_named_itself(extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the project's file states it; never this package, which is on no index."""
    needed = {one.partition(";")[0].strip() for one in EXTRAS[extra] if "sys_platform" not in one}
    monkeypatch.setattr(installed, "installed_version", lambda _: None)
    assert asked(installed.install_command(extra)) == needed
    assert "shuffledp" not in installed.install_command(extra)


def test_what_is_there_is_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installed, "installed_version", lambda name: None if name == "duckdb" else "1")
    (one,) = asked(installed.install_command("run", "figures"))
    assert one.startswith("duckdb>=")


def test_an_installation_that_is_broken_is_installed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that cannot be imported though it is there."""
    monkeypatch.setattr(installed, "installed_version", lambda _: "1")
    assert {one.partition(">=")[0] for one in asked(installed.install_command("run"))} == {"duckdb", "pyarrow"}


def test_a_folder_that_was_never_installed_still_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(_: str) -> list[str]:
        raise PackageNotFoundError

    monkeypatch.setattr(installed, "requires", unknown)
    assert str(installed.not_installed("pages need jinja2", "figures")) == (
        "pages need jinja2, which is not installed. Install it."
    )


def test_no_hint_names_this_package_with_an_extra() -> None:
    """Nobody could install it by that name; `core.installed` makes every hint."""
    said = re.compile(r"pip install|[Ii]nstall shuffledp")
    found = [
        str(path.relative_to(ROOT))
        for folder in ("src", "examples")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if said.search(path.read_text(encoding="utf-8"))
    ]
    assert found == ["src/shuffledp/core/installed.py"]
