"""Documents of baselines: their fields, whatever they are. They are compared, not deployed."""

import dataclasses
from typing import Any, Self, get_type_hints

from shuffledp.baselines.flip import Flip
from shuffledp.core.document import Document, Reader, fields, number, text, whole, word
from shuffledp.protocols.protocol import ShuffleProtocol


class Fields(ShuffleProtocol):
    """A dataclass of numbers, texts and flips."""

    __slots__ = ()

    def document(self) -> Document:
        """Each field under its name; probabilities in units of 2^-64 are texts."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}  # type: ignore[arg-type]
        return {"kind": self.kind} | {name: _written(name, value) for name, value in values.items()}

    @classmethod
    def from_document(cls, document: object) -> Self:
        """The dataclass with these fields."""
        hints = get_type_hints(cls)
        readers = {field.name: _reader(field.name, hints[field.name]) for field in dataclasses.fields(cls)}  # type: ignore[arg-type]
        return cls(**fields(document, cls.kind, **readers))


def _written(name: str, value: Any) -> Any:
    if isinstance(value, Flip):
        return str(value.threshold)
    return str(value) if name == "threshold" else value


def _reader(name: str, hint: Any) -> Reader:
    if hint is Flip:
        return lambda value: Flip(word(value))
    if name == "threshold":
        return word
    return {int: whole, float: number, bool: _boolean}.get(hint, text)


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value
