"""A PostgreSQL store for a test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from oracles.postgres import PostgresServer
from oracles.store_suite import started
from shuffledp.service.stores.postgres.store import PostgresStore


@pytest.fixture
def url(postgres: PostgresServer, tmp_path: Path) -> str:
    return postgres.place(tmp_path)


@pytest.fixture
def store(url: str) -> Iterator[PostgresStore]:
    made = PostgresStore(url)
    started(made)
    yield made
    made.close()
