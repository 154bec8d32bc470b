"""Whom a guarantee protects: what a result may say of the people behind its rows or reports."""

import re
from typing import Final

from shuffledp.errors import InvalidInput

ROW: Final = "one row = one person"
CHECKED_ROW: Final = f"{ROW} (checked)"
CLIENT: Final = "one report = one person (clients report once a batch)"
REPORT: Final = "one report"
ONE_EACH: Final = (ROW, CHECKED_ROW, CLIENT, REPORT)
"""With these, what holds for one report is what holds for the unit."""

_SEVERAL: Final = re.compile(r"one person = at most ([1-9][0-9]{0,8}) rows")


def rows_of_unit(unit: str) -> int:
    """The most rows or reports of whoever is protected.

    >>> rows_of_unit("one person = at most 3 rows"), rows_of_unit(ROW)
    (3, 1)
    """
    several = _SEVERAL.fullmatch(unit)
    if unit not in ONE_EACH and (several is None or several[1] == "1"):
        raise InvalidInput("the result does not say whom it protects. It was edited.")
    return 1 if several is None else int(several[1])


def unit_of_rows(rows: int, *, checked: bool) -> str:
    """Whom a guarantee protects whose rows were counted: people with so many rows at most, and whether that was checked."""
    if rows > 1:
        return f"one person = at most {rows} rows"
    return CHECKED_ROW if checked else ROW
