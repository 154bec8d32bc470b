"""What tests of a running shuffler begin with, and what is true of all their answers."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from oracles.documented import watched
from oracles.parties import SHUFFLER, SIXTEEN, prepared
from oracles.process import called

SERVED = (
    "test_acceptance",
    "test_admission",
    "test_connection",
    "test_end_to_end",
    "test_http",
    "test_limits",
    "test_operation",
)
"""Modules whose answers come from our own service; others pretend to be one."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A task and keys."""
    return prepared(tmp_path, SIXTEEN, SHUFFLER)


@pytest.fixture
def shuffledp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """The command line, in an empty folder with nothing remembered; what it prints."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def call(line: str) -> str:
        done = called(line, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return call


@pytest.fixture(autouse=True)
def documented(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every answer that these tests see is in the OpenAPI document."""
    if request.module.__name__.rpartition(".")[2] not in SERVED:
        yield
        return
    with watched():
        yield
