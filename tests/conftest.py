"""Property tests take the same points every time in `make test`, and new ones in `make test-all`."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

settings.register_profile("pinned", derandomize=True, deadline=None)
settings.register_profile("roaming", deadline=None, print_blob=True)
settings.load_profile("roaming" if os.environ.get("SHUFFLEDP_TEST_SCALE") else "pinned")


@pytest.fixture(scope="session", autouse=True)
def _state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What commands remember between runs is not the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield
