"""Tabs whose answers are known beforehand; here because answers are computed in other processes, which import them."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from shuffledp.errors import NoClaim
from shuffledp.web.form import Field, Tab, Typed


def fields() -> list[Field]:
    return [Field(name="n", label="Number", kind="whole"), Field(name="file", label="File", kind="text")]


def counted(typed: Typed) -> Iterator[dict[str, Any]]:
    """Notes in a file that it was asked, and answers at length."""
    with Path(typed.text("file")).open("a") as file:
        file.write(f"{typed.whole('n')}\n")
    yield {"id": "a", "kind": "words", "n": typed.whole("n"), "long": "x" * (1 << 21)}


def endless(typed: Typed) -> Iterator[dict[str, Any]]:
    """Notes who it is, says something and then is busy for ever."""
    Path(typed.text("file")).write_text(str(os.getpid()))
    yield {"id": "a", "kind": "words"}
    while True:
        pass


def refused(_: Typed) -> Iterator[dict[str, Any]]:
    yield {"id": "a", "kind": "words"}
    raise NoClaim("not with so few. Ask more people.")


def broken(_: Typed) -> Iterator[dict[str, Any]]:
    raise RuntimeError("secret")
    yield {}


def killed(_: Typed) -> Iterator[dict[str, Any]]:
    yield {"id": "a", "kind": "words"}
    os._exit(1)


KNOWN = {
    answer.__name__: Tab(name=answer.__name__, lead="", asks=fields, answer=answer)
    for answer in (counted, endless, refused, broken, killed)
}
