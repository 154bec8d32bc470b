"""From texts to JSON data and TOML: the one place that parses, so that every party reads the same document in the same bytes.

What parsers disagree about is refused (RFC 7493): names that occur twice, numbers that are not finite, halves of characters; and
more levels than any document has. A number is what it is worth, however it is written: 1, 1.0 and 1e0 are the same one.
"""

import json
import math
import tomllib
from collections.abc import Iterable
from typing import Any, Final

from shuffledp.core.canonical import LARGEST
from shuffledp.errors import InvalidInput

DEEPEST: Final = 64
"""Levels of a document; none of ours has a quarter of them, and the JavaScript client reads no more."""


class Unreadable(ValueError):  # noqa: N818 - reads as what it is
    """Why a text is not read, as the end of a sentence; nothing of the text is in it."""


def parse_json(data: str | bytes) -> Any:
    """The document in a text: whole numbers are ints, all others floats, as `plain` has them.

    >>> parse_json('{"n": 1e3, "share": 0.5}')
    {'n': 1000, 'share': 0.5}
    """
    return plain(parse_exactly(data))


def parse_exactly(data: str | bytes) -> Any:
    """JSON data with every number as it is written: for what people said, and for files of before with numbers of 64 bits.

    >>> parse_exactly('{"n": 18446744073709551616, "share": 1.0}')
    {'n': 18446744073709551616, 'share': 1.0}
    """
    why = ""
    try:
        document = json.loads(
            data if isinstance(data, str) else data.decode(),
            object_pairs_hook=_named_once, parse_float=_finite, parse_constant=_finite,
        )  # fmt: skip
        check_depth(document)
        json.dumps(document, ensure_ascii=False).encode()  # halves of characters
    except Unreadable as error:
        why = str(error)
    except (InvalidInput, RecursionError):
        why = "it is nested too deeply"
    except UnicodeEncodeError:
        why = "a text in it is not valid Unicode"
    except ValueError:
        why = "it is not JSON"
    if why:  # raised outside the handlers: the parser's error holds the text, which may be a key
        raise Unreadable(why)
    return document


def parse_toml(text: str) -> dict[str, Any]:
    """The tables in a text."""
    why = ""
    try:
        document = tomllib.loads(text)
        check_depth(document)
    except tomllib.TOMLDecodeError as error:
        why = f"it is not TOML: {error}"
    except (InvalidInput, RecursionError):
        why = "it is nested too deeply"
    if why:
        raise Unreadable(why)
    return document


def plain(document: Any) -> Any:
    """JSON data with each number as what it is worth: RFC 8785 writes 1.0 as 1, and both stand for the same double.

    >>> plain({"n": 1000.0, "shares": [0.5, 1.0], "fair": True})
    {'n': 1000, 'shares': [0.5, 1], 'fair': True}
    """
    check_depth(document)
    return _plain(document)


def check_depth(document: Any) -> None:
    """Refuse what has more levels than any document, so that whoever reads on need not count them."""
    level: list[Any] = [document]
    for _ in range(DEEPEST + 1):
        level = [value for inside in level for value in _inside(inside)]
        if not level:
            return
    raise InvalidInput("the document is nested too deeply. Give one that shuffledp wrote.")


def _inside(document: Any) -> Iterable[Any]:
    if isinstance(document, dict):
        return document.values()
    return document if isinstance(document, list | tuple) else ()


def _plain(document: Any) -> Any:
    if isinstance(document, dict):
        return {name: _plain(value) for name, value in document.items()}
    if isinstance(document, list):
        return [_plain(value) for value in document]
    return _number(document) if type(document) in (int, float) else document


def _number(value: int | float) -> int | float:
    """The double that a JSON number stands for, as an int if it is one that doubles tell from its neighbours."""
    if -LARGEST <= value <= LARGEST:
        return int(value) if value == int(value) else value
    try:
        return float(value)
    except OverflowError:
        return value  # no JSON number: whoever reads it refuses it


def _named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise Unreadable("a name occurs twice in it")
    return members


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise Unreadable("a number in it is too large or not a number")
    return value
