"""T22: the randomness of clients is the system's, and nothing else."""

import ast
import os
from collections import Counter
from pathlib import Path

import pytest

import shuffledp
from oracles.parties import EIGHT, LABELS
from shuffledp.service.client.client import messages_of

SOURCE = Path(shuffledp.__file__).parent


def module_file(name: str) -> Path | None:
    """The source of a module of ours, if that is what the name is."""
    path = SOURCE.parent.joinpath(*name.split("."))
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


def imported(tree: ast.Module) -> set[str]:
    """What a module imports, at its top or later; of `from x import y` both x and x.y, for y may be a module."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module or ""}
    return names


def reached(*names: str) -> dict[str, ast.Module]:
    """These modules of ours and all that they import."""
    found: dict[str, ast.Module] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        file = module_file(name)
        if name not in found and file is not None and file != SOURCE / "__init__.py":
            found[name] = ast.parse(file.read_text())
            waiting += imported(found[name])
    return found


def random_names(tree: ast.AST) -> Counter[str]:
    """Uses of a random number generator that is not the system's, the type of one in a signature excepted."""
    uses: Counter[str] = Counter()
    inside = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):
        text = ast.unparse(node) if isinstance(node, ast.Attribute | ast.Name) and id(node) not in inside else ""
        generator = text.startswith(("np.random.", "numpy.random.", "random.")) and text != "np.random.Generator"
        if generator or text.split(".")[-1] in ("default_rng", "seeded", "RandomState"):
            uses[text] += 1
    return uses


def test_t22_clients_use_the_systems_randomness_alone() -> None:
    """No module that a client, its sealing or its sender reaches throws other coins, but for a polite pause."""
    modules = reached(
        "shuffledp.service.client.client", "shuffledp.service.sealing.hpke", "shuffledp.service.client.sender"
    )
    assert {"shuffledp.core.randomness", "shuffledp.randomizers.response", "shuffledp.protocols.rounding"} <= set(
        modules
    )
    for name, tree in modules.items():
        generators = {found for found in imported(tree) if found.split(".")[0] == "random" or "numpy.random" in found}
        if name == "shuffledp.service.client.sender":
            pauses = [
                node
                for node in ast.walk(tree)
                if isinstance(node, ast.Call) and ast.unparse(node.func) == "asyncio.sleep"
            ]
            assert (
                random_names(tree) == sum((random_names(pause) for pause in pauses), Counter()) == {"random.random": 1}
            )
            assert generators == {"random"}
        else:
            assert (name, generators, dict(random_names(tree))) == (name, set(), {})


def test_t22_the_service_never_seeds() -> None:
    for file in (SOURCE / "service").rglob("*.py"):
        assert random_names(ast.parse(file.read_text())) == ({"random.random": 1} if file.name == "sender.py" else {})


@pytest.mark.parametrize(("byte", "message"), [(b"\0", 0), (b"\xff", 5)])
def test_t22_a_clients_message_follows_from_the_systems_bytes(
    byte: bytes, message: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All zeros: the blanket's first symbol. All ones: the truth. There is no other source."""
    monkeypatch.setattr(os, "urandom", lambda length: byte * length)
    assert [messages_of(EIGHT, LABELS[5]) for _ in range(20)] == [[message]] * 20
