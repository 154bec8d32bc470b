"""Documents of baselines: their fields, whatever they are. They are compared, not deployed."""

from dataclasses import fields
from typing import Any, Self

from shuffledp.protocols.baselines.flip import Flip
from shuffledp.protocols.protocol import ShuffleProtocol


class Fields(ShuffleProtocol):
    """A dataclass of numbers, texts and flips."""

    __slots__ = ()

    def document(self) -> dict[str, Any]:
        """Each field under its name; the probability of a flip, and other large numbers, as texts."""
        values = ((field.name, getattr(self, field.name)) for field in fields(self))  # type: ignore[arg-type]
        return {"kind": self.kind} | {name: _written(value) for name, value in values}

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Self:
        """The dataclass with these fields."""
        kinds = {field.name: field.type for field in fields(cls)}  # type: ignore[arg-type]
        return cls(**{name: _read(kinds[name], value) for name, value in document.items()})


def _written(value: Any) -> Any:
    if isinstance(value, Flip):
        return str(value.threshold)
    return str(value) if isinstance(value, int) and value >= 1 << 53 else value


def _read(kind: Any, value: Any) -> Any:
    if kind is Flip:
        return Flip(int(value))
    return int(value) if kind is int and isinstance(value, str) else value
