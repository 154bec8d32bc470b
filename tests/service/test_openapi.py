"""The OpenAPI document: valid, the same as the routes, and what they really answer."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import ValidationError  # type: ignore[import-untyped]
from openapi_spec_validator import OpenAPIV31SpecValidator
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.testclient import TestClient

import shuffledp.service
from golden.make_vectors import PATH as VECTORS
from oracles.documented import DOCUMENT, check, schema, validate
from oracles.parties import ANALYZER, EIGHT, sealed, serving
from oracles.process import called as run
from shuffledp.core.report_outcome import Outcome
from shuffledp.protocols.deployable import Deployable
from shuffledp.protocols.registry import PROTOCOLS
from shuffledp.protocols.topped_up import ToppedUp
from shuffledp.service.sealing.keys import KeyRing
from shuffledp.service.shuffler.http import OCTETS, Service, Tokens
from shuffledp.service.shuffler.limits import Limits
from shuffledp.service.shuffler.openapi import OPERATIONS, PROBLEMS
from shuffledp.service.stores.store import StoreUnavailable

WIRE = (Path(__file__).parents[2] / "docs" / "wire.md").read_text(encoding="utf-8")
TOKENS = Tokens(operator="operator-token-1234", analyzer="analyzer-token-1234")
OPERATOR, ANALYST = ({"Authorization": f"Bearer {token}"} for token in (TOKENS.operator, TOKENS.analyzer))
TASK = f"/v2/tasks/{EIGHT.id}"
NO_TASK = "/v2/tasks/" + "0" * 64
BYTES = {"Content-Type": OCTETS}
FROM_PAGE = {"Origin": "https://page.example", "Access-Control-Request-Method": "POST"}


@pytest.fixture
def service() -> Service:
    return Service(serving(EIGHT), TOKENS, Limits(max_upload_bytes=126 * 60))


@pytest.fixture
def web(service: Service) -> Iterator[TestClient]:
    with TestClient(service.app(), raise_server_exceptions=False) as client:
        yield client


def test_it_is_openapi_3_1() -> None:
    assert DOCUMENT["openapi"].startswith("3.1")
    OpenAPIV31SpecValidator(DOCUMENT).validate()


PLANNED = [
    one
    for kind in PROTOCOLS.values()
    if issubclass(kind, Deployable) and kind is not ToppedUp  # which no task has
    for one in kind.examples()
]


@pytest.mark.parametrize("protocol", PLANNED, ids=lambda one: one.kind)
def test_a_task_may_have_every_protocol_that_is_planned(protocol: Deployable) -> None:
    document = json.loads(json.dumps(protocol.document()))
    validate(document, schema("Protocol"))
    for field in document:
        with pytest.raises(ValidationError):
            validate({name: value for name, value in document.items() if name != field}, schema("Protocol"))
    with pytest.raises(ValidationError):
        validate(document | {"more": 1}, schema("Protocol"))


def test_it_has_every_route_and_method_and_nothing_else(service: Service) -> None:
    def routes(app: Starlette) -> set[tuple[str, str]]:
        assert all(isinstance(route, Route) for route in app.routes)
        return {(route.path, method.lower()) for route in app.routes for method in route.methods}  # type: ignore[attr-defined]

    def documented(*, apart: bool) -> set[tuple[str, str]]:
        paths = {operation.path for operation in OPERATIONS if operation.apart == apart}
        return {(path, method) for path in paths for method in DOCUMENT["paths"][path] if method != "servers"}

    assert routes(service.app()) == documented(apart=False)
    assert routes(service.metrics_app()) == documented(apart=True)


def test_the_command_prints_it(tmp_path: Path) -> None:
    assert json.loads(run("shuffler openapi", cwd=tmp_path).stdout) == DOCUMENT


def test_every_problem_in_the_source_is_documented_and_every_documented_one_is_there() -> None:
    found: set[tuple[int, str]] = {(409, "batch_too_small")}  # made from a value; the others by Starlette
    found |= {(404, "not_found"), (405, "method_not_allowed")}
    for path in Path(next(iter(shuffledp.service.__path__))).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "HttpProblem":
                status, kind = node.args[:2]
                if isinstance(status, ast.Constant) and isinstance(kind, ast.Constant):
                    found.add((status.value, kind.value))  # type: ignore[arg-type]
    assert found == set(PROBLEMS)


def test_the_page_on_the_wire_has_the_same_problems_and_outcomes() -> None:
    problems = re.findall(r"^\| (\d{3}) \| `(\w+)` \|", WIRE, re.MULTILINE)
    assert sorted((int(status), kind) for status, kind in problems) == sorted(PROBLEMS)
    table = WIRE[WIRE.index("| outcome | meaning |") : WIRE.index("### Never randomize a value twice")]
    assert sorted(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == sorted(set(Outcome) - {"out_of_domain"})
    assert DOCUMENT["components"]["schemas"]["Outcomes"]["properties"]["outcomes"]["items"] == {
        "enum": [
            "accepted", "report_replayed", "batch_collected", "outdated_config", "outdated_key", "not_admitted",
            "invalid_message", "decrypt_error",
        ]
    }  # fmt: skip
    for operation in OPERATIONS:
        assert operation.path.replace("{task}", "{id}").replace("{batch}", "{number}") in WIRE


@pytest.mark.parametrize(
    ("method", "path", "headers", "body", "status"),
    [
        ("GET", TASK, {}, None, 200),
        ("HEAD", TASK, {}, None, 200),
        ("GET", NO_TASK, {}, None, 404),
        ("OPTIONS", TASK, FROM_PAGE | {"Access-Control-Request-Method": "GET"}, None, 204),
        ("OPTIONS", f"{TASK}/reports", FROM_PAGE, None, 204),
        ("OPTIONS", f"{TASK}/reports", FROM_PAGE | {"Access-Control-Request-Method": "DELETE"}, None, 204),
        ("OPTIONS", f"{TASK}/batches", FROM_PAGE, None, 405),
        ("POST", f"{TASK}/reports", BYTES, bytes(126), 200),
        ("POST", f"{TASK}/reports", BYTES, bytes(125), 400),
        ("POST", f"{TASK}/reports?window=x", BYTES, bytes(126), 400),
        ("POST", f"{TASK}/reports", BYTES, bytes(126 * 61), 413),
        ("POST", f"{TASK}/reports", {}, bytes(126), 415),
        ("POST", f"{NO_TASK}/reports", BYTES, bytes(126), 404),
        ("POST", f"{TASK}/batches/close", {}, b"", 401),
        ("POST", f"{TASK}/batches/close", OPERATOR, b"", 409),
        ("POST", f"{NO_TASK}/batches/close", OPERATOR, b"", 404),
        ("GET", f"{TASK}/batches", {}, None, 401),
        ("GET", f"{TASK}/batches", ANALYST, None, 200),
        ("GET", f"{NO_TASK}/batches", ANALYST, None, 404),
        ("GET", "/v2/batches/1", {}, None, 401),
        ("GET", "/v2/batches/1", ANALYST, None, 404),
        ("GET", "/v2/batches/x", ANALYST, None, 404),
        ("GET", "/healthz", {}, None, 200),
        ("GET", "/readyz", {}, None, 200),
        ("GET", "/metrics", {}, None, 404),
        ("PUT", TASK, {}, b"", 405),
        ("GET", "/v1/tasks", {}, None, 404),
    ],
)  # fmt: skip
def test_answers_are_as_documented(
    web: TestClient, method: str, path: str, headers: dict[str, str], body: bytes | None, status: int
) -> None:
    answer = web.request(method, path, headers=headers, content=body)
    assert answer.status_code == status
    check(answer)


def test_a_whole_collection_is_as_documented(service: Service, web: TestClient) -> None:
    records = [sealed(j % 8, EIGHT) for j in range(50)]
    stranger = sealed(0, EIGHT)[:-1] + b"\0"
    sent = web.post(f"{TASK}/reports?window=1", headers=BYTES, content=b"".join([*records, records[0], stranger]))
    check(sent)
    assert set(sent.json()["outcomes"]) == {"accepted", "report_replayed", "decrypt_error"}
    closed = web.post(f"{TASK}/batches/close", headers=OPERATOR)
    for answer in (
        closed,
        web.get(TASK),
        web.get(f"{TASK}/batches", headers=ANALYST),
        web.get(f"/v2/batches/{closed.json()['batch']}", headers=ANALYST),
        web.head(f"/v2/batches/{closed.json()['batch']}", headers=ANALYST),
        TestClient(service.metrics_app()).get("/metrics"),
    ):
        assert answer.status_code == 200
        check(answer)


def test_busy_troubled_and_stopping_shufflers_answer_as_documented(monkeypatch: pytest.MonkeyPatch) -> None:
    def trouble(*_: Any, **__: Any) -> None:
        raise StoreUnavailable("full")

    shuffler = serving(EIGHT)
    crowded = Service(shuffler, TOKENS, Limits(max_waiting_reports=1, rate_per_address=0.2), clock=lambda: 0.0)
    with TestClient(crowded.app(), raise_server_exceptions=False) as web:
        answers = [web.post(f"{TASK}/reports", headers=BYTES, content=bytes(252)) for _ in range(2)]
        answers.append(web.post(f"{TASK}/reports", headers=BYTES, content=bytes(378)))
        kinds = ["urn:shuffledp:busy", "urn:shuffledp:too_often", "urn:shuffledp:too_many"]
        assert [answer.json()["type"] for answer in answers] == kinds
        with monkeypatch.context() as patch:
            patch.setattr(type(shuffler.store), "batches", trouble)
            patch.setattr(type(shuffler.store), "check", trouble)
            answers += [web.get(TASK), web.get("/readyz"), web.get(f"{TASK}/batches", headers=ANALYST)]
        crowded.drain()
        answers += [web.get("/readyz"), web.post(f"{TASK}/batches/close", headers=OPERATOR)]
    for answer in answers:
        check(answer)
    assert [answer.status_code for answer in answers] == [429, 429, 413, 503, 503, 503, 503, 409]


def test_schemas_take_what_is_exchanged_and_nothing_else() -> None:
    for vector in json.loads(VECTORS.read_text(encoding="utf-8"))["tasks"]:
        validate(vector["document"], schema("Task"))
        for wrong in (
            vector["document"] | {"more": 1},
            vector["document"] | {"version": 1},
            {name: value for name, value in vector["document"].items() if name != "window"},
            vector["document"] | {"plan": vector["document"]["plan"] | {"version": 2}},
        ):
            with pytest.raises(Exception, match="Failed validating"):
                validate(wrong, schema("Task"))
    for ring in (ANALYZER, KeyRing.fresh("shuffler").introduced().rotated().introduced()):
        validate(ring.public().document(), schema("KeyList"))
