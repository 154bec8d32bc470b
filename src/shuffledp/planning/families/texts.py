"""Texts: what is asked about them, planned so that anybody may hold any text."""

import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

from shuffledp.domains.texts import Texts
from shuffledp.errors import InvalidInput
from shuffledp.planning.families.design_response import DesignFamily, orders
from shuffledp.planning.families.histogram import USUAL_SHARE, checked_share
from shuffledp.planning.options import CANDIDATES, SHARE, Option
from shuffledp.planning.question import Given, Question
from shuffledp.protocols.candidates import checked
from shuffledp.protocols.deployable import Deployable
from shuffledp.protocols.one_message import OneMessage
from shuffledp.protocols.text_frequencies import TextFrequencies
from shuffledp.randomizers.design_response import DesignResponse
from shuffledp.randomizers.structures import AffineSpace

_ROOM: Final = 16
"""Points for each candidate at least: so few of them share one with another."""
_USUAL_CANDIDATES: Final = 1 << 16
"""Asked about, unless it is said which."""
_SMALL: Final = 1 << 23


@dataclass(frozen=True, slots=True, kw_only=True)
class TextsQuestion(Question):
    """How often each of some texts occurs, whatever texts users hold.

    Attributes:
        share: up to which share of the users hold the text whose error is made small.
        candidates: the texts, if it is known already which.
    """

    share: float
    candidates: tuple[str, ...] = ()
    called: ClassVar[tuple[str, ...]] = ("texts",)
    options: ClassVar[tuple[Option, ...]] = (SHARE, CANDIDATES)

    @classmethod
    def read(cls, given: Given, **terms: Any) -> Self:
        """A share of users, and different texts."""
        share, candidates = given.get("share"), given.get("candidates")
        return cls(
            share=USUAL_SHARE if share is None else checked_share(share),
            candidates=() if candidates is None else checked(candidates),
            **terms,
        )

    def cost(self, protocol: Deployable) -> float:
        """The largest squared error of a text that up to a share of the users hold."""
        if not isinstance(protocol, TextFrequencies):
            return protocol.mean_squared_error(self.n)
        return protocol.worst_variance(self.share, self.n)


class TextsFamily(DesignFamily[TextsQuestion]):
    """Any text: the number of points is free, and its best lies between noise and texts that share a point."""

    question_type = TextsQuestion

    def structures(self, question: TextsQuestion) -> Iterable[AffineSpace]:
        """All that leave room between the candidates; a space only while it is small: it has more messages than it needs."""
        for space in orders(_ROOM * max(_USUAL_CANDIDATES, len(question.candidates))):
            if space.dimension == 2 or space.messages <= _SMALL:
                yield space

    def build(self, question: TextsQuestion, randomizer: DesignResponse) -> TextFrequencies:  # noqa: ARG002
        """Under a key that nobody could know before."""
        return TextFrequencies(randomizer=randomizer, domain=Texts(secrets.token_hex(16)))

    def propose(self, question: TextsQuestion) -> OneMessage:
        """Asked about the candidates, if there are any yet."""
        return _about(question, super().propose(question))

    def propose_for_error(self, question: TextsQuestion, cost: float) -> OneMessage:
        return _about(question, super().propose_for_error(question, cost))

    def too_many(self, question: TextsQuestion) -> InvalidInput:
        """Each candidate needs room."""
        return InvalidInput(
            f"{len(question.candidates):,} candidates are too many for a plane that fits in memory. Plan without them, "
            "and ask about them in parts."
        )


def _about(question: TextsQuestion, protocol: OneMessage) -> OneMessage:
    if question.candidates and isinstance(protocol, TextFrequencies):
        return protocol.about(question.candidates)
    return protocol
