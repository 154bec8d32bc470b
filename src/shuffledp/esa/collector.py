"""Fetching released batches from a shuffler."""

import contextlib
import hashlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from shuffledp.core.parsing import Unreadable, parse_json
from shuffledp.errors import InvalidInput
from shuffledp.esa.address import checked, trusted
from shuffledp.esa.released import Released, pieces
from shuffledp.esa.task import Task

_LISTED: Final = {"batch": int, "reports": int, "sha256": str}


@dataclass(frozen=True, slots=True, kw_only=True)
class Collector:
    """The analyzer's, or the operator's, access to a shuffler."""

    url: str
    token: str = field(repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "url", checked(self.url))

    def records(self, task: Task, batch: int | None = None) -> Iterator[list[bytes]]:
        """The records of a batch that an outer hop released, a bounded number at a time."""
        entry = self._listed(task, batch)
        released = self._download(entry)
        if entry["reports"] < 1 or len(released.content) % entry["reports"]:
            raise InvalidInput("the batch is not a whole number of records. Fetch it again.")
        length = len(released.content) // entry["reports"]
        return pieces(released.records(length))

    def fetch(self, task: Task, batch: int | None = None) -> Released:
        """A released batch, by default the latest, its hash checked.

        It goes through a temporary file without a name (in TMPDIR), so that it need not fit into memory.
        """
        return self._download(self._listed(task, batch))

    def close(self, task: Task) -> dict[str, Any]:
        """Release the open batch, if it has enough reports."""
        return self._json("POST", f"/v2/tasks/{task.id}/batches/close")

    def _listed(self, task: Task, batch: int | None) -> dict[str, Any]:
        listed = self._json("GET", f"/v2/tasks/{task.id}/batches")
        try:
            batches = [{name: kind(entry[name]) for name, kind in _LISTED.items()} for entry in listed["batches"]]
        except (ArithmeticError, KeyError, TypeError, ValueError):
            raise _not_understood() from None
        wanted = [entry for entry in batches if batch is None or entry["batch"] == batch]
        if not wanted:
            raise InvalidInput("no such batch is released yet. Wait for the window to end, or for more reports.")
        return wanted[-1]

    def _download(self, entry: dict[str, Any]) -> Released:
        httpx, digest = _httpx(), hashlib.sha256()
        with contextlib.ExitStack() as held:
            try:
                file = held.enter_context(tempfile.TemporaryFile())
            except OSError as error:
                raise _no_room(error) from None
            try:
                answer = held.enter_context(
                    httpx.stream("GET", f"{self.url}/v2/batches/{entry['batch']}", **self._terms)
                )
            except (httpx.TransportError, httpx.InvalidURL, OSError, ValueError):
                raise _unreachable() from None
            try:
                _check_status(answer)
                for piece in answer.iter_bytes():
                    digest.update(piece)
                    file.write(piece)
                file.flush()
            except httpx.RequestError:
                raise _unreachable() from None
            except OSError as error:
                raise _no_room(error) from None
            if digest.hexdigest() != entry["sha256"]:
                raise InvalidInput("the batch does not match its hash. Fetch it again.")
            return Released.mapped(file, entry["sha256"])

    def _json(self, method: str, path: str) -> dict[str, Any]:
        httpx = _httpx()
        try:
            answer = httpx.request(method, f"{self.url}{path}", **self._terms)
        except (httpx.TransportError, httpx.InvalidURL, OSError, ValueError):  # addresses can be wrong in many ways
            raise _unreachable() from None
        _check_status(answer)
        try:
            document = parse_json(answer.content)
        except Unreadable:
            raise _not_understood() from None
        if not isinstance(document, dict):
            raise _not_understood()
        return document

    @property
    def _terms(self) -> dict[str, Any]:
        return {"headers": {"Authorization": f"Bearer {self.token}"}, "timeout": 300.0, "verify": trusted(self.url)}


def _check_status(answer: Any) -> None:
    if answer.status_code != 200:
        title = ""
        with contextlib.suppress(AttributeError, ValueError):
            title = str(parse_json(answer.read()).get("title", ""))
        raise InvalidInput(f"the shuffler refused (status {answer.status_code}): {title}.")


def _httpx() -> Any:
    try:
        import httpx
    except ImportError:
        raise InvalidInput("the service needs httpx, which is not installed. Install shuffledp[service].") from None
    return httpx


def _unreachable() -> InvalidInput:
    return InvalidInput("the shuffler could not be reached. Check the address and certificates.")


def _not_understood() -> InvalidInput:
    return InvalidInput("the shuffler's answer could not be understood. Check the address.")


def _no_room(error: OSError) -> InvalidInput:
    return InvalidInput(
        f"cannot keep the batch in a temporary file: {error.strerror}. Set TMPDIR to a folder with room."
    )
