"""Columns as a data frame, where pandas is installed."""

from typing import Any

from shuffledp.errors import InvalidInput


def data_frame(columns: dict[str, Any]) -> Any:
    """A data frame of pandas."""
    try:
        import pandas as pd
    except ImportError:
        raise InvalidInput("a data frame needs pandas, which is not installed. Install it, or use columns().") from None
    return pd.DataFrame(columns)
