"""Real answers to sensitive questions, as statsmodels ships them (Fair 1978: 6,366 women, 1974)."""

import importlib.util
from pathlib import Path


def survey() -> Path:
    """The CSV file, found without importing statsmodels."""
    found = importlib.util.find_spec("statsmodels")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent / "datasets" / "fair" / "fair.csv"
