"""The randomizer on the command line: its options, and its blanket."""

import json
from collections.abc import Callable, Container
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from shuffledp.cli.numbers import Real, Reals, Whole, Wholes
from shuffledp.core.blanket import Blanket, Family
from shuffledp.errors import InvalidInput
from shuffledp.randomizers.channel import Channel
from shuffledp.randomizers.gaussian import Gaussian
from shuffledp.randomizers.generic import Generic
from shuffledp.randomizers.laplace import Laplace
from shuffledp.randomizers.response import RandomizedResponse

_KINDS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "generic": (Generic, ("epsilon0",)),
    "rr": (RandomizedResponse, ("epsilon0", "gamma")),
    "laplace": (Laplace, ("epsilon0",)),
    "gaussian": (Gaussian, ("sigma",)),
    "channel": (Channel, ()),
}
"""The names on the command line, with the parameters of which one may be solved for."""
Given = dict[str, float | int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """The randomizer asked for, without its parameter."""

    name: str
    matrix: Channel | None

    def at(self, given: Given, local: str | None) -> Blanket | Family:
        """The blanket if its parameter is given, else the family to calibrate."""
        made, parameters = _KINDS[self.name]
        if local is None:
            if self.matrix is None:
                raise InvalidInput("a channel needs its probabilities. Add --matrix FILE.")
            return self.matrix.blanket()
        shape: dict[str, Any] = {}
        if self.name == "rr":
            if "size" not in given:
                raise InvalidInput("randomized response needs the number of symbols. Add --size.")
            shape = {"size": given["size"]}
        if local in given:
            blanket: Blanket = made(**shape, **{local: given[local]}).blanket()
            return blanket
        family: Family = made.family(**shape, **({"parameter": local} if len(parameters) > 1 else {}))
        return family


def randomizer_options(*, sweep: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The options that say which randomizer is meant, each one number or, for a `sweep`, a list of them."""
    real, whole = (Reals(), Wholes()) if sweep else (Real(), Whole())
    options = [
        click.option("--randomizer", type=click.Choice(list(_KINDS)), required=True, help="The local randomizer."),
        click.option("--size", type=whole, help="Number of symbols (rr)."),
        click.option(
            "--matrix",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            help="Channel probabilities, one row per input: a JSON list of lists, or text with commas or blanks between numbers.",
        ),
        click.option("--epsilon0", type=real, help="Local privacy parameter (generic, rr, laplace)."),
        click.option("--gamma", type=real, help="Probability of ignoring the value (rr)."),
        click.option("--sigma", type=real, help="Noise standard deviation (gaussian)."),
    ]

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def local_parameter(randomizer: str, given: Container[str], solve_for: str | None) -> str | None:
    """Which parameter of the randomizer is given, or to be solved for."""
    if randomizer not in _KINDS:
        raise InvalidInput(f"there is no randomizer {randomizer!r}. Use one of {', '.join(_KINDS)}.")
    _, possible = _KINDS[randomizer]
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


def refuse_strays(randomizer: str, given: Container[str], matrix: Path | None) -> None:
    """An option of another randomizer is a mistake, not something to ignore."""
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
            f"{path.name} is not a table of numbers. Write one row per line with commas between, or a JSON list of lists."
        ) from None
    return Channel(rows)
