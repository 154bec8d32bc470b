"""What users may hold and what they then send: randomizers and protocols, seen alike by an audit."""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.attacker_view import AttackerView, Observable
from shuffledp.core.ragged import Ragged
from shuffledp.core.randomizer import Columnar, Idealized, Sampled
from shuffledp.core.randomness import RandomSource
from shuffledp.errors import InvalidInput
from shuffledp.protocols.protocol import ShuffleProtocol
from shuffledp.protocols.randomized import clean_samples

Reals = NDArray[np.float64]
Send = Callable[[NDArray[Any], RandomSource, int], Any]
"""The messages of users with these values, from the words at the rows from some row on: the code that really runs."""
_MOST_MESSAGES: Final = 5_000_000
"""Whose likelihoods are tabulated."""
_ALL: Final = 20
"""Values of which all are looked at; of more, some."""
_LONGEST_LABEL: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """Values that users may hold, and how their messages come about.

    Attributes:
        name: of the whole, in words.
        values: some values, one row each: those of which the worst are looked for.
        labels: what to call them.
        send: what really runs.
        laws: how likely each message is for each value; None if that is to be learned.
        view: what else is public about the messages.
    """

    name: str
    values: NDArray[Any] = field(repr=False)
    labels: Sequence[str]
    send: Send = field(repr=False)
    laws: Sequence[Reals] | None = field(default=None, repr=False)
    view: AttackerView = field(default_factory=AttackerView)

    @property
    def question(self) -> NDArray[np.int64] | None:
        """Which of several releases each message belongs to; None if there is one."""
        releases = self.view.releases
        return np.repeat(np.arange(len(releases)), releases) if releases else None

    def sent(self, value: int, users: int, randomness: RandomSource, first_row: int) -> tuple[NDArray[Any], Any]:
        """The messages of users who all hold one value, and how many each sends: one number, or one for each."""
        held = np.repeat(self.values[value : value + 1], users, axis=0)
        found = self.send(held, randomness, first_row)
        if isinstance(found, Ragged):
            same = int(found.each[0]) if len(found.each) and (found.each == found.each[0]).all() else None
            return self._looked_at(found.values), found.each if same is None else same
        if isinstance(found, tuple):
            found = np.concatenate([np.asarray(part).reshape(users, -1).astype(np.int64) for part in found], axis=1)
        if found.ndim == 1:
            return self._looked_at(found), 1
        if self.view.apart:
            return found.reshape(-1), found.shape[1]
        rows = np.ascontiguousarray(found)
        return rows.view(f"S{rows.dtype.itemsize * rows.shape[1]}").reshape(-1), 1  # equal rows are equal bytes

    def _looked_at(self, messages: NDArray[Any]) -> NDArray[Any]:
        return messages if self.view.told is None else self.view.told(messages)


def runnable(randomizer: Any) -> Any:
    """What runs of a randomizer: the thing whose samples can be looked at."""
    runs = randomizer.as_run() if isinstance(randomizer, Idealized) else randomizer
    if not isinstance(runs, Sampled):
        raise InvalidInput(
            f"a randomizer of kind {randomizer.kind!r} cannot be run, so there is nothing to audit. Choose one that can."
        )
    return runs


def of_randomizer(randomizer: Any) -> Inputs:
    """The symbols of a randomizer that runs."""

    def send(symbols: NDArray[Any], randomness: RandomSource, first_row: int) -> Any:
        return randomizer.randomize(symbols, randomness, first_row=first_row)

    def law(symbol: NDArray[np.integer]) -> Reals:
        return np.asarray(randomizer.probability(np.arange(messages), int(symbol[0])))

    messages, several = randomizer.messages, isinstance(randomizer, Columnar)
    if messages > _MOST_MESSAGES and not several:
        raise InvalidInput(f"{messages:,} messages are too many to audit. Use a smaller randomizer of the same kind.")
    view = (
        randomizer.attacker_view() if isinstance(randomizer, Observable) else AttackerView(messages=messages, law=law)
    )
    values = _rows(randomizer.columns) if several else np.array(_some(randomizer.symbols))
    return Inputs(
        name=randomizer.blanket().label,
        values=values,
        labels=["/".join(map(str, row)) for row in values.reshape(len(values), -1).tolist()],
        send=send,
        laws=_laws(view, values),
        view=view,
    )


def of_protocol(protocol: ShuffleProtocol) -> Inputs:
    """The values of a protocol's domain; refused if a curator sees them."""

    def send(held: NDArray[Any], randomness: RandomSource, first_row: int) -> Any:
        return protocol.randomize(held, randomness, first_row=first_row)

    if isinstance(protocol, Observable):
        view = protocol.attacker_view()
    elif protocol.epsilon0 is not None or protocol.messages_per_user > 1:
        view = AttackerView(apart=protocol.messages_per_user > 1)
    else:
        raise InvalidInput(
            f"users of {protocol.kind} send their values to a curator, so there are no messages to look at. Choose another "
            "protocol."
        )
    if view.messages is not None and view.messages > _MOST_MESSAGES:
        view = AttackerView(apart=view.apart)
    values, labels = clean_samples(protocol)
    if view.told is not None:  # what is looked at is about the first two values
        values, labels = values[:2], labels[:2]
    laws = None
    with contextlib.suppress(InvalidInput):  # encoding depends on chance
        laws = _laws(view, values)
    return Inputs(
        name=f"the protocol {protocol.kind}",
        values=values,
        labels=[one if len(one) <= _LONGEST_LABEL else f"sample {j + 1}" for j, one in enumerate(labels)],
        send=send,
        laws=laws,
        view=view,
    )


def _laws(view: AttackerView, values: NDArray[Any]) -> list[Reals] | None:
    """How likely each message is for each value; None if that is not known, or too much to tabulate."""
    if view.law is None or view.messages is None or view.messages > _MOST_MESSAGES:
        return None
    return [view.law(values[j : j + 1]) for j in range(len(values))]


def _some(symbols: int) -> list[int]:
    """All symbols, or a few: the first, one in the middle, the last."""
    return list(range(symbols)) if symbols <= _ALL else sorted({0, 1, 2, symbols // 2, symbols - 1})


def _rows(columns: Sequence[int]) -> NDArray[np.int64]:
    """Symbols of several columns: all the first one, all the second, ..."""
    return np.array([[min(k, size - 1) for size in columns] for k in range(min(3, max(columns)))])
