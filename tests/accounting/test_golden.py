"""Numbers from elsewhere: the authors' own code (tests/golden/README.md)."""

import json
from pathlib import Path
from typing import Any

import pytest

from shuffledp import Generic, Laplace, RandomizedResponse, account

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "accounting.json").read_text())
ANALYTIC = [row for row in GOLDEN if row["bound"] in ("hoeffding", "bennett", "erlingsson")]


def randomizer(row: dict[str, Any]) -> Generic | Laplace | RandomizedResponse:
    if row["randomizer"] == "rr":
        return RandomizedResponse(size=row["size"], epsilon0=row["epsilon0"])
    return (Generic if row["randomizer"] == "generic" else Laplace)(epsilon0=row["epsilon0"])


def test_all_the_golden_rows_are_here() -> None:
    assert len(ANALYTIC) == 123


@pytest.mark.parametrize(
    "row", ANALYTIC, ids=lambda r: "-".join(str(r[k]) for k in ("bound", "randomizer", "size", "n", "epsilon0"))
)
def test_agrees_with_the_authors_code(row: dict[str, Any]) -> None:
    ours = account(randomizer(row), n=row["n"], delta=row["delta"], bound=row["bound"]).epsilon
    assert ours == pytest.approx(row["epsilon"], rel=1e-6)
