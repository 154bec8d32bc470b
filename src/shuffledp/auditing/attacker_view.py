"""What an attacker may know of a protocol: values to tell apart, the laws of their messages, and what is claimed for it."""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeGuard

import numpy as np
from numpy.typing import NDArray

from shuffledp.baselines.split_and_mix import SplitAndMix
from shuffledp.baselines.unary import UnaryBits
from shuffledp.core.blanket import Blanket
from shuffledp.errors import InvalidInput
from shuffledp.protocols.deployable import Deployable
from shuffledp.protocols.one_message import OneMessage
from shuffledp.protocols.protocol import ShuffleProtocol
from shuffledp.protocols.randomized import clean_samples
from shuffledp.randomizers.dummies import Dummies
from shuffledp.randomizers.generic import Generic
from shuffledp.randomizers.together import Together

Reals = NDArray[np.float64]
MOST_MESSAGES: Final = 5_000_000
"""Whose likelihoods are tabulated."""
_LONGEST_LABEL: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposed:
    """What is public about a protocol.

    Attributes:
        values: clean values of its domain.
        labels: what to call them.
        laws: how likely each message is for each of them; None if that is not known in closed form.
        messages: how many there are, if they are numbers below that.
        question: which of several releases each message belongs to; None if there is one.
        dummies: uniform messages that each user adds on average.
        apart: whether a row of several entries is as many messages, shuffled apart.
        total: what messages say that say something only all together; None if each says something.
    """

    values: NDArray[Any] = field(repr=False)
    labels: Sequence[str]
    laws: Sequence[Reals] | None = field(default=None, repr=False)
    messages: int | None = None
    question: NDArray[np.int64] | None = field(default=None, repr=False)
    dummies: float = 0.0
    apart: bool = False
    total: "Total | None" = field(default=None, repr=False)


class Total(NamedTuple):
    """What all messages say together.

    Attributes:
        of: that of the messages in each row.
        law: of so many users: totals, and how likely each is if one of them holds the last value, or, like all others, the first.
    """

    of: Callable[[NDArray[Any]], NDArray[np.int64]]
    law: Callable[[int], tuple[NDArray[np.int64], Reals, Reals]]


def is_protocol(thing: object) -> TypeGuard[ShuffleProtocol]:
    """Whether this is a protocol, not a randomizer or a plan."""
    return isinstance(thing, ShuffleProtocol)


def exposed(protocol: ShuffleProtocol) -> Exposed:
    """What is public about a protocol whose users send messages; refused if a curator sees their values."""
    apart, deployed = protocol.messages_per_user > 1, isinstance(protocol, Deployable)
    if protocol.epsilon0 is None and not deployed and not apart:
        raise InvalidInput(
            f"users of {protocol.kind} send their values to a curator, so no messages can be looked at. Name another protocol."
        )
    values, labels = clean_samples(protocol)
    messages, laws, question, dummies = None, None, None, 0.0
    if isinstance(protocol, Deployable) and protocol.alphabet <= MOST_MESSAGES:
        messages, runs = protocol.alphabet, protocol.randomizer
        if isinstance(protocol, OneMessage):
            with contextlib.suppress(InvalidInput):  # encoding depends on chance
                laws = [protocol.message_law(values[j : j + 1]) for j in range(len(values))]
        elif isinstance(runs, Dummies):
            laws, dummies = [true_message(runs, int(value)) for value in values], runs.dummies
        elif isinstance(runs, Together):
            question = questions(runs)
    return Exposed(
        values=values,
        labels=[one if len(one) <= _LONGEST_LABEL else f"sample {j + 1}" for j, one in enumerate(labels)],
        laws=laws,
        messages=messages,
        question=question,
        dummies=dummies,
        apart=apart,
        total=Total(protocol.totals, protocol.total_law) if isinstance(protocol, SplitAndMix) else None,
    )


def accounted(protocol: ShuffleProtocol) -> Blanket:
    """What the accountant knows of its messages, shuffled; at worst that they are epsilon0-LDP."""
    if isinstance(protocol, Deployable):
        return protocol.randomizer.blanket()
    if isinstance(protocol, UnaryBits):  # separate shuffles show more than a joint one
        return Together(parts=(protocol.randomizer,) * protocol.messages).blanket()
    own = getattr(protocol, "blanket", None)
    if own is not None:
        found: Blanket = own()
        return found
    if protocol.epsilon0 is None:
        raise InvalidInput("nothing is proved about this protocol here. State its epsilon.")
    return Generic(epsilon0=protocol.epsilon0).blanket()


def quoted(protocol: ShuffleProtocol, n: int) -> tuple[float, float] | None:
    """Epsilon and delta that a protocol was made for, where they are not proved here; refused for other numbers of users."""
    if not isinstance(protocol, SplitAndMix):
        return None
    if n != protocol.n:
        raise InvalidInput(f"this split-and-mix is made for {protocol.n:,} users; got {n:,}. Use that many.")
    return protocol.epsilon, protocol.delta


def true_message(randomizer: Dummies, symbol: int) -> Reals:
    """How likely each message is to be the true one of a value."""
    structure = randomizer.structure
    numbers = np.arange(structure.choices, dtype=np.uint32)
    mine = structure.member(np.full(structure.choices, symbol, dtype=np.uint32), numbers)
    return np.bincount(mine, minlength=structure.messages) / structure.choices


def questions(randomizer: Together) -> NDArray[np.int64]:
    """The part that each message is of."""
    return np.repeat(np.arange(len(randomizer.parts)), [part.messages for part in randomizer.parts])


def samples_of(protocol: ShuffleProtocol) -> list[Any]:
    """The raw values that `exposed` is about: nobody's."""
    return protocol.domain.samples()
