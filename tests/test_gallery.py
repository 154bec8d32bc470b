"""The gallery: every example runs as a script and as a notebook, made of the same text, and draws its picture."""

import re
import runpy
from pathlib import Path
from typing import Any

import matplotlib.image
import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell
from nbclient import NotebookClient

from gallery import ROOT, SCRIPTS, notebook, written
from oracles.scale import full

NAMES = [
    "federated_averaging",
    "heavy_hitters",
    "median",
    "paper",
    "row_of_numbers",
    "spark_table",
    "survey_by_group",
    "telemetry",
]
PAGE = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")


def picture(script: Path) -> str:
    return f"gallery-{script.stem.replace('_', '-')}.png"


def check_picture(path: Path) -> None:
    """Large enough, and neither blank nor full."""
    pixels = matplotlib.image.imread(path)[..., :3]
    assert min(pixels.shape[:2]) > 300
    assert 0.02 < (pixels.min(axis=2) < 0.95).mean() < 0.7


def test_all_are_here_and_on_the_page() -> None:
    assert [script.stem for script in SCRIPTS] == NAMES
    for script in SCRIPTS:
        check_picture(ROOT / "docs" / "images" / picture(script))
        assert f"images/{picture(script)}" in PAGE
        assert {f"../examples/gallery/{script.stem}.{kind}" for kind in ("py", "ipynb")} <= set(
            re.findall(r"\]\(([^)]*)\)", PAGE)
        )


def test_cells_are_told_apart() -> None:
    cells = notebook("# %% [markdown]\n# # Title\n#\n# text\n\n# %%\nx = 1  # %% no cell\nx\n")["cells"]
    assert [(cell["cell_type"], cell["source"]) for cell in cells] == [
        ("markdown", "# Title\n\ntext"),
        ("code", "x = 1  # %% no cell\nx"),
    ]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_notebook_is_its_script(script: Path) -> None:
    """If not, run tools/gallery.py."""
    text = script.with_suffix(".ipynb").read_text(encoding="utf-8")
    assert text == written(script)
    nbformat.validate(nbformat.reads(text, as_version=4))


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(script, id=script.stem, marks=[pytest.mark.xdist_group("spark")] * (script.stem == "spark_table"))
        for script in SCRIPTS
    ],
)
def test_a_script_runs_and_draws(
    script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    if script.stem == "spark_table":
        request.getfixturevalue("spark")  # the script takes the session that is there
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(script), run_name="__main__")
    check_picture(tmp_path / picture(script))


def test_the_notebooks_run_and_draw(tmp_path: Path) -> None:
    """All but Spark's one after the other in one kernel, whose names are forgotten in between; in make test one, as they say what
    the scripts say."""
    run = [script for script in SCRIPTS if script.stem in ("survey_by_group", *full(0, 1) * NAMES)]
    read = [nbformat.read(script.with_suffix(".ipynb"), as_version=4) for script in run if script.stem != "spark_table"]
    together = nbformat.v4.new_notebook()
    for one in read:
        together.cells += [nbformat.v4.new_code_cell("%reset -f"), *one.cells]
    kernel: dict[str, Any] = {"timeout": None, "startup_timeout": 600, "kernel_name": "python3"}
    NotebookClient(together, resources={"metadata": {"path": str(tmp_path)}}, **kernel).execute()
    for one in read:
        pictures = [output for output in one.cells[-1].outputs if "image/png" in output.get("data", {})]
        assert len(pictures) == 1
        assert any(cell.get("outputs") for cell in one.cells[:-1])


@pytest.mark.xdist_group("spark")
def test_the_notebook_of_spark_runs_and_draws(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In this process, as a kernel does it, because Spark is already running here."""
    monkeypatch.chdir(tmp_path)
    shell = InteractiveShell()
    (script,) = (script for script in SCRIPTS if script.stem == "spark_table")
    done = [shell.run_cell(cell["source"]) for cell in notebook(script.read_text())["cells"] if "outputs" in cell]
    for one in done:
        one.raise_error()
    assert done[-1].result._repr_png_()[0].startswith(b"\x89PNG")
