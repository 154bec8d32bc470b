"""Every kind of protocol that can be planned, by the name in its documents.

A new protocol is one file with a class of `Deployable`, usually of `OneMessage`, and one entry here.
"""

from collections.abc import Mapping

from shuffledp.errors import InvalidInput
from shuffledp.protocols.distribution import Distribution
from shuffledp.protocols.dummies import DummyCounts
from shuffledp.protocols.frequencies import Frequencies
from shuffledp.protocols.grouped import GroupedSummation
from shuffledp.protocols.heavy_hitters import HeavyHitters
from shuffledp.protocols.histogram import Histogram
from shuffledp.protocols.one_bit_mean import OneBitMean
from shuffledp.protocols.protocol import ShuffleProtocol
from shuffledp.protocols.summation import Summation
from shuffledp.protocols.survey_all import AllOfThem
from shuffledp.protocols.survey_one import OneOfAll
from shuffledp.protocols.survey_table import JointTable
from shuffledp.protocols.text_frequencies import TextFrequencies

PROTOCOLS: dict[str, type[ShuffleProtocol]] = {
    protocol.kind: protocol
    for protocol in (
        Histogram,
        Summation,
        GroupedSummation,
        Frequencies,
        DummyCounts,
        TextFrequencies,
        HeavyHitters,
        Distribution,
        OneOfAll,
        AllOfThem,
        JointTable,
        OneBitMean,
    )
}


def from_document(document: object, kinds: Mapping[str, type[ShuffleProtocol]] = PROTOCOLS) -> ShuffleProtocol:
    """The protocol that a document describes; an unknown kind or field, or a wrong type, is refused."""
    kind = document.get("kind") if isinstance(document, dict) else None
    if not isinstance(kind, str) or kind not in kinds:
        raise InvalidInput(f"there is no such kind of protocol. Use one of {', '.join(kinds)}.")
    return kinds[kind].from_document(document)
