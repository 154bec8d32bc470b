"""Signs of life: on a terminal, on stderr, only while something takes long, and gone afterwards."""

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import pytest

from oracles.process import called
from shuffledp.cli.progress import working


class Terminal(io.StringIO):
    """One that notices when something is said."""

    def __init__(self) -> None:
        super().__init__()
        self.said = Event()

    def isatty(self) -> bool:
        return True

    def flush(self) -> None:
        self.said.set()


def test_what_takes_long_says_since_when(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with working("Composing", patience=0.001) as say:
        say("3 of 7")
        assert terminal.said.wait(60)
    shown = terminal.getvalue()
    assert shown.startswith("\rComposing")
    assert ": 0 s" in shown
    assert shown.endswith("\r\033[K")  # nothing of it is left on the line


def test_a_failure_ends_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with pytest.raises(ZeroDivisionError), working("Dividing", patience=3600):
        _ = 1 / 0
    assert terminal.getvalue() == "\r\033[K"


def test_nothing_is_said_to_a_file() -> None:
    done = called("account --randomizer rr --size 4 --epsilon0 1 --n 1000 --delta 1e-6 --rounds 3")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("module", "line", "said"),
    [
        ("plan", "plan mean --n 1000 --rmse-share 0.1 --delta 1e-4", "Planning"),
        ("over_time", "plan mean --n 1000 --epsilon 2 --delta 1e-4 --rounds 2", "Planning the rounds"),
        ("compose", "compose one.json one.json --delta 1e-4", "Composing"),
        ("account", "account --randomizer rr --size 3 --epsilon0 1 --n 500 --delta 1e-4 --rounds 2", "Accounting"),
        ("verify", "verify claim.json", "Verifying claim.json"),
        ("index", "index --randomizer laplace --epsilon0 1", "Computing"),
    ],
)
def test_what_may_take_long_is_watched(
    made: Path, monkeypatch: pytest.MonkeyPatch, module: str, line: str, said: str
) -> None:
    labels = []

    @contextmanager
    def watched(label: str) -> Iterator[Callable[[str], None]]:
        labels.append(label)
        yield lambda _: None

    monkeypatch.setattr(f"shuffledp.cli.{module}.working", watched)
    done = called(line, cwd=made)
    assert done.returncode == 0, done.stderr
    assert said in labels


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What some commands read."""
    folder = tmp_path_factory.mktemp("made")
    line = "account --randomizer rr --size 3 --epsilon0 1 --n 500 --delta 1e-4 --json --certificate claim.json"
    (folder / "one.json").write_text(called(line, cwd=folder).stdout)
    return folder
