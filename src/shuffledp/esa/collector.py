"""Fetching released batches from a shuffler."""

import hashlib
from dataclasses import dataclass, field
from typing import Any

from shuffledp.errors import InvalidInput
from shuffledp.esa.task import Task
from shuffledp.esa.wire import split


@dataclass(frozen=True, slots=True, kw_only=True)
class Collector:
    """The analyzer's, or the operator's, access to a shuffler."""

    url: str
    token: str = field(repr=False)

    def records(self, task: Task, batch: int | None = None) -> list[bytes]:
        """The records of a released batch, whatever hop released it."""
        content, entry = self._fetch(task, batch)
        records = split(content, len(content) // max(1, int(entry["reports"])) or 1)
        if records is None or len(records) != entry["reports"]:
            raise InvalidInput("the batch is not a whole number of records. Fetch it again.")
        return records

    def fetch(self, task: Task, batch: int | None = None) -> tuple[bytes, str]:
        """The bytes of a released batch, the latest unless told, and their SHA-256, checked."""
        content, entry = self._fetch(task, batch)
        return content, entry["sha256"]

    def _fetch(self, task: Task, batch: int | None) -> tuple[bytes, dict[str, Any]]:
        released = self._json("GET", f"/v1/tasks/{task.id}/batches")["batches"]
        wanted = [entry for entry in released if batch is None or entry["batch"] == batch]
        if not wanted:
            raise InvalidInput("no such batch is released yet. Wait for the window to end, or for more reports.")
        entry = wanted[-1]
        answer = self._request("GET", f"/v1/batches/{entry['batch']}")
        if hashlib.sha256(answer.content).hexdigest() != entry["sha256"]:
            raise InvalidInput("the batch does not match its hash. Fetch it again.")
        return answer.content, entry

    def close(self, task: Task) -> dict[str, Any]:
        """Release the open batch, if it has enough reports."""
        return self._json("POST", f"/v1/tasks/{task.id}/batches/close")

    def _json(self, method: str, path: str) -> dict[str, Any]:
        document: dict[str, Any] = self._request(method, path).json()
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
        except httpx.TransportError:
            raise InvalidInput("the shuffler could not be reached. Check the address.") from None
        if answer.status_code != 200:
            title = answer.json().get("title", "") if "json" in answer.headers.get("content-type", "") else ""
            raise InvalidInput(f"the shuffler refused (status {answer.status_code}): {title}.")
        return answer
