"""The budget of a population: what is spent is written down before anything is opened, in a chain of hashes.

The first line holds the budget. Each further line names a release by its task, batch and parameters, and the hash of the
line before. Whether another release fits is decided by composing all of them with the certified accountant, not by adding
up. Only who remembers a head elsewhere can tell that lines at the end, or the whole file, were taken away.
"""

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final, Self

from shuffledp.core.digits import rounded_up
from shuffledp.core.document import Document, members, number, whole
from shuffledp.core.files import alone, place_of, sync_folder
from shuffledp.core.parsing import Unreadable, parse_exactly, parse_json
from shuffledp.errors import InvalidInput
from shuffledp.planning.release_cost import Spend
from shuffledp.results.balance import Balance
from shuffledp.results.budget import Budget

VERSION: Final = 3
"""Since 3 a line holds the document of a randomizer."""
_READ: Final = (2, 3)
_FORMER_START: Final = "0" * 64
"""What the first line of the former format says is before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """One batch that was opened.

    Attributes:
        task: id of the task.
        batch: digest of the batch; the same batch is spent once.
        spend: what it costs.
    """

    task: str
    batch: str
    spend: Spend

    def entry(self) -> Document:
        """The fields of its line."""
        return {"task": self.task, "batch": self.batch, **asdict(self.spend)}

    @classmethod
    def read(cls, entry: Document) -> Self:
        """From the fields of a line; version 2 knew randomized response only."""
        if "randomizer" not in entry:
            size, threshold = entry.pop("size"), entry.pop("threshold")
            entry["randomizer"] = {"kind": "response", "size": size, "threshold": str(whole(threshold))}
        task, batch = entry.pop("task"), entry.pop("batch")
        if not (isinstance(task, str) and isinstance(batch, str)):
            raise ValueError
        return cls(task=task, batch=batch, spend=Spend.from_document(entry))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chain:
    """What a ledger's file says: budget, releases, the hash of every line, and how many bytes are whole lines."""

    budget: Budget
    releases: tuple[LedgerEntry, ...] = ()
    heads: tuple[str, ...]
    length: int = 0

    @property
    def spends(self) -> list[Spend]:
        return [release.spend for release in self.releases]

    def balance(self, spent: float) -> Balance:
        return Balance(
            spent_epsilon=spent, budget_epsilon=self.budget.epsilon, delta=self.budget.delta,
            releases=len(self.releases), head=self.heads[-1],
        )  # fmt: skip

    def with_release(self, release: LedgerEntry) -> tuple[Self, str]:
        """The chain with one more release, and the text to append."""
        line = json.dumps(release.entry() | {"previous": self.heads[-1]}, sort_keys=True)
        longer = replace(self, releases=(*self.releases, release), heads=(*self.heads, _hash(line)))
        return longer, f"{line}\n" if self.length else f"{first_line(self.budget)}\n{line}\n"


class Ledger:
    """An append-only file for one population with an (epsilon, delta) budget.

    Args:
        path: the file; the first release makes it.
        epsilon: the budget's; needed for a new file only, and otherwise it must be the file's.
        delta: the budget's; likewise.
        expect_head: the hash of a line that must be in the file: the head that an earlier release showed.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        expect_head: str | None = None,
    ) -> None:
        if expect_head is not None and not re.fullmatch("[0-9a-f]{64}", expect_head):
            raise InvalidInput("a ledger's head is 64 hexadecimal digits. Copy it from an earlier result.")
        self._path, self._epsilon, self._delta, self._expected = place_of(path), epsilon, delta, expect_head
        if epsilon is not None and delta is not None:
            Budget(epsilon=epsilon, delta=delta)

    def check(self) -> None:
        """Refuse a file that is not a ledger with this budget and head."""
        self._read()

    def balance(self) -> Balance:
        """What was spent so far."""
        chain = self._read()
        return chain.balance(chain.budget.spent(chain.spends))

    def book(self, release: LedgerEntry) -> Balance:
        """Write a release down, if it fits; refused if it does not. A batch that is there already costs nothing more."""
        before = self._read()
        found = self._fitting(before, release)  # what does not fit now never will: refused before any file is made
        with self._alone():
            chain = self._read()
            balance, text = found if chain == before else self._fitting(chain, release)
            if text:
                self._append(chain.length, text)
            return balance

    def _fitting(self, chain: _Chain, release: LedgerEntry) -> tuple[Balance, str]:
        """The balance after a release, and the text to append for it: none if it is there already; refused if it does not fit."""
        if release in chain.releases:
            return chain.balance(chain.budget.spent(chain.spends)), ""
        spent = chain.budget.with_another(chain.spends, release.spend)
        longer, text = chain.with_release(release)
        return longer.balance(spent), text

    def _append(self, length: int, text: str) -> None:
        """After the whole lines: what a crash cut short was never a release."""
        try:
            with os.fdopen(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666), "r+b") as file:
                file.truncate(length)
                file.seek(length)
                file.write(text.encode())
                file.flush()
                os.fsync(file.fileno())
            sync_folder(self._path)
        except OSError as error:
            raise InvalidInput(f"cannot write the ledger {self._path}: {error.strerror}. Nothing is opened.") from None

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Releases wait for each other. Reading needs no turn: lines are only added, and only whole ones count."""
        with contextlib.ExitStack() as turn:
            try:
                turn.enter_context(alone(self._path.with_name(f"{self._path.name}.lock")))
            except OSError as error:
                raise InvalidInput(
                    f"cannot write the ledger {self._path}: {error.strerror}. Nothing is opened."
                ) from None
            yield

    def _read(self) -> _Chain:
        """All of the file; a broken chain, another budget or a missing head is refused."""
        data = b""
        try:
            if self._path.exists() or not self._path.parent.is_dir():
                data = self._path.read_bytes()
        except OSError as error:
            raise InvalidInput(
                f"cannot open the ledger {self._path}: {error.strerror}. Choose another place."
            ) from None
        length = data.rfind(b"\n") + 1
        lines = data[:length].decode("utf-8", errors="replace").split("\n")[:-1]
        chain = self._chain(lines, length) if lines else None
        if self._expected is not None and (chain is None or self._expected not in chain.heads):
            raise InvalidInput(
                f"the ledger {self._path} does not hold the expected head: it was rolled back, cut short or replaced. "
                "Restore it, because without it nobody knows what was spent."
            )
        if chain is None:
            budget = self._given()
            chain = _Chain(budget=budget, heads=(_hash(first_line(budget)),))
        return chain

    def _chain(self, lines: list[str], length: int) -> _Chain:
        budget = self._budget(lines[0])
        releases, heads = list[LedgerEntry](), [_hash(lines[0])]
        for line in lines[1:]:
            try:
                entry = parse_exactly(line)  # version 2 has numbers of 64 bits
                previous = entry.pop("previous")
                releases.append(LedgerEntry.read(entry))  # checked: what is in the last line no later line vouches for
            except (AttributeError, KeyError, TypeError, ValueError):
                previous = None
            if previous != heads[-1]:
                raise self._altered()
            heads.append(_hash(line))
        return _Chain(budget=budget, releases=tuple(releases), heads=tuple(heads), length=length)

    def _budget(self, line: str) -> Budget:
        """The file's, which must be the one that is given, if one is."""
        try:
            entry = parse_json(line)
        except Unreadable:
            entry = None
        if not isinstance(entry, dict):
            raise self._altered()
        if entry.get("previous") == _FORMER_START:
            raise InvalidInput(
                f"the ledger {self._path} is in the previous format, which does not state its budget. Keep it, and start a new "
                "one with what is left of the population's budget. Epsilons add up, and so do deltas."
            )
        if entry.get("version", _READ[0]) not in _READ:
            raise InvalidInput(f"the ledger {self._path} is of another version. Use the software that wrote it.")
        try:
            said = members(entry, "a ledger", version=whole, epsilon=number, delta=number)
            found = Budget(epsilon=said["epsilon"], delta=said["delta"])
        except InvalidInput:
            raise self._altered() from None
        for name, given, kept in (("epsilon", self._epsilon, found.epsilon), ("delta", self._delta, found.delta)):
            if given is not None and given != kept:
                raise InvalidInput(
                    f"the ledger {self._path} has a budget of {found}; got another {name}, {rounded_up(given)}. "
                    "Leave the budget out, or use another population's ledger."
                )
        return found

    def _given(self) -> Budget:
        if self._epsilon is None or self._delta is None:
            raise InvalidInput(
                f"the ledger {self._path} is new and needs a budget. Give --budget-epsilon and --budget-delta."
            )
        return Budget(epsilon=self._epsilon, delta=self._delta)

    def _altered(self) -> InvalidInput:
        return InvalidInput(
            f"the ledger {self._path} was altered, or is another file. Restore it, because without it no budget can be kept."
        )


def first_line(budget: Budget, version: int = VERSION) -> str:
    """The line that a ledger begins with."""
    return json.dumps({"version": version, "epsilon": budget.epsilon, "delta": budget.delta}, sort_keys=True)


def _hash(line: str) -> str:
    return hashlib.sha256(line.encode()).hexdigest()
