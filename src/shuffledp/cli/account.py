"""`shuffledp account`: one quantity from the others."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import click
from flint import arb

from shuffledp.accounting.best import Best
from shuffledp.accounting.bound import Bound
from shuffledp.accounting.rounds import solve_rounds
from shuffledp.accounting.solve import Problem, Quantity, Solution, claimed, remarks, solutions_table
from shuffledp.certificates.certificate import Certificate
from shuffledp.cli.bound_option import bound_option, chosen_bounds
from shuffledp.cli.command import Command
from shuffledp.cli.documents import check_place, write_text
from shuffledp.cli.exit_codes import NO_CLAIM
from shuffledp.cli.keyword import Choice
from shuffledp.cli.numbers import Reals, Whole, Wholes, given
from shuffledp.cli.output import print_error, print_lines
from shuffledp.cli.progress import working
from shuffledp.cli.randomizer_options import randomizer_options, read_channel
from shuffledp.core.blanket import Blanket
from shuffledp.core.digits import NOTHING
from shuffledp.core.guarantee import ADJACENCY, SETTING, Guarantee
from shuffledp.core.text_tables import aligned, comma_separated
from shuffledp.core.turnout import honest_reports
from shuffledp.errors import InvalidInput
from shuffledp.randomizers.named import PARAMETERS, Given, RandomizerChoice, local_parameter, refuse_strays
from shuffledp.version import VERSION

Runs = list[tuple[Given, list[Solution]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What was asked: values by name, at most one of them a sweep."""

    kind: RandomizerChoice
    values: dict[str, tuple[float | int, ...]]
    local: str | None
    rounds: int

    @property
    def sweep(self) -> str | None:
        """The quantity with several values."""
        swept = [name for name, values in self.values.items() if len(values) > 1]
        if len(swept) > 1:
            raise InvalidInput(
                f"only one quantity can be swept, not {' and '.join(swept)}. Give the others one value each."
            )
        return swept[0] if swept else None

    def points(self) -> list[Given]:
        """One set of single values for each step of the sweep."""
        count = len(self.values[self.sweep]) if self.sweep else 1
        return [{n: v[i if len(v) > 1 else 0] for n, v in self.values.items()} for i in range(count)]

    def answer(self, bound: Bound, point: Given) -> Solution:
        """What the bound says at one point."""
        fraction = point.get("honest_fraction", 1.0)
        return solve_rounds(bound, self.problem(point), rounds=self.rounds, honest_fraction=fraction)

    def problem(self, point: Given) -> Problem:
        """The problem at one point, n counting all users."""
        return Problem(
            randomizer=self.kind.at(point, self.local),
            n=cast("int | None", point.get("n")),
            epsilon=point.get("epsilon"),
            delta=point.get("delta"),
        )


@click.command(
    cls=Command, epilog="Exit code: 0 if a bound gives a value, 3 with the reasons if none does, 2 for bad input."
)
@randomizer_options(sweep=True)
@click.option("--n", type=Wholes(), help="Number of users.")
@click.option("--epsilon", type=Reals(), help="Central privacy parameter.")
@click.option("--delta", type=Reals(), help="Central failure probability.")
@bound_option
@click.option(
    "--rounds", type=Whole(), default=1, help="Rounds in which the same users report; solves for epsilon or delta."
)
@click.option(
    "--honest-fraction",
    type=Reals(),
    help="Share of the n users who follow the protocol independently of the others [default: 1].",
)
@click.option(
    "--solve-for",
    type=Choice(["epsilon", "delta", "n", *PARAMETERS]),
    help="Only needed to ask for the gamma of rr instead of its epsilon0.",
)
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output, with certificates.")
@click.option("--csv", "as_csv", is_flag=True, help="Comma-separated output, full precision.")
@click.option(
    "--certificate",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the claim to a file that `shuffledp verify` proves again.",
)
def account(
    randomizer: str, matrix: Path | None, names: tuple[str, ...], rounds: int, solve_for: Quantity | None,
    as_json: bool, as_csv: bool, certificate: Path | None, **options: Any,
) -> None:  # fmt: skip
    """Privacy of a shuffled randomizer: leave out one quantity and it is solved for.

    Give a parameter several values, as in --n 1e3,1e4,1e5, to sweep it. Neighbouring datasets differ in one user's
    value; the number of users is public.
    """
    if as_json and as_csv:
        raise InvalidInput("--json and --csv exclude each other. Choose one.")
    chosen = chosen_bounds(names)
    values: dict[str, tuple[float | int, ...]] = {name: value for name, value in options.items() if value is not None}
    request = Request(
        kind=RandomizerChoice(name=randomizer, matrix=None if matrix is None else read_channel(matrix)),
        values=values,
        local=local_parameter(randomizer, values, solve_for),
        rounds=rounds,
    )
    refuse_strays(randomizer, values, matrix)
    points = request.points()
    if {"n", "epsilon", "delta"} <= values.keys() and request.local in values:
        raise InvalidInput(
            f"exactly one quantity is solved for, and all are given. Leave out --n, --epsilon, --delta or --{request.local}."
        )
    unknown = request.problem(points[0]).unknown
    if solve_for not in (None, unknown):
        raise InvalidInput(f"--solve-for says {solve_for}, but {unknown} is left out. Leave out {solve_for}.")
    if certificate is not None:
        if len(points) > 1 or len(chosen) > 1:
            raise InvalidInput("a certificate is about one claim. Give one value of everything, and one bound.")
        check_place(certificate)
    runs: Runs = []
    with working("Accounting") as say:
        for point in points:
            runs.append((point, [request.answer(bound, point) for bound in chosen]))
            say(f"{len(runs):,} of {len(points):,}")

    if certificate is not None and runs[0][1][0].value is not None:
        write_text(certificate, json.dumps(_certificate(request, points[0], runs[0][1][0]).document(), indent=2) + "\n")
    inputs: dict[str, object] = {"randomizer": randomizer}
    if matrix is not None:
        inputs["matrix"] = str(matrix)
    inputs |= {name: list(v) if len(v) > 1 else v[0] for name, v in values.items()}
    if request.rounds > 1:
        inputs["rounds"] = request.rounds
    if as_json:
        print_lines(_json(unknown, inputs, request.sweep, runs))
    elif as_csv:
        print_lines(_csv(unknown, request.sweep, runs))
    else:
        print_lines(_table(unknown, inputs, request.sweep, runs) + _limit(request, runs))
    solutions = [solution for _, results in runs for solution in results]
    if all(solution.value is None and solution.lower is None for solution in solutions):
        for solution in solutions if as_csv else ():
            print_error(f"{solution.bound}: {solution.regime}")
        sys.exit(NO_CLAIM)


def _certificate(request: Request, point: Given, solution: Solution) -> Certificate:
    """The claim that was found, about the randomizer that runs with its parameters."""
    values = point | {solution.unknown: solution.value or 0}
    randomizer = request.kind.that_runs(values, request.local)
    blanket = randomizer.blanket()
    if request.rounds > 1 and solution.bound == Best().name and blanket.coins() is None and blanket.crowds():
        raise InvalidInput(
            "rounds of this bound cannot be composed by a second method. Add --bound numeric for a certificate."
        )
    reports = int(values["n"])
    guarantee = Guarantee(
        epsilon=float(values["epsilon"]), delta=float(values["delta"]), bound=solution.bound, reference=solution.reference,
        n=honest_reports(reports, point.get("honest_fraction", 1.0)),
    )  # fmt: skip
    return Certificate.of(randomizer, guarantee, reports=reports, rounds=request.rounds)


def _limit(request: Request, runs: Runs) -> str:
    """Where the truth is, if an enclosure is wide and that is known."""
    wide = [point for point, solutions in runs if any(_is_wide(solution) for solution in solutions)]
    blankets = [request.problem(point).randomizer for point in wide[:1]]
    known = [isinstance(blanket, Blanket) and blanket.chi_squared() for blanket in blankets]
    if request.rounds > 1 or not any(isinstance(chi, arb) and chi.is_finite() for chi in known):
        return ""
    return "\n\nAs the number of users grows the truth approaches the lower bound; `shuffledp index` shows the limit."


def _is_wide(solution: Solution) -> bool:
    """Whether its ends are more than 1 % apart."""
    if solution.lower is None or solution.upper is None or solution.unknown not in ("epsilon", "delta", "n"):
        return False
    return solution.upper > 1.01 * solution.lower > 0


def _json(unknown: str, inputs: dict[str, object], sweep: str | None, runs: Runs) -> str:
    results = [
        ({sweep: point[sweep]} if sweep else {}) | solution.document(VERSION)
        for point, solutions in runs
        for solution in solutions
    ]
    document = {
        "solved_for": unknown,
        "inputs": inputs,
        "adjacency": ADJACENCY,
        "n_is_public": True,
        "results": results,
    }
    return json.dumps(document, indent=2, allow_nan=False)


def _csv(unknown: str, sweep: str | None, runs: Runs) -> str:
    header = [*([sweep] if sweep else []), "bound", unknown, "lower", "upper", "regime", "reference", "caveat"]
    rows = [
        [*([point[sweep]] if sweep else []), s.bound, s.value, s.lower, s.upper, s.regime, s.reference, s.caveat]
        for point, solutions in runs
        for s in solutions
    ]
    return comma_separated(header, rows)


def _table(unknown: Quantity, inputs: dict[str, object], sweep: str | None, runs: Runs) -> str:
    known = ", ".join(f"{name} = {given(value)}" for name, value in inputs.items() if name not in ("randomizer", sweep))
    title = f"{inputs['randomizer']} shuffled: {known}\n{SETTING}; solved for {unknown}\n"
    if not sweep:
        return f"{title}\n{solutions_table(runs[0][1])}"
    other = "upper bound" if unknown == "epsilon0" else "lower bound"
    two_sided = [any(solutions[i].other_end != NOTHING for _, solutions in runs) for i in range(len(runs[0][1]))]

    def across(cells: list[tuple[str, str]]) -> list[str]:
        return [cell for pair, both in zip(cells, two_sided, strict=True) for cell in (pair if both else pair[:1])]

    header = across([(s.bound, f"{s.bound}, {other}") for s in runs[0][1]])
    rows = [
        [given(point[sweep]), *across([(_cell(s, unknown), s.other_end) for s in solutions])]
        for point, solutions in runs
    ]
    notes = remarks(solution for _, solutions in runs for solution in solutions)
    return f"{title}\n{aligned([sweep, *header], rows)}" + (f"\n{notes}" if notes else "")


def _cell(solution: Solution, unknown: Quantity) -> str:
    return NOTHING if solution.value is None else claimed(solution.value, unknown)
