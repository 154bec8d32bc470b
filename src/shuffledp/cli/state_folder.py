"""Where the command line remembers things between runs."""

from pathlib import Path


def state_folder() -> Path:
    """Ours in the platform's folder for state: on Linux `$XDG_STATE_HOME/shuffledp`, or `~/.local/state/shuffledp`."""
    from platformdirs import user_state_path

    return user_state_path("shuffledp", appauthor=False)
