"""Damage valid bytes and JSON, as a careless or hostile sender would."""

import copy
import hashlib
import json
import random
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest

from shuffledp import InvalidInput

STRANGE: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 255, 256, 2**63, 2**64, 10**18, 10**40, 0.5, -0.0, 1e-320, 1e308, float("nan"), float("inf"),
    "", "x", "0", "best", "histogram", "\0", "\ud800", "A" * 300, [], [None], [[]], {}, {"x": 1}, {"name": "sum"},
)  # fmt: skip
"""Values that a field is not usually given."""


def damaged(data: bytes, generator: random.Random) -> bytes:
    """Valid bytes with one to four bytes changed, a piece left out, doubled or put in, or the end cut off."""
    broken = bytearray(data)
    where = generator.randrange(len(broken))
    kind = generator.randrange(8)
    if kind < 4:
        for _ in range(kind + 1):
            broken[generator.randrange(len(broken))] = generator.randrange(256)
    elif kind == 4:
        del broken[where : where + generator.randint(1, 8)]
    elif kind == 5:
        broken[where:where] = broken[where : where + generator.randint(1, 64)]
    elif kind == 6:
        broken[where:where] = generator.randbytes(generator.randint(1, 4))
    else:
        del broken[where:]
    return bytes(broken)


def misspelt(text: str, generator: random.Random) -> str:
    """Valid JSON text with a piece exchanged for another that JSON knows."""
    pieces = ("", "0", '"', "null", "-1", "1e999", "[]", "{}", "true", "NaN", "9" * 5000, "[" * 100_000, ",", "\\ud800")
    where = generator.randrange(len(text))
    return text[:where] + generator.choice(pieces) + text[where + generator.randint(0, 6) :]


def places(document: Any) -> Iterator[tuple[Any, ...]]:
    """The way to each value in a document, the whole one excepted."""
    inside = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for name, value in inside:
        yield (name,)
        yield from ((name, *rest) for rest in places(value))


def replaced(document: Any, place: tuple[Any, ...], value: Any) -> Any:
    """The document with another value in one place."""
    other = copy.deepcopy(document)
    inside = other
    for name in place[:-1]:
        inside = inside[name]
    inside[place[-1]] = copy.deepcopy(value)
    return other


def resigned(document: Any) -> Any:
    """A task whose plan carries the right hash again, so that reading it goes on to what was changed."""
    if isinstance(document.get("plan"), dict):
        body = {name: value for name, value in document["plan"].items() if name != "sha256"}
        text = json.dumps(body, sort_keys=True, separators=(",", ":"))
        document["plan"]["sha256"] = hashlib.sha256(text.encode()).hexdigest()
    return document


def check_strict(read: Callable[[Any], Any], document: dict[str, Any]) -> Iterator[Any]:
    """That every field is needed and no other is taken; what is read although a value is strange, and writes that value."""
    for name in document:
        with pytest.raises(InvalidInput):
            read({key: value for key, value in document.items() if key != name})
    with pytest.raises(InvalidInput):
        read(document | {"extra": 1})
    for place, value in product(places(document), STRANGE):
        other = replaced(document, place, value)
        try:
            found = read(other)
        except InvalidInput:
            continue
        assert found.document() == other, place
        yield found
