"""No process that holds keys leaves a core dump."""

import subprocess
import sys
from pathlib import Path

import pytest

from oracles.tree import python_path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="prctl is Linux's")
ASKED = "import ctypes, resource; print(ctypes.CDLL(None).prctl(3), *resource.getrlimit(resource.RLIMIT_CORE))"
"""PR_GET_DUMPABLE, and the limits of a dump's size."""


def said(program: str, folder: Path) -> str:
    """What a Python program prints last."""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=folder,
        env={"PYTHONPATH": python_path(), "HOME": str(folder)},
    )  # fmt: skip
    return done.stdout.splitlines()[-1]


@pytest.mark.parametrize(
    "command",
    [
        "shuffler status none.db", "analyzer run none.json", "client submit none.json", "keygen shuffler -o made.key",
        "tokens key -o made.token", "simulate-clients none.json none.csv",
    ],
)  # fmt: skip
def test_commands_that_hold_keys_leave_no_core_dump(tmp_path: Path, command: str) -> None:
    """Whether or not they succeed."""
    program = f"""
from contextlib import suppress
from shuffledp.cli import cli
with suppress(Exception, SystemExit):
    cli({command.split()!r}, standalone_mode=False)
"""
    assert said(program + ASKED, tmp_path) == "0 0 0"


def test_other_commands_are_left_alone(tmp_path: Path) -> None:
    assert (
        said("from shuffledp.cli import cli; cli(['account', '--help'], standalone_mode=False);" + ASKED, tmp_path)[0]
        == "1"
    )


def test_a_process_that_helps_to_open_reports_leaves_none(tmp_path: Path) -> None:
    (tmp_path / "asking.py").write_text(
        "import ctypes, resource\n"
        "def asked(records, ring):\n"
        "    return ctypes.CDLL(None).prctl(3), *resource.getrlimit(resource.RLIMIT_CORE)\n"
    )
    program = """
import sys
sys.path.insert(0, ".")
from asking import asked
from shuffledp.service.sealing.unsealing import _Pool
if __name__ == "__main__":
    pool = _Pool(1)
    print(*pool.ask(asked, [], ("shuffler", [])).result(60))
    pool.kill()
"""
    (tmp_path / "main.py").write_text(program)
    done = "import runpy, sys; sys.argv = ['main.py']; runpy.run_path('main.py', run_name='__main__')"
    assert said(done, tmp_path) == "0 0 0"
