"""Documents that stand beside another one: plans and tasks, which results name by their hashes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shuffledp.core.canonical import digest
from shuffledp.core.parsing import plain
from shuffledp.errors import InvalidInput
from shuffledp.planning.plan import Plan

if TYPE_CHECKING:
    from shuffledp.service.task import Task


@dataclass(frozen=True, slots=True)
class Beside:
    """Whatever documents there are; those that are neither plans nor tasks are passed over."""

    documents: Sequence[object] = ()

    def plan(self, sha256: str) -> Plan | None:
        """The plan of this hash, proved; None if it is not there, and refused if what claims to be it is not."""
        plan = next((document for document in self._with("protocol") if document.get("sha256") == sha256), None)
        return None if plan is None else Plan.from_document(plan)

    def task(self, identity: str | None) -> "Task | None":
        """The task of this id; None if it is not there."""
        from shuffledp.service.task import Task

        task = next(
            (document for document in self._with("shufflers") if identity is not None and _id(document) == identity),
            None,
        )
        return None if task is None else Task.from_document(task)

    @property
    def has_plans(self) -> bool:
        """Whether there is any plan or task."""
        plans = (one for one in self._with("protocol") if isinstance(one.get("sha256"), str))
        tasks = (one for one in self._with("shufflers") if isinstance(one["shufflers"], list))
        return any(True for _ in (*plans, *tasks))

    def _with(self, field: str) -> list[dict[str, Any]]:
        return [document for document in self.documents if isinstance(document, dict) and field in document]


def _id(document: dict[str, Any]) -> str | None:
    try:
        return digest(plain(document))
    except InvalidInput:
        return None
