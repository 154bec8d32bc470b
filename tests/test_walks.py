"""A reader who follows a plan, a row or a report through the code goes down, and not back up."""

import re
import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).parents[1] / "tools" / "walks.py"
MOST_TURNS = {"a plan": 0, "a CSV row": 2, "a sealed report": 0}
"""What reads the parts of a document is handed to the one reader of documents."""


def test_no_walk_turns_back_up() -> None:
    done = subprocess.run([sys.executable, TOOL], capture_output=True, text=True, check=True)
    walks = re.findall(r"^(a [\w ]+): (\d+) files, \d+ steps up, (\d+) turns back up$", done.stdout, re.MULTILINE)
    assert {name for name, _, _ in walks} == set(MOST_TURNS)
    assert all(int(turns) <= MOST_TURNS[name] for name, _, turns in walks), done.stdout
    assert all(int(files) > 20 for _, files, _ in walks), done.stdout
