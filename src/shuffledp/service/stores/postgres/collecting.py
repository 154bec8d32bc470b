"""Taking reports into open batches."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from shuffledp.core.outcome import Outcome
from shuffledp.errors import InvalidInput
from shuffledp.service.stores.batch import Batch, NextKey
from shuffledp.service.stores.intake import Intake, announced, listed
from shuffledp.service.stores.postgres.rows import Rows


class Collecting(Rows):
    """Tasks, windows and reports. Whoever changes a task or takes reports for it locks its row first."""

    def add_task(self, task_id: str, document: str, *, hop: int, key: NextKey, now: float) -> None:
        """Add a task and open its first batch. A known task stays as it is; a retired one is refused."""

        def add() -> None:
            self._run("LOCK TABLE task IN SHARE ROW EXCLUSIVE MODE")  # the numbers of tasks follow each other
            known = self._run("SELECT retired FROM task WHERE id = %s", task_id)
            if known and known[0][0]:
                raise InvalidInput(f"task {task_id} is retired in this store. Make a new task.")
            if not known:
                self._run(
                    "INSERT INTO task SELECT %s, %s, %s, 1 + coalesce(max(number), 0), false FROM task",
                    task_id, document, hop,
                )  # fmt: skip
                self._open(task_id, key, now)

        self._write(add)

    def open_window(self, task_id: str, *, key: NextKey, now: float) -> Batch:
        """Open a batch for this key, under a new window, unless there is one; empty batches of other keys end."""

        def open_it() -> Batch:
            self._lock(task_id)
            self._run(
                "UPDATE batch SET state = 'ROLLED_OVER', erased = true WHERE task = %s AND state = 'OPEN' AND count = 0 "
                "AND NOT (key = %s AND fingerprint = %s)",
                task_id, key.id, key.fingerprint,
            )  # fmt: skip
            return self._open(task_id, key, now)

        found = self._write(open_it)
        self._tidied = 0.0  # the tables of those that ended
        return found

    def renew(self, batch_id: int, *, now: float, empty: bool = True) -> None:
        """Restart the window of an open batch at `now`; with `empty`, only if it has no reports."""

        def restart() -> None:
            self._locked(batch_id)
            self._run(
                "UPDATE batch SET opened = %s WHERE id = %s AND state = 'OPEN' AND (count = 0 OR NOT %s)",
                now, batch_id, empty,
            )  # fmt: skip

        self._write(restart)

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

        def add() -> list[Outcome]:
            task = self._lock(task_id)
            if task is None:
                raise InvalidInput("the store does not know this task. Add it first.")
            opened = self._opened(task_id)
            if several is None or not opened:  # without any open batch the task is retired
                intake = announced(opened, keys, window)
            else:
                found = listed(opened, keys)
                for named in {inner[0] for _, inner in reports} & set(keys) - set(found):
                    found[named] = self._open(task_id, keys[named], several)
                intake = Intake(batches=found, missed=Outcome.OUTDATED_KEY)
            return self._add(task, self._live(task_id), reports, spending, intake)

        outcomes = self._write(add)
        self._reached("accept: committed")
        return outcomes

    def _add(
        self,
        task: int,
        live: Sequence[int],
        reports: Sequence[tuple[bytes, bytes]],
        spending: Sequence[bytes] | None,
        intake: Intake,
    ) -> list[Outcome]:
        known = self._known(task, [name for name, _ in reports], "report", [f"sealed_{number}" for number in live])
        spent = self._known(task, spending or (), "spent", [f"spending_{number}" for number in live])
        outcomes: dict[int, Outcome] = {}
        records: defaultdict[int, list[tuple[bytes, bytes]]] = defaultdict(list)
        credentials: defaultdict[int, list[tuple[bytes]]] = defaultdict(list)
        for j in sorted(range(len(reports)), key=lambda j: (reports[j][0], j)):  # not in the order of arrival
            name, inner = reports[j]
            batch = intake.batches.get(inner[0])
            if name in known:
                outcomes[j] = Outcome.REPORT_REPLAYED
            elif (
                batch is None
            ):  # said only of reports that are not here: whoever hears it may seal the same message anew
                outcomes[j] = intake.missed
            elif spending is not None and spending[j] in spent:
                outcomes[j] = Outcome.NOT_ADMITTED
            else:
                outcomes[j] = Outcome.ACCEPTED
                known.add(name)
                records[batch.id].append((name, inner))
                if spending is not None:
                    spent.add(spending[j])
                    credentials[batch.id].append((spending[j],))
        for number, rows in records.items():
            self._copy_in(
                f"sealed_{number}", ["bytea", "bytea"], rows, lambda: self._reached("accept: first report written")
            )
            self._run("UPDATE batch SET count = count + %s WHERE id = %s", len(rows), number)
        for number, spendings in credentials.items():
            self._copy_in(f"spending_{number}", ["bytea"], sorted(spendings))
        self._reached("accept: all reports written")
        return [outcomes[j] for j in range(len(reports))]

    def _known(self, task: int, asked: Sequence[bytes], kept: str, collecting: Sequence[str]) -> set[bytes]:
        """Which of these ids, or credentials, are in the table that keeps them, or in those of live batches."""
        if not asked:
            return set()
        names = list(asked)
        found = self._run(f"SELECT id FROM {kept} WHERE task = %s AND id = ANY(%b)", task, names)  # noqa: S608
        for table in collecting:
            found += self._run(f"SELECT id FROM {table} WHERE id = ANY(%b)", names)  # noqa: S608
        return {row[0] for row in found}
