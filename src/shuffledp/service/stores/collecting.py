"""Taking reports into open batches, in any SQL database. Whoever changes a task or takes reports for it locks its row first."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence

from shuffledp.core.report_outcome import Outcome
from shuffledp.errors import InvalidInput
from shuffledp.service.stores.batch import Batch, NextKey
from shuffledp.service.stores.intake import announced, one_for_each_key, sort_reports
from shuffledp.service.stores.rows import Rows


class Collecting(Rows):
    """Tasks, windows and reports."""

    @abstractmethod
    def _lock_tasks(self) -> None:
        """Let nobody else add a task until the transaction ends."""

    @abstractmethod
    def _among(self, names: Sequence[bytes], task: int, *, kept: str, collecting: str) -> set[bytes]:
        """Which of these names are in a task's table of those that stay, or in that of batches which are not erased."""

    @abstractmethod
    def _insert_records(self, task: int, batch_id: int, records: Sequence[tuple[bytes, bytes]]) -> None:
        """Add new ids and inner records to a batch."""

    @abstractmethod
    def _insert_spending(self, task: int, batch_id: int, credentials: Sequence[bytes]) -> None:
        """Add credentials that are spent on reports of a batch."""

    def add_task(self, task_id: str, document: str, *, hop: int, key: NextKey, now: float) -> None:
        """Add a task and open its first batch. A known task stays as it is; a retired one is refused."""

        def add() -> None:
            self._lock_tasks()  # their numbers follow each other
            known = self._run("SELECT retired FROM task WHERE id = ?", task_id)
            if known and known[0][0]:
                raise InvalidInput(f"task {task_id} is retired in this store. Make a new task.")
            if not known:
                self._run(
                    "INSERT INTO task SELECT ?, ?, ?, 1 + coalesce(max(number), 0), false FROM task",
                    task_id, document, hop,
                )  # fmt: skip
                self._open(task_id, key, now)

        self._write(add)

    def open_window(self, task_id: str, *, key: NextKey, now: float) -> Batch:
        """Open a batch for this key, under a new window, unless there is one; empty batches of other keys end."""

        def open_it() -> Batch:
            self._lock(task_id)
            self._run(
                "UPDATE batch SET state = 'ROLLED_OVER', erased = true WHERE task = ? AND state = 'OPEN' AND count = 0 "
                "AND NOT (key = ? AND fingerprint = ?)",
                task_id, key.id, key.fingerprint,
            )  # fmt: skip
            return self._open(task_id, key, now)

        return self._write(open_it)

    def restart_window(self, batch_id: int, *, now: float, empty: bool = True) -> None:
        """Restart the window of an open batch at `now`; with `empty`, only if it has no reports."""

        def restart() -> None:
            self._locked(batch_id)
            self._run(
                "UPDATE batch SET opened = ? WHERE id = ? AND state = 'OPEN' AND (count = 0 OR NOT ?)",
                now, batch_id, empty,
            )  # fmt: skip

        self._write(restart)

    def add_reports(
        self,
        task_id: str,
        reports: Sequence[tuple[bytes, bytes]],
        credentials: Sequence[bytes] | None = None,
        *,
        keys: Mapping[int, NextKey],
        window: int | None = None,
        opened_at: float | None = None,
    ) -> list[Outcome]:
        """Decide about each report by what is in the store, and keep those that are accepted, in one transaction."""

        def add() -> list[Outcome]:
            task = self._lock(task_id)
            if task is None:
                raise InvalidInput("the store does not know this task. Add it first.")
            batches = self._open_batches(task_id)
            if opened_at is None or not batches:  # without any open batch the task is retired
                intake = announced(batches, keys, window)
            else:
                now = opened_at
                intake = one_for_each_key(batches, keys, reports, lambda key: self._open(task_id, key, now))
            found = sort_reports(
                reports, credentials, intake,
                known=self._among([name for name, _ in reports], task, kept="report", collecting="sealed"),
                spent=self._among(credentials or (), task, kept="spent", collecting="spending"),
            )  # fmt: skip
            for batch_id, records in found.records.items():
                self._insert_records(task, batch_id, records)
                self._run("UPDATE batch SET count = count + ? WHERE id = ?", len(records), batch_id)
            for batch_id, spending in found.credentials.items():
                self._insert_spending(task, batch_id, spending)
            self._reached("accept: all reports written")
            return found.outcomes

        outcomes = self._write(add)
        self._reached("accept: committed")
        return outcomes
