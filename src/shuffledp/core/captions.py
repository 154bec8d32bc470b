"""What people read beside the numbers: a title, the question as it is put to people, the unit of their values."""

from dataclasses import dataclass, fields, replace
from typing import Final, Self

from shuffledp.core.document import Document
from shuffledp.errors import InvalidInput

_LONGEST: Final = 300
"""Letters of a text."""


def spoken(name: str) -> str:
    """The name of a question with an article.

    >>> spoken("sum"), spoken("texts")
    ('a sum', 'a plan of texts')
    """
    return f"a plan of {name}" if name.endswith("s") else f"a {name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """Each a line of text, empty if nothing is said.

    >>> Wording(title="Commuting", unit="minutes").document()
    {'title': 'Commuting', 'unit': 'minutes'}
    """

    title: str = ""
    question: str = ""
    unit: str = ""

    def __post_init__(self) -> None:
        for name, text in self._texts().items():
            if not isinstance(text, str) or len(text) > _LONGEST or not text.isprintable() or text != text.strip():
                raise InvalidInput(
                    f"the {name} must be one line of at most {_LONGEST} characters, without leading or trailing spaces. Shorten "
                    "it."
                )

    def document(self) -> Document:
        """What is said, as JSON data."""
        return {name: text for name, text in self._texts().items() if text}

    @classmethod
    def from_document(cls, document: Document) -> Self:
        """Read what `document` wrote."""
        return cls(**document)

    def changed(self, **texts: str | None) -> Self:
        """With these texts instead; None: as it is."""
        return replace(self, **{name: text for name, text in texts.items() if text is not None})

    def _texts(self) -> dict[str, str]:
        return {caption.name: getattr(self, caption.name) for caption in fields(self)}
