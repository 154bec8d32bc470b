"""Flower's own environment, which `make test` builds: it asks for older versions of packages than everything else."""

import os
import subprocess
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PYTHON: Final = ROOT / ".flower" / "bin" / "python"


def run_tests(folder: Path, home: Path) -> str:
    """What pytest there says of a folder of tests, which must pass."""
    assert PYTHON.exists(), "the tests of Flower need its environment. Run make .flower/.ready"
    found = subprocess.run(
        [PYTHON, "-m", "pytest", "-c", folder / "pytest.ini", "--rootdir", folder, "-q", folder],
        env=os.environ | {"FLWR_TELEMETRY_ENABLED": "0", "FLWR_HOME": str(home), "XDG_STATE_HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout
