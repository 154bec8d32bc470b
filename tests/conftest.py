"""Property tests take the same points every time in `make test`, and new ones in `make test-all`."""

import os

from hypothesis import settings

settings.register_profile("pinned", derandomize=True, deadline=None)
settings.register_profile("roaming", deadline=None, print_blob=True)
settings.load_profile("roaming" if os.environ.get("SHUFFLEDP_TEST_SCALE") else "pinned")
