"""`shuffledp account`: one quantity from the others."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

import click

from shuffledp.accounting.account import bound_named, bounds
from shuffledp.accounting.solve import Problem, Quantity, Solution, solve
from shuffledp.cli.exits import NO_CLAIM
from shuffledp.cli.numbers import Reals, Wholes, shown
from shuffledp.cli.numbers import given as shown_input
from shuffledp.cli.tables import aligned, comma_separated
from shuffledp.core.blanket import Blanket, Family
from shuffledp.core.guarantee import ADJACENCY
from shuffledp.errors import InvalidInput
from shuffledp.randomizers.channel import Channel
from shuffledp.randomizers.gaussian import Gaussian
from shuffledp.randomizers.generic import Generic
from shuffledp.randomizers.laplace import Laplace
from shuffledp.randomizers.response import RandomizedResponse

_LOCAL = {
    "generic": ("epsilon0",),
    "rr": ("epsilon0", "gamma"),
    "laplace": ("epsilon0",),
    "gaussian": ("sigma",),
    "channel": (),
}
Given = dict[str, float | int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """The randomizer asked for, without its parameter."""

    name: str
    size: int | None
    matrix: Channel | None

    def at(self, given: Given, local: str | None) -> Blanket | Family:
        """The blanket if its parameter is given, else the family to calibrate."""
        value = None if local is None else given.get(local)
        if self.name == "rr":
            if self.size is None:
                raise InvalidInput("randomized response needs the number of symbols. Add --size.")
            if value is None:
                return RandomizedResponse.family(size=self.size, parameter=cast("Literal['epsilon0', 'gamma']", local))
            if local == "gamma":
                return RandomizedResponse(size=self.size, gamma=value).blanket()
            return RandomizedResponse(size=self.size, epsilon0=value).blanket()
        if self.name == "channel":
            if self.matrix is None:
                raise InvalidInput("a channel needs its probabilities. Add --matrix FILE.")
            return self.matrix.blanket()
        if self.name == "gaussian":
            return Gaussian.family() if value is None else Gaussian(sigma=value).blanket()
        if self.name == "laplace":
            return Laplace.family() if value is None else Laplace(epsilon0=value).blanket()
        return Generic.family() if value is None else Generic(epsilon0=value).blanket()


@click.command(epilog="Exit code: 0 if a bound gives a value, 3 with the reasons if none does, 2 for bad input.")
@click.option("--randomizer", type=click.Choice(list(_LOCAL)), required=True, help="The local randomizer.")
@click.option("--size", type=Wholes(), help="Number of symbols (rr).")
@click.option(
    "--matrix",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Channel probabilities, one row an input: a JSON list of lists, or numbers separated by commas or blanks.",
)
@click.option("--epsilon0", type=Reals(), help="Local privacy parameter (generic, rr, laplace).")
@click.option("--gamma", type=Reals(), help="Probability of ignoring the value (rr).")
@click.option("--sigma", type=Reals(), help="Noise standard deviation (gaussian).")
@click.option("--n", type=Wholes(), help="Number of users.")
@click.option("--epsilon", type=Reals(), help="Central privacy parameter.")
@click.option("--delta", type=Reals(), help="Central failure probability.")
@click.option("--bound", "names", multiple=True, default=("all",), help="A bound's name, or all. May be repeated.")
@click.option(
    "--solve-for",
    type=click.Choice(["epsilon", "delta", "n", "epsilon0", "gamma", "sigma"]),
    help="Only needed to ask for the gamma of rr instead of its epsilon0.",
)
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
@click.option("--csv", "as_csv", is_flag=True, help="Comma-separated output, full precision.")
def account(
    randomizer: str,
    size: tuple[int, ...] | None,
    matrix: Path | None,
    epsilon0: tuple[float, ...] | None,
    gamma: tuple[float, ...] | None,
    sigma: tuple[float, ...] | None,
    n: tuple[int, ...] | None,
    epsilon: tuple[float, ...] | None,
    delta: tuple[float, ...] | None,
    names: tuple[str, ...],
    solve_for: Quantity | None,
    as_json: bool,
    as_csv: bool,
) -> None:
    """Privacy of a shuffled randomizer: leave out one quantity and it is solved for.

    Give a parameter several values, as in --n 1e3,1e4,1e5, to sweep it. Neighbouring datasets differ in one user's
    value; the number of users is public.
    """
    if as_json and as_csv:
        raise InvalidInput("--json and --csv exclude each other. Choose one.")
    chosen = [bound_named(name) for name in (bounds() if "all" in names else dict.fromkeys(names))]
    options = {
        "size": size, "epsilon0": epsilon0, "gamma": gamma, "sigma": sigma, "n": n, "epsilon": epsilon, "delta": delta,
    }  # fmt: skip
    given: dict[str, tuple[float | int, ...]] = {name: value for name, value in options.items() if value is not None}
    local = _local_parameter(randomizer, given, solve_for)
    _refuse_strays(randomizer, given, matrix)
    swept = [name for name, values in given.items() if len(values) > 1]
    if len(swept) > 1:
        raise InvalidInput(
            f"only one quantity can be swept, not {' and '.join(swept)}. Give the others one value each."
        )

    channel = None if matrix is None else read_channel(matrix)
    unknown: Quantity | None = None
    runs: list[tuple[Given, list[Solution]]] = []
    for index in range(len(given[swept[0]]) if swept else 1):
        point: Given = {name: values[index if len(values) > 1 else 0] for name, values in given.items()}
        kind = Kind(name=randomizer, size=cast("int | None", point.get("size")), matrix=channel)
        problem = Problem(
            randomizer=kind.at(point, local),
            n=cast("int | None", point.get("n")),
            epsilon=point.get("epsilon"),
            delta=point.get("delta"),
        )
        unknown = problem.unknown
        if solve_for not in (None, unknown):
            raise InvalidInput(f"--solve-for {solve_for} but {unknown} is what is left out. Leave out {solve_for}.")
        runs.append((point, [solve(bound, problem) for bound in chosen]))
    if unknown is None:  # pragma: no cover - a sweep has at least one point
        raise InvalidInput("nothing to solve.")

    inputs: dict[str, object] = {"randomizer": randomizer}
    if matrix is not None:
        inputs["matrix"] = str(matrix)
    inputs |= {name: list(values) if len(values) > 1 else values[0] for name, values in given.items()}
    sweep = swept[0] if swept else None
    if as_json:
        click.echo(_json(unknown, inputs, sweep, runs))
    elif as_csv:
        click.echo(_csv(unknown, sweep, runs))
    else:
        click.echo(_table(unknown, inputs, sweep, runs))
    solutions = [solution for _, results in runs for solution in results]
    if all(solution.value is None for solution in solutions):
        for solution in solutions if as_csv else ():
            click.echo(f"shuffledp: {solution.bound}: {solution.regime}", err=True)
        sys.exit(NO_CLAIM)


def _local_parameter(randomizer: str, given: dict[str, tuple[float | int, ...]], solve_for: str | None) -> str | None:
    """Which parameter of the randomizer is given, or to be solved for."""
    possible = _LOCAL[randomizer]
    if solve_for in ("epsilon0", "gamma", "sigma") and solve_for not in possible:
        raise InvalidInput(f"--randomizer {randomizer} has no {solve_for}. Leave out --solve-for.")
    present = [name for name in ("epsilon0", "gamma", "sigma") if name in given]
    for name in present:
        if name not in possible:
            takes = " or ".join(f"--{p}" for p in possible) or "--matrix"
            raise InvalidInput(f"--randomizer {randomizer} has no --{name}. It takes {takes}.")
    if len(present) > 1:
        raise InvalidInput("--epsilon0 and --gamma say the same thing twice. Give one of them.")
    if present:
        return present[0]
    if solve_for in possible:
        return solve_for
    return possible[0] if possible else None


def _refuse_strays(randomizer: str, given: dict[str, tuple[float | int, ...]], matrix: Path | None) -> None:
    if "size" in given and randomizer != "rr":
        raise InvalidInput(f"--size belongs to rr, not to {randomizer}. Leave it out.")
    if matrix is not None and randomizer != "channel":
        raise InvalidInput(f"--matrix belongs to channel, not to {randomizer}. Leave it out.")


def read_channel(path: Path) -> Channel:
    """A channel from a JSON list of lists, or from text with commas or blanks between numbers."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        if text.lstrip().startswith("["):
            rows = json.loads(text)
        else:
            rows = [
                [float(cell) for cell in line.replace(",", " ").split()] for line in text.splitlines() if line.strip()
            ]
    except (OSError, ValueError, RecursionError):
        raise InvalidInput(
            f"{path.name} is not a table of numbers. Write one row a line with commas between, or a JSON list of lists."
        ) from None
    return Channel(rows)


def _json(unknown: str, inputs: dict[str, object], sweep: str | None, runs: list[tuple[Given, list[Solution]]]) -> str:
    results = [
        ({sweep: point[sweep]} if sweep else {})
        | {
            "bound": solution.bound,
            "value": solution.value,
            "lower": solution.lower,
            "upper": solution.upper,
            "regime": solution.regime,
            "reference": solution.reference,
        }
        | ({"note": solution.note} if solution.note else {})
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


def _csv(unknown: str, sweep: str | None, runs: list[tuple[Given, list[Solution]]]) -> str:
    header = [*([sweep] if sweep else []), "bound", unknown, "lower", "upper", "regime", "reference"]
    rows = [
        [*([point[sweep]] if sweep else []), s.bound, s.value, s.lower, s.upper, s.regime, s.reference]
        for point, solutions in runs
        for s in solutions
    ]
    return comma_separated(header, rows)


def _table(
    unknown: Quantity, inputs: dict[str, object], sweep: str | None, runs: list[tuple[Given, list[Solution]]]
) -> str:
    known = ", ".join(
        f"{name} = {shown_input(value)}" for name, value in inputs.items() if name not in ("randomizer", sweep)
    )
    title = f"{inputs['randomizer']} shuffled: {known}\n{ADJACENCY} neighbours, n public; solved for {unknown}\n"
    reasons: dict[str, str] = {}
    if sweep:
        names = [solution.bound for solution in runs[0][1]]
        rows = [[shown_input(point[sweep]), *(_cell(s, unknown) for s in solutions)] for point, solutions in runs]
        for _, solutions in runs:
            for s in solutions:
                if s.regime:
                    reasons.setdefault(s.bound, s.regime)
        body = aligned([sweep, *names], rows)
    else:
        rows = []
        for s in runs[0][1]:
            rows.append([s.bound, _cell(s, unknown), s.reference + (f" ({s.note})" if s.note else "")])
            if s.regime:
                reasons[s.bound] = s.regime
        body = aligned(["bound", unknown, "reference"], rows)
    notes = "".join(f"\n{name}: {reason}" for name, reason in reasons.items())
    return f"{title}\n{body}" + (f"\n{notes}" if notes else "")


def _cell(solution: Solution, unknown: Quantity) -> str:
    return "-" if solution.value is None else shown(solution.value, unknown)
