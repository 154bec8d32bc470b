"""A pytest plugin: `assert_private` in a test of yours.

It is there as a fixture wherever shuffledp is installed beside pytest, and as a function to import:

    def test_my_randomizer(assert_private):
        assert_private("python3 mine.py", epsilon=1.0, seconds=20)
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from shuffledp.auditing.finding import Finding


def assert_private(subject: Any, *, allow_under_powered: bool = False, **how: Any) -> "Finding":
    """Fail unless an audit of a randomizer, protocol, plan or command (a text) is consistent with its claim.

    `how` is what `audit` or `audit_command` takes. An audit that could not have shown anything fails too, unless that is allowed.
    A mechanism that keeps its claim fails with a chance of at most 1 - confidence (0.001 by default).
    """
    from shuffledp.auditing.audit import (
        audit,
        audit_command,
    )  # only where it is used: pytest loads this file at every start

    __tracebackhide__ = True
    found = audit_command(subject, **how) if isinstance(subject, str) else audit(subject, **how)
    allowed = ("consistent", "under-powered") if allow_under_powered else ("consistent",)
    if found.verdict not in allowed:
        pytest.fail(found.explain(), pytrace=False)
    return found


@pytest.fixture(name="assert_private")
def _assert_private() -> "Callable[..., Finding]":
    """`assert_private`, without an import."""
    return assert_private
