"""What tests of a running shuffler begin with."""

from pathlib import Path

import pytest

from oracles.parties import SHUFFLER, SIXTEEN, prepared


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A task and keys."""
    return prepared(tmp_path, SIXTEEN, SHUFFLER)
