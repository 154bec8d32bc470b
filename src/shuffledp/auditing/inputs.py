"""What users may hold and what they then send: randomizers and protocols, seen alike by an audit."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from shuffledp.auditing.attacker_view import MOST_MESSAGES, Total, exposed, questions, true_message
from shuffledp.core.ragged import Ragged
from shuffledp.core.randomizer import RunnableRandomizer
from shuffledp.core.words import WordSource
from shuffledp.errors import InvalidInput
from shuffledp.protocols.protocol import ShuffleProtocol
from shuffledp.randomizers.channel import Channel
from shuffledp.randomizers.dummies import Dummies
from shuffledp.randomizers.gaussian import Gaussian
from shuffledp.randomizers.laplace import Laplace
from shuffledp.randomizers.lattice import LatticeChannel
from shuffledp.randomizers.mixture import Mixture
from shuffledp.randomizers.response import RandomizedResponse
from shuffledp.randomizers.together import Together, columns

Reals = NDArray[np.float64]
Send = Callable[[NDArray[Any], WordSource, int], Any]
"""The messages of users with these values, from the words at the rows from some row on: the code that really runs."""
_ALL: Final = 20
"""Values of which all are looked at; of more, some."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """Values that users may hold, and how their messages come about.

    Attributes:
        name: of the whole, in words.
        values: some values, one row each: those of which the worst are looked for.
        labels: what to call them.
        send: what really runs.
        laws: how likely each message is for each value; None if that is to be learned.
        messages: their number, if they are numbers below it; None if they may be anything.
        question: which of several releases each message belongs to; None if there is one.
        dummies: uniform messages that each user adds on average.
        apart: whether a row of several entries is as many messages, shuffled apart.
        total: what messages say that say something only all together: it is the score then.
    """

    name: str
    values: NDArray[Any] = field(repr=False)
    labels: Sequence[str]
    send: Send = field(repr=False)
    laws: Sequence[Reals] | None = field(default=None, repr=False)
    messages: int | None = None
    question: NDArray[np.int64] | None = field(default=None, repr=False)
    dummies: float = 0.0
    apart: bool = False
    total: Total | None = field(default=None, repr=False)

    def sent(self, value: int, users: int, words: WordSource, first_row: int) -> tuple[NDArray[Any], Any]:
        """The messages of users who all hold one value, and how many each sends: one number, or one for each."""
        held = np.repeat(self.values[value : value + 1], users, axis=0)
        found = self.send(held, words, first_row)
        if isinstance(found, Ragged):
            same = int(found.each[0]) if len(found.each) and (found.each == found.each[0]).all() else None
            return found.values, found.each if same is None else same
        if isinstance(found, tuple):
            found = np.concatenate([np.asarray(part).reshape(users, -1).astype(np.int64) for part in found], axis=1)
        if found.ndim == 1:
            return found, 1
        if self.apart:
            return found.reshape(-1), found.shape[1]
        rows = np.ascontiguousarray(found)
        return rows.view(f"S{rows.dtype.itemsize * rows.shape[1]}").reshape(-1), 1  # equal rows are equal bytes


def runnable(randomizer: Any) -> Any:
    """What runs of a randomizer: the thing whose samples can be looked at."""
    if isinstance(randomizer, RandomizedResponse):
        return randomizer.as_run()
    if isinstance(randomizer, Laplace | Gaussian):
        return randomizer.lattice()
    if isinstance(randomizer, Channel):
        return LatticeChannel.of(randomizer)
    if not hasattr(randomizer, "randomize"):
        raise InvalidInput(
            f"a randomizer of kind {randomizer.kind!r} cannot be run, so there is nothing to audit. Name one that can."
        )
    return randomizer


def of_randomizer(randomizer: Any) -> Inputs:
    """The symbols of a randomizer that runs."""

    def send(symbols: NDArray[Any], words: WordSource, first_row: int) -> Any:
        return randomizer.randomize(symbols, words, first_row=first_row)

    label, messages = randomizer.blanket().label, randomizer.messages
    if isinstance(randomizer, Together | Mixture):
        rows, labels = _combined(randomizer)
        laws = [np.concatenate(_parts_laws(randomizer, row)) for row in rows] if messages <= MOST_MESSAGES else None
        asked = questions(randomizer) if isinstance(randomizer, Together) else None
        return Inputs(
            name=label, values=np.array(rows), labels=labels, send=send, laws=laws, messages=messages, question=asked
        )
    chosen = _some(randomizer.symbols)
    if messages > MOST_MESSAGES:
        raise InvalidInput(f"{messages:,} messages are too many to audit. Use a smaller randomizer of the same kind.")
    if isinstance(randomizer, Dummies):
        laws = [true_message(randomizer, symbol) for symbol in chosen]
    else:
        laws = [np.asarray(randomizer.probability(np.arange(messages), symbol)) for symbol in chosen]
    return Inputs(
        name=label,
        values=np.array(chosen),
        labels=[str(symbol) for symbol in chosen],
        send=send,
        laws=laws,
        messages=messages,
        dummies=randomizer.dummies if isinstance(randomizer, Dummies) else 0.0,
    )


def of_protocol(protocol: ShuffleProtocol) -> Inputs:
    """The values of a protocol's domain."""

    def send(held: NDArray[Any], words: WordSource, first_row: int) -> Any:
        return protocol.randomize(held, words, first_row=first_row)

    public = exposed(protocol)
    return Inputs(
        name=f"the protocol {protocol.kind}",
        values=public.values,
        labels=public.labels,
        send=send,
        laws=public.laws,
        messages=public.messages,
        question=public.question,
        dummies=public.dummies,
        apart=public.apart,
        total=public.total,
    )


def _some(symbols: int) -> list[int]:
    """All symbols, or a few: the first, one in the middle, the last."""
    return list(range(symbols)) if symbols <= _ALL else sorted({0, 1, 2, symbols // 2, symbols - 1})


def _combined(randomizer: Together | Mixture) -> tuple[list[list[int]], list[str]]:
    """Symbols for each of several parts: all the first one, all the second, ..."""
    sizes = [
        part.symbols for whole in randomizer.parts for part in (whole.parts if isinstance(whole, Mixture) else (whole,))
    ]
    rows = [[min(k, size - 1) for size in sizes] for k in range(min(3, max(sizes)))]
    return rows, ["/".join(map(str, row)) for row in rows]


def _parts_laws(randomizer: Together | Mixture, row: Sequence[int]) -> list[Reals]:
    """How likely each message of each part is, for one symbol of each."""
    if isinstance(randomizer, Mixture):
        return [np.asarray(randomizer.probability(np.arange(randomizer.messages), np.array(row)))]
    laws, done = list[Reals](), 0
    for part in randomizer.parts:
        mine = row[done : done + columns(part)]
        done += columns(part)
        laws.append(_law(part, mine))
    return laws


def _law(part: RunnableRandomizer, symbols: Sequence[int]) -> Reals:
    symbol: Any = np.array(symbols) if isinstance(part, Mixture) else symbols[0]
    return np.asarray(part.probability(np.arange(part.messages), symbol))
