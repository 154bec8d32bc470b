"""Answers of the service as its OpenAPI document has them."""

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import httpx
import httpx2
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from shuffledp.service.shuffler.openapi import document

DOCUMENT = document()
_PATHS = {re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path))): path for path in DOCUMENT["paths"]}


def validate(value: Any, schema: dict[str, Any]) -> None:
    """Raise if a value is not what a schema of the document says."""
    Draft202012Validator(schema | {"components": DOCUMENT["components"]}).validate(value)


def schema(name: str) -> dict[str, Any]:
    """One of the document's."""
    return {"$ref": f"#/components/schemas/{name}"}


def check(answer: Any) -> tuple[str, str, int] | None:
    """Raise if the document does not have this answer; else the path, method and status; None for what it has no path for."""
    path = next((path for found, path in _PATHS.items() if found.fullmatch(answer.request.url.path)), None)
    method, status = answer.request.method.lower(), answer.status_code
    if path is None or (status == 404 and "servers" in DOCUMENT["paths"][path]):  # another address than its own
        _problem(answer, 404, "not_found")
        return None
    if method not in DOCUMENT["paths"][path]:
        _problem(answer, 405, "method_not_allowed")
        return None
    operation = DOCUMENT["paths"][path][method]
    assert str(status) in operation["responses"], f"{method} {path} answers {status}, which is not documented"
    said = operation["responses"][str(status)]
    assert {name for name in said.get("headers", {}) if name not in answer.headers} == set()
    kind = answer.headers.get("content-type", "").partition(";")[0]
    if "content" not in said:
        assert method == "head" or status == 204
        assert answer.content == b""
    else:
        assert kind in said["content"], f"{method} {path} answers {kind}, which is not documented"
        if kind.endswith("json"):
            validate(answer.json(), said["content"][kind]["schema"])
    return path, method, status


def _problem(answer: Any, status: int, kind: str) -> None:
    assert answer.status_code == status
    assert answer.request.method == "HEAD" or answer.json()["type"] == f"urn:shuffledp:{kind}"


@contextmanager
def watched() -> Iterator[set[tuple[str, str, int]]]:
    """Check every answer that comes meanwhile, in this process: which there were."""
    seen: set[tuple[str, str, int]] = set()

    def heard(answer: Any, *, whole: bool) -> Any:
        if whole:
            seen.update(filter(None, [check(answer)]))
        return answer

    def beside(send: Any) -> Any:
        def sent(self: Any, request: Any, *, stream: bool = False, **how: Any) -> Any:
            return heard(send(self, request, stream=stream, **how), whole=not stream)

        return sent

    def beside_async(send: Any) -> Any:
        async def sent(self: Any, request: Any, *, stream: bool = False, **how: Any) -> Any:
            return heard(await send(self, request, stream=stream, **how), whole=not stream)

        return sent

    with ExitStack() as patches:
        for library in (httpx, httpx2):
            for kind, around in ((library.Client, beside), (library.AsyncClient, beside_async)):
                patches.enter_context(patch.object(kind, "send", around(kind.send)))
        yield seen
