"""The Python blocks of docs/federated.md, from top to bottom, print what they say."""

import contextlib
import io
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "federated.md"


def test_the_blocks_of_the_page_print_what_they_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    names: dict[str, object] = {}
    for body in blocks:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(body, str(PAGE), "exec"), names)
        assert printed.getvalue().splitlines() == re.findall(r"^print\(.*\)  # (.*)$", body, re.MULTILINE)
    assert any("flwr" in body for body in blocks)
