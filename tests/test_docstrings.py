"""What is said of a class or function is a promise: none is missing, and none of an override only points elsewhere."""

import ast
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1] / "src"
PACKAGES = sorted(path.parent.name for path in (ROOT / "shuffledp").glob("*/__init__.py"))
LEFT = {"auditing", "randomizers"}
"""Packages in which overrides still say too little."""


def says_nothing(text: str) -> bool:
    """Three words or fewer, or a word that points to what is said elsewhere."""
    return len(text.split()) <= 3 or re.match(r"(The same|As above|Of)\b", text) is not None


def classes(package: str) -> Iterator[type]:
    for path in sorted((ROOT / "shuffledp" / package).rglob("*.py")):
        module = import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
        names = {node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ClassDef)}
        yield from (
            thing for name, thing in vars(module).items() if name in names and isinstance(thing, type)
            and thing.__module__ == module.__name__
        )  # fmt: skip


def own_text(kind: type, name: str) -> str | None:
    """What is said of a method or property in this very class; None if there is no such method."""
    thing: Any = inspect.getattr_static(kind, name) if name in vars(kind) else None
    if isinstance(thing, staticmethod | classmethod):
        thing = thing.__func__
    elif hasattr(thing, "func"):  # of a cached property
        thing = thing.func
    if not (inspect.isfunction(thing) or isinstance(thing, property)):
        return None
    return thing.__doc__ or ""


def faults(kind: type) -> Iterator[str]:
    """Public methods that nothing is said of, and overrides that say nothing of their own."""
    for name in vars(kind):
        text = own_text(kind, name)
        if text is None or name.startswith("_"):
            continue
        inherited = [said for base in kind.__mro__[1:] if (said := own_text(base, name)) is not None]
        missing = not text and not any(inherited) and not any(hasattr(base, name) for base in kind.__mro__[1:])
        if missing and not kind.__name__.startswith("_"):
            yield f"{kind.__module__}.{kind.__name__}.{name} has no docstring"
        if text and inherited and says_nothing(text):
            yield f"{kind.__module__}.{kind.__name__}.{name} inherits a docstring, and its own is {text!r}"


@pytest.mark.parametrize("package", PACKAGES)
def test_docstrings_promise_something(package: str) -> None:
    found = [fault for kind in classes(package) for fault in faults(kind)]
    if package in LEFT:
        assert found, "take it out of LEFT"
    else:
        assert found == []


class Base:
    """Something to override."""

    def area(self) -> float:
        """How large it is."""
        return 0.0

    @property
    def name(self) -> str:
        """What it is called."""
        return ""


class Silent(Base):
    """Overrides that say nothing, and a method that nobody explains."""

    def area(self) -> float:
        """The same."""
        return 1.0

    @property
    def name(self) -> str:
        return "silent"

    def width(self) -> float:
        return 1.0


def test_what_is_missing_or_empty_is_noticed() -> None:
    assert [fault.rpartition(".Silent.")[2].split()[0] for fault in faults(Silent)] == ["area", "width"]
    assert not list(faults(Base))
