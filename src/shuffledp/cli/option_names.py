"""Errors name what a caller gives, such as `missing='skip'`; on the command line those are options: --missing skip."""

import re
from typing import Final

_PARAMETER: Final = re.compile(r"`([a-z][a-z0-9_]*)(?:=([^`]*))?`")


def as_flags(message: str) -> str:
    """A message with the names of its parameters as they are typed here.

    >>> as_flags("the value is missing. Use `missing='skip'` or `missing_as=VALUE`.")
    'the value is missing. Use --missing skip or --missing-as VALUE.'
    """
    return _PARAMETER.sub(_flag, message)


def _flag(match: re.Match[str]) -> str:
    name, value = match.groups()
    flag = f"--{name.replace('_', '-')}"
    return flag if value is None else f"{flag} {value.strip(chr(39))}"
