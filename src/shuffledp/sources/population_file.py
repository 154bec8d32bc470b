"""Files that say how many users hold which value."""

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np

from shuffledp.core.files import place_of
from shuffledp.core.population import Population
from shuffledp.domains.domain import Domain
from shuffledp.domains.grouped_rows import VALUE, line
from shuffledp.errors import InvalidInput
from shuffledp.sources.csv_dialect import DEFAULT, Dialect

_MOST = 10**15


def read_population(path: Path | str, domain: Domain, dialect: Dialect = DEFAULT) -> Population:
    """A CSV file with lines of a value and a number of users, after a header if there is one."""
    path, lines, texts, users = place_of(path), [], [], []
    rows = _read(path, dialect)
    for number, row in enumerate(rows, start=1):
        if not row or (number == 1 and not _is_count(row[-1])):
            continue
        try:
            *cells, count_text = row
            if len(cells) != len(domain.beside) + 1:
                raise ValueError
            count = float(count_text)
        except ValueError:
            remedy = dialect.hint(row[0] if len(row) == 1 else dialect.separator) or "Write e.g. yes,120."
            raise InvalidInput(f"line {number} of {path} is not {_what(domain)} and a count. {remedy}") from None
        if not (0 <= count <= _MOST and count == int(count)):
            raise InvalidInput(f"line {number} of {path} has a count that is not a whole number of users. Fix it.")
        if domain.is_number(VALUE):
            try:
                cells[-1] = dialect.pointed_text(cells[-1])
            except InvalidInput as error:
                raise InvalidInput(f"line {number} of {path}: {error}") from None
        lines.append(number)
        texts.append(line([cell.strip() for cell in cells]) if domain.beside else cells[0].strip())
        users.append(int(count))
    if not 0 < sum(users) <= _MOST:
        raise InvalidInput(f"{path} must have from 1 to 1e15 users. Give lines like yes,120.")
    try:
        values = domain.read(texts)
    except InvalidInput:
        values = np.array([_value(path, domain, line, text) for line, text in zip(lines, texts, strict=True)])
    return Population(values=values, users=np.array(users, dtype=np.int64))


def _read(path: Path, dialect: Dialect) -> list[list[str]]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InvalidInput(f"cannot read {path}: {error.strerror}. Give a CSV of values and counts.") from None
    except UnicodeDecodeError as error:
        bad = error.object.count(b"\n", 0, error.start) + 1
        raise InvalidInput(f"line {bad} of {path} is not in UTF-8. Save the file in that encoding.") from None
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=dialect.separator)
    try:
        return list(reader)
    except csv.Error:
        raise InvalidInput(
            f"{path} is not a CSV file in line {reader.line_num}. Give one of values and counts."
        ) from None


def _what(domain: Domain) -> str:
    return ", ".join([*domain.beside, "a value"])


def _is_count(text: str) -> bool:
    """Whether this is a number, as a heading is not."""
    try:
        return float(text) >= 0
    except ValueError:
        return False


def _value(path: Path, domain: Domain, line: int, text: str) -> Any:
    """The population is made up, so an error may say what it is about."""
    try:
        return domain.read([text])[0]
    except InvalidInput as error:
        raise InvalidInput(f"line {line} of {path}: {error}") from None
