"""Which files were used before on this machine: a second answer about the same people spends their budget again."""

import contextlib
import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Self

from shuffledp.arithmetic.balls import sum_up
from shuffledp.core import checks
from shuffledp.core.files import place_of
from shuffledp.core.guarantee import Guarantee, claim
from shuffledp.core.parsing import parse_json
from shuffledp.errors import InvalidInput, NoClaim
from shuffledp.planning.plan import Plan
from shuffledp.planning.release_cost import Spend, composed
from shuffledp.results.result import Result

NOT_REMEMBERED: Final = (
    "Answers about a table of Spark are not remembered, so a second one about the same people is not noticed."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """One answer that was given.

    Attributes:
        data: SHA-256 of the file.
        plan: of the plan.
        epsilon: that was promised.
        delta: that was promised.
        unit: what was protected: the adjacency.
        when: in ISO 8601.
        spend: for the accountant; None for several rows per person, and in lines written before it was kept.
    """

    data: str
    plan: str
    epsilon: float
    delta: float
    unit: str
    when: str
    spend: Spend | None = None

    def __post_init__(self) -> None:
        checks.settle(
            self,
            epsilon=checks.epsilon(self.epsilon, side="up"),
            delta=checks.probability(self.delta, "delta", side="up"),
        )
        if not all(isinstance(x, str) for x in (self.data, self.plan, self.unit, self.when)):
            raise ValueError

    @classmethod
    def read(cls, line: str) -> Self:
        """A line of the history. What a release cost still counts if its randomizer is not known here."""
        fields = parse_json(line)
        given, spend = fields.pop("spend", None), None
        if given is not None:
            with contextlib.suppress(InvalidInput):
                spend = Spend.from_document(given)
        return cls(**fields, spend=spend)


class History:
    """A file with a line per answer."""

    def __init__(self, path: Path | str) -> None:
        self._path = place_of(path)

    def book(self, result: Result, files: Sequence[Path]) -> list[str]:
        """Write an answer down, before it is shown; notes if these people were asked before, or if writing failed."""
        return [] if result.guarantee is None else self.note(result.plan, result.guarantee, files)

    def note(self, plan: Plan, promise: Guarantee, files: Sequence[Path]) -> list[str]:
        """Note what a plan promises about files, whoever will read the answer; what there is to say about earlier releases."""
        digests = [_digest(path) for path in files]
        release = Release(
            data=digests[0], plan=plan.sha256, epsilon=promise.epsilon, delta=promise.delta, unit=promise.adjacency,
            when=datetime.now(UTC).isoformat(timespec="seconds"),
            spend=Spend.of(plan) if promise == plan.guarantee else None,
        )  # fmt: skip
        earlier, beyond = [self._of(digest) for digest in digests], None
        if plan.over_time is not None:
            done, planned = 1 + self._rounds(plan.sha256), plan.over_time.rounds
            if done > planned:
                beyond = (
                    f"The plan is one of {planned:,} rounds, and this is answer {done:,} by it: what is promised of all rounds "
                    "together does not hold beyond them."
                )
            else:  # earlier rounds of it are planned
                earlier = [
                    (releases if any(one.plan != plan.sha256 for one in releases) else [], unreadable)
                    for releases, unreadable in earlier
                ]
        before, unreadable = max(earlier, key=lambda releases: len(releases[0]))  # the people who were asked most often
        notes = [_warning(release, before)] if before else []
        if beyond is not None:
            notes.append(beyond)
        if unreadable:
            notes.append(
                f"{unreadable} line(s) of {self._path} cannot be read, so earlier releases may be missing here."
            )
        written = [self._append(replace(release, data=digest)) for digest in digests]
        if not all(written):
            notes.append("This release could not be written down, so a second one will not be noticed.")
        return notes

    def _of(self, data: str) -> tuple[list[Release], int]:
        """Answers about the same data, and how many lines cannot be read."""
        releases, unreadable = self._all()
        return [release for release in releases if release.data == data], unreadable

    def _rounds(self, plan: str) -> int:
        """How many answers were given by this plan, about any data; one about several files has a line for each."""
        rounds, together = 0, ("", set[str]())
        for release in self._all()[0]:
            if release.plan != plan:
                continue
            if release.when != together[0] or release.data in together[1]:
                rounds, together = rounds + 1, (release.when, set())
            together[1].add(release.data)
        return rounds

    def _all(self) -> tuple[list[Release], int]:
        """All answers, and how many lines cannot be read."""
        releases, unreadable = list[Release](), 0
        try:
            lines = self._path.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return [], 0
        for line in lines:
            try:
                releases.append(Release.read(line))
            except (AttributeError, TypeError, ValueError):
                unreadable += 1
        return releases, unreadable

    def _append(self, release: Release) -> bool:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(release)) + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError:
            return False
        return True


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _warning(release: Release, before: list[Release]) -> str:
    same = sum(earlier.plan == release.plan for earlier in before)
    times = "once" if len(before) == 1 else f"{len(before)} times"
    return (
        f"The budget is spent again, because this file was already used {times} ({same or 'not'} with this plan). "
        f"{_together([*before, release])}"
    )


def _together(releases: list[Release]) -> str:
    if any(release.unit != releases[-1].unit for release in releases):
        return "They protect different things (one row, or several rows of one person), so their budgets do not add up."
    delta, how = releases[-1].delta, "by composition"
    spends = [release.spend for release in releases if release.spend is not None]
    epsilon = None
    if len(spends) == len(releases):
        try:
            epsilon = composed(spends, delta)
        except (InvalidInput, NoClaim):
            epsilon = None
    if epsilon is None:
        epsilon, delta = (
            sum_up(*(release.epsilon for release in releases)),
            sum_up(*(release.delta for release in releases)),
        )
        how = "by basic composition"
    return f"All answers together are {claim(epsilon, delta)} {how}."
