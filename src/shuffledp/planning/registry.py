"""Every family that is planned: what the planner, the command line, the page and the conformance tests read.

The kind of question that a family answers comes with it.
"""

from typing import Any, Final

from shuffledp.core.plugins import Registry
from shuffledp.errors import InvalidInput
from shuffledp.planning.families.digit_sums import DigitSumsFamily, GroupedDigitsFamily
from shuffledp.planning.families.distribution import DistributionFamily
from shuffledp.planning.families.dummies import DummiesFamily
from shuffledp.planning.families.frequencies import FrequenciesFamily
from shuffledp.planning.families.grouped import GroupedFamily
from shuffledp.planning.families.heavy_hitters import HeavyHittersFamily
from shuffledp.planning.families.histogram import HistogramFamily
from shuffledp.planning.families.moments import MomentsFamily, RegressionFamily
from shuffledp.planning.families.noised import NoisedDistributionFamily, NoisedFamily, NoisedTableFamily
from shuffledp.planning.families.summation import SummationFamily
from shuffledp.planning.families.survey_all import AllQuestions
from shuffledp.planning.families.survey_one import OneQuestionEach
from shuffledp.planning.families.survey_table import TableOfAll
from shuffledp.planning.families.texts import TextsFamily
from shuffledp.planning.families.vector import VectorFamily
from shuffledp.planning.family import AnyFamily, PlannedFamily
from shuffledp.planning.options import Option
from shuffledp.planning.question import Question
from shuffledp.planning.synonyms import no_question


def _by_class(thing: Any) -> tuple[str, AnyFamily] | None:
    """Families, or classes that make one without arguments, by the name of the class."""
    if isinstance(thing, type):
        return (thing.__name__, thing()) if issubclass(thing, PlannedFamily) else None
    return (type(thing).__name__, thing) if isinstance(thing, PlannedFamily) else None


FAMILIES: Final = Registry[AnyFamily](
    "a family of protocols",
    "shuffledp.families",
    {
        "HistogramFamily": HistogramFamily(),
        "FrequenciesFamily": FrequenciesFamily(),
        "DummiesFamily": DummiesFamily(),
        "NoisedFamily": NoisedFamily(),
        "SummationFamily": SummationFamily(),
        "DigitSumsFamily": DigitSumsFamily(),
        "GroupedFamily": GroupedFamily(),
        "GroupedDigitsFamily": GroupedDigitsFamily(),
        "HeavyHittersFamily": HeavyHittersFamily(),
        "TextsFamily": TextsFamily(),
        "DistributionFamily on one grid": DistributionFamily(levels=range(1, 2)),
        "DistributionFamily on several grids": DistributionFamily(levels=range(2, 5)),
        "NoisedDistributionFamily": NoisedDistributionFamily(),
        "VectorFamily": VectorFamily(),
        "MomentsFamily": MomentsFamily(),
        "RegressionFamily": RegressionFamily(),
        "OneQuestionEach": OneQuestionEach(),
        "AllQuestions": AllQuestions(),
        "TableOfAll": TableOfAll(),
        "NoisedTableFamily": NoisedTableFamily(),
    },
    _by_class,
)
"""Every family by the name of its class. A new one of our own goes here; tests/conformance/test_families.py judges it."""


def register(family: AnyFamily | type[AnyFamily]) -> None:
    """Make a family known, so that its question can be planned, with all its options.

    An installed package does the same without a call, by an entry point with the name of the class in the group
    `shuffledp.families`.
    """
    FAMILIES.add(family)


def unregister(family: AnyFamily | type[AnyFamily]) -> None:
    """Forget a family that was registered."""
    FAMILIES.remove(family)


def question_types() -> tuple[type[Question], ...]:
    """All kinds of questions."""
    return tuple(dict.fromkeys(family.question_type for family in FAMILIES.values()))


def questions() -> tuple[str, ...]:
    """The names of all questions."""
    return tuple(dict.fromkeys(name for kind in question_types() for name in kind.called))


def types_of(name: str) -> list[type[Question]]:
    """The kinds of questions of this name; refused if there is none."""
    kinds = [kind for kind in question_types() if name in kind.called]
    if not kinds:
        raise no_question(name, questions())
    return kinds


def options_of(name: str) -> tuple[Option, ...]:
    """All that can be said about the question of this name, each once."""
    return tuple(dict.fromkeys(option for kind in types_of(name) for option in kind.options))


def options() -> tuple[Option, ...]:
    """All that can be said about some question, each once; two kinds must mean the same by a name."""
    known: dict[str, Option] = {}
    for option in (option for kind in question_types() for option in kind.options):
        if known.setdefault(option.name, option) != option:
            raise InvalidInput(f"two families mean different things by {option.name!r}. Rename the option of one.")
    return tuple(known.values())


def averages(name: str) -> bool:
    """Whether the answer to the question of this name is an average over users, not a total."""
    return all(kind.averages(name) for kind in types_of(name))


def families(name: str) -> list[AnyFamily]:
    """Those that answer questions of this name; refused if there is none."""
    types_of(name)
    return [family for family in FAMILIES.values() if name in family.question_type.called]


def answering(question: Question) -> list[AnyFamily]:
    """Those of them that can answer this very question."""
    return [family for family in families(question.name) if family.answers(question)]
