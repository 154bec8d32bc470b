"""A planner that is served, and a browser to use it with."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from oracles.browser import chromium
from oracles.planner import planner


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with planner() as url:
        yield url


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser
