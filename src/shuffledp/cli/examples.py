"""An example or two of every command, shown at the end of its help.

From top to bottom they are one session: what one writes, a later one reads. A test runs them.
"""

from typing import Final

import click

EXAMPLES: Final[dict[str, tuple[str, ...]]] = {
    "account": (
        "shuffledp account --randomizer rr --size 10 --epsilon0 1 --n 1e6 --delta 1e-6",
        "shuffledp account --randomizer laplace --n 1e4 --epsilon 0.5 --delta 1e-6 --bound all",
        "shuffledp account --randomizer rr --size 4 --epsilon0 1 --n 1e4 --delta 1e-6 --certificate certificate.json",
        "shuffledp account --randomizer rr --size 4 --epsilon0 2 --n 1e4 --delta 1e-6 --json > account.json",
    ),
    "curve": ("shuffledp curve --randomizer rr --size 10 --epsilon0 1 --n 1e5 --points 20 --plot curve.png",),
    "index": ("shuffledp index --randomizer laplace --epsilon0 1,2,4",),
    "verify": ("shuffledp verify certificate.json",),
    "audit": ("shuffledp audit --randomizer rr --size 10 --epsilon0 2 --n 100 --delta 1e-3 --trials 2e4",),
    "web": ("shuffledp web --open",),
    "compose": ("shuffledp compose account.json account.json --delta 1e-6",),
    "plan": (
        "shuffledp plan histogram --labels 1,2,3,4,5 --n 6000 --epsilon 1 --delta 1e-6 -o plan.json",
        "shuffledp plan mean --low 0 --high 100 --n 1e5 --rmse 0.5 --delta 1e-6 --unit minutes",
    ),
    "run": ("shuffledp run plan.json survey.csv --column rate_marriage --report answer.html -o answer.json",),
    "export": ("shuffledp export plan.json survey.csv --column rate_marriage -o messages.parquet",),
    "simulate": ("shuffledp simulate plan.json --truth population.csv",),
    "compare": ("shuffledp compare sum --low 0 --high 1 --n 1e5 --epsilon 1 --delta 1e-6",),
    "figures": ("shuffledp figures --only figure2 --out figures",),
    "doctor": ("shuffledp doctor",),
    "example": ("shuffledp example people.csv",),
    "keygen": ("shuffledp keygen shuffler -o shuffler.key", "shuffledp keygen analyzer -o analyzer.key"),
    "task new": (
        "shuffledp task new plan.json --window 3600 --max-age 86400 --shuffler Alpha --analyzer Beta --honest-fraction 1 "
        "-o task.json",
    ),
    "task show": ("shuffledp task show task.json",),
    "tokens key": ("shuffledp tokens key -o operator.token", "shuffledp tokens key -o analyzer.token"),
    "tokens issue": ("shuffledp tokens issue task.json --key operator.token --count 3 -o tokens.txt",),
    "shuffler serve": (
        "shuffledp shuffler serve task.json --store store.db --keys shuffler.key --next-keys analyzer.pub.json "
        "--operator-token operator.token --analyzer-token analyzer.token",
    ),
    "shuffler sample-config": ("shuffledp shuffler sample-config",),
    "shuffler openapi": ("shuffledp shuffler openapi",),
    "client submit": (
        "shuffledp client submit task.json --url http://127.0.0.1:8470 --analyzer-keys analyzer.pub.json "
        "--state reports",
    ),
    "simulate-clients": (
        "shuffledp simulate-clients task.json survey.csv --column rate_marriage --url http://127.0.0.1:8470 "
        "--analyzer-keys analyzer.pub.json",
    ),
    "shuffler close": ("shuffledp shuffler close task.json --url http://127.0.0.1:8470 --token operator.token",),
    "shuffler forward": (
        "shuffledp shuffler forward task.json --from http://127.0.0.1:8470 --token analyzer.token --to http://127.0.0.1:8471 "
        "--to-token forward.token",
    ),
    "analyzer run": (
        "shuffledp analyzer run task.json --url http://127.0.0.1:8470 --token analyzer.token --keys analyzer.key "
        "--opened opened --ledger population.ledger --budget-epsilon 10 --budget-delta 1e-5",
    ),
    "analyzer read": ("shuffledp analyzer read messages.parquet",),
    "ledger show": ("shuffledp ledger show population.ledger",),
    "shuffler status": ("shuffledp shuffler status store.db",),
    "shuffler backup": ("shuffledp shuffler backup store.db copy.db",),
    "shuffler restore": ("shuffledp shuffler restore copy.db restored.db",),
    "shuffler purge": ("shuffledp shuffler purge store.db --batch 1",),
    "shuffler retire": ("shuffledp shuffler retire store.db task.json",),
}
"""By the words of the command."""


def with_examples(command: click.Command, *words: str) -> click.Command:
    """The command, its examples in its help; of a group, those of each of its commands in theirs."""
    if isinstance(command, click.Group):
        for name, subcommand in command.commands.items():
            with_examples(subcommand, *words, name)
    shown = EXAMPLES.get(" ".join(words), ())
    if shown and "Example" not in (command.epilog or ""):
        lines = "\n".join(f"  {example}" for example in shown)
        heading = "Examples:" if len(shown) > 1 else "Example:"
        command.epilog = f"\b\n{heading}\n{lines}\n\n{command.epilog or ''}".rstrip()
    return command
