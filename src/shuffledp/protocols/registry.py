"""Every family and every kind of protocol that can be planned: what the planner, the command line and the conformance tests read.

A new protocol is one file with a class of `Deployable`, usually of `OneMessage`, and a `PlannedFamily`, and one entry in each
list here.
"""

from collections.abc import Mapping
from typing import Final

from shuffledp.errors import InvalidInput, unknown
from shuffledp.protocols.distribution import Distribution
from shuffledp.protocols.distribution_family import DistributionFamily
from shuffledp.protocols.dummies import DummyCounts
from shuffledp.protocols.dummies_family import DummiesFamily
from shuffledp.protocols.family import PlannedFamily
from shuffledp.protocols.frequencies import Frequencies, FrequenciesFamily
from shuffledp.protocols.grouped import GroupedSummation
from shuffledp.protocols.grouped_family import GroupedFamily
from shuffledp.protocols.heavy_hitters import HeavyHitters
from shuffledp.protocols.heavy_hitters_family import HeavyHittersFamily
from shuffledp.protocols.histogram import Histogram, HistogramFamily
from shuffledp.protocols.one_bit_mean import OneBitMean
from shuffledp.protocols.options import Option
from shuffledp.protocols.protocol import ShuffleProtocol
from shuffledp.protocols.question import Question, spoken
from shuffledp.protocols.summation import Summation, SummationFamily
from shuffledp.protocols.survey_all import AllOfThem
from shuffledp.protocols.survey_family import AllQuestions, OneQuestionEach, TableOfAll
from shuffledp.protocols.survey_one import OneOfAll
from shuffledp.protocols.survey_table import JointTable
from shuffledp.protocols.text_frequencies import TextFrequencies
from shuffledp.protocols.texts_family import TextsFamily

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
FAMILIES: list[PlannedFamily] = [
    HistogramFamily(),
    FrequenciesFamily(),
    DummiesFamily(),
    SummationFamily(),
    GroupedFamily(),
    HeavyHittersFamily(),
    TextsFamily(),
    DistributionFamily(levels=range(1, 2)),
    DistributionFamily(levels=range(2, 5)),
    OneQuestionEach(),
    AllQuestions(),
    TableOfAll(),
]


def questions() -> tuple[str, ...]:
    """Names of all that can be planned."""
    return tuple(dict.fromkeys(name for family in FAMILIES for name in family.questions))


def options() -> tuple[Option, ...]:
    """All that can be said about some question, each once; two families must mean the same by a name."""
    found: dict[str, Option] = {}
    for family in FAMILIES:
        for option in family.options:
            if found.setdefault(option.name, option) != option:
                raise InvalidInput(f"two families mean different things by {option.name!r}. Rename the option of one.")
    return tuple(found.values())


_MEANT: Final = {
    **dict.fromkeys(
        ("median", "quantile", "quantiles", "percentile", "percentiles", "range", "cdf"),
        "A distribution has the median, quantiles and ranges.",
    ),
    **dict.fromkeys(
        ("count", "counts", "frequency", "frequencies", "shares", "proportions", "categories", "bins"),
        "A histogram counts how many people hold each value, and has their shares.",
    ),
    **dict.fromkeys(
        ("table", "crosstab", "contingency", "pivot", "group", "groups", "groupby"),
        "A histogram, mean, sum or query by groups is a table: add `by`.",
    ),
    **dict.fromkeys(
        ("min", "max", "minimum", "maximum", "extremes"),
        "One person decides the least and the greatest, so nobody may see them; a distribution has quantiles near them.",
    ),
    **dict.fromkeys(("mode", "most-frequent"), "A histogram shows which values are most frequent."),
    **dict.fromkeys(("average", "avg", "number"), "That is a mean."),
    **dict.fromkeys(("total",), "That is a sum."),
    **dict.fromkeys(
        ("proportion", "share", "yes-no", "boolean", "bool"), "That is a query, or a histogram of two labels."
    ),
    **dict.fromkeys(
        ("words", "urls", "domains", "strings"), "Use texts if you can list them, and heavy-hitters if not."
    ),
    **dict.fromkeys(("top", "topk", "top-k", "popular", "heavyhitters", "most-common"), "That is heavy-hitters."),
    **dict.fromkeys(("questions", "questionnaire", "form", "poll"), "That is a survey."),
}
"""What people call a question, and which one answers it."""


def planned(question: str) -> list[PlannedFamily]:
    """The families that answer a question; refused if there is none."""
    found = [family for family in FAMILIES if question in family.questions]
    if not found:
        raise no_question(question)
    return found


def no_question(name: str) -> InvalidInput:
    """There is no question of this name; which one was probably meant.

    >>> print(no_question("median"))
    there is no question 'median'. A distribution has the median, quantiles and ranges.
    """
    meant = _MEANT.get(name.lower().replace("_", "-"))
    return (
        unknown("question", name, questions())
        if meant is None
        else InvalidInput(f"there is no question {name!r}. {meant}")
    )


def answering(question: Question) -> list[PlannedFamily]:
    """Those of them that can answer this very question, with its options; refused if there is none."""
    found = [family for family in planned(question.name) if family.answers(question)]
    if not found:
        raise InvalidInput(f"{spoken(question.name)} is not answered by group. Leave out by.")
    return found


def from_document(document: object, kinds: Mapping[str, type[ShuffleProtocol]] = PROTOCOLS) -> ShuffleProtocol:
    """The protocol that a document describes; an unknown kind or field, or a wrong type, is refused."""
    kind = document.get("kind") if isinstance(document, dict) else None
    if not isinstance(kind, str) or kind not in kinds:
        raise InvalidInput(f"there is no such kind of protocol. Use one of {', '.join(kinds)}.")
    return kinds[kind].from_document(document)
