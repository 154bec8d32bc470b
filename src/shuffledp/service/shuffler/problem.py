"""Refusals over HTTP, as problem details (RFC 9457)."""

from collections.abc import Mapping
from typing import Any, Final

from starlette.responses import JSONResponse, Response

MEDIA_TYPE: Final = "application/problem+json"


class HttpProblem(Exception):  # noqa: N818 - a problem detail
    """A refusal, for the client to read: it names no value of anybody.

    Attributes:
        status: of HTTP.
        kind: in the type, `urn:shuffledp:<kind>`.
        title: what is wrong.
        headers: to send with it.
        more: further members of the document.
    """

    def __init__(
        self,
        status: int,
        kind: str,
        title: str,
        *,
        retry_after: int | None = None,
        headers: Mapping[str, str] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(title)
        self.status, self.kind, self.title, self.more = status, kind, title, more
        self.headers = dict(headers or {})
        if retry_after is not None:
            self.headers["Retry-After"] = str(retry_after)

    def document(self) -> dict[str, Any]:
        """The problem as JSON data."""
        return {"type": f"urn:shuffledp:{self.kind}", "title": self.title, "status": self.status, **self.more}

    def response(self) -> Response:
        """The problem as an HTTP response."""
        return JSONResponse(self.document(), self.status, headers=self.headers, media_type=MEDIA_TYPE)
