"""Any text: nobody has to list them beforehand.

A text becomes a number by a hash whose key is public and belongs to one plan. Public, because every client needs it and
privacy does not rest on it. One per plan, because then nobody can prepare texts that collide before the plan is made, and
texts that collide in one collection do not in the next.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.document import Readers, Written, text
from shuffledp.domains.columns import distinct_texts
from shuffledp.domains.domain import STRICT, Clean, Domain, Policy, settle_missing
from shuffledp.errors import InvalidInput

Hashes = NDArray[np.uint64]
_PREFIX: Final = b"shuffledp text 1"


def text_hashes(key: str, texts: Iterable[str | bytes], *, tag: int = 0) -> Hashes:
    """A number below 2^64 for each text; different keys and tags give unrelated numbers.

    Formula: the first 8 bytes, most significant first, of SHA-256("shuffledp text 1" | key | tag | text), where the key has 16
    bytes, the tag 4, most significant first, and the text is in UTF-8, as it is given: nothing is normalised.

    >>> text_hashes("00" * 16, ["apple"]).tolist()
    [16132098133748550858]
    """
    before = _PREFIX + bytes.fromhex(key) + tag.to_bytes(4, "big")
    digests = [hashlib.sha256(before + (text.encode() if isinstance(text, str) else text)).digest() for text in texts]
    return np.frombuffer(b"".join(digests), dtype=">u8")[::4].astype(np.uint64)


@dataclass(frozen=True, slots=True)
class Texts(Written, Domain):
    """Any text, as its hash under a key of 16 bytes in hexadecimal digits.

    >>> Texts("00" * 16).clean(["apple", "pear", "apple"]).values.tolist()
    [16132098133748550858, 7102530267480967439, 16132098133748550858]
    """

    key: str
    kind = "texts"
    readers: ClassVar[Readers] = {"key": text}

    def __post_init__(self) -> None:
        if not isinstance(self.key, str) or not re.fullmatch("[0-9a-f]{32}", self.key):
            raise InvalidInput(
                "the key of a domain of texts is 32 hexadecimal digits. Make the plan with shuffledp plan texts."
            )

    def check(self, policy: Policy) -> None:
        """Every text is a value, so none has to count as another one."""
        if policy.outside == "clamp":
            raise InvalidInput("`outside='clamp'` is for numbers, and these are texts. Leave it out.")
        if policy.other is not None:
            raise InvalidInput(
                "`other` is for plans that list their values, and this one takes every text. Leave it out."
            )

    def clean(self, raw: Any, policy: Policy = STRICT, first_row: int | None = None) -> Clean:
        """The hashes of the texts; each different text is hashed once."""
        self.check(policy)
        texts, places, missing = distinct_texts(raw, first_row)
        hashes = text_hashes(self.key, texts)
        values = hashes[places] if len(hashes) else np.zeros(len(places), dtype=np.uint64)
        stand_in = None if policy.missing_as is None else text_hashes(self.key, [policy.missing_as])[0]
        return settle_missing(values, missing, policy, stand_in=stand_in, blank=np.uint64(0), first_row=first_row)

    def points(self, texts: Sequence[str], points: int) -> NDArray[np.int64]:
        """Where texts fall among so many points."""
        return (text_hashes(self.key, texts) % np.uint64(points)).astype(np.int64)

    def samples(self) -> list[str]:
        """A few texts, in several scripts."""
        return ["apple", "čaj", "寿司"]

    def is_number(self, column: str) -> bool:  # noqa: ARG002
        """Texts, even if they look like numbers."""
        return False
