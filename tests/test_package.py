"""The package as a whole: its public names, what importing it costs, and that its citations exist."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import shuffledp
from shuffledp.errors import InvalidInput
from shuffledp.references import PAPERS, cite

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
PROSE = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_all_is_sorted_and_every_name_resolves() -> None:
    assert sorted(shuffledp.__all__) == shuffledp.__all__
    for name in shuffledp.__all__:
        assert getattr(shuffledp, name) is not None
    with pytest.raises(AttributeError):
        _ = shuffledp.no_such_name


def test_import_is_light() -> None:
    code = (
        "import sys, shuffledp; "
        "heavy = {'scipy', 'matplotlib', 'pandas', 'pyspark', 'numpy', 'flint', 'click'} & set(sys.modules); "
        "sys.exit(f'loaded: {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_accounting_loads_no_scipy_or_matplotlib() -> None:
    code = (
        "import sys; from shuffledp import Generic, account; account(Generic(epsilon0=1.0), n=100, delta=1e-6); "
        "sys.exit(bool({'scipy', 'matplotlib', 'pandas'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("file", [*SOURCES, *PROSE], ids=lambda f: str(f.relative_to(ROOT)))
def test_every_citation_is_in_the_reference_list(file: Path) -> None:
    known = {label for paper in PAPERS.values() for label in paper.labels}
    for label in re.findall(
        r"(?:Theorem|Lemma|Corollary|Algorithm) [A0-9][0-9.]*[0-9]", file.read_text(encoding="utf-8")
    ):
        assert label in known, f"{label} in {file.name}"


def test_an_unknown_citation_is_refused() -> None:
    with pytest.raises(InvalidInput):
        cite("BBGN19", "Theorem 9.9")


def test_versions_agree() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    assert f'version = "{shuffledp.__version__}"' in text
    assert f"version: {shuffledp.__version__}" in (ROOT / "CITATION.cff").read_text()
