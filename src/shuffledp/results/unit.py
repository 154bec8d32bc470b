"""Whom a guarantee of one report protects: what a result may say of the people behind its rows or reports."""

from typing import Final

ROW: Final = "one row = one person"
CHECKED_ROW: Final = f"{ROW} (checked)"
CLIENT: Final = "one report = one person (clients report once a batch)"
REPORT: Final = "one report"
ONE_EACH: Final = (ROW, CHECKED_ROW, CLIENT, REPORT)
"""With these, what holds for one report is what holds for the unit."""


def unit_of_rows(rows: int, *, checked: bool) -> str:
    """Whom a guarantee protects whose rows were counted: people with so many rows at most, and whether that was checked."""
    if rows > 1:
        return f"one person = at most {rows} rows"
    return CHECKED_ROW if checked else ROW
