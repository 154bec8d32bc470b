"""Randomizers by the names that people type, and what each needs to be told: for the command line and for pages."""

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, runtime_checkable

from shuffledp.core import checks
from shuffledp.core.blanket import Blanket, RandomizerFamily
from shuffledp.core.parsing import parse_json
from shuffledp.core.randomizer import LocalRandomizer
from shuffledp.errors import InvalidInput, unknown
from shuffledp.randomizers.channel import Channel
from shuffledp.randomizers.design_response import DesignResponse
from shuffledp.randomizers.dummies import Dummies
from shuffledp.randomizers.gaussian import Gaussian
from shuffledp.randomizers.generic import Generic
from shuffledp.randomizers.hadamard_design import Hadamard
from shuffledp.randomizers.identity import Identity
from shuffledp.randomizers.laplace import Laplace
from shuffledp.randomizers.local_hashing import LocalHashing
from shuffledp.randomizers.registry import RANDOMIZERS
from shuffledp.randomizers.response import RandomizedResponse
from shuffledp.randomizers.structure import Structure
from shuffledp.randomizers.structures import AffineSpace

Given = dict[str, float | int]


@dataclass(frozen=True, slots=True)
class Kind:
    """What one randomizer is told, and what comes of it.

    Attributes:
        parameters: of which one is given or solved for.
        law: the blanket for a parameter, by its name, and a shape.
        family: the same for a parameter's name, its value left open.
        runs: the randomizer that runs, for a parameter and a shape.
        needs: options that say how large it is, with what to call each.
        takes: options that may say more about that.
    """

    parameters: tuple[str, ...]
    law: Callable[..., Blanket]
    family: Callable[..., RandomizerFamily]
    runs: Callable[..., LocalRandomizer]
    needs: dict[str, str] = field(default_factory=dict)
    takes: tuple[str, ...] = ()

    def shape(self, randomizer: str, given: Given) -> dict[str, int]:
        """How large it is, by option."""
        for name, meaning in self.needs.items():
            if name not in given:
                raise InvalidInput(f"{randomizer} needs {meaning}. Add `{name}`.")
        return {
            name: checks.whole(given[name], name, "Give e.g. 1597.")
            for name in (*self.needs, *self.takes) if name in given
        }  # fmt: skip


def _plain(randomizer: Any, parameter: str) -> Kind:
    """One that has nothing but its parameter."""
    return Kind(
        (parameter,),
        lambda **value: randomizer(**value).blanket(),
        lambda parameter: randomizer.family(),  # noqa: ARG005
        randomizer,
    )


def _design(structure: Callable[..., Structure], needs: dict[str, str], takes: tuple[str, ...] = ()) -> Kind:
    """A design response on some structure."""

    def law(*, epsilon0: float | None = None, gamma: float | None = None, **shape: int) -> Blanket:
        return DesignResponse.law(structure(**shape), epsilon0=epsilon0, gamma=gamma)

    def family(parameter: Any, **shape: int) -> RandomizerFamily:
        return DesignResponse.family(structure(**shape), parameter)

    def runs(*, epsilon0: float | None = None, gamma: float | None = None, **shape: int) -> LocalRandomizer:
        return DesignResponse.private(structure(**shape), epsilon0=epsilon0, gamma=gamma)

    return Kind(("epsilon0", "gamma"), law, family, runs, needs, takes)


def _hiding(*, size: int | None = None, prime: int | None = None, dimension: int | None = None) -> Structure:
    """What dummies hide: values with messages of their own, or a plane."""
    if (size is None) == (prime is None):
        raise InvalidInput(
            "dummies hide values with messages of their own, or a plane. Add `size` or `prime`, not both."
        )
    if size is not None and dimension is not None:
        raise InvalidInput("`dimension` belongs to a plane, which has a prime. Leave it out.")
    if size is not None:
        return Identity(size=size)
    return AffineSpace(prime=prime or 0, dimension=2 if dimension is None else dimension)


def _nothing_to_solve(parameter: str) -> RandomizerFamily:  # noqa: ARG001
    raise InvalidInput("a channel has no parameter to solve for. Leave out another quantity.")


_SIZE = {"size": "the number of values"}
KINDS: Final[Mapping[str, Kind]] = {
    "generic": _plain(Generic, "epsilon0"),
    "rr": Kind(
        ("epsilon0", "gamma"),
        lambda **given: RandomizedResponse(**given).blanket(),
        lambda parameter, size: RandomizedResponse.family(size=checks.size(size), parameter=parameter),
        RandomizedResponse,
        {"size": "the number of symbols"},
    ),
    "plane": _design(AffineSpace, {"prime": "the order of its plane, a prime number"}, ("dimension",)),
    "hadamard": _design(lambda size: Hadamard.holding(checks.size(size)), _SIZE),
    "local-hashing": _design(
        lambda size, range: LocalHashing.holding(size, range),  # noqa: A006 - the option's name
        _SIZE | {"range": "the number of hashes"},
    ),
    "dummies": Kind(
        ("dummies",),
        lambda dummies, **shape: Dummies(structure=_hiding(**shape), dummies=dummies).blanket(),
        lambda parameter, **shape: Dummies.family(_hiding(**shape)),  # noqa: ARG005
        lambda dummies, **shape: Dummies(structure=_hiding(**shape), dummies=dummies),
        takes=("size", "prime", "dimension"),
    ),
    "laplace": _plain(Laplace, "epsilon0"),
    "gaussian": _plain(Gaussian, "sigma"),
    "channel": Kind((), Channel.blanket, _nothing_to_solve, Channel),
}
"""Our own by their names."""
PARAMETERS = tuple(dict.fromkeys(name for kind in KINDS.values() for name in kind.parameters))
"""What is given or solved for."""
SHAPES = tuple(dict.fromkeys(name for kind in KINDS.values() for name in (*kind.needs, *kind.takes)))
"""The options that say how large a randomizer is."""


def takers(option: str) -> str:
    """The randomizers that take an option."""
    return ", ".join(name for name, kind in KINDS.items() if option in (*kind.parameters, *kind.needs, *kind.takes))


@runtime_checkable
class Named(Protocol):
    """A class of randomizers, registered by others, that says how people type it."""

    @classmethod
    def named(cls) -> Kind:
        """What it is told, among the options that there are, and what comes of it. Its name is its `kind`."""
        ...


def names() -> tuple[str, ...]:
    """All that can be typed."""
    return tuple(dict.fromkeys((*KINDS, *RANDOMIZERS.of_others())))


def kind_named(name: str) -> Kind:
    """What a randomizer needs to be told: one of ours, or one that others registered."""
    if name in KINDS:
        return KINDS[name]
    if name not in names():
        raise unknown("randomizer", name, names())
    found = RANDOMIZERS[name]
    if not isinstance(found, Named):
        raise InvalidInput(f"the randomizer {name!r} does not say which options it takes. Use it from Python.")
    return found.named()


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomizerChoice:
    """The randomizer asked for, without its parameter."""

    name: str
    matrix: Channel | None

    def at(self, given: Given, local: str | None) -> Blanket | RandomizerFamily:
        """The blanket if its parameter is given, else the family to calibrate."""
        if local is None:
            if self.matrix is None:
                raise InvalidInput("a channel needs its probabilities. Add `matrix=FILE`.")
            return self.matrix.blanket()
        kind = kind_named(self.name)
        shape = kind.shape(self.name, given)
        return kind.law(**shape, **{local: given[local]}) if local in given else kind.family(parameter=local, **shape)

    def that_runs(self, given: Given, local: str | None) -> LocalRandomizer:
        """The randomizer that runs, all its parameters given: it is at least as private as the law that was accounted for."""
        if local is None:
            if self.matrix is None:
                raise InvalidInput("a channel needs its probabilities. Add `matrix=FILE`.")
            return self.matrix
        if local not in given:
            raise InvalidInput(f"`randomizer={self.name}` needs its parameter. Add `{local}`.")
        kind = kind_named(self.name)
        return kind.runs(**kind.shape(self.name, given), **{local: given[local]})


def local_parameter(randomizer: str, given: Container[str], solve_for: str | None) -> str | None:
    """Which parameter of the randomizer is given, or to be solved for."""
    possible = kind_named(randomizer).parameters
    if solve_for in PARAMETERS and solve_for not in possible:
        raise InvalidInput(f"`randomizer={randomizer}` has no {solve_for}. Leave out `solve_for`.")
    present = [name for name in PARAMETERS if name in given]
    for name in present:
        if name not in possible:
            takes = " or ".join(f"`{p}`" for p in possible) or "`matrix`"
            raise InvalidInput(f"`randomizer={randomizer}` has no `{name}`. It takes {takes}.")
    if len(present) > 1:
        raise InvalidInput("`epsilon0` and `gamma` say the same thing twice. Give one of them.")
    if present:
        return present[0]
    if solve_for in possible:
        return solve_for
    return possible[0] if possible else None


def refuse_strays(randomizer: str, given: Container[str], matrix: object | None) -> None:
    """An option of another randomizer is a mistake, not something to ignore."""
    for name in (shape for shape in SHAPES if shape in given):
        kind = kind_named(randomizer)
        if name not in (*kind.needs, *kind.takes):
            raise InvalidInput(f"`{name}` belongs to {takers(name)}, not to {randomizer}. Leave it out.")
    if matrix is not None and randomizer != "channel":
        raise InvalidInput(f"`matrix` belongs to channel, not to {randomizer}. Leave it out.")


def channel_of(text: str, name: str) -> Channel:
    """A channel from a JSON list of lists, or from text with commas or blanks between numbers."""
    try:
        if text.lstrip().startswith("["):
            rows = parse_json(text)
        else:
            rows = [
                [float(cell) for cell in line.replace(",", " ").split()] for line in text.splitlines() if line.strip()
            ]
    except ValueError:
        raise no_table(name) from None
    return Channel(rows)


def no_table(name: str) -> InvalidInput:
    """The error for what is no matrix."""
    return InvalidInput(
        f"{name} is not a table of numbers. Write one row per line with commas between, or a JSON list of lists."
    )
