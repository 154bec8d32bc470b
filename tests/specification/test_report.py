"""The soundness report names tests and pages that are there, leaves no bound out, and is what its figures say."""

import json

import pytest

import soundness
from licences import installed_with, known, licence, locked
from shuffledp.accounting.account import bounds
from specification.claims import CLAIMS, Claim


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.statement[:40])
def test_the_tests_and_pages_of_a_claim_are_there(claim: Claim) -> None:
    assert claim.tests
    assert set(claim.tests) <= set(soundness.places())
    assert all((soundness.ROOT / page).exists() for page in claim.proof)


def test_every_registered_bound_is_claimed() -> None:
    assert {bound for claim in CLAIMS for bound in claim.bounds} == set(bounds())


def test_the_page_is_what_claims_and_figures_say() -> None:
    """If not: `make soundness`, or `python tools/soundness.py --render`, which says "not run" of tests that are new."""
    figures = json.loads(soundness.FIGURES.read_text(encoding="utf-8"))
    assert soundness.PAGE.read_text(encoding="utf-8") == soundness.rendered(figures)
    assert sum(kind["points"] for kind in figures["truth"].values()) >= 500
    assert all(kind["outside"] == 0 for kind in figures["truth"].values())
    assert all(one["failed"] == 0 for one in figures["tests"].values())


def test_a_failure_is_shown() -> None:
    assert (
        soundness.cases("test_x", {"test_x": {"passed": 2, "failed": 1, "skipped": 0}}) == "`test_x` (2, **1 failed**)"
    )
    assert soundness.cases("test_x", {}) == "`test_x` (not run)"


def test_whatever_is_installed_with_it_has_a_known_licence() -> None:
    ours = installed_with()
    assert {"python-flint", "numpy", "cryptography", "psycopg", "pyarrow"} <= ours <= set(locked())
    assert [name for name in ours if not known(licence(name))] == []
    assert "LGPL" in (licence("python-flint") or "")
    assert not known(None)
    assert not known("Proprietary")
