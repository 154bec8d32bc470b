"""What became of the bugs: a line for each, a table for each group, and why survivors are none."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from scipy.stats import binomtest

from mutants.bug import Key
from mutants.trial import Outcome


@dataclass
class Report:
    """Outcomes by group.

    Attributes:
        equivalent: survivors that are no bugs, and why.
        stale: judgements about lines that are no longer there.
    """

    equivalent: Mapping[Key, str]
    stale: list[Key] = field(default_factory=list)
    _outcomes: dict[str, list[Outcome]] = field(default_factory=lambda: defaultdict(list))
    _sizes: dict[str, int] = field(default_factory=dict)

    def add(self, group: str, size: int, outcome: Outcome) -> None:
        """One more, of a group of so many."""
        self._outcomes[group].append(outcome)
        self._sizes[group] = size

    def line(self, outcome: Outcome) -> str:
        """What it was, and what noticed it."""
        bug = outcome.bug
        where = f"{bug.module}:{bug.line} {bug.function} [{bug.operator}] {_short(bug.change)}"
        if outcome.verdict == "killed":
            return f"killed    {where}  by {_short(outcome.by)}"
        why = self.equivalent.get(bug.key)
        said = f"  equivalent: {why}" if why else f"  ({outcome.tests} of {outcome.of} tests that reach it)"
        return f"{outcome.verdict:9} {where}{said}"

    def text(self) -> str:
        """The table, then survivors."""
        lines = [
            f"\n{'group':14}{'bugs':>7}{'sample':>8}{'killed':>8}{'equivalent':>12}{'survived':>10}  killed of real ones"
        ]
        for group, outcomes in self._outcomes.items():
            killed, equal, lived = self._counted(outcomes)
            share = _share(killed, killed + lived)
            lines.append(f"{group:14}{self._sizes[group]:7,}{len(outcomes):8}{killed:8}{equal:12}{lived:10}  {share}")
        killed, equal, lived = self._counted(self._all())
        share = _share(killed, killed + lived)
        lines.append(
            f"{'all':14}{sum(self._sizes.values()):7,}{len(self._all()):8}{killed:8}{equal:12}{lived:10}  {share}"
        )
        for title, wanted in (("Survivors that are no bugs:", True), ("Survivors:", False)):
            some = [
                one for one in self._all() if one.verdict != "killed" and (one.bug.key in self.equivalent) == wanted
            ]
            lines += ["", title, *(self.line(one) for one in some)] if some else []
        lines += ["", "Judgements about lines that are gone:", *(str(key) for key in self.stale)] if self.stale else []
        return "\n".join(lines)

    def document(self) -> dict[str, Any]:
        """All of it as JSON data."""
        return {
            "groups": {
                group: {
                    "bugs": self._sizes[group],
                    **dict(zip(("killed", "equivalent", "survived"), self._counted(outcomes), strict=True)),
                }
                for group, outcomes in self._outcomes.items()
            },
            "outcomes": [asdict(one) | {"equivalent": self.equivalent.get(one.bug.key)} for one in self._all()],
            "stale": self.stale,
        }

    def enough(self, share: float) -> bool:
        """Whether so many of the real ones are killed."""
        killed, _, lived = self._counted(self._all())
        return killed >= share * (killed + lived)

    def _all(self) -> list[Outcome]:
        return [one for outcomes in self._outcomes.values() for one in outcomes]

    def _counted(self, outcomes: list[Outcome]) -> tuple[int, int, int]:
        killed = sum(one.verdict == "killed" for one in outcomes)
        equal = sum(one.verdict != "killed" and one.bug.key in self.equivalent for one in outcomes)
        return killed, equal, len(outcomes) - killed - equal


def _short(text: str) -> str:
    return text if len(text) <= 100 else f"{text[:60]} ... {text[-35:]}"


def _share(killed: int, of: int) -> str:
    """With its exact 95 % interval (Clopper and Pearson)."""
    if not of:
        return "-"
    low, high = binomtest(killed, of).proportion_ci(0.95, "exact")
    return f"{killed / of:.1%} ({low:.1%} to {high:.1%})"
