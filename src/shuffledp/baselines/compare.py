"""The candidates for a question side by side: whom users must trust, what each of them sends, how far off the answer is."""

import math
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, Final, overload

import numpy as np

from shuffledp.baselines.registry import families as families_of
from shuffledp.core import argument, checks
from shuffledp.core.captions import spoken
from shuffledp.core.data_frame import data_frame
from shuffledp.core.digits import about, at_most, counted
from shuffledp.core.display import figure_of, page_of
from shuffledp.core.text_tables import aligned
from shuffledp.core.visible import visible
from shuffledp.errors import InvalidInput, NoClaim, unknown
from shuffledp.planning import registry
from shuffledp.planning.ask import ask
from shuffledp.planning.choose import certified
from shuffledp.planning.family import Family, PlannedFamily, Trust
from shuffledp.planning.question import Question
from shuffledp.planning.synonyms import no_question
from shuffledp.protocols.by_group import BySum
from shuffledp.protocols.counting import Counting
from shuffledp.protocols.protocol import ShuffleProtocol

RUNS = 100_000
COLUMNS = ("protocol", "users trust", "messages", "bits", "epsilon0", "rmse")
_FLOOR: Final = "lower bound"
_AT_ONCE = 1 << 21
_MOST = 1 << 28
"""Numbers drawn at once, and in all, for the simulations of one protocol."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One row of a comparison.

    Attributes:
        name: of the protocol.
        trust: whom users must trust.
        reference: where it comes from.
        accounted_by: what proves its privacy.
        messages: that each user sends.
        bits: in all messages of a user.
        epsilon0: what one user's messages give away by themselves; None if everything.
        rmse: root mean squared error of the answer, at the worst data, or of one value of very many (`share`); None if the
            protocol cannot do it.
        simulated: the same, measured on runs at the same data.
        share: up to which share of the users hold that value; None if the error is the whole answer's.
        note: why there is no error, or what else to know.
    """

    name: str
    trust: Trust
    reference: str
    accounted_by: str
    messages: float | None = None
    bits: int | None = None
    epsilon0: float | None = None
    rmse: float | None = None
    simulated: float | None = None
    share: float | None = None
    note: str = ""

    @property
    def local(self) -> str:
        """What a message by itself guarantees: "none" if users rely on the shuffler alone."""
        if self.epsilon0 is not None:
            return at_most(self.epsilon0)
        return "none" if self.bits is not None and self.trust.startswith("the shuffler") else "-"

    def cells(self) -> list[str]:
        """As it is shown, under `COLUMNS`."""
        return [
            self.name,
            self.trust,
            _whole(self.messages),
            _whole(self.bits),
            self.local,
            _error(self.rmse),
        ]


def _error(value: float | None) -> str:
    return "-" if value is None else about(value)


def _whole(value: float | None) -> str:
    return "-" if value is None else f"{value:,.4g}" if value % 1 else f"{value:,.0f}"


@dataclass(frozen=True, slots=True)
class Comparison(Sequence[Candidate]):
    """Rows, the most accurate first.

    Attributes:
        question: that was asked.
        rows: one for each protocol.
    """

    question: str
    rows: tuple[Candidate, ...]

    @overload
    def __getitem__(self, index: int) -> Candidate: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Candidate, ...]: ...

    def __getitem__(self, index: int | slice) -> Candidate | tuple[Candidate, ...]:
        return self.rows[index]

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        simulated = any(row.simulated is not None for row in self.rows)
        header = [*COLUMNS, *(["simulated"] if simulated else [])]
        cells = [[*row.cells(), *([_error(row.simulated)] if simulated else [])] for row in self.rows]
        notes = [visible(f"{row.name}: {row.note}") for row in self.rows if row.note]
        if self.rows and self.rows[0].share is not None:
            notes.append(f"rmse: of one value that up to {100 * self.rows[0].share:g} % of the users hold")
        elif self.question not in ("mean", "sum", "query"):
            notes.append("rmse: of all entries of the answer together")
        return "\n".join([aligned(header, cells), *([""] if notes else []), *notes])

    def __repr__(self) -> str:
        return f"<Comparison: {self.question}, {counted(len(self.rows), 'row')}>"

    def to_frame(self) -> Any:
        """The rows as a data frame of pandas."""
        return data_frame({one.name: [getattr(row, one.name) for row in self.rows] for one in fields(Candidate)})

    def plot(self) -> Any:
        """A picture of the errors."""
        return figure_of(self)

    def _repr_html_(self) -> str:
        return page_of(self)


class Comparer:
    """All protocols for a question at one (epsilon, delta), the most accurate first.

    `compare("histogram", ...)` and `compare.histogram(...)` are the same; so for every question. `runs` simulates so many answers
    of each protocol, and `only` names the rows to work out, if not all.

    A protocol that cannot meet (epsilon, delta) has no error and a note that says why.

    >>> rows = compare.mean(n=10_000, epsilon=1.0, delta=1e-6, only=["shuffledp"])
    >>> rows == compare("mean", n=10_000, epsilon=1.0, delta=1e-6, only=["shuffledp"])
    True
    """

    def __call__(
        self,
        question: str,
        *,
        n: int,
        epsilon: float,
        delta: float,
        runs: int = 0,
        seed: int | None = None,
        only: Container[str] | None = None,
        progress: Callable[[str], None] | None = None,
        **options: Any,
    ) -> Comparison:
        """The comparison for the question of this name; what it takes besides is what `plan` takes for it."""
        asked = ask(question, n=n, epsilon=epsilon, delta=delta, options=options)
        only = None if only is None else argument.texts(only, "only", "['shuffledp']")
        progress = None if progress is None else argument.function(progress, "progress")
        runs = checks.whole(runs, "runs", "Give e.g. 10000.")
        if runs < 0:
            raise InvalidInput(f"`runs` must be at least 0; got {runs}. Give e.g. 10000, or leave it out.")
        seed = None if seed is None else checks.whole(seed, "seed", "Give e.g. 1.")
        generator = np.random.default_rng(seed)
        found = []
        families = [family for family in families_of(question) if family.answers(asked)]
        if len(families) == 1 and options.get("by") is not None:
            raise InvalidInput(
                f"only one protocol answers {spoken(question)} by group, so there is nothing to compare. `shuffledp plan` says "
                "how far off it is."
            )
        known = list(dict.fromkeys(family.name for family in families_of(question)))
        for name in only or ():
            if name not in (*known, _FLOOR):
                raise InvalidInput(f"`only`: {unknown('protocol', name, known)}")
        for family in families:
            if only is not None and family.name not in only:
                continue
            if progress is not None:
                progress(family.name)
            found.append(_row(family, asked, generator, runs))
        floor = asked.error_floor()
        found += [] if floor is None else [
            Candidate(
                name=_FLOOR, trust="the shuffler", reference=floor.reference, accounted_by="proof", messages=1,
                rmse=floor.rmse, note="no protocol of one message per user can do better",
            )
        ]  # fmt: skip
        found.sort(key=lambda row: math.inf if row.rmse is None else row.rmse)
        return Comparison(question, tuple(found))

    def __getattr__(self, name: str) -> Callable[..., Comparison]:
        question = name.replace("_", "-")
        if question not in registry.questions():
            raise AttributeError(str(no_question(question, registry.questions())))
        return partial(self, question)


compare: Final = Comparer()
"""Comparisons for all questions."""


def _row(family: Family[Any], asked: Question, generator: np.random.Generator, runs: int) -> Candidate:
    share = asked.judged_share
    row = Candidate(
        name=family.name, trust=family.trust, reference="", accounted_by=family.accounted_by, share=share
    )  # fmt: skip
    try:
        protocol = _proved(family, asked)
    except (InvalidInput, NoClaim) as error:
        return replace(row, note=str(error))
    by_group = isinstance(protocol, BySum)  # the entries of protocols differ, and what is read off them does not
    simulated, note = None, f"rmse is the {asked.objective}" if by_group else ""
    if runs and not by_group:
        try:
            squared = _simulated(protocol, asked.n, share, generator, runs)
        except (InvalidInput, ValueError, MemoryError):  # numpy cannot draw numbers that large
            note = "too large to simulate"
        else:
            simulated = None if squared is None else math.sqrt(squared)
    return replace(
        row, reference=protocol.reference, messages=protocol.messages_per_user, bits=protocol.bits,
        epsilon0=protocol.epsilon0, rmse=_rmse(protocol, asked), simulated=simulated, note=note,
    )  # fmt: skip


def _proved(family: Family[Any], asked: Question) -> ShuffleProtocol:
    """What a family proposes; what `plan` could choose is proved as there."""
    asked = family.compared(asked)
    if isinstance(family, PlannedFamily):
        return certified(asked, family.propose(asked)).protocol
    return family.propose(asked)


def _rmse(protocol: ShuffleProtocol, asked: Question) -> float:
    """The error that is compared: of the whole answer, of one of its values, or of a group."""
    if isinstance(protocol, BySum):
        return math.sqrt(protocol.group_variance(asked.share, asked.n))  # type: ignore[attr-defined]
    if asked.judged_share is None or not isinstance(protocol, Counting):
        return protocol.rmse(asked.n)
    return math.sqrt(protocol.worst_variance(asked.judged_share, asked.n))


def _simulated(
    protocol: ShuffleProtocol, n: int, share: float | None, generator: np.random.Generator, runs: int
) -> float | None:
    """The squared error of runs at the worst data, fewer of them if each is costly; None if nothing is asked about yet."""
    one = share is not None and isinstance(protocol, Counting)
    worst = protocol.worst_share(share, n) if one else protocol.worst(n)  # type: ignore[attr-defined]
    cells, entries = protocol.cells_per_run, slice(0, 1) if one else slice(None)
    truth = protocol.expected(worst)[entries]
    if not len(truth):
        return None
    runs = max(100, min(runs, _MOST // cells))
    total, done = 0.0, 0
    while done < runs:
        some = min(runs - done, max(1, _AT_ONCE // cells))
        found = protocol.simulate(worst, generator, some)
        total += float(np.square((found[:, entries] if one else found) - truth).sum())
        done += some
    return total / runs
