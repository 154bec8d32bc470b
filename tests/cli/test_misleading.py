"""Mistakes that people make on the command line: each is refused with a sentence that leads on, and leaves nothing behind."""

from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from shuffledp.cli import cli
from shuffledp.cli.command import Command
from shuffledp.cli.option_names import as_flags

ASKED = "--n 1000 --epsilon 1 --delta 1e-6"
TASK = "--window 60 --max-age 600 --shuffler A --analyzer B --honest-fraction 1"
RR = "account --randomizer rr --size 4 --epsilon0 1"
SENT = "--url http://127.0.0.1:9 --analyzer-keys b.pub.json"
MISTAKES = [
    # commands and questions
    ("plann mean", "Did you mean 'plan'?"),
    (f"histogram --labels no,yes {ASKED}", "It is a question: shuffledp plan histogram."),
    (f"plan {ASKED}", "Missing argument 'QUESTION'. Use one of histogram, sum"),
    (f"plan Mean {ASKED}", "Invalid value for 'QUESTION': there is no question 'Mean'. Did you mean 'mean'?"),
    (f"plan maximum {ASKED}", "a distribution has quantiles"),
    (f"plan median {ASKED}", "A distribution has the median"),
    (f"plan count {ASKED}", "A histogram counts"),
    (f"plan table {ASKED}", "add --by"),
    (f"plan mode {ASKED}", "A histogram shows"),
    # options
    (f"plan mean --min 0 --max 9 {ASKED}", "Did you mean '--low'?"),
    ("plan mean --eps 1 --n 1000 --delta 1e-6", "Did you mean '--epsilon'?"),
    ("plan mean -n 1000 --epsilon 1 --delta 1e-6", "Did you mean '--n'?"),
    ("plan mean -epsilon 1 --n 1000 --delta 1e-6", "Did you mean '--epsilon'?"),
    (f"plan histogram --bins 5 {ASKED}", "Did you mean '--size'?"),
    (f"plan histogram --categories a,b {ASKED}", "Did you mean '--labels'?"),
    (f"plan mean --honest_fraction 0.9 {ASKED}", "Did you mean '--honest-fraction'?"),
    (f"plan mean {ASKED} --rmse_share 2", "Did you mean '--rmse-share'?"),
    (f"plan mean {ASKED} --frobnicate", "No such option '--frobnicate'."),
    ("run plan.json people.csv --column answer -out x.json", "Did you mean '--out'?"),
    ("run plan.json people.csv --column answer --delimiter ;", "Did you mean '--separator'?"),
    ("run plan.json people.csv --column answer --epsilon 2", "It is part of the plan: make another one"),
    ("run plan.json people.csv --column answer --seed 1", "It is one of audit, compare and simulate."),
    ("account --randomizer randomized-response", "Did you mean 'rr'?"),
    ("account --randomizer RR", "Did you mean 'rr'?"),
    ("plan mean --epsilon 1 --epsilon 2 --n 1000 --delta 1e-6", "--epsilon is given 2 times."),
    (f"plan mean --title {ASKED}", "Option '--title' requires an argument."),
    (f"plan histogram --labels a, b {ASKED}", "there is a blank after a comma"),
    (f"plan mean {ASKED} people.csv", "a mean takes no file of questions, and got 'people.csv'"),
    # numbers
    ("plan mean --n 1,000 --epsilon 1 --delta 1e-6", "Write it without commas: 1000."),
    ("plan mean --n 1000 --epsilon 1,5 --delta 1e-6", "Write 1.5 if decimals are meant."),
    (f"plan mean --honest-fraction 90% {ASKED}", "Write it as 0.9."),
    ("plan mean --n 10k --epsilon 1 --delta 1e-6", "'10k' is not a number"),
    (f"{RR} --n 1,000 --delta 1e-6", "1,000' would be 1 and 000. Write 1000"),
    ("web --port abc", "'abc' is not a number"),
    (f"task new plan.json {TASK} --release-margin 5% -o t.json", "Write it as 0.05."),
    # labels
    (f"plan histogram --labels a {ASKED}", "Name at least two"),
    (f"plan histogram --labels [a,b] {ASKED}", "Write it without them: a,b."),
    (f"plan histogram --labels-file blank.txt {ASKED}", "line 2 of blank.txt is empty"),
    (f"plan histogram --labels-file empty.txt {ASKED}", "empty.txt is empty"),
    (f"plan mean --by city {ASKED}", "--by takes a column and its labels"),
    # three of n, epsilon and error; rounds
    (f"plan mean --rmse 0.1 {ASKED}", "Leave out one of the three"),
    (f"plan mean --rounds-per-person 2 {ASKED}", "Add --rounds"),
    (f"plan histogram --size 4 --plot rounds.png {ASKED}", "Add --rounds"),
    # accounts
    (f"{RR} {ASKED}", "Leave out --n, --epsilon, --delta or --epsilon0"),
    (f"{RR} --n 1000", "--epsilon and --delta are left out"),
    ("curve --randomizer rr --size 4 --epsilon0 1 --n 1000 --epsilon-max 0", "where the curve begins"),
    # runs
    ("run plan.json people.csv --column answer --top 0", "at least 1"),
    ("run plan.json utf16.csv --column answer", "is in UTF-16. Save it in UTF-8"),
    ("run plan.json people.csv --column answer --ledger a.ledger", "shuffledp compose` adds up"),
    ("run plan.json people.csv --column answer --budget-epsilon 1", "A budget is kept by `shuffledp analyzer run`"),
    ("run plan.json gaps.csv --column answer", "Use --missing skip or --missing-as VALUE"),
    ("export plan.json gaps.csv --column answer -o table.parquet", "row 1,001 the value is missing. Use --missing-as VALUE"),
    ("run mean.json nofile.csv --column age --quantile 0.5", "or a distribution for quantiles"),  # before it is read
    ("run plan.json nofile.csv --column answer --quantile 50", "strictly between 0 and 1"),
    ("run plan.json nofile.csv --column answer --confidence 95", "strictly between 0 and 1"),
    ("run plan.json people.csv --column answer -o people.csv", "cannot write people.csv: the same command reads it"),
    ("run plan.json people.csv --column answer -o plan.json", "cannot write plan.json"),
    ("run plan.json --files peop*.csv --column answer -o people.csv", "cannot write people.csv"),
    ("run plan.json people.csv --column answer --plot a.png --report a.png", "writes it twice"),
    ("export plan.json a.parquet --column answer -o a.parquet", "cannot write a.parquet"),
    (f"task new plan.json {TASK} -o plan.json", "cannot write plan.json"),
    (f"{RR} --n 1000 --delta 1e-6 --certificate nowhere/c.json", "there is no folder nowhere"),
    ("simulate plan.json --truth truth.csv --trials 1e12", "Give at most 10000000"),
    # the service
    ("keygen analyzer -o nowhere/a.key", "there is no folder nowhere"),
    (f"client submit task.json {SENT} --state me yes", "is read from standard input"),
    (f"client submit task.json {SENT} --state me", "Write e.g. no or yes to standard input"),  # before anybody is asked
    (f"client submit task.json {SENT.replace('b.pub', 'a.pub')} --state me", "these keys belong to the shuffler"),
    (
        "client submit task.json --url http://127.0.0.1:9 --analyzer-fingerprint abc --state me",
        "a fingerprint is 64 hexadecimal digits",
    ),
    (f"client submit task.json {SENT.replace(':9', ':99999')} --state me", "an address begins with"),
    (
        "analyzer run task.json --url http://127.0.0.1:9 --token a.key --keys a.key --batch 0",
        "'--batch': 0 is too small. Give at least 1.",
    ),
    ("analyzer run task.json --url http://127.0.0.1:9 --token a.key --keys a.key", "these keys belong to the shuffler"),
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    found: Path = tmp_path_factory.mktemp("mistakes")
    rows = "answer,age\n" + "no,0\nyes,1\n" * 500
    (found / "people.csv").write_text(rows)
    (found / "gaps.csv").write_text(f"{rows},1\n")
    (found / "utf16.csv").write_text(rows, encoding="utf-16")
    (found / "truth.csv").write_text("no,6\nyes,4\n")
    (found / "blank.txt").write_text("no\n\nyes\n")
    (found / "empty.txt").write_text("")
    (found / "a.parquet").write_text("")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(found)
        for line in (
            f"plan histogram --labels no,yes {ASKED} -o plan.json",
            f"plan mean {ASKED} -o mean.json",
            f"task new plan.json {TASK} -o task.json",
            "keygen shuffler -o a.key",
            "keygen analyzer -o b.key",
        ):
            assert typed(line).exit_code == 0
        yield found


def typed(line: str) -> Result:
    return CliRunner().invoke(cli, line.split(), env={"XDG_STATE_HOME": "state"}, input="maybe")


@pytest.mark.parametrize(("line", "sentence"), MISTAKES)
def test_what_to_do_is_said(folder: Path, line: str, sentence: str) -> None:
    before = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    found = typed(line)
    assert found.exit_code != 0
    assert sentence in found.stderr + as_flags(str(found.exception))
    assert found.stdout == ""
    assert {path: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        (["--labels", "crafts, trades,none"], "--labels-file"),
        (["--labels", "yes,no", "--by", "job=crafts, trades,none"], "in quotation marks"),
        (["--labels", 'yes,no,"no, never"', "--by", 'job="crafts, trades",none'], ""),
    ],
)
def test_a_comma_inside_a_label_does_not_split_it_silently(folder: Path, asked: list[str], named: str) -> None:
    done = CliRunner().invoke(cli, ["plan", "histogram", *asked, *ASKED.split()])
    assert done.exit_code == 0, done.stderr
    assert named in done.stderr
    assert ("a comma with a blank behind it" in done.stderr) is bool(named)


def test_simulations_of_too_few_say_that_nothing_would_be_released(folder: Path) -> None:
    found = typed("simulate plan.json --truth truth.csv --trials 10")
    assert found.exit_code == 0
    assert "with fewer than 1,000 nothing would be released" in found.stderr


def test_every_command_refuses_slips() -> None:
    def commands(group: click.Group) -> Iterator[click.Command]:
        with click.Context(group) as context:
            for name in group.list_commands(context):
                command = group.get_command(context, name)
                assert command is not None
                yield from commands(command) if isinstance(command, click.Group) else [command]

    assert all(isinstance(command, Command) for command in commands(cli))
