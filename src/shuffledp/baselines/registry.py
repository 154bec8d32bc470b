"""Whatever is compared: other people's protocols, and our own beside them. A new baseline has one entry in each list here."""

from typing import Any, Final

from shuffledp.baselines.central import Curator, CuratorHistogram, LaplaceSum, NoisySum
from shuffledp.baselines.coordinates import AllCoordinateMeans, AllCoordinates, CoordinateMeans, OneCoordinate
from shuffledp.baselines.dbitflip import DBitFlip, DBitFlips
from shuffledp.baselines.hadamard_response import HadamardResponse, HadamardResponses
from shuffledp.baselines.hashed_response import HashedResponse, HashedResponses
from shuffledp.baselines.local import LocalResponse, LocalSum
from shuffledp.baselines.noisy_vector import CuratorRows, LocalRows, NoisyMoments, NoisyVector, SeveralMessages
from shuffledp.baselines.one_bit_mean import OneBitMeans, ShuffledOneBitMeans
from shuffledp.baselines.paper import PaperParameters
from shuffledp.baselines.rappor import Rappor, Rappors
from shuffledp.baselines.sketch import CountMeanSketch, CountMeanSketches, HadamardSketch, HadamardSketches
from shuffledp.baselines.split_and_mix import SplitAndMix, SplitAndMixes
from shuffledp.baselines.subset_selection import SubsetSelection, SubsetSelections
from shuffledp.baselines.unary import ManyMessages, UnaryBits
from shuffledp.planning import registry as planning
from shuffledp.planning.families.histogram import HistogramFamily
from shuffledp.planning.families.moments import MomentsQuestion, RegressionQuestion
from shuffledp.planning.families.summation import SummationFamily
from shuffledp.planning.families.vector import VectorQuestion
from shuffledp.planning.family import Family
from shuffledp.protocols import registry
from shuffledp.protocols.protocol import ShuffleProtocol

PROTOCOLS: Final[dict[str, type[ShuffleProtocol]]] = {
    protocol.kind: protocol
    for protocol in (
        NoisySum,
        CuratorHistogram,
        UnaryBits,
        SplitAndMix,
        Rappor,
        DBitFlip,
        CountMeanSketch,
        HadamardSketch,
        HashedResponse,
        HadamardResponse,
        SubsetSelection,
        NoisyVector,
        CoordinateMeans,
        AllCoordinateMeans,
        NoisyMoments,
    )
}
"""Those of others, by kind."""
FAMILIES: Final[list[Family[Any]]] = [
    LaplaceSum(local=False),
    LaplaceSum(local=True),
    LocalSum(),
    OneBitMeans(),
    ShuffledOneBitMeans(),
    ManyMessages(),
    SplitAndMixes(),
    Curator(),
    LocalResponse(),
    *(
        family(shuffled=shuffled)
        for family in (
            Rappors,
            DBitFlips,
            CountMeanSketches,
            HadamardSketches,
            HashedResponses,
            HadamardResponses,
            SubsetSelections,
        )
        for shuffled in (False, True)
    ),
    *(
        family
        for kind in (VectorQuestion, MomentsQuestion, RegressionQuestion)
        for family in (CuratorRows(kind), LocalRows(kind), *(SeveralMessages(kind, t) for t in (4, 16, 64)))
    ),
    OneCoordinate(),
    AllCoordinates(),
    PaperParameters(SummationFamily()),
    PaperParameters(HistogramFamily()),
]
"""Theirs, and the paper's own parameters."""


def protocols() -> dict[str, type[ShuffleProtocol]]:
    """Every protocol by kind, those that can be planned first."""
    return {**registry.PROTOCOLS, **PROTOCOLS}


def families(question: str) -> list[Family[Any]]:
    """All that answer a question, those that are planned last; refused if there is none."""
    return [*(family for family in FAMILIES if question in family.question_type.called), *planning.families(question)]


def from_document(document: object) -> ShuffleProtocol:
    """The protocol that a document describes, whoever's it is."""
    return registry.from_document(document, protocols())
