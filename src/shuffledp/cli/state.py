"""Where the command line remembers things between runs."""

import os
from pathlib import Path


def state_folder() -> Path:
    """Ours in the platform's folder for state."""
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "shuffledp"
