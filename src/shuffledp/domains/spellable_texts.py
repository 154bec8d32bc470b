"""Texts that can be spelled out letter by letter, so that they can be found without being listed."""

import contextlib
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.document import Readers, Written, text, whole
from shuffledp.domains.columns import distinct_texts
from shuffledp.domains.domain import STRICT, Clean, Domain, Policy, refusal, settle_missing
from shuffledp.errors import InvalidInput

_MOST_LETTERS: Final = 255
"""A letter is a byte, and 0 is none."""
_LONGEST: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Spelled(Written, Domain):
    r"""At most so many letters of an alphabet. Without an alphabet the letters are the bytes of UTF-8, except 0.

    A clean value is the letters' numbers, counted from 1, as a byte string.

    >>> Spelled(alphabet="ab", max_length=4).clean(["ba", "", "abba"]).values.tolist()
    [b'\x02\x01', b'', b'\x01\x02\x02\x01']
    """

    alphabet: str = ""
    max_length: int
    kind = "spelled"
    readers: ClassVar[Readers] = {"alphabet": text, "max_length": whole}

    def __post_init__(self) -> None:
        if not isinstance(self.alphabet, str) or len(set(self.alphabet)) < len(self.alphabet):
            raise InvalidInput("an alphabet is a text in which every letter occurs once. Name each letter once.")
        if len(self.alphabet) > _MOST_LETTERS or "\0" in self.alphabet:
            raise InvalidInput(
                f"an alphabet has at most {_MOST_LETTERS} letters, and at least one. Leave it out for texts of any letters."
            )
        try:
            self.alphabet.encode()
        except UnicodeEncodeError:
            raise InvalidInput("the characters of an alphabet must be valid UTF-8. Leave the others out.") from None
        if type(self.max_length) is not int or not 1 <= self.max_length <= _LONGEST:
            raise InvalidInput(
                f"`max_length` must be from 1 to {_LONGEST} letters; got {self.max_length!r}. Use e.g. 12."
            )

    @property
    def letters(self) -> int:
        """How many there are."""
        return len(self.alphabet) or _MOST_LETTERS

    @property
    def dtype(self) -> np.dtype[np.bytes_]:
        """The numpy type of clean values: one byte for each letter."""
        return np.dtype(f"S{self.max_length}")

    def check(self, policy: Policy) -> None:
        """What stands in for something else must itself be a value."""
        if policy.outside == "clamp" and policy.other is not None:
            raise InvalidInput(
                "texts that do not fit are either cut or counted as a given text. Give one of `outside`, `other`."
            )
        for stand_in in (policy.other, policy.missing_as):
            if stand_in is not None and self.spell(stand_in.encode()) is None:
                raise InvalidInput(
                    "a text that stands in for others must fit the plan. Use its letters, and not too many of them."
                )

    def clean(self, raw: Any, policy: Policy = STRICT, first_row: int | None = None) -> Clean:
        """The letters' numbers. Texts that do not fit are refused, count as `other`, or are cut where they stop fitting."""
        self.check(policy)
        texts, places, missing = distinct_texts(raw, first_row)
        spelled = [self.spell(codes) for codes in texts]
        unfit = np.array([codes is None for codes in spelled], dtype=np.bool_)
        foreign = unfit[places] if len(texts) else np.zeros(len(places), dtype=np.bool_)
        if missing is not None:
            foreign &= ~missing
        if foreign.any():
            if policy.outside == "refuse" and policy.other is None:
                raise refusal(
                    "is longer than the plan allows or has other letters", foreign, first_row,
                    "Use `outside='clamp'` to cut such texts, or `other=TEXT` to count them as one",
                )  # fmt: skip
            for j in np.flatnonzero(unfit):
                spelled[j] = self._cut(texts[j]) if policy.other is None else self.spell(policy.other.encode())
        known = np.array([codes or b"" for codes in spelled] or [b""], dtype=self.dtype)
        values = known[np.where(places < 0, 0, places)]
        stand_in = None if policy.missing_as is None else self.spell(policy.missing_as.encode())
        clean = settle_missing(values, missing, policy, stand_in=stand_in, blank=b"", first_row=first_row)
        count = int(foreign.sum())
        reason = "cut to fit" if policy.other is None else "other"
        return replace(clean, adjusted=clean.adjusted + Counter({reason: count})) if count else clean

    def spell(self, text: bytes) -> bytes | None:
        """The letters' numbers of a text in UTF-8; None if it does not fit."""
        if not self.alphabet:
            return text if len(text) <= self.max_length and 0 not in text else None
        numbers = [self.alphabet.find(letter) + 1 for letter in text.decode()]
        return bytes(numbers) if 0 not in numbers and len(numbers) <= self.max_length else None

    def name(self, spelled: bytes) -> str | None:
        """The text that is spelled so; None if there is none, because bytes are not always UTF-8."""
        if self.alphabet:
            return "".join(self.alphabet[number - 1] for number in spelled)
        with contextlib.suppress(UnicodeDecodeError):
            return spelled.decode()
        return None

    def _cut(self, text: bytes) -> bytes:
        """The longest beginning that fits, in whole characters."""
        whole_text = text.decode()
        for length in range(min(len(whole_text), self.max_length), -1, -1):
            spelled = self.spell(whole_text[:length].encode())
            if spelled is not None:
                return spelled
        return b""

    def samples(self) -> list[str]:
        """A few texts of few letters."""
        letters = self.alphabet or "aé"
        samples = [letters[:1], letters[-1:], letters[:1] * 2, letters[:2][::-1]]
        return [sample for sample in dict.fromkeys(samples) if self.spell(sample.encode()) is not None]

    def is_number(self, column: str) -> bool:  # noqa: ARG002
        """Texts, even if they look like numbers."""
        return False


def letters_of(alphabet: str) -> str:
    """An alphabet as people write it: a-z is all letters from a to z, a hyphen at either end is itself.

    >>> letters_of("a-e_-")
    'abcde_-'
    """
    letters, rest = "", alphabet
    while rest:
        if len(rest) > 2 and rest[1] == "-":
            if rest[0] > rest[2]:
                raise InvalidInput("a range of letters goes from one to a later one. Write e.g. a-z.")
            letters += "".join(map(chr, range(ord(rest[0]), min(ord(rest[2]), ord(rest[0]) + _MOST_LETTERS) + 1)))
            rest = rest[3:]
        else:
            letters, rest = letters + rest[0], rest[1:]
    return letters


def codes(values: NDArray[np.bytes_], length: int) -> NDArray[np.uint8]:
    """Clean values as a table with a row for each, filled up with 0."""
    return np.ascontiguousarray(values, dtype=f"S{length}").view(np.uint8).reshape(len(values), length)
