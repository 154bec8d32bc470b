"""A planner that is served, and a browser to use it with: tests of the application alone need no browser."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    from oracles.planner import planner

    with planner() as url:
        yield url


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    from oracles.browser import chromium

    with chromium() as browser:
        yield browser
