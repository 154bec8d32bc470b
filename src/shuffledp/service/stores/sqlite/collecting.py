"""Taking reports into open batches."""

from collections import Counter
from collections.abc import Mapping, Sequence

from shuffledp.core.outcome import Outcome
from shuffledp.errors import InvalidInput
from shuffledp.service.stores.batch import Batch, NextKey
from shuffledp.service.stores.intake import Intake, announced, listed
from shuffledp.service.stores.sqlite.rows import Rows


class Collecting(Rows):
    """Tasks, windows and reports."""

    def add_task(self, task_id: str, document: str, *, hop: int, key: NextKey, now: float) -> None:
        """Add a task and open its first batch. A known task stays as it is; a retired one is refused."""
        with self._transaction() as connection:
            added = connection.execute(
                "INSERT OR IGNORE INTO task SELECT ?, ?, ?, 1 + coalesce(max(number), 0), 0 FROM task",
                (task_id, document, hop),
            )
            if added.rowcount:
                self._open(task_id, key, now)
            elif connection.execute("SELECT retired FROM task WHERE id = ?", (task_id,)).fetchone()[0]:
                raise InvalidInput(f"task {task_id} is retired in this store. Make a new task.")

    def open_window(self, task_id: str, *, key: NextKey, now: float) -> Batch:
        """Open a batch for this key, under a new window, unless there is one; empty batches of other keys end."""
        with self._transaction() as connection:
            connection.execute(
                "UPDATE batch SET state = 'ROLLED_OVER' WHERE task = ? AND state = 'OPEN' AND count = 0 "
                "AND NOT (key = ? AND fingerprint = ?)",
                (task_id, key.id, key.fingerprint),
            )
            return self._open(task_id, key, now)

    def renew(self, batch_id: int, *, now: float, empty: bool = True) -> None:
        """Restart the window of an open batch at `now`; with `empty`, only if it has no reports."""
        with self._transaction() as connection:
            connection.execute(
                "UPDATE batch SET opened = ? WHERE id = ? AND state = 'OPEN' AND (count = 0 OR NOT ?)",
                (now, batch_id, empty),
            )

    def add_reports(
        self,
        task_id: str,
        reports: Sequence[tuple[bytes, bytes]],
        spending: Sequence[bytes] | None = None,
        *,
        keys: Mapping[int, NextKey],
        window: int | None = None,
        several: float | None = None,
    ) -> list[Outcome]:
        """Add (id, inner record) to the open batch, if that is of this window; returns the outcome of each.

        The first byte of an inner record names a key. Only records that name the key of the batch are taken, and only while it
        is one of `keys`, by id. With `several`, which is the time, there is a batch for each of the keys, opened when needed.
        If credentials are given, each report needs one that was never spent.
        """
        outcomes: dict[int, Outcome] = {}
        with self._transaction() as connection:
            task, opened = self._number(task_id), self._opened(task_id)
            if several is None or not opened:  # without any open batch the task is retired
                intake = announced(opened, keys, window)
            else:
                found = listed(opened, keys)
                for named in {inner[0] for _, inner in reports} & set(keys) - set(found):
                    found[named] = self._open(task_id, keys[named], several)
                intake = Intake(batches=found, missed=Outcome.OUTDATED_KEY)
            held: Counter[int] = Counter()
            for j in sorted(range(len(reports)), key=lambda j: (reports[j][0], j)):  # not in the order of arrival
                name, inner = reports[j]
                batch = intake.batches.get(inner[0])
                credential = None if spending is None else spending[j]
                outcomes[j] = self._add(
                    task, batch.id if batch else 0, name, inner, credential, None if batch else intake.missed
                )
                held[batch.id if batch else 0] += outcomes[j] is Outcome.ACCEPTED
                if len(outcomes) == 1:
                    self._reached("accept: first report written")
            for number, more in held.items():
                connection.execute("UPDATE batch SET count = count + ? WHERE id = ?", (more, number))
            self._reached("accept: all reports written")
        self._reached("accept: committed")
        return [outcomes[j] for j in range(len(reports))]

    def _add(
        self, task: int, batch: int, name: bytes, inner: bytes, credential: bytes | None, refusal: Outcome | None
    ) -> Outcome:
        run = self._connection.execute
        if run("SELECT 1 FROM report WHERE task = ? AND id = ?", (task, name)).fetchone():
            return Outcome.REPORT_REPLAYED
        if refusal is not None:
            # said only of reports that are not here: whoever hears it may seal the same message anew
            known = run("SELECT 1 FROM sealed WHERE task = ? AND id = ?", (task, name)).fetchone()
            return Outcome.REPORT_REPLAYED if known else refusal
        if not run("INSERT OR IGNORE INTO sealed VALUES (?, ?, ?, ?)", (task, name, batch, inner)).rowcount:
            return Outcome.REPORT_REPLAYED
        if credential is None:
            return Outcome.ACCEPTED
        spent = run("SELECT 1 FROM spent WHERE task = ? AND id = ?", (task, credential)).fetchone()
        if spent or not run("INSERT OR IGNORE INTO spending VALUES (?, ?)", (task, credential)).rowcount:
            run("DELETE FROM sealed WHERE task = ? AND id = ?", (task, name))
            return Outcome.NOT_ADMITTED
        return Outcome.ACCEPTED
