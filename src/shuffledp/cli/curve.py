"""`shuffledp curve`: delta against epsilon."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from shuffledp.accounting.curve import privacy_curve
from shuffledp.cli.bound_option import bound_option, chosen_bounds
from shuffledp.cli.command import Command
from shuffledp.cli.documents import check_place
from shuffledp.cli.exit_codes import NO_CLAIM
from shuffledp.cli.numbers import Real, Whole
from shuffledp.cli.output import print_lines
from shuffledp.cli.progress import progress
from shuffledp.cli.randomizer_options import randomizer_options, read_channel
from shuffledp.core.blanket import RandomizerFamily
from shuffledp.core.guarantee import ADJACENCY
from shuffledp.core.text_tables import comma_separated
from shuffledp.errors import InvalidInput
from shuffledp.figures.style import check_picture
from shuffledp.randomizers.named import RandomizerChoice, local_parameter, refuse_strays


@click.command("curve", cls=Command, epilog="Exit code: 0 if a bound gives a value, 3 if none does, 2 for bad input.")
@randomizer_options()
@click.option("--n", type=Whole(), required=True, help="Number of users.")
@bound_option
@click.option("--epsilon-max", type=Real(), help="Where the curve ends [default: where delta is --delta-min].")
@click.option("--delta-min", type=Real(), default=1e-12, show_default=True, help="Smallest delta of interest.")
@click.option("--points", type=Whole(), default=41, show_default=True, help="Number of epsilons.")
@click.option("--json", "as_json", is_flag=True, help="JSON instead of CSV.")
@click.option(
    "--plot", type=click.Path(dir_okay=False, path_type=Path), help="Also draw the curves (.png, .svg or .pdf)."
)
def curve_command(
    randomizer: str, matrix: Path | None, n: int, names: tuple[str, ...], epsilon_max: float | None,
    delta_min: float, points: int, as_json: bool, plot: Path | None, **options: Any,
) -> None:  # fmt: skip
    """The privacy curve of a shuffled randomizer: delta against epsilon, lower and upper ends, for one or more bounds."""
    values = {name: value for name, value in options.items() if value is not None}
    refuse_strays(randomizer, values, matrix)
    if plot is not None:
        check_picture(plot)
        check_place(plot)
    kind = RandomizerChoice(name=randomizer, matrix=None if matrix is None else read_channel(matrix))
    blanket = kind.at(values, local_parameter(randomizer, values, None))
    if isinstance(blanket, RandomizerFamily):
        raise InvalidInput("the randomizer's parameter is missing. Give --epsilon0, --gamma or --sigma.")
    chosen = chosen_bounds(names)
    with progress(points, "Curve") as bar:
        curve = privacy_curve(
            blanket, chosen, n=n, points=points, epsilon_max=epsilon_max, delta_min=delta_min, progress=lambda: bar.update(1)
        )  # fmt: skip
    if plot is not None:
        from shuffledp.figures.privacy_curves import draw_curves

        draw_curves(
            curve, plot, title="\n".join([f"{blanket.label}, n = {n:,}", *([blanket.caveat] if blanket.caveat else [])])
        )
    rows = [asdict(point) for point in curve]
    if as_json:
        inputs = {"randomizer": randomizer, "n": n, **values}
        document = {"inputs": inputs, "adjacency": ADJACENCY, "n_is_public": True, "curve": rows}
        print_lines(json.dumps(document, indent=2, allow_nan=False))
    else:
        print_lines(
            comma_separated(["epsilon", "bound", "lower", "upper", "caveat"], [list(row.values()) for row in rows])
        )
    if all(point.lower is None and point.upper is None for point in curve):
        sys.exit(NO_CLAIM)
