"""Who may ask, what every answer carries, what is refused, and that a newer question ends the older one."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import httpx
import pytest

from oracles.tabs import KNOWN
from shuffledp.web.app import app

BASE = "http://127.0.0.1:8017"


def asked(method: str, path: str, *, tabs: Any = None, **more: Any) -> httpx.Response:
    async def ask() -> httpx.Response:
        served = app() if tabs is None else app(tabs=tabs)
        transport = httpx.ASGITransport(app=served)
        async with httpx.AsyncClient(transport=transport, base_url=more.pop("base", BASE)) as client:
            return await client.request(method, path, **more)

    return asyncio.run(ask())


def blocks(answer: httpx.Response) -> list[dict[str, Any]]:
    return [json.loads(line) for line in answer.text.splitlines()]


def test_every_answer_has_the_headers_that_keep_others_out() -> None:
    for path in ("/", "/static/main.js", "/forms", "/nothing", "/static/../app.py"):
        headers = asked("GET", path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "set-cookie" not in headers
        assert "access-control-allow-origin" not in headers
    assert asked("GET", "/nothing").status_code == 404
    assert asked("GET", "/static/app.py").status_code == 404


def test_the_page_needs_nothing_from_elsewhere() -> None:
    names = [
        "",
        *(f"static/{name}" for name in ("style.css", "main.js", "blocks.js", "plot.js", "form.js", "icon.svg")),
    ]
    for name in names:
        text = asked("GET", f"/{name}").text.replace("http://www.w3.org/2000/svg", "")
        assert "http:" not in text
        assert "https:" not in text
        assert "style=" not in text.replace("stylesheet", "")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:99", "[::1]:80", "LOCALHOST"])
def test_this_machine_may_ask_under_its_own_names(host: str) -> None:
    assert asked("GET", "/", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "", "10.0.0.1"]
)
def test_a_name_that_was_bent_to_this_machine_is_refused(host: str) -> None:
    assert asked("GET", "/", headers={"host": host}).status_code == 403
    assert asked("POST", "/answer/account", headers={"host": host}, json={}).status_code == 403


def test_other_pages_may_not_ask() -> None:
    for site in ("cross-site", "same-site"):
        assert asked("POST", "/answer/account", headers={"sec-fetch-site": site}, json={}).status_code == 403
    assert asked("POST", "/answer/account", data={"n": "1"}).status_code == 415
    assert asked("GET", "/answer/account").status_code == 405


def test_what_is_no_question_is_refused() -> None:
    assert asked("POST", "/answer/nothing", json={}).status_code == 404
    for wrong in (b"", b"[1]", b"{", b'{"n": 1}', b'{"n": "' + b"1" * (1 << 18) + b'"}', b"[" * 9999):
        answer = asked("POST", "/answer/account", content=wrong, headers={"content-type": "application/json"})
        assert answer.status_code == 400, wrong[:20]
    (end,) = blocks(asked("POST", "/answer/account", json={"other": "1"}))
    assert end == {"kind": "end", "field": "", "message": "there is no field 'other' here. Reload the page."}


def test_an_error_says_what_is_wrong_and_shows_no_traceback() -> None:
    found = blocks(asked("POST", "/answer/refused", json={}, tabs=KNOWN))
    assert [one["kind"] for one in found] == ["words", "end"]
    assert found[-1]["message"] == "not with so few. Ask more people."
    (end,) = blocks(asked("POST", "/answer/broken", json={}, tabs=KNOWN))
    assert "secret" not in end["message"]
    assert "RuntimeError" in end["message"]


def test_a_process_that_dies_leaves_an_answer_without_an_end() -> None:
    """The page says so then: there is nothing that could be taken for an answer."""
    assert [one["kind"] for one in blocks(asked("POST", "/answer/killed", json={}, tabs=KNOWN))] == ["words"]


def test_the_same_question_is_answered_once(tmp_path: Path) -> None:
    async def ask() -> list[str]:
        transport = httpx.ASGITransport(app=app(tabs=KNOWN))
        async with httpx.AsyncClient(transport=transport, base_url=BASE) as client:
            given = [{"n": str(n), "file": str(tmp_path / "asked")} for n in (1, 1, 2, *range(3, 12), 1)]
            return [(await client.post("/answer/counted", json=one)).text for one in given]

    said = asyncio.run(ask())
    assert said[0] == said[1]
    assert json.loads(said[2].splitlines()[0])["n"] == 2
    computed = (tmp_path / "asked").read_text().split()
    assert computed == [*map(str, range(1, 12)), "1"]  # the first one again: what is kept is bounded


def test_a_newer_question_ends_the_older_one(tmp_path: Path) -> None:
    """Somebody hangs up after the first block: the process that would go on for ever is gone."""
    body = json.dumps({"file": str(tmp_path / "pid")}).encode()
    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    scope = {
        "type": "http", "method": "POST", "path": "/answer/endless", "headers": headers, "query_string": b"",
        "asgi": {"version": "3.0", "spec_version": "2.3"}, "http_version": "1.1", "scheme": "http",
    }  # fmt: skip

    async def ask() -> None:
        gone = asyncio.Event()
        told = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def receive() -> Any:
            for message in told:
                return message
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.body" and message.get("body"):
                gone.set()

        await app(tabs=KNOWN)(scope, receive, send)

    asyncio.run(ask())
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
