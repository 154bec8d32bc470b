"""Every domain by the kind that its documents name."""

from typing import Final

from shuffledp.domains.cross_table import CrossTable
from shuffledp.domains.domain import Domain
from shuffledp.domains.grouped_reals import GroupedReals
from shuffledp.domains.intervals import Intervals
from shuffledp.domains.labels import Labels
from shuffledp.domains.named_values import Record
from shuffledp.domains.products import Products
from shuffledp.domains.reals import RealRange
from shuffledp.domains.spellable_texts import Spelled
from shuffledp.domains.texts import Texts
from shuffledp.domains.vectors import Ball, Box
from shuffledp.domains.whole_numbers import WholeNumbers
from shuffledp.errors import InvalidInput

DOMAINS: Final[dict[str, type[Domain]]] = {
    domain.kind: domain
    for domain in (
        Labels,
        WholeNumbers,
        Intervals,
        RealRange,
        Texts,
        Spelled,
        CrossTable,
        GroupedReals,
        Record,
        Ball,
        Box,
        Products,
    )
}


def from_document(document: object) -> Domain:
    """The domain that a document describes; an unknown kind or field, or a wrong type, is refused."""
    kind = document.get("kind") if isinstance(document, dict) else None
    if not isinstance(kind, str) or kind not in DOMAINS:
        raise InvalidInput(f"there is no such kind of domain. Use one of {', '.join(DOMAINS)}.")
    return DOMAINS[kind].from_document(document)
