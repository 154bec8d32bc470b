"""How many users hold which text, whatever it is: planned for texts that nobody listed."""

import secrets
from collections.abc import Iterable
from typing import Final

from shuffledp.domains.texts import Texts
from shuffledp.errors import InvalidInput
from shuffledp.protocols.candidates import checked
from shuffledp.protocols.deployable import Deployable
from shuffledp.protocols.design_family import DesignFamily, orders
from shuffledp.protocols.histogram_question import USUAL_SHARE, checked_share
from shuffledp.protocols.one_message import OneMessage
from shuffledp.protocols.options import CANDIDATES, SHARE
from shuffledp.protocols.question import Question
from shuffledp.protocols.text_frequencies import TextFrequencies
from shuffledp.randomizers.design import DesignResponse
from shuffledp.randomizers.structures import AffineSpace

_ROOM: Final = 16
"""Points for each candidate at least: so few of them share one with another."""
_USUAL_CANDIDATES: Final = 1 << 16
"""Asked about, unless it is said which."""
_SMALL: Final = 1 << 23


class TextsFamily(DesignFamily):
    """Any text: the number of points is free, and its best lies between noise and texts that share a point."""

    questions = ("texts",)
    options = (SHARE, CANDIDATES)

    def check(self, question: Question) -> None:
        """A share of users, and different texts."""
        self._share(question)
        self._candidates(question)

    def cost(self, protocol: Deployable, question: Question) -> float:
        """The largest squared error of a text that up to a share of the users hold."""
        if not isinstance(protocol, TextFrequencies):
            return protocol.mean_squared_error(question.n)
        return protocol.worst_variance(self._share(question), question.n)

    def structures(self, question: Question) -> Iterable[AffineSpace]:
        """All that leave room between the candidates; a space only while it is small: it has more messages than it needs."""
        for found in orders(_ROOM * max(_USUAL_CANDIDATES, len(self._candidates(question)))):
            if found.dimension == 2 or found.messages <= _SMALL:
                yield found

    def build(self, question: Question, randomizer: DesignResponse) -> TextFrequencies:  # noqa: ARG002
        """Under a key that nobody could know before."""
        return TextFrequencies(randomizer=randomizer, texts=Texts(secrets.token_hex(16)))

    def propose(self, question: Question) -> OneMessage:
        """Asked about the candidates, if there are any yet."""
        return self._asked(question, super().propose(question))

    def propose_for_error(self, question: Question, cost: float) -> OneMessage:
        """Likewise."""
        return self._asked(question, super().propose_for_error(question, cost))

    def too_many(self, question: Question) -> InvalidInput:
        """Each candidate needs room."""
        return InvalidInput(
            f"{len(self._candidates(question)):,} candidates are too many for a plane that fits in memory. Plan without them, "
            "and ask about them in parts."
        )

    def _asked(self, question: Question, protocol: OneMessage) -> OneMessage:
        candidates = self._candidates(question)
        return protocol.about(candidates) if candidates else protocol

    def _share(self, question: Question) -> float:
        share = question.option("share")
        return USUAL_SHARE if share is None else checked_share(share)

    def _candidates(self, question: Question) -> tuple[str, ...]:
        given = question.option("candidates")
        return () if given is None else checked(given)
