"""Reading a JSON document strictly: exactly the fields that are expected, each of its type.

Whole numbers of 64 bits are decimal strings, because JSON numbers are doubles elsewhere.
"""

import contextlib
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, Protocol, Self, runtime_checkable

from shuffledp.core.canonical import LARGEST
from shuffledp.core.randomness import WORD
from shuffledp.errors import InvalidInput

Document = dict[str, Any]
"""JSON data: nothing but dictionaries with text keys, lists, texts, numbers, booleans and None."""
Reader = Callable[[Any], Any]
"""The value of a field, or a ValueError that says what it must be."""
Readers = Mapping[str, Reader]


_MARKS: Final = {
    "protocol": "a plan", "shufflers": "a task", "estimate": "an answer", "claim": "a certificate",
    "inputs": "what account found",
}  # fmt: skip


def mistaken_for(document: object) -> str | None:
    """What a document is that was taken for another one, by a field that only its kind has; None if that is not known.

    >>> mistaken_for({"estimate": {}, "guarantee": {}})
    'an answer'
    """
    fields = document if isinstance(document, dict) else {}
    return next((what for mark, what in _MARKS.items() if mark in fields), None)


def fields(document: object, kind: str, **readers: Reader) -> dict[str, Any]:
    """The values of the fields of a document of this kind; one that is missing, unknown or of a wrong type is refused.

    >>> fields({"kind": "laplace", "epsilon0": 2}, "laplace", epsilon0=number)
    {'epsilon0': 2.0}
    """
    if not isinstance(document, dict) or document.get("kind") != kind:
        raise InvalidInput(f"this is not a document of kind {kind!r}. Use the reader of its own kind.")
    others = {name: value for name, value in document.items() if name != "kind"}
    return members(others, f"a document of kind {kind!r}", **readers)


def members(document: object, what: str, **readers: Reader) -> dict[str, Any]:
    """The values of exactly these fields of a document that does not name its kind.

    >>> members({"n": 1000.0}, "a crowd", n=whole)
    {'n': 1000}
    """
    if not isinstance(document, dict):
        raise InvalidInput(f"{what} must have named fields. Correct it.")
    for name in sorted(readers.keys() - document.keys()):
        raise InvalidInput(f"{what} needs the field {name!r}. Add it.")
    for name in document.keys() - readers.keys():
        raise InvalidInput(f"{what} has no field {str(name)!r}. Remove it.")
    values = {}
    for name, read in readers.items():
        try:
            values[name] = read(document[name])
        except InvalidInput:
            raise  # it says enough by itself
        except RecursionError:
            raise InvalidInput(f"{what} is nested too deeply. Give one that shuffledp wrote.") from None
        except ValueError as error:
            raise InvalidInput(f"the field {name!r} of a document must be {error}. Correct it.") from None
    return values


def text(value: Any) -> str:
    """Refuse anything but a text."""
    if not isinstance(value, str):
        raise ValueError("a text")
    return value


def whole(value: Any) -> int:
    """A whole number that is a JSON number, written as 1000 or as 1000.0: documents that are equal are read alike."""
    if type(value) is float and value.is_integer() and abs(value) <= LARGEST:
        return int(value)
    if type(value) is not int:
        raise ValueError("a whole number")
    return value


def number(value: Any) -> float:
    """A finite number that a double holds exactly."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        with contextlib.suppress(OverflowError):
            if math.isfinite(value) and float(value) == value:
                return float(value)
    raise ValueError("a finite number")


def word(value: Any) -> int:
    """A whole number from 0 to 2^64 in decimal digits."""
    if not isinstance(value, str) or not re.fullmatch("0|[1-9][0-9]{0,19}", value) or int(value) > WORD:
        raise ValueError("a whole number from 0 to 2^64, written as a text of decimal digits")
    return int(value)


def several(read: Reader) -> Reader:
    """A list of such values."""

    def read_all(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise ValueError("a list")
        return tuple(read(entry) for entry in value)

    return read_all


@runtime_checkable
class _Documented(Protocol):
    def document(self) -> Document: ...


def as_data(value: Any, read: Reader) -> Any:
    """What this reader reads the value from."""
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, _Documented):
        return value.document()
    return str(value) if read is word else value


class Written:
    """What is written as its kind and some of its attributes, and made again from these."""

    __slots__ = ()
    kind: ClassVar[str]
    """Its name in documents."""
    readers: ClassVar[Readers]
    """How each attribute that is written down is read again."""

    def document(self) -> Document:
        """JSON data from which `from_document` builds the very same."""
        return {"kind": self.kind, **{name: as_data(getattr(self, name), read) for name, read in self.readers.items()}}

    @classmethod
    def from_document(cls, document: object) -> Self:
        """What a document says; anything unexpected in it is refused."""
        return cls(**fields(document, cls.kind, **cls.readers))
