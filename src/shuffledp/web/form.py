"""What a tab asks: fields that the page draws, and what was typed into them."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from typing import Any, Final, Literal, TypeVar

from shuffledp.core import number_text
from shuffledp.errors import InvalidInput
from shuffledp.web.answer_blocks import Block

_Number = TypeVar("_Number", int, float)
Given = Mapping[str, str]
"""What was typed, by field; fields that are empty or not shown are left out."""


@dataclass(frozen=True, slots=True)
class Slider:
    """A range that goes with a number field; a logarithmic one steps through round numbers."""

    low: float
    high: float
    step: float = 1.0
    logarithmic: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One thing that is asked.

    Attributes:
        name: in the page's address.
        label: a few words.
        kind: how it is typed in; a flag is "yes" or "no".
        start: what it holds at first.
        help: one line.
        unit: behind the number.
        choices: values and what they are called.
        slider: for a number.
        only: the field is shown only where these others, as far as they are shown, have one of these values.
        about: words of messages that are about it, besides its name.
        section: a heading above it.
        again: what a button says that adds one to it.
        optional: out of sight while it is empty, unless somebody wants to see all.
    """

    name: str
    label: str
    kind: Literal["whole", "real", "text", "lines", "choice", "flag"] = "real"
    start: str = ""
    help: str = ""
    unit: str = ""
    choices: Sequence[tuple[str, str]] = ()
    slider: Slider | None = None
    only: Mapping[str, Sequence[str]] = field(default_factory=dict)
    about: Sequence[str] = ()
    section: str = ""
    optional: bool = False
    again: str = ""


class FieldError(Exception):
    """What is wrong with one field, or with all of them together (an empty name)."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name, self.message = name, message


@dataclass(frozen=True, slots=True, kw_only=True)
class Tab:
    """A form and what it answers.

    Attributes:
        name: in the page's address, and with a capital letter its title.
        lead: what it is for, in a sentence.
        asks: what is asked, in order; called each time, so that a protocol registered later counts.
        answer: blocks, each as soon as it is known; between two of them a newer request may take over.
        starts: what fields hold at first where a field has some value: field, value, what others hold.
    """

    name: str
    lead: str
    asks: Callable[[], Sequence[Field]]
    answer: Callable[["Typed"], Iterator[Block]]
    starts: Mapping[str, Mapping[str, Given]] = field(default_factory=dict)

    @property
    def fields(self) -> Sequence[Field]:
        """What is asked now."""
        return self.asks()

    def document(self) -> dict[str, Any]:
        """What the page needs to draw the form."""
        return {
            "name": self.name,
            "title": self.name.capitalize(),
            "lead": self.lead,
            "fields": [asdict(field) for field in self.fields],
            "starts": self.starts,
        }

    def asked(self, given: Given) -> Iterator[Block]:
        """The answer; what is wrong is raised as a FieldError."""
        typed = Typed(self, given)
        try:
            yield from self.answer(typed)
        except InvalidInput as refused:
            raise FieldError(self._culprit(str(refused), given), str(refused)) from None

    def _culprit(self, message: str, given: Given) -> str:
        """The field that a message names first."""
        named = []
        for asked in self.fields:
            shown = all(given.get(other) in (None, *values) for other, values in asked.only.items())
            for word in (asked.name, *asked.about) if shown else ():
                place = re.search(rf"(?<![\w-])(--)?{re.escape(word).replace('_', '[_-]')}s?(?![\w-])", message)
                if place:
                    named.append((place.start(), asked.name))
        return min(named, default=(0, ""))[1]


class Typed:
    """What was typed into the fields of a tab, read when it is asked for."""

    def __init__(self, tab: Tab, given: Given) -> None:
        self._fields = {field.name: field for field in tab.fields}
        unknown = sorted(given.keys() - self._fields.keys())
        if unknown:
            raise FieldError("", f"there is no field {unknown[0][:40]!r} here. Reload the page.")
        self.given = {name: text.strip() for name, text in given.items() if text.strip()}

    def __contains__(self, name: str) -> bool:
        return name in self.given

    def text(self, name: str) -> str:
        """As it was typed; refused if it was not."""
        if name not in self.given:
            raise FieldError(name, f"{self._fields[name].label} is missing. Fill it in.")
        return self.given[name]

    def choice(self, name: str) -> str:
        """One of the choices."""
        text = self.text(name)
        if text not in [value for value, _ in self._fields[name].choices]:
            raise FieldError(name, f"{text[:40]!r} is not one of the choices. Choose one.")
        return text

    def flag(self, name: str) -> bool:
        """Whether it is set."""
        if self.text(name) not in ("yes", "no"):
            raise FieldError(name, f"{self.text(name)[:40]!r} is neither yes nor no. Tick the box, or leave it empty.")
        return self.text(name) == "yes"

    def real(self, name: str) -> float:
        """What was typed, as a real number."""
        return self._read(name, number_text.real)

    def whole(self, name: str) -> int:
        """As a whole number."""
        return self._read(name, number_text.whole)

    def share(self, name: str) -> float:
        """A share typed in per cent, exactly the decimal number that was written."""
        return float(Decimal(repr(self.real(name))) / 100)

    def rest(self, name: str) -> float:
        """What is left of a whole without so many per cent."""
        return float(1 - Decimal(repr(self.real(name))) / 100)

    def _read(self, name: str, read: Callable[[str], _Number]) -> _Number:
        text = self.text(name)
        try:
            return read(text)
        except InvalidInput as refused:
            raise FieldError(name, str(refused)) from None


USERS: Final = Slider(100, 1e9, logarithmic=True)
DELTAS: Final = Slider(1e-12, 1e-3, logarithmic=True)
EPSILONS: Final = Slider(0.01, 10, logarithmic=True)
