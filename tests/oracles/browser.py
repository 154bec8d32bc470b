"""A real browser, and a page that it opens."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from playwright.sync_api import Browser, BrowserContext, expect, sync_playwright

PATIENCE = 300_000
"""Milliseconds, so that a busy machine is not taken for a broken page."""
expect.set_options(timeout=PATIENCE)


@contextmanager
def chromium() -> Iterator[Browser]:
    """The system's Chromium, without a window."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    assert found is not None, (
        "there is no Chromium. Run `make test`, which installs it, or install the package chromium."
    )
    with sync_playwright() as playwright:
        # a sandbox needs rights that containers do not give; the page is our own
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"], timeout=PATIENCE)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def person(browser: Browser, **options: Any) -> Iterator[BrowserContext]:
    """Somebody with a browser of their own, who was never here."""
    with browser.new_context(**options) as context:
        context.set_default_timeout(PATIENCE)
        yield context


class _Pages(SimpleHTTPRequestHandler):
    """A folder, and JSON documents beside its files."""

    def __init__(self, *request: Any, documents: dict[str, Any], **more: Any) -> None:
        self._documents = documents
        super().__init__(*request, **more)

    def do_GET(self) -> None:
        document = self._documents.get(self.path)
        if document is None:
            return super().do_GET()
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        return None

    def log_message(self, *_: Any) -> None:
        """Tests are quiet."""


@contextmanager
def pages(folder: Path, documents: dict[str, Any]) -> Iterator[str]:
    """The address of a static server for a folder on loopback."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Pages, directory=str(folder), documents=documents)) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
