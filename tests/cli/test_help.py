"""Help that helps: every command has a line, an example that works, and a hint for what is nearly it."""

import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from oracles.process import assert_refused, called, run
from oracles.server import Server
from oracles.survey import survey
from shuffledp.cli import _COMMANDS, _TOPICS, cli
from shuffledp.cli.examples import EXAMPLES

HERE = "http://127.0.0.1:8470"


ELSEWHERE = ("web", "shuffler forward")
"""Carried out by tests/web, and by those of several shufflers."""


def every() -> dict[str, click.Command]:
    """All commands, by their words."""
    found, context = dict[str, click.Command](), click.Context(cli)
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        inner = command.commands if isinstance(command, click.Group) else {}
        found |= {f"{name} {one}": inner[one] for one in inner} if inner else {name: command}
    return found


def test_every_command_has_a_line_in_the_help() -> None:
    assert sorted(name for commands in _TOPICS.values() for name in commands) == sorted(_COMMANDS)
    shown = called(["--help"]).stdout
    assert all(f"{line}\n" in shown for commands in _TOPICS.values() for line in commands.values())


def test_every_command_has_an_example() -> None:
    assert set(every()) == set(EXAMPLES)
    for words, examples in EXAMPLES.items():
        shown = called([*words.split(), "--help"]).stdout
        assert all(example in shown for example in examples)
        assert all(example.startswith(f"shuffledp {words} ") or example == f"shuffledp {words}" for example in examples)


def test_all_examples_work_one_after_the_other(tmp_path: Path) -> None:
    """As one session, with a real shuffler."""
    (tmp_path / "survey.csv").write_bytes(survey().read_bytes())
    (tmp_path / "population.csv").write_text("\n".join(f"{j},2000" for j in range(1, 6)))
    (tmp_path / "value.txt").write_text("3")
    server: Server | None = None
    for words, examples in EXAMPLES.items():
        for example in examples:
            line, _, into = example.removeprefix("shuffledp ").partition(" > ")
            if words in ELSEWHERE:
                every()[words].make_context(
                    words, shlex.split(line)[len(words.split()) :]
                )  # its options are understood
                continue
            if words == "shuffler serve":
                server = Server(tmp_path, line=line)
                continue
            if words == "shuffler status" and server is not None:  # the ones from here on are about the store
                server.stop()
            if words == "client submit":
                line += " --value-file value.txt"
            url = HERE if server is None else server.url
            done = called(shlex.split(line.replace(HERE, url)), cwd=tmp_path)
            assert done.returncode == 0, (example, done.stderr)
            if into:
                (tmp_path / into).write_text(done.stdout)
    assert {"curve.png", "answer.html", "answer.json", "population.ledger"} <= {
        path.name for path in tmp_path.iterdir()
    }


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("acount", "account"),
        ("plann", "plan"),
        ("shuffler srve", "serve"),
        ("run --colum x", "--column"),
        ("plan histogramm", "histogram"),
        ("index --randomizer lapace", "laplace"),
        ("account --randomizer rr --size 3 --epsilon0 1 --n 9 --delta 0.1 --bound numric", "numeric"),
    ],
)
def test_what_is_nearly_right_gets_a_hint(typed: str, meant: str) -> None:
    done = called(typed)
    assert_refused(done, "Did you mean", meant)


def test_bounds_are_listed_and_completed() -> None:
    assert "closed-form" in " ".join(called(["account", "--help"]).stdout.split()).replace(
        "closed- form", "closed-form"
    )
    asked = {"_SHUFFLEDP_COMPLETE": "bash_complete", "COMP_WORDS": "shuffledp account --bound h", "COMP_CWORD": "3"}
    assert run("", environment=asked).stdout.split() == ["plain,hoeffding", "plain,histogram-theorem"]


def test_the_package_is_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "shuffledp", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("shuffledp, version ")
