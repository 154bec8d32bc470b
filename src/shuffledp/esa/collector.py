"""Fetching released batches from a shuffler."""

import contextlib
import hashlib
from dataclasses import dataclass, field
from typing import Any, Final

from shuffledp.errors import InvalidInput
from shuffledp.esa.task import Task
from shuffledp.esa.wire import split

_LISTED: Final = {"batch": int, "reports": int, "sha256": str}


@dataclass(frozen=True, slots=True, kw_only=True)
class Collector:
    """The analyzer's, or the operator's, access to a shuffler."""

    url: str
    token: str = field(repr=False)

    def records(self, task: Task, batch: int | None = None) -> list[bytes]:
        """The records of a released batch, whatever hop released it."""
        content, entry = self._fetch(task, batch)
        records = split(content, len(content) // max(1, entry["reports"]) or 1)
        if records is None or len(records) != entry["reports"]:
            raise InvalidInput("the batch is not a whole number of records. Fetch it again.")
        return records

    def fetch(self, task: Task, batch: int | None = None) -> tuple[bytes, str]:
        """The bytes of a released batch, the latest unless told, and their SHA-256, checked."""
        content, entry = self._fetch(task, batch)
        return content, entry["sha256"]

    def _fetch(self, task: Task, batch: int | None) -> tuple[bytes, dict[str, Any]]:
        listed = self._json("GET", f"/v2/tasks/{task.id}/batches")
        try:
            batches = [{name: kind(entry[name]) for name, kind in _LISTED.items()} for entry in listed["batches"]]
        except (ArithmeticError, KeyError, TypeError, ValueError):
            raise _not_understood() from None
        wanted = [entry for entry in batches if batch is None or entry["batch"] == batch]
        if not wanted:
            raise InvalidInput("no such batch is released yet. Wait for the window to end, or for more reports.")
        entry = wanted[-1]
        answer = self._request("GET", f"/v2/batches/{entry['batch']}")
        if hashlib.sha256(answer.content).hexdigest() != entry["sha256"]:
            raise InvalidInput("the batch does not match its hash. Fetch it again.")
        return answer.content, entry

    def close(self, task: Task) -> dict[str, Any]:
        """Release the open batch, if it has enough reports."""
        return self._json("POST", f"/v2/tasks/{task.id}/batches/close")

    def _json(self, method: str, path: str) -> dict[str, Any]:
        answer = self._request(method, path)
        try:
            document = answer.json()
        except (ValueError, RecursionError):
            raise _not_understood() from None
        if not isinstance(document, dict):
            raise _not_understood()
        return document

    def _request(self, method: str, path: str) -> Any:
        try:
            import httpx
        except ImportError:
            raise InvalidInput("the service needs httpx, which is not installed. Install shuffledp[service].") from None
        try:
            answer = httpx.request(
                method, f"{self.url}{path}", headers={"Authorization": f"Bearer {self.token}"}, timeout=300.0
            )
        except (httpx.TransportError, httpx.InvalidURL, OSError, ValueError):  # addresses can be wrong in many ways
            raise InvalidInput("the shuffler could not be reached. Check the address and certificates.") from None
        if answer.status_code != 200:
            title = ""
            with contextlib.suppress(AttributeError, ValueError, RecursionError):
                title = str(answer.json().get("title", ""))
            raise InvalidInput(f"the shuffler refused (status {answer.status_code}): {title}.")
        return answer


def _not_understood() -> InvalidInput:
    return InvalidInput("the shuffler's answer is not understood. Check the address.")
