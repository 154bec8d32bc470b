"""Mistakes whose sentences once misled: each says what to do now."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from shuffledp.cli import cli
from shuffledp.cli.flags import as_flags

ASKED = "--n 1000 --epsilon 1 --delta 1e-6"
MISTAKES = [
    (f"plan maximum {ASKED}", "a distribution has quantiles"),
    (f"plan mode {ASKED}", "A histogram shows"),
    (f"plan histogram --labels a {ASKED}", "Name at least two"),
    (f"plan histogram --size 4 --plot rounds.png {ASKED}", "Add --rounds"),
    (f"plan mean --rmse 0.1 {ASKED}", "Leave out one of the three"),
    (f"account --randomizer rr --size 4 --epsilon0 1 {ASKED}", "Leave out --n, --epsilon, --delta or --epsilon0"),
    ("run plan.json people.csv --column answer --top 0", "at least 1"),
    ("run plan.json utf16.csv --column answer", "is in UTF-16. Save it in UTF-8"),
    ("run plan.json people.csv --column answer --ledger a.ledger", "shuffledp compose` adds up"),
    ("run plan.json people.csv --column answer --budget-epsilon 1", "A budget is kept by `shuffledp analyzer run`"),
    ("run plan.json gaps.csv --column answer", "Use --missing skip or --missing-as VALUE"),
    ("export plan.json gaps.csv --column answer -o table.parquet", "row 1,001 the value is missing. Use --missing-as VALUE"),
    ("run mean.json people.csv --column age --quantile 0.5", "or a distribution for quantiles"),
]  # fmt: skip


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    folder: Path = tmp_path_factory.mktemp("mistakes")
    rows = "answer,age\n" + "no,0\nyes,1\n" * 500
    (folder / "people.csv").write_text(rows)
    (folder / "gaps.csv").write_text(f"{rows},1\n")
    (folder / "utf16.csv").write_text(rows, encoding="utf-16")

    def run(line: str) -> str:
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            found = CliRunner().invoke(cli, line.split(), env={"XDG_STATE_HOME": str(folder)})
        assert found.exit_code != 0 or line.startswith("plan")
        return found.output + as_flags(str(found.exception))

    run(f"plan histogram --labels no,yes {ASKED} -o plan.json")
    run(f"plan mean {ASKED} -o mean.json")
    return run


@pytest.mark.parametrize(("line", "sentence"), MISTAKES)
def test_what_to_do_is_said(said: Callable[[str], str], line: str, sentence: str) -> None:
    assert sentence in said(line)
