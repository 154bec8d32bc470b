"""`shuffledp audit`: what an attacker can show of a claim, by trying."""

import sys
from pathlib import Path
from typing import Any

import click

from shuffledp.auditing.audit import audit, audit_command, audit_service
from shuffledp.auditing.conduct import CONFIDENCE
from shuffledp.auditing.deployment import Deployment, OverHttp
from shuffledp.auditing.finding import Finding
from shuffledp.auditing.subject import View
from shuffledp.baselines.registry import from_document
from shuffledp.cli.command import Command
from shuffledp.cli.documents import check_place, read_plan, write_bytes
from shuffledp.cli.exit_codes import VIOLATED
from shuffledp.cli.keyword import Choice
from shuffledp.cli.numbers import Real, Whole
from shuffledp.cli.output import json_option, show
from shuffledp.cli.progress import progress
from shuffledp.cli.randomizer_options import randomizer_options, running
from shuffledp.cli.secret_files import read_secret
from shuffledp.cli.task import read_task
from shuffledp.core.files import read_json
from shuffledp.core.randomness import KeyedRandomness
from shuffledp.errors import InvalidInput
from shuffledp.figures.audit import rendered
from shuffledp.figures.result_page import check_report
from shuffledp.figures.style import check_picture
from shuffledp.randomizers.named import PARAMETERS, SHAPES, Given
from shuffledp.service.sealing.keys import KeyRing

_FILE = click.Path(dir_okay=False, path_type=Path)
_STEPS = 1000
"""Of the progress bar."""


@click.command(
    "audit",
    cls=Command,
    epilog="Exit code: 0 if the audit is consistent or under-powered, 4 if the claim is violated, 2 for bad input, "
    "3 if nothing is claimed.",
)
@click.argument("plan", type=_FILE, required=False)
@randomizer_options(required=False)
@click.option("--protocol", type=_FILE, help="JSON document of any protocol, those that are compared with included.")
@click.option("--command", help="A program that reads a value per line and writes a message per line: docs/audit.md.")
@click.option("--symbols", default="0,1", show_default=True, help="Values for --command, separated by commas.")
@click.option("--service", is_flag=True, help="Audit PLAN as a service: clients, sealing, shuffler, released batch.")
@click.option("--task", type=_FILE, help="Audit a running shuffler through a task made for this: docs/audit.md.")
@click.option("--url", help="Its address, for --task.")
@click.option("--operator-token", type=_FILE, help="File with its operator's token, for --task.")
@click.option("--analyzer-token", type=_FILE, help="File with its analyzer's token, for --task.")
@click.option("--keys", type=_FILE, help="The analyzer's key file, for --task.")
@click.option(
    "--view",
    type=Choice(["shuffled", "local"]),
    help="What the attacker sees: all messages, shuffled, or those of one user [default: shuffled; local for --command].",
)
@click.option("--n", type=Whole(), help="Number of users [default: the plan's].")
@click.option("--delta", type=Real(), help="Failure probability [default: the plan's; 0 for the local view].")
@click.option("--epsilon", type=Real(), help="The claim to test [default: what is proved].")
@click.option(
    "--known",
    type=Whole(),
    default="0",
    help="How many other users' messages the attacker knows; n - 1 is the worst case.",
)
@click.option(
    "--trials",
    type=Whole(),
    help="Trials of each world that count; a pilot adds a fifth, or three fifths where the attacker learns.",
)
@click.option("--seconds", type=Real(), help="Instead of --trials: about how many seconds it may take [default: 60].")
@click.option(
    "--confidence", type=Real(), default=str(CONFIDENCE), show_default=True, help="Confidence in what is shown."
)
@click.option("--enough", type=Real(), default="0.5", show_default=True,
              help="Share of the claim that must be in reach, or else the audit is under-powered.")  # fmt: skip
@click.option(
    "--learn",
    is_flag=True,
    help="Learn the distribution of the messages instead of trusting what the randomizer states.",
)
@click.option(
    "--seed", type=Whole(), help="Seed, to repeat an audit on this machine [default: secret coins, new each time]."
)
@json_option
@click.option("--plot", type=_FILE, help="Draw scores and epsilon: a .png, .svg or .pdf file.")
@click.option("--report", type=_FILE, help="Write a page: an .html file.")
def audit_cli(
    plan: Path | None, protocol: Path | None, command: str | None, symbols: str, service: bool, task: Path | None,
    url: str | None, operator_token: Path | None, analyzer_token: Path | None, keys: Path | None, view: View | None,
    n: int | None, delta: float | None, epsilon: float | None, known: int, trials: int | None, seconds: float | None,
    confidence: float, enough: float, learn: bool, seed: int | None, as_json: bool, plot: Path | None,
    report: Path | None, randomizer: str | None, **more: Any,
) -> None:  # fmt: skip
    """Tell two neighbouring datasets apart: a lower bound on epsilon for PLAN, a randomizer, a protocol, a program or a service.

    The audit runs the code that samples, uses the likelihood ratio of what is seen, and states in advance how much this many
    trials can show. It answers consistent, violated or under-powered.
    """
    named = [name for name, given in (("PLAN", plan), ("--randomizer", randomizer), ("--protocol", protocol),
                                      ("--command", command), ("--task", task)) if given is not None]  # fmt: skip
    if len(named) != 1:
        raise InvalidInput("an audit is of one thing. Give a PLAN, --randomizer, --protocol, --command or --task.")
    if randomizer is None and any(more[name] is not None for name in (*PARAMETERS, *SHAPES, "matrix")):
        raise InvalidInput("these are options of a randomizer. Add --randomizer, or leave them out.")
    for path, check in ((plot, check_picture), (report, check_report)):
        if path is not None:
            check(path)
            check_place(path)
    if service and plan is None:
        raise InvalidInput("a service carries out a plan. Give a PLAN with --service.")
    deployment = _deployment(task, url, operator_token, analyzer_token, keys)
    if (service or deployment is not None) and (n, delta, epsilon, view, known, learn) != (None,) * 4 + (0, False):
        raise InvalidInput("a service is audited at its plan's own guarantee. Leave out the other options.")
    if seed is not None and (service or deployment is not None):
        raise InvalidInput("clients of a service use the system's coins, which --seed does not reach. Leave it out.")
    randomness = None if seed is None else KeyedRandomness.seeded(seed)
    budget: dict[str, Any] = {"trials": trials, "seconds": seconds, "confidence": confidence, "enough": enough}
    with progress(_STEPS, "Auditing") as bar:
        state = [0]

        def watch(share: float) -> None:
            step = int(_STEPS * share)
            bar.update(step - state[0])
            state[0] = step

        if command is not None:
            if seed is not None:
                raise InvalidInput("a program has coins of its own, which --seed does not reach. Leave it out.")
            if epsilon is None:
                raise InvalidInput("a program claims nothing. State with --epsilon what it should guarantee.")
            finding = audit_command(
                command, symbols=symbols.split(","), epsilon=epsilon, delta=delta or 0.0, n=n or 1, view=view or "local",
                known=known, watch=watch, **budget,
            )  # fmt: skip
        elif deployment is not None:
            finding = audit_service(deployment, watch=watch, **budget)
        elif service and plan is not None:
            finding = audit_service(read_plan(plan), watch=watch, **budget)
        else:
            finding = audit(
                _subject(plan, protocol, randomizer, more), n=n, delta=delta, view=view or "shuffled", epsilon=epsilon,
                known=known, learned=learn, randomness=randomness, watch=watch, **budget,
            )  # fmt: skip
    _written(finding, plot, report)
    show(finding.document(), finding.explain(), as_json=as_json)
    if finding.verdict == "violated":
        sys.exit(VIOLATED)


def _deployment(
    task: Path | None, url: str | None, operator_token: Path | None, analyzer_token: Path | None, keys: Path | None
) -> Deployment | None:
    """The shuffler that runs at an address, if that is what to audit."""
    if task is None:
        if any(given is not None for given in (url, operator_token, analyzer_token, keys)):
            raise InvalidInput("these options are for a running shuffler. Add --task, or leave them out.")
        return None
    if url is None or operator_token is None or analyzer_token is None or keys is None:
        raise InvalidInput(
            "an audit of a running shuffler acts as its users, operator and analyzer at once. Give --url, --operator-token, "
            "--analyzer-token and --keys."
        )
    tokens = {"operator_token": read_secret(operator_token), "analyzer_token": read_secret(analyzer_token)}
    return OverHttp(read_task(task), url, ring=KeyRing.load(keys), **tokens)


def _subject(plan: Path | None, protocol: Path | None, randomizer: str | None, more: dict[str, Any]) -> Any:
    if randomizer is None:
        if plan is not None:
            return read_plan(plan)
        return from_document(read_json(protocol or Path(), "a protocol", "Write its document() to a file."))
    given: Given = {name: more[name] for name in (*PARAMETERS, *SHAPES) if more[name] is not None}
    return running(randomizer, given, more["matrix"])


def _written(finding: Finding, plot: Path | None, report: Path | None) -> None:
    for path in (plot, report):
        if path is not None:
            write_bytes(path, rendered(finding.document(), path))
