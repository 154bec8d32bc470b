"""Texts that somebody asks about. They are the asker's, not the users'."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.captions import spoken
from shuffledp.core.population import users_at
from shuffledp.domains.texts import Hashes, Texts
from shuffledp.errors import InvalidInput


class TakesCandidates(ABC):
    """Users may hold any text, so that it can be said later which texts to ask about.

    Which they are is no part of what users agree to: their messages are the same. So more can be asked later, of the same counts.
    """

    __slots__ = ()

    @abstractmethod
    def about(self, candidates: Sequence[str] | None) -> Self:
        """This protocol with an answer about these texts; None leaves it as it is."""


def no_candidates(question: str) -> InvalidInput:
    """The error for texts to ask about where they are listed beforehand."""
    return InvalidInput(f"{spoken(question)} counts what the plan lists, so it takes no candidates. Leave them out.")


@dataclass(frozen=True, slots=True)
class Candidates:
    """Different texts and their hashes."""

    texts: tuple[str, ...] = ()
    hashes: Hashes = field(default_factory=lambda: np.empty(0, dtype=np.uint64), repr=False, compare=False)

    @classmethod
    def of(cls, texts: Any, domain: Texts) -> Self:
        """These texts, each once, under the domain's key."""
        found = checked(texts)
        return cls(found, domain.read(found))

    def held(self, values: NDArray[np.uint64], users: NDArray[np.integer] | None = None) -> NDArray[np.int64]:
        """How many of these values, or of the users who hold them, are each of the texts."""
        return users_at(self.hashes, values, np.ones(len(values), dtype=np.int64) if users is None else users)

    def sharing(self, points: int) -> tuple[str, ...]:
        """Those that fall on the same of so many points as another one."""
        _, places, often = np.unique(self.hashes % np.uint64(points), return_inverse=True, return_counts=True)
        return tuple(self.texts[j] for j in np.flatnonzero(often[places] > 1))


def checked(texts: Any) -> tuple[str, ...]:
    """Several different texts."""
    if isinstance(texts, str) or not isinstance(texts, Sequence):
        raise InvalidInput("candidates must be several texts. Give a list of them.")
    found = tuple(texts)
    if not found:
        raise InvalidInput("there are no candidates. Give at least one text to ask about.")
    if not all(isinstance(one, str) for one in found):
        raise InvalidInput("candidates must be texts. Write numbers as texts too.")
    for one in found:
        try:
            one.encode()
        except UnicodeEncodeError:
            raise InvalidInput("a candidate has characters that UTF-8 does not have. Leave it out.") from None
    if len(set(found)) < len(found):
        often = Counter(found).most_common(1)[0][0]
        raise InvalidInput(f"the candidate {often!r} occurs more than once. Give each text once.")
    return found
