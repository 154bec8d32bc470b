"""What all tests share.

Property tests take the same points every time in `make test`, and new ones in `make test-all`. With `--quick` what `kinds.py`
lists is left out, files as a whole before they are imported.
"""

import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

import kinds
from oracles.postgres import PostgresServer
from oracles.server import Place
from oracles.spark import local_session
from shuffledp import Plan, plan
from shuffledp.engines.registry import ENGINES
from shuffledp.service.stores.registry import BACKENDS

collect_ignore = ["federated/in_flower"]  # run by federated/test_flower_environment.py

settings.register_profile("pinned", derandomize=True, deadline=None)
settings.register_profile("roaming", deadline=None, print_blob=True)
settings.load_profile("roaming" if os.environ.get("SHUFFLEDP_TEST_SCALE") else "pinned")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help=f"leave out tests that are {', '.join(kinds.KINDS)}")


def pytest_configure(config: pytest.Config) -> None:
    for kind, need in kinds.KINDS.items():
        config.addinivalue_line("markers", f"{kind}: needs {need} (assigned by tests/kinds.py)")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Not even to import a file saves more time than its tests."""
    if not config.getoption("--quick") or collection_path.suffix != ".py":
        return None
    return True if kinds.of_file(collection_path) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    chosen, left_out = list[pytest.Item](), list[pytest.Item]()
    for item in items:
        found = kinds.of_test(item.path, item.nodeid, getattr(item, "fixturenames", ()))
        for kind in found:
            item.add_marker(kind)
        (left_out if found else chosen).append(item)
    if config.getoption("--quick"):
        config.hook.pytest_deselected(items=left_out)
        items[:] = chosen


@pytest.fixture(scope="session", autouse=True)
def _state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What commands remember between runs is not the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One server for all tests of this process, if any needs it."""
    server = PostgresServer()
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """One session of Spark for all tests; those who use it are in one group (`xdist_group`), so that one process starts it."""
    session = local_session()
    try:
        yield session
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            session.stop()


@pytest.fixture(
    params=[pytest.param(name, marks=[pytest.mark.xdist_group("spark")] * (name == "spark")) for name in ENGINES]
)
def engine_name(request: pytest.FixtureRequest) -> str:
    """Every engine."""
    found: str = request.param
    if found == "spark":
        request.getfixturevalue("spark")
    return found


@pytest.fixture(params=sorted(BACKENDS))
def scheme(request: pytest.FixtureRequest) -> str:
    """Every kind of store."""
    found: str = request.param
    return found


@pytest.fixture
def place(scheme: str, request: pytest.FixtureRequest) -> Place:
    """The URL under which a store of this kind can be made for a test: the same path is the same store."""
    if scheme == "sqlite":
        return lambda path: f"sqlite:///{path}"
    assert scheme == "postgresql", "say where this kind of store can be made for a test"
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.place


@pytest.fixture(scope="session")
def mean() -> Plan:
    return plan("mean", n=1000, epsilon=1.0, delta=1e-6, low=0.0, high=10.0)


@pytest.fixture(scope="session")
def histogram() -> Plan:
    return plan("histogram", n=1000, epsilon=1.0, delta=1e-6, labels=["red", "green", "blue"])


@pytest.fixture(scope="session")
def query() -> Plan:
    return plan("query", n=1000, epsilon=1.0, delta=1e-6)
