"""`shuffledp compose`: several collections on the same users."""

import contextlib
import json
from pathlib import Path
from typing import Any

import click

from shuffledp.accounting.account import DEFAULT_BOUND, bound_named
from shuffledp.accounting.composition import Collection, compose
from shuffledp.cli.command import Command
from shuffledp.cli.numbers import Real
from shuffledp.cli.numbers import given as said
from shuffledp.cli.output import print_lines
from shuffledp.cli.progress import working
from shuffledp.cli.randomizer_options import read_channel
from shuffledp.core.blanket import RandomizerFamily
from shuffledp.core.digits import rounded_down, rounded_up
from shuffledp.core.guarantee import ADJACENCY
from shuffledp.core.parsing import Unreadable, parse_json
from shuffledp.core.turnout import honest_reports
from shuffledp.errors import InvalidInput
from shuffledp.planning.plan import Plan
from shuffledp.planning.release_cost import Spend
from shuffledp.randomizers.named import PARAMETERS, SHAPES, RandomizerChoice, local_parameter


@click.command("compose", cls=Command, epilog="Exit code: 0 with a value, 3 if none can be given, 2 for bad input.")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--delta", type=Real(), help="Solve for the total epsilon at this delta [default: the largest in the files]."
)
@click.option("--epsilon", type=Real(), help="Solve for the total delta at this epsilon instead.")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
def compose_command(files: tuple[Path, ...], delta: float | None, epsilon: float | None, as_json: bool) -> None:
    """Total privacy of collections on the same users.

    Each FILE is a plan, an answer (of `run` or `analyzer run`, as JSON), or the output of `shuffledp account --json`, whose
    rounds and honest fraction are taken into account. The collections may use different randomizers and be chosen adaptively.
    """
    if delta is not None and epsilon is not None:
        raise InvalidInput("--delta and --epsilon exclude each other. Give the one that is known.")
    documents = [_read(file) for file in files]
    parts = [part for file, document in zip(files, documents, strict=True) for part in _parts(file, document)]
    if epsilon is not None:
        solved, given, known = "delta", "epsilon", epsilon
    else:
        solved, given = "epsilon", "delta"
        known = delta if delta is not None else max(_delta(document) for document in documents)
        if not known:
            raise InvalidInput("no file says which delta is meant. Add --delta.")
    with working("Composing"):
        together = compose(parts)
        if epsilon is not None:
            value, least = together.delta(epsilon), together.least_delta(epsilon)
        else:
            value, least = together.epsilon(known), together.least_epsilon(known)
    if as_json:
        result = {
            "solved_for": solved,
            "inputs": {"files": [str(f) for f in files], "rounds": together.rounds, given: known},
            "adjacency": ADJACENCY,
            "n_is_public": True,
            "caveats": together.caveats,
            "results": [{"bound": "composition", "value": value, "lower": least, "upper": value, "regime": None}],
        }
        print_lines(json.dumps(result, indent=2, allow_nan=False))
    else:
        print_lines(together.title)
        at_least = "" if least is None else f", and at least {rounded_down(least)}"
        print_lines(f"{given} = {said(known)}: {solved} = {rounded_up(value)}{at_least}")
        for caveat in together.caveats:
            print_lines(f"note: one of the bounds {caveat}")


def _read(file: Path) -> dict[str, Any]:
    with contextlib.suppress(OSError, Unreadable):
        document = parse_json(file.read_bytes())
        if isinstance(document, dict):
            return document
    raise _unknown(file)


def _unknown(file: Path) -> InvalidInput:
    return InvalidInput(
        f"{file.name} is neither a plan nor an answer nor the output of `shuffledp account --json`. Give one of these."
    )


def _delta(document: dict[str, Any]) -> float:
    """The delta of a plan or an answer, or that an account was asked for; 0 if there is none."""
    holder = document.get("guarantee") or document.get("inputs")
    delta = holder.get("delta", 0.0) if isinstance(holder, dict) else 0.0
    return float(delta) if isinstance(delta, int | float) and not isinstance(delta, bool) else 0.0


def _parts(file: Path, document: dict[str, Any]) -> list[Collection]:
    """What a file says was, or will be, collected."""
    if isinstance(document.get("inputs"), dict):
        return [_collection(file, document)]
    if "protocol" in document:
        return _collections(Plan.from_document(document))
    if "spend" not in document:
        raise _unknown(file)
    if document["spend"] is None:
        raise InvalidInput(
            f"{file.name} is an answer that the accountant cannot compose: it has no guarantee, or one for several rows of a "
            "person. Add its epsilon and delta by hand."
        )
    return Spend.from_document(document["spend"]).collections()


def _collections(plan: Plan) -> list[Collection]:
    """As often as the plan is carried out with the same people."""
    return Spend.of(plan).collections(1 if plan.over_time is None else plan.over_time.per_person)


def _collection(file: Path, document: dict[str, Any]) -> Collection:
    """The collection that an account describes; whatever it solved for is filled in from its result."""
    inputs, solved = dict(document["inputs"]), document.get("solved_for")
    results = document.get("results")
    result = results[0] if isinstance(results, list) and results and isinstance(results[0], dict) else {}
    if solved in ("n", *PARAMETERS):
        inputs[solved] = result.get("value")
    values = {k: inputs[k] for k in (*SHAPES, *PARAMETERS, "n") if inputs.get(k) is not None}
    if any(isinstance(value, list) for value in values.values()):
        raise InvalidInput(f"{file.name} is a sweep. Make one file per collection.")
    randomizer, matrix = inputs.get("randomizer", ""), inputs.get("matrix")
    bound = result.get("bound", DEFAULT_BOUND)
    texts = isinstance(randomizer, str) and isinstance(bound, str) and isinstance(matrix, str | None)
    if not (texts and randomizer and "n" in values):
        raise InvalidInput(
            f"{file.name} does not say which randomizer and how many users. Make it with shuffledp account."
        )
    if matrix is not None and not Path(matrix).is_absolute() and not Path(matrix).exists():
        matrix = file.parent / matrix
    kind = RandomizerChoice(name=randomizer, matrix=None if matrix is None else read_channel(Path(matrix)))
    blanket = kind.at(values, local_parameter(randomizer, values, None))
    if isinstance(blanket, RandomizerFamily):
        raise InvalidInput(f"{file.name} leaves the randomizer's parameter open. Give it to shuffledp account.")
    n = honest_reports(values["n"], inputs.get("honest_fraction", 1.0))
    return Collection(blanket=blanket, n=n, rounds=inputs.get("rounds", 1), bound=bound_named(bound))
