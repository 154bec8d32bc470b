"""Several questions to the same people within one budget: what is asked is booked, and nothing beyond it is answered."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any, Self

from shuffledp.core.digits import rounded_up
from shuffledp.core.display import page_of
from shuffledp.core.guarantee import Guarantee
from shuffledp.engines.answered_before import counted_elsewhere
from shuffledp.engines.export import export
from shuffledp.engines.run import check_arguments, run, run_file
from shuffledp.errors import InvalidInput
from shuffledp.planning.plan import Plan
from shuffledp.planning.release_cost import Spend
from shuffledp.results.budget import Budget
from shuffledp.results.result import Result


class Session:
    """A budget for one group of people.

    Plans are composed by the accountant, as the analyzer's ledger does it. An answer is booked before it is computed, so that one
    that fails on the way is counted, too. What is booked is forgotten with the session: across programs, keep a ledger.

    Args:
        epsilon: of everything that is answered together.
        delta: likewise.

    >>> from shuffledp import plan
    >>> yes = plan("query", n=1000, epsilon=0.5, delta=1e-6)
    >>> with Session(epsilon=0.8, delta=1e-6) as session:
    ...     answers = [session.run(yes, [0, 1] * 500, query=float) for _ in range(2)]
    >>> session.spent <= 0.8
    True
    """

    def __init__(self, *, epsilon: float, delta: float) -> None:
        self.budget = Budget(epsilon=epsilon, delta=delta)
        self._spends: list[Spend] = []
        self._open = True
        self._alone = Lock()  # two threads must not both find room for one answer; and nobody copies what has a lock

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open = False

    @property
    def spent(self) -> float:
        """The epsilon, at the session's delta, of all that was answered."""
        return self.budget.spent(self._spends)

    def run(self, plan: Plan, values: Any, **options: Any) -> Result:
        """As `run`; refused if it would go beyond the budget."""
        with self._booked(run, plan, values, options):
            return run(plan, values, **options)

    def run_file(self, plan: Plan, path: Any, **options: Any) -> Result:
        """As `run_file`; refused if it would go beyond the budget."""
        with self._booked(run_file, plan, path, options):
            return run_file(plan, path, **options)

    def export(self, plan: Plan, values: Any, path: Path | str, **options: Any) -> Guarantee:
        """As `export`; refused if it would go beyond the budget."""
        with self._booked(export, plan, values, options, path):
            return export(plan, values, path, **options)

    @contextmanager
    def _booked(
        self,
        carried_out: Callable[..., Result | Guarantee],
        plan: Plan,
        data: Any,
        options: dict[str, Any],
        *place: Any,
    ) -> Iterator[None]:
        """An answer on the way; an error that ends it says that it is counted, unless it shows before anything is read."""
        inspect.signature(carried_out).bind(plan, data, *place, **options)
        check_arguments(plan, data, **options)
        self._book(plan, options)
        try:
            with counted_elsewhere():
                yield
        except InvalidInput as error:
            raise InvalidInput(
                f"{error} The session counts this attempt, because values may have been read: {self}."
            ) from None

    def _book(self, plan: Plan, options: dict[str, Any]) -> None:
        if not self._open:
            raise InvalidInput("this session has ended. Begin a new one with the budget that is left.")
        if options.get("max_rows_per_user") is not None:
            raise InvalidInput(
                "a session counts one row per person, and several rows are not composed. Run such a plan outside it."
            )
        more = Spend.of(plan)
        with self._alone:
            self.budget.with_another(self._spends, more)
            self._spends.append(more)

    def __str__(self) -> str:
        many = "1 answer" if len(self._spends) == 1 else f"{len(self._spends)} answers"
        of, delta = rounded_up(self.budget.epsilon), rounded_up(self.budget.delta)
        return f"{many}: epsilon = {rounded_up(self.spent)} of {of} at delta = {delta}"

    def __repr__(self) -> str:
        return f"<Session: {self}>"

    def _repr_html_(self) -> str:
        return page_of(self)
