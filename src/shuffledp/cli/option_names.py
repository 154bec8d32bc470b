"""Errors name what a caller gives, such as `missing='skip'`; on the command line those are options: --missing skip."""

import re
from shlex import quote
from typing import Final

from shuffledp.core.parsing import parse_exactly

_PARAMETER: Final = re.compile(r"`([a-z][a-z0-9_]*)(?:=([^`]*))?`")
_BY_COLUMN: Final = re.compile(r'("(?:[^"\\]|\\.)*"): (VALUE|LABEL)')


def as_flags(message: str) -> str:
    """A message with the names of its parameters as they are typed here.

    >>> as_flags("the value is missing. Use `missing='skip'` or `missing_as=VALUE`.")
    'the value is missing. Use --missing skip or --missing-as VALUE.'
    >>> as_flags('Use `missing_as={"age": VALUE, "last vote": VALUE}`.')
    "Use --missing-as age=VALUE --missing-as 'last vote=VALUE'."
    """
    return _PARAMETER.sub(_flag, message)


def _flag(match: re.Match[str]) -> str:
    name, value = match.groups()
    flag = f"--{name.replace('_', '-')}"
    if value is not None and value.startswith("{"):
        by_column = _BY_COLUMN.findall(value)
        return " ".join(f"{flag} {quote(f'{parse_exactly(column)}={what}')}" for column, what in by_column)
    return flag if value is None else f"{flag} {value.strip(chr(39))}"
