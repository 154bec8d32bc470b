"""Every kind of protocol that can be planned, by the name in its documents.

A new protocol is one file with a class of `Deployable`, usually of `OneMessage`.
"""

from collections.abc import Mapping
from typing import Final

from shuffledp.core.plugins import Registry, class_by_kind
from shuffledp.errors import InvalidInput
from shuffledp.protocols.column_moments import ColumnMoments
from shuffledp.protocols.digit_sums import DigitSums
from shuffledp.protocols.distribution import Distribution
from shuffledp.protocols.dummies import DummyCounts
from shuffledp.protocols.frequencies import Frequencies
from shuffledp.protocols.grouped import GroupedSummation
from shuffledp.protocols.grouped_digits import GroupedDigits
from shuffledp.protocols.heavy_hitters import HeavyHitters
from shuffledp.protocols.histogram import Histogram
from shuffledp.protocols.noised import NoisedCounts
from shuffledp.protocols.noised_distribution import NoisedDistribution
from shuffledp.protocols.noised_survey import NoisedTable
from shuffledp.protocols.one_bit_mean import OneBitMean
from shuffledp.protocols.protocol import ShuffleProtocol
from shuffledp.protocols.summation import Summation
from shuffledp.protocols.survey_all import AllOfThem
from shuffledp.protocols.survey_one import OneOfAll
from shuffledp.protocols.survey_table import JointTable
from shuffledp.protocols.text_frequencies import TextFrequencies
from shuffledp.protocols.topped_up import ToppedUp
from shuffledp.protocols.vector_mean import VectorMean

PROTOCOLS: Final = Registry[type[ShuffleProtocol]](
    "a class of protocols",
    "shuffledp.protocols",
    {
        Histogram.kind: Histogram,
        Summation.kind: Summation,
        GroupedSummation.kind: GroupedSummation,
        Frequencies.kind: Frequencies,
        DummyCounts.kind: DummyCounts,
        NoisedCounts.kind: NoisedCounts,
        ToppedUp.kind: ToppedUp,
        TextFrequencies.kind: TextFrequencies,
        HeavyHitters.kind: HeavyHitters,
        Distribution.kind: Distribution,
        NoisedDistribution.kind: NoisedDistribution,
        OneOfAll.kind: OneOfAll,
        AllOfThem.kind: AllOfThem,
        JointTable.kind: JointTable,
        NoisedTable.kind: NoisedTable,
        OneBitMean.kind: OneBitMean,
        VectorMean.kind: VectorMean,
        ColumnMoments.kind: ColumnMoments,
        DigitSums.kind: DigitSums,
        GroupedDigits.kind: GroupedDigits,
    },
    class_by_kind("from_document", "document", "randomize", "estimate"),
)
"""Every class by its kind. A new one of our own goes here; tests/conformance/test_protocols.py judges it."""


def register(protocol: type[ShuffleProtocol]) -> None:
    """Make a class of protocols known by its `kind`: plans that name it can be read from then on.

    An installed package does the same without a call, by an entry point of that name in the group `shuffledp.protocols`.
    """
    PROTOCOLS.add(protocol)


def unregister(protocol: type[ShuffleProtocol]) -> None:
    """Forget a class that was registered."""
    PROTOCOLS.remove(protocol)


def from_document(document: object, kinds: Mapping[str, type[ShuffleProtocol]] | None = None) -> ShuffleProtocol:
    """The protocol that a document describes, of these kinds or of all; whatever is unknown or of a wrong type is refused."""
    kinds = PROTOCOLS if kinds is None else kinds
    kind = document.get("kind") if isinstance(document, dict) else None
    if not isinstance(kind, str) or kind not in kinds:
        raise InvalidInput(f"there is no such kind of protocol. Use one of {', '.join(kinds)}.")
    return kinds[kind].from_document(document)
