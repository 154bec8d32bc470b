"""The randomizer on the command line: its options, and its blanket."""

import json
from collections.abc import Callable, Container
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from shuffledp.cli.numbers import Real, Reals, Whole, Wholes
from shuffledp.core import checks
from shuffledp.core.blanket import Blanket, RandomizerFamily
from shuffledp.errors import InvalidInput
from shuffledp.randomizers.channel import Channel
from shuffledp.randomizers.design import DesignResponse
from shuffledp.randomizers.gaussian import Gaussian
from shuffledp.randomizers.generic import Generic
from shuffledp.randomizers.laplace import Laplace
from shuffledp.randomizers.response import RandomizedResponse
from shuffledp.randomizers.structures import AffineSpace

_KINDS: dict[str, tuple[str, ...]] = {
    "generic": ("epsilon0",),
    "rr": ("epsilon0", "gamma"),
    "plane": ("epsilon0", "gamma"),
    "laplace": ("epsilon0",),
    "gaussian": ("sigma",),
    "channel": (),
}
"""The names on the command line, with the parameters of which one may be solved for."""
_SHAPES: dict[str, str] = {"size": "rr", "prime": "plane", "dimension": "plane"}
"""Whose the options are that say how large a randomizer is."""
_PLAIN: dict[str, Any] = {"generic": Generic, "laplace": Laplace, "gaussian": Gaussian}
"""Those that have nothing but their parameter."""
Given = dict[str, float | int]


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomizerChoice:
    """The randomizer asked for, without its parameter."""

    name: str
    matrix: Channel | None

    def at(self, given: Given, local: str | None) -> Blanket | RandomizerFamily:
        """The blanket if its parameter is given, else the family to calibrate."""
        if local is None:
            if self.matrix is None:
                raise InvalidInput("a channel needs its probabilities. Add --matrix FILE.")
            return self.matrix.blanket()
        if local in given:
            return self._blanket(given, local)
        return self._family(given, local)

    def _blanket(self, given: Given, local: str) -> Blanket:
        value: Any = {local: given[local]}
        if self.name == "rr":
            return RandomizedResponse(size=self._size(given), **value).blanket()
        if self.name == "plane":
            return DesignResponse.law(self._space(given), **value)
        blanket: Blanket = _PLAIN[self.name](**value).blanket()
        return blanket

    def _family(self, given: Given, local: Any) -> RandomizerFamily:
        if self.name == "rr":
            return RandomizedResponse.family(size=self._size(given), parameter=local)
        if self.name == "plane":
            return DesignResponse.family(self._space(given), parameter=local)
        family: RandomizerFamily = _PLAIN[self.name].family()
        return family

    def _size(self, given: Given) -> int:
        if "size" not in given:
            raise InvalidInput("randomized response needs the number of symbols. Add --size.")
        return checks.size(given["size"])  # type: ignore[arg-type]

    def _space(self, given: Given) -> AffineSpace:
        if "prime" not in given:
            raise InvalidInput("plane response needs the order of its plane, a prime number. Add --prime.")
        prime, dimension = (
            checks.whole(value, name, "Use e.g. 1597 and 2.")
            for name, value in (("prime", given["prime"]), ("dimension", given.get("dimension", 2)))
        )
        return AffineSpace(prime=prime, dimension=dimension)


def randomizer_options(*, sweep: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The options that say which randomizer is meant, each one number or, for a `sweep`, a list of them."""
    real, whole = (Reals(), Wholes()) if sweep else (Real(), Whole())
    options = [
        click.option("--randomizer", type=click.Choice(list(_KINDS)), required=True, help="The local randomizer."),
        click.option("--size", type=whole, help="Number of symbols (rr)."),
        click.option("--prime", type=whole, help="Order of the plane (plane): its square is the number of values."),
        click.option("--dimension", type=whole, help="2 for the plane, 3 for the space (plane) [default: 2]."),
        click.option(
            "--matrix",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            help="Channel probabilities, one row per input: a JSON list of lists, or text with commas or blanks between numbers.",
        ),
        click.option("--epsilon0", type=real, help="Local privacy parameter (generic, rr, plane, laplace)."),
        click.option("--gamma", type=real, help="Probability of ignoring the value (rr, plane)."),
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
    possible = _KINDS[randomizer]
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
    for name, owner in _SHAPES.items():
        if name in given and randomizer != owner:
            raise InvalidInput(f"--{name} belongs to {owner}, not to {randomizer}. Leave it out.")
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
