"""What the Gaussian assumes without a complete proof is said with every number that rests on it, and with no other."""

import csv
import io
import json
from pathlib import Path

import pytest

from oracles.process import called as run
from shuffledp import Gaussian, Laplace, RandomizedResponse, account, compose
from shuffledp.accounting.account import bound_named
from shuffledp.accounting.composition import Collection
from shuffledp.accounting.curve import privacy_curve
from shuffledp.accounting.group import group
from shuffledp.accounting.rounds import solve_rounds
from shuffledp.accounting.solve import Problem
from shuffledp.randomizers.together import Together

CORNER = "proved but for one corner"
GAUSSIAN = "--randomizer gaussian --sigma 1"
LAPLACE = "--randomizer laplace --epsilon0 1"


def test_guarantees_carry_it() -> None:
    for found in (
        account(Gaussian(sigma=1.0), n=1000, delta=1e-6),
        group(Gaussian(sigma=1.0), n=1000, delta=1e-6, rows=2),
    ):
        assert CORNER in (found.caveat or "")
        assert CORNER in str(found)
    for other in (Laplace(epsilon0=1.0), RandomizedResponse(size=3, epsilon0=1.0)):
        assert account(other, n=1000, delta=1e-6).caveat is None
        assert CORNER not in str(account(other, n=1000, delta=1e-6))


def test_rounds_curves_and_several_messages_carry_it() -> None:
    best, blanket = bound_named("best"), Gaussian(sigma=1.0).blanket()
    wide = Gaussian(sigma=4.0).blanket()  # a narrow one takes three times as long to compose, for the same words
    assert CORNER in (solve_rounds(best, Problem(randomizer=wide, n=1000, delta=1e-6), rounds=2).caveat or "")
    curve = privacy_curve(blanket, [best], n=1000, points=2, epsilon_max=0.1)
    assert all(CORNER in (point.caveat or "") for point in curve)
    one, other = (
        Collection(blanket=randomizer.blanket(), n=1000, rounds=1, bound=best)
        for randomizer in (Gaussian(sigma=4.0), Laplace(epsilon0=1.0))
    )
    assert [CORNER in caveat for caveat in compose([one, other, one]).caveats] == [True]
    assert compose([other]).caveats == []
    assert Together(parts=(RandomizedResponse(size=2, gamma=0.5),)).blanket().caveat is None


@pytest.mark.parametrize("sweep", ["1e3", "1e3,1e4"])
def test_tables_csv_and_json_show_it(sweep: str) -> None:
    for randomizer, said in ((GAUSSIAN, True), (LAPLACE, False)):
        line = f"account {randomizer} --n {sweep} --delta 1e-6"
        assert (CORNER in run(line).stdout) is said
        rows = list(csv.DictReader(io.StringIO(run(f"{line} --csv").stdout)))
        assert {CORNER in row["caveat"] for row in rows} == {said}
        results = json.loads(run(f"{line} --json").stdout)["results"]
        assert {CORNER in result.get("caveat", "") for result in results} == {said}


def test_curve_rounds_and_compose_show_it(tmp_path: Path) -> None:
    assert CORNER in run("account --randomizer gaussian --sigma 4 --n 1e3 --delta 1e-6 --rounds 2").stdout
    for randomizer, said in ((GAUSSIAN, True), (LAPLACE, False)):
        curve = run(f"curve {randomizer} --n 1e3 --points 2 --epsilon-max 0.1").stdout
        assert (CORNER in curve) is said
        done = run(f"account {randomizer} --n 1e3 --delta 1e-6 --json").stdout
        (tmp_path / "one.json").write_text(done)
        assert (CORNER in run("compose one.json", cwd=tmp_path).stdout) is said
        document = json.loads(run("compose one.json --json", cwd=tmp_path).stdout)
        assert (len(document["caveats"]) == 1) is said
    (tmp_path / "old.json").write_text(done.replace('"caveat"', '"remark"'))
    assert run("compose old.json", cwd=tmp_path).returncode == 0
