"""The paper's figures: files, and the numbers that the docs read off them."""

import csv
import json
from pathlib import Path

import pytest

from oracles.process import called as run
from shuffledp.figures import paper_figures


def test_figures_command_writes_everything(tmp_path: Path) -> None:
    done = run(f"figures --out {tmp_path / 'new' / 'folder'}")
    assert done.returncode == 0, done.stderr
    names = {Path(line).name for line in done.stdout.splitlines()}
    assert names == {
        "figure2.png", "figure2.svg", "figure2.csv", "figure3.png", "figure3.svg",
        "figure3_i.csv", "figure3_ii.csv", "figure3_iii.csv", "figure3_iv.csv",
    }  # fmt: skip
    for line in done.stdout.splitlines():
        assert Path(line).stat().st_size > 500
    assert (tmp_path / "new" / "folder" / "figure2.png").read_bytes()[:4] == b"\x89PNG"
    with (tmp_path / "new" / "folder" / "figure3_i.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["n"] for row in (rows[0], rows[-1])] == ["1000", "1000000"]


def test_files_written_as_json(tmp_path: Path) -> None:
    done = run(f"figures --out {tmp_path} --only figure2 --json")
    assert [Path(name).name for name in json.loads(done.stdout)["files"]] == [
        "figure2.png",
        "figure2.svg",
        "figure2.csv",
    ]


def test_out_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    done = run(f"figures --out {tmp_path / 'taken'}")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_panel_i_bennett_never_overtakes_here() -> None:
    table = paper_figures.panel_i(points=7)
    for hoeffding, bennett, erlingsson in zip(table["hoeffding"], table["bennett"], table["erlingsson"], strict=True):
        assert hoeffding is not None
        assert bennett is not None
        assert erlingsson is not None
        assert hoeffding < bennett < erlingsson


def test_panel_iii_bennett_loses_for_binary_response() -> None:
    table = paper_figures.panel_iii(points=7)
    for h2, b2, h100, b100 in zip(
        table["hoeffding RR-2"], table["bennett RR-2"], table["hoeffding RR-100"], table["bennett RR-100"], strict=True
    ):
        assert h2 is not None
        assert b2 is not None
        assert h100 is not None
        assert b100 is not None
        assert b2 < h2
        assert b100 > h100


def test_panel_iv_bennett_wins() -> None:
    table = paper_figures.panel_iv(points=4)
    for hoeffding, bennett in zip(table["hoeffding"], table["bennett"], strict=True):
        assert hoeffding is not None
        assert bennett is not None
        assert bennett > hoeffding


def test_the_blanket_lies_under_every_law(tmp_path: Path) -> None:
    paper_figures.figure2(tmp_path)
    with (tmp_path / "figure2.csv").open() as file:
        for row in csv.DictReader(file):
            gamma_omega = 0.6065306597 * float(row["omega"])
            assert all(gamma_omega <= float(row[f"mu_{x}"]) * (1 + 1e-9) for x in ("0", "0.5", "1"))
            assert float(row["nu_0.5"]) == pytest.approx(float(row["omega"]), rel=1e-9)
