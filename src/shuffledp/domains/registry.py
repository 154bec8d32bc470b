"""Every domain by its kind, and the domain of a document."""

from typing import Any

from shuffledp.domains.domain import Domain
from shuffledp.domains.intervals import Intervals
from shuffledp.domains.labels import Labels
from shuffledp.domains.reals import RealRange
from shuffledp.domains.whole_numbers import WholeNumbers
from shuffledp.errors import InvalidInput

DOMAINS: dict[str, type[Domain]] = {
    domain.kind: domain for domain in (Labels, WholeNumbers, Intervals, RealRange)
}


def domain_of(document: Any) -> Domain:
    """The domain that a document describes; anything else is refused."""
    if not isinstance(document, dict) or document.get("kind") not in DOMAINS:
        raise InvalidInput(f"this is no domain of values. Kinds are {', '.join(DOMAINS)}.")
    fields = {name: value for name, value in document.items() if name != "kind"}
    try:
        found = DOMAINS[document["kind"]].from_document(fields)
    except (KeyError, TypeError, ValueError):
        found = None
    if found is None or found.document() != document:
        raise InvalidInput(f"this is no {document['kind']} domain. Make the plan again with shuffledp plan.")
    return found
