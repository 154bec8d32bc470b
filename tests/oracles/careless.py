"""Shufflers with a bug on purpose: in this process, or `python -m oracles.careless BUG shuffler serve ...`."""

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.report_outcome import Outcome
from shuffledp.service.stores.batch import Batch, NextKey
from shuffledp.service.stores.intake import Intake
from shuffledp.service.wire.record import report_id

Patch = Callable[[str, Any], None]
"""Puts something in the place of what has this name."""


def in_the_order_of_arrival(patch: Patch) -> None:
    """No permutation. The store already forgets the order, so it must be remembered elsewhere for this to go wrong."""
    arrived: list[bytes] = []

    def remembered(inner: bytes) -> bytes:
        arrived.append(report_id(inner))
        return arrived[-1]

    def as_they_came(ids: NDArray[np.uint8], secret: bytes) -> NDArray[np.intp]:
        places = {name: place for place, name in reversed(list(enumerate(arrived)))}
        return np.argsort([places[row.tobytes()] for row in ids])

    patch("shuffledp.service.shuffler.shuffler.report_id", remembered)
    patch("shuffledp.service.shuffler.release.order", as_they_came)


class AnyKey(dict[int, Batch]):
    """One batch, whichever key a report names."""

    def get(self, key: int, default: Any = None) -> Any:
        return next(iter(self.values()), None)


def under_any_key(patch: Patch) -> None:
    """Reports for stale keys are taken into the batch of another."""

    def careless(opened: Sequence[Batch], keys: dict[int, NextKey], window: int | None) -> Intake:
        return Intake(batches=AnyKey({0: opened[-1]}), missed=Outcome.OUTDATED_KEY)

    patch("shuffledp.service.stores.collecting.announced", careless)


BUGS = {bug.__name__: bug for bug in (in_the_order_of_arrival, under_any_key)}


def _patch(name: str, value: Any) -> None:
    module, _, attribute = name.rpartition(".")
    setattr(import_module(module), attribute, value)


if __name__ == "__main__":
    from shuffledp.cli import cli

    BUGS[sys.argv[1]](_patch)
    cli(sys.argv[2:], prog_name="shuffledp")
