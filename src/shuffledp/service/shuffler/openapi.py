"""The shuffler's endpoints as an OpenAPI 3.1 document, from one table that tests compare with the routes and their answers.

`docs/wire.md` says the same in words, and what to do with it.
"""

from dataclasses import dataclass
from typing import Any, Final, Literal

from shuffledp.core.report_outcome import Outcome
from shuffledp.service.shuffler.schemas import DOCUMENTS, TEXT, record, ref, whole

ProblemKind = tuple[int, str]
"""A status and the last part of a problem's type."""
PROBLEMS: Final[dict[ProblemKind, str]] = {
    (400, "invalid_message"): "The body is not a whole number of reports, or the window is not a number.",
    (400, "invalid_http"): "The request is not HTTP/1.1.",
    (400, "disconnected"): "The upload was cut short.",
    (401, "unauthorized"): "The token is missing or wrong.",
    (404, "task_unknown"): "The shuffler does not serve this task, or no longer does.",
    (404, "batch_unknown"): "There is no such released batch, or its bytes were purged.",
    (404, "not_found"): "There is no such path.",
    (405, "method_not_allowed"): "The path does not have this method.",
    (408, "too_slow"): "The body did not arrive in time.",
    (409, "batch_too_small"): "The open batch has fewer reports than a release needs, and stays open.",
    (413, "invalid_message"): "The body is too large.",
    (413, "too_many"): "The rate limit allows fewer reports in one upload, at most `most`: send fewer at once.",
    (415, "invalid_message"): "The body is not application/octet-stream.",
    (429, "busy"): "Too much is waiting: send the same bytes later.",
    (429, "too_often"): "Rate limit exceeded: send the same bytes later.",
    (431, "head_too_large"): "The head of the request has more than 64 KiB.",
    (503, "unavailable"): "The store cannot be written to, or the shuffler is stopping: send the same bytes later.",
    (503, "busy"): "There are too many connections: send the same bytes later.",
    (503, "not_ready"): "The shuffler should get no reports now.",
}
"""Every refusal."""
EVERYWHERE: Final[tuple[ProblemKind, ...]] = (
    (400, "invalid_http"), (431, "head_too_large"), (503, "unavailable"), (503, "busy")
)  # fmt: skip
_OCTETS: Final = "application/octet-stream"
_PROBLEM: Final = "application/problem+json"
TokenHolder = Literal["operator", "analyzer", "forward"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One endpoint.

    Attributes:
        name: of the operation, in generated clients.
        answer: media type of a 200.
        schema: what a JSON answer is, or a text or bytes.
        problems: refusals besides those that every endpoint has.
        role: whose token is required; `forward`, that of another shuffler, only where this one is an inner hop.
        upload: whether there is a body of reports.
        from_pages: whether scripts of web pages may use it (CORS).
        digest: whether a hash of the answer comes with it.
        apart: whether it is at an address of its own.
    """

    path: str
    method: Literal["get", "post"]
    name: str
    summary: str
    answer: str
    schema: dict[str, Any]
    problems: tuple[ProblemKind, ...] = ()
    role: TokenHolder | None = None
    upload: bool = False
    from_pages: bool = False
    digest: bool = False
    apart: bool = False


_UNAUTHORIZED: Final[ProblemKind] = (401, "unauthorized")
_NO_TASK: Final[ProblemKind] = (404, "task_unknown")
OPERATIONS: Final = (
    Operation(
        path="/v2/tasks/{task}", method="get", name="describeTask", from_pages=True, problems=(_NO_TASK,),
        summary="The task, the window that takes reports now, and the keys to seal to.",
        answer="application/json", schema=ref("Description"),
    ),
    Operation(
        path="/v2/tasks/{task}/reports", method="post", name="uploadReports", from_pages=True, upload=True,
        summary="Take reports; what was accepted of them is on disk before the answer.",
        answer="application/json", schema=ref("Outcomes"), role="forward",
        problems=(
            (400, "invalid_message"), (400, "disconnected"), _UNAUTHORIZED, _NO_TASK, (408, "too_slow"),
            (413, "invalid_message"), (413, "too_many"), (415, "invalid_message"), (429, "busy"), (429, "too_often"),
        ),
    ),
    Operation(
        path="/v2/tasks/{task}/batches/close", method="post", name="closeBatch", role="operator",
        summary="Release the open batch now, if it has enough reports.",
        answer="application/json", schema=ref("Batch"), problems=(_UNAUTHORIZED, _NO_TASK, (409, "batch_too_small")),
    ),
    Operation(
        path="/v2/tasks/{task}/batches", method="get", name="listBatches", role="analyzer",
        summary="The released batches of a task, the oldest first.",
        answer="application/json", schema=ref("Batches"), problems=(_UNAUTHORIZED, _NO_TASK),
    ),
    Operation(
        path="/v2/batches/{batch}", method="get", name="fetchBatch", role="analyzer", digest=True,
        summary="The records of a released batch, all of one length, one after the other; the same bytes every time. "
        "Where a report may have several messages, the number of reports is before them, in 8 bytes.",
        answer=_OCTETS, schema={}, problems=(_UNAUTHORIZED, (404, "batch_unknown"), (404, "not_found")),
    ),
    Operation(
        path="/healthz", method="get", name="isAlive", summary="Whether the process is alive.",
        answer="text/plain", schema=TEXT,
    ),
    Operation(
        path="/readyz", method="get", name="isReady", summary="Whether this shuffler should get reports now.",
        answer="text/plain", schema=TEXT, problems=((503, "not_ready"),),
    ),
    Operation(
        path="/metrics", method="get", name="metrics", apart=True, summary="Numbers for Prometheus, coarse until release.",
        answer="text/plain", schema=TEXT,
    ),
)  # fmt: skip


def document() -> dict[str, Any]:
    """The OpenAPI document as JSON data."""
    paths: dict[str, Any] = {}
    for operation in OPERATIONS:
        item = paths.setdefault(operation.path, {})
        item[operation.method] = _described(operation)
        if operation.method == "get":
            item["head"] = _described(operation, head=True)
        if operation.from_pages:
            item["options"] = _preflight(operation)
        if operation.apart:
            item["servers"] = [
                {"url": "http://127.0.0.1:{port}", "description": "An address of its own (--metrics-host, --metrics-port).",
                 "variables": {"port": {"default": "9470"}}}
            ]  # fmt: skip
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "shuffledp shuffler",
            "version": "2",
            "summary": "Takes sealed reports, releases whole permuted batches, knows no sender.",
            "description": "docs/wire.md of shuffledp says what the bytes are and what a client must do on each outcome.",
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": _SCHEMAS,
            "securitySchemes": {
                role: {"type": "http", "scheme": "bearer", "description": f"The token of the {who}."}
                for role, who in (
                    ("operator", "shuffler's operator"),
                    ("analyzer", "analyzer"),
                    ("forward", "shuffler that sends to an inner one"),
                )
            },
        },
    }


def _described(operation: Operation, *, head: bool = False) -> dict[str, Any]:
    """An operation; for HEAD without the bodies of answers."""
    found: dict[str, Any] = {
        "operationId": f"{operation.name}Head" if head else operation.name,
        "summary": f"The headers of: {operation.summary}" if head else operation.summary,
        "parameters": _parameters(operation),
        "responses": _responses(operation, head=head),
    }
    if operation.upload:
        found["requestBody"] = {
            "required": True,
            "description": "Reports of one length, one after the other: each a credential, if one is wanted, and a record. "
            "The length is the same however many messages a report has.",
            "content": {_OCTETS: {}},
        }
    if operation.role is not None:
        found["security"] = [*([{}] if operation.role == "forward" else []), {operation.role: []}]
    return found


def _preflight(operation: Operation) -> dict[str, Any]:
    """What browsers ask before a script of another site may use an endpoint."""
    return {
        "operationId": f"{operation.name}Preflight",
        "summary": "Whether scripts of web pages may use this (CORS): yes, without credentials.",
        "parameters": _parameters(operation),
        "responses": {
            "204": {"description": "They may."},
            "400": _refusal(400, EVERYWHERE),
            "431": _refusal(431, EVERYWHERE),
            "503": _refusal(503, EVERYWHERE),
        },
    }


def _parameters(operation: Operation) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    if "{task}" in operation.path:
        found.append(
            {
                "name": "task",
                "in": "path",
                "required": True,
                "schema": ref("Hash"),
                "description": "Id of the task.",
            }
        )
    if "{batch}" in operation.path:
        found.append(
            {
                "name": "batch",
                "in": "path",
                "required": True,
                "schema": whole(1),
                "description": "Number of the batch.",
            }
        )
    if operation.upload:
        found.append(
            {
                "name": "window", "in": "query", "schema": {"type": "integer", "minimum": 0, "maximum": 10**18 - 1},
                "description": "The window that the reports are for; clients always give it.",
            }
        )  # fmt: skip
    return found


def _responses(operation: Operation, *, head: bool) -> dict[str, Any]:
    good: dict[str, Any] = {"description": "Done."}
    if not head:
        good["content"] = {operation.answer: {"schema": operation.schema} if operation.schema else {}}
    if operation.digest:
        good["headers"] = {
            "Repr-Digest": {"required": True, "schema": {"type": "string", "pattern": "^sha-256=:[A-Za-z0-9+/]{43}=:$"}}
        }
    refused = sorted({*operation.problems, *EVERYWHERE})
    found = {str(status): _refusal(status, refused) for status in sorted({status for status, _ in refused})}
    for answer in found.values() if head else ():
        del answer["content"]
    return {"200": good} | found


def _refusal(status: int, kinds: Any) -> dict[str, Any]:
    """The answer with a status: what it means, and the problem document."""
    own = sorted(kind for found, kind in kinds if found == status)
    schema = {
        "allOf": [ref("Problem")],
        "properties": {"type": {"enum": [f"urn:shuffledp:{kind}" for kind in own]}, "status": {"const": status}},
    }
    found: dict[str, Any] = {
        "description": " ".join(f"`{kind}`: {PROBLEMS[status, kind]}" for kind in own),
        "content": {_PROBLEM: {"schema": schema}},
    }
    named = {401: "WWW-Authenticate", 405: "Allow", 429: "Retry-After", 503: "Retry-After"}.get(status)
    if named is not None:
        found["headers"] = {named: {"required": True, "schema": TEXT}}
    return found


# What JSON is made of


_POSITIVE: Final[dict[str, Any]] = {"type": "number", "exclusiveMinimum": 0}
_OUTCOMES: Final = [outcome.value for outcome in Outcome if outcome.from_shuffler]
_LONGEST: Final = 366 * 24 * 3600
_NAME: Final[dict[str, Any]] = {"type": "string", "minLength": 1}
_SCHEMAS: Final[dict[str, Any]] = {
    "Hash": {"type": "string", "pattern": "^[0-9a-f]{64}$", "description": "SHA-256 in hexadecimal."},
    **DOCUMENTS,
    "Plan": record(
        {
            "version": {"const": 3},
            "protocol": ref("Protocol"),
            "guarantee": record(
                {"epsilon": _POSITIVE, "delta": _POSITIVE, "n": whole(1), "bound": TEXT, "adjacency": {"const": "replace-one"}},
                closed=True,
            ),
            "min_batch": whole(1),
            "sha256": ref("Hash"),
        },
        {"over_time": ref("Rounds"), "wording": ref("Wording")},
        closed=True,
    ),
    "Task": record(
        {
            "version": {"const": 2},
            "plan": ref("Plan"),
            "window": whole(1, _LONGEST),
            "max_age": whole(1, _LONGEST),
            "shufflers": {"type": "array", "items": _NAME, "minItems": 1, "maxItems": 4},
            "analyzer": _NAME,
            "honest_fraction": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
            "on_expiry": {"enum": ["roll-over", "destroy", "top-up"]},
            "release_margin": whole(0),
            "allow_same_operator": {"type": "boolean"},
        },
        {"top_up": ref("TwoSidedGeometric")},
        closed=True,
    ),
    "KeyList": record(
        {
            "role": {"enum": ["analyzer", "shuffler"]},
            "keys": {
                "type": "array",
                "items": record(
                    {
                        "key_id": whole(0, 255),
                        "state": {"enum": ["PENDING", "ACTIVE", "EXPIRED"]},
                        "public": {"type": "string", "pattern": "^[A-Za-z0-9+/]{43}=$", "description": "32 bytes in base64."},
                    }
                ),
            },
        }
    ),
    "Description": record(
        {
            "task": ref("Task"),
            "window": whole(0),
            "key_id": {"type": ["integer", "null"], "minimum": 0, "maximum": 255},
            "keys": ref("KeyList"),
            "next_keys": ref("KeyList"),
            "credential": whole(0),
        }
    ),
    "Outcomes": record({"outcomes": {"type": "array", "items": {"enum": _OUTCOMES}, "minItems": 1}}),
    "Batch": record(
        {
            "batch": whole(1),
            "task": ref("Hash"),
            "state": {"const": "RELEASED"},
            "reports": whole(1),
            "sha256": ref("Hash"),
        }
    ),
    "Batches": record({"batches": {"type": "array", "items": ref("Batch")}}),
    "Problem": record(
        {
            "type": {"type": "string", "pattern": "^urn:shuffledp:[a-z_]+$"},
            "title": TEXT,
            "status": whole(400, 599),
        },
        {
            "wrong": {"type": "array", "items": TEXT, "description": "Of not_ready: why."},
            "most": whole(1) | {"description": "Of too_many: reports that one upload may have."},
        },
    ),
}  # fmt: skip
