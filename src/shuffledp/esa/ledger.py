"""The budget of a population: what was spent is written down before anything is shown, in a chain of hashes.

Each line names a release by its task, batch and parameters, and the hash of the line before. Whether another release fits is
decided by composing all of them with the certified accountant, not by adding up.
"""

import contextlib
import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from shuffledp.accounting.account import bound_named
from shuffledp.accounting.composition import Collection, compose
from shuffledp.core import checks
from shuffledp.core.digits import rounded_up
from shuffledp.errors import InvalidInput, NoClaim
from shuffledp.esa.disk import sync_folder
from shuffledp.randomizers.response import RandomizedResponse

START: Final = "0" * 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Spend:
    """One release.

    Attributes:
        task: id of the task.
        batch: digest of the batch; the same batch is spent once.
        size: messages of the randomizer.
        threshold: its blanket probability in units of 2^-64.
        n: honest reports relied on.
        bound: that proves the guarantee.
    """

    task: str
    batch: str
    size: int
    threshold: int
    n: int
    bound: str

    def __post_init__(self) -> None:
        checks.users(self.n)

    def collection(self) -> Collection:
        """For the accountant."""
        randomizer = RandomizedResponse(size=self.size, gamma=Fraction(self.threshold, 1 << 64))
        return Collection(blanket=randomizer.blanket(), n=self.n, rounds=1, bound=bound_named(self.bound))


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """Where a population stands: what was spent at the budget's delta, and the hash of the last line."""

    spent_epsilon: float
    epsilon: float
    delta: float
    releases: int
    head: str


class Ledger:
    """An append-only file for one population with an (epsilon, delta) budget."""

    def __init__(self, path: Path, *, epsilon: float, delta: float) -> None:
        self._path = path
        self._epsilon = checks.epsilon(epsilon, positive=True)
        self._delta = checks.probability(delta, "delta")

    def balance(self) -> Balance:
        """What was spent so far."""
        with self._locked() as file:
            spends, head = self._read(file)
        return self._balance(spends, head)

    def spend(self, spend: Spend) -> Balance:
        """Write a release down, if it fits; refused if it does not. A batch that is there already costs nothing more."""
        with self._locked() as file:
            spends, head = self._read(file)
            if spend in spends:
                return self._balance(spends, head)
            after = _composed([*spends, spend], self._delta)
            if not after <= self._epsilon:
                raise NoClaim(
                    f"the budget is spent: {len(spends)} releases and this one would be epsilon = {rounded_up(after)}, "
                    f"above {self._epsilon:.6g}. Use another population, or ask for less."
                )
            line = json.dumps(asdict(spend) | {"previous": head}, sort_keys=True)
            try:
                file.seek(0, os.SEEK_END)
                file.write((line + "\n").encode())
                file.flush()
                os.fsync(file.fileno())
                sync_folder(self._path)
            except OSError as error:
                raise InvalidInput(
                    f"cannot write the ledger {self._path}: {error.strerror}. Nothing is shown."
                ) from None
            return self._balance([*spends, spend], _hash(line), after)

    def _balance(self, spends: list[Spend], head: str, spent: float | None = None) -> Balance:
        spent = _composed(spends, self._delta) if spent is None else spent
        return Balance(spent_epsilon=spent, epsilon=self._epsilon, delta=self._delta, releases=len(spends), head=head)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[Any]:
        try:
            file = self._path.open("a+b")
        except OSError as error:
            raise InvalidInput(
                f"cannot open the ledger {self._path}: {error.strerror}. Choose another place."
            ) from None
        with file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file

    def _read(self, file: Any) -> tuple[list[Spend], str]:
        """All spends and the head; a broken chain is refused.

        A last line cut short by a crash was never a release: it is removed.
        """
        file.seek(0)
        data: bytes = file.read()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            file.truncate(whole)
        spends, head = [], START
        for line in data[:whole].decode("utf-8", errors="replace").splitlines():
            try:
                entry = json.loads(line)
                previous = entry.pop("previous")
                spends.append(Spend(**entry))
                spends[-1].collection()  # what is in the last line no later line vouches for
            except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
                previous = None
            if previous != head:
                raise InvalidInput(
                    f"the ledger {self._path} was altered. Restore it: without it no budget can be kept."
                )
            head = _hash(line)
        return spends, head


def _composed(spends: list[Spend], delta: float) -> float:
    """Epsilon of all releases together."""
    if not spends:
        return 0.0
    merged: dict[tuple[int, int, int, str], Collection] = {}
    for spend in spends:  # equal releases are rounds of one collection
        key = (spend.size, spend.threshold, spend.n, spend.bound)
        found = merged.get(key)
        merged[key] = spend.collection() if found is None else replace(found, rounds=found.rounds + 1)
    return compose(list(merged.values())).epsilon(delta)


def _hash(line: str) -> str:
    return hashlib.sha256(line.encode()).hexdigest()
