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
        found = next((one for one in self._with("protocol") if one.get("sha256") == sha256), None)
        return None if found is None else Plan.from_document(found)

    def task(self, identity: str | None) -> "Task | None":
        """The task of this id; None if it is not there."""
        from shuffledp.service.task import Task

        found = next((one for one in self._with("shufflers") if identity is not None and _id(one) == identity), None)
        return None if found is None else Task.from_document(found)

    def _with(self, field: str) -> list[dict[str, Any]]:
        return [one for one in self.documents if isinstance(one, dict) and field in one]


def _id(document: dict[str, Any]) -> str | None:
    try:
        return digest(plain(document))
    except InvalidInput:
        return None
