"""Options of questions as somebody typed them."""

import csv
import re
from collections.abc import Sequence

from shuffledp.errors import InvalidInput


def groups(texts: Sequence[str], what: str) -> dict[str, list[str]]:
    """Columns and their labels.

    >>> groups(["carrier=AA,DL"], "by")
    {'carrier': ['AA', 'DL']}
    """
    found: dict[str, list[str]] = {}
    for given in texts:
        column, equals, labels = given.partition("=")
        if not (equals and column.strip()):
            raise InvalidInput(f"--{what} takes a column and its labels. Write e.g. --{what} carrier=AA,DL.")
        if column.strip() in found:
            raise InvalidInput(f"--{what} has the column {column.strip()!r} twice. List all of its labels at once.")
        found[column.strip()] = several(labels, what)
    return found


def blanks_after_commas(text: str) -> int:
    """How many commas outside quotation marks have a blank behind them, as those inside a label do.

    >>> blanks_after_commas('Craftsmen, foremen,Clerks,"Farmers, owners"')
    1
    """
    return len(re.findall(r",\s", re.sub(r'"[^"]*"', "", text)))


def several(text: str, what: str) -> list[str]:
    """Texts between commas; one that contains a comma is in quotation marks, as in a CSV file."""
    bracketed = re.fullmatch(r"\s*[\[(]([^][()]*,[^][()]*)[])]\s*", text)
    if bracketed:
        raise InvalidInput(f"--{what} is a list in brackets. Write it without them: {bracketed[1]}.")
    try:
        (found,) = csv.reader([text], skipinitialspace=True, strict=True)
    except (ValueError, csv.Error):
        raise InvalidInput(f'--{what} is not a list of texts. Write e.g. yes,no,"no, never".') from None
    texts = [one.strip() for one in found]
    if not (texts and all(texts)):
        raise InvalidInput(f"--{what} has an empty text between its commas. Leave it out, or name it.")
    return texts
