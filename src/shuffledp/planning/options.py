"""What can be said about an answer besides n, epsilon and delta. Every kind of question lists its own; commands offer all."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from shuffledp.core import checks
from shuffledp.domains.labels import Labels
from shuffledp.domains.raw_value import is_missing, label_of
from shuffledp.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Option:
    """One thing that can be said.

    Attributes:
        name: as an argument in Python; on the command line with hyphens.
        values: what is given: one whole number, one real number, one text, several, a file of texts, one per line, texts by
            column, or a file of questions.
        help: one line.
        choices: of one text: the only ones there are, each with what it means.
    """

    name: str
    values: Literal["whole", "real", "text", "several", "lines", "groups", "questions"]
    help: str
    choices: tuple[tuple[str, str], ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """The texts to choose from."""
        return tuple(word for word, _ in self.choices)

    def read(self, value: Any) -> Any:
        """What was given, numbers as plain ints and floats and labels as texts; what cannot be meant is refused."""
        if self.values == "whole":
            return checks.whole(value, f"`{self.name}`", "Give e.g. 10.")
        if self.values == "real":
            return checks.real(value, f"`{self.name}`")
        if self.values == "text" and not isinstance(value, str):
            raise InvalidInput(f"`{self.name}` must be a string; got a {type(value).__name__}. Give it in quotes.")
        if self.values == "several":
            return texts(value, self.name)
        if self.values == "groups" and isinstance(value, Mapping):
            if not all(isinstance(column, str) for column in value):
                raise InvalidInput(
                    f"{self.name} maps the names of columns to labels. Write e.g. {self.name}={{'sex': ['f', 'm']}}."
                )
            if self.name == "ranges" and not all(isinstance(ends, Iterable) for ends in value.values()):
                raise InvalidInput(
                    "`ranges` has two numbers for each column. Write e.g. ranges={'income': [0, 80000]}."
                )
            return {column: texts(labels, f"the groups of column {column!r}") for column, labels in value.items()}
        return value


def texts(given: Any, what: str) -> tuple[str, ...]:
    """Several labels: texts, whole numbers, or true and false, each as it is written in a file."""
    if isinstance(given, set | frozenset):
        raise InvalidInput(f"{what} must be in an order, and a set has none. Give a list of texts, e.g. ['no', 'yes'].")
    several = isinstance(given, Iterable) and len(getattr(given, "shape", (0,))) == 1
    if isinstance(given, str | bytes | Mapping) or not several:
        got = type(given).__name__
        raise InvalidInput(f"{what} must be several texts; got a {got}. Give a list of them, e.g. ['no', 'yes'].")
    labels = [None if is_missing(label) else label_of(label) for label in given]
    if None in labels:
        raise InvalidInput(f"{what} must be texts or whole numbers, none of them missing. Give a list of such.")
    return tuple(str(label) for label in labels)


def groups(by: Any) -> tuple[tuple[str, Labels], ...]:
    """Columns and their labels, in their order; none if nothing is asked by group."""
    if by is None:
        return ()
    if not isinstance(by, Mapping) or not by:
        raise InvalidInput('groups are labels by column. Give e.g. by={"carrier": ["AA", "DL"]}.')
    return tuple((column, _groups_of(column, labels)) for column, labels in by.items())


def _groups_of(column: str, given: Any) -> Labels:
    labels = texts(given, f"the groups of column {column!r}")
    try:
        return Labels(labels)
    except InvalidInput as refused:
        raise InvalidInput(f"column {column!r}: {refused}") from None


def messages_of(given: Mapping[str, Any]) -> float | None:
    """How many messages a user may send on average; None if nothing was said."""
    if given.get(MESSAGES_PER_USER.name) is None:
        return None
    messages = checks.real(given[MESSAGES_PER_USER.name], "`messages_per_user`")
    if not 1 <= messages <= MOST_MESSAGES:
        raise InvalidInput(
            f"`messages_per_user` must be from 1 to {MOST_MESSAGES}; got {messages}. Use e.g. 1.25, or leave it out for one."
        )
    return messages


MOST_MESSAGES: Final = 1001
"""Per user, on average: one and a thousand dummies."""
SIZE: Final = Option("size", "whole", "Number of bins (histogram).")
LABELS: Final = Option(
    "labels",
    "several",
    "Names of the bins, separated by commas (histogram); one that contains a comma is in quotation marks, as in "
    "'no,\"yes, often\"', or comes from --labels-file.",
)
LOW: Final = Option("low", "real", "Least value (sum, mean [default: 0]; distribution; histogram of numbers).")
HIGH: Final = Option("high", "real", "Greatest value (sum, mean [default: 1]; distribution; histogram of numbers).")
RESOLUTION: Final = Option("resolution", "whole", "Equal intervals into which the range is divided (distribution).")
PRECISION: Final = Option("precision", "whole", "Steps of the grid (sum, mean, query) [default: the best].")
BY: Final = Option(
    "by",
    "groups",
    "Answer for each group: a column and its labels, e.g. carrier=AA,DL; repeat for tables of more ways (sum, mean, query, "
    "histogram).",
)
OBJECTIVE: Final = Option(
    "objective",
    "text",
    "What to minimize: total, the error summed over all bins, or share, the error of one bin that a share of the users hold "
    "[default: share above 256 bins].",
    (
        ("total", "the error of all bins together"),
        ("share", "the error of a single bin"),
    ),
)
MESSAGES_PER_USER: Final = Option(
    "messages_per_user",
    "real",
    "Messages that a user may send: on average, with dummies beside the true one (histogram) or digits among dummies (sum, "
    "mean, query); exactly so many about the row (vector, moments, regression) [default: 1].",
)
NOISE: Final = Option(
    "noise",
    "text",
    "Who hides people: each user, by answering at random now and then, or the shuffler, by adding dummies to true answers, for "
    "any number of people [default: users].",
    (
        ("users", "each user, by answering at random now and then"),
        ("shuffler", "the shuffler, by adding dummies to true answers"),
        ("shuffler-pure", "the shuffler, by dropping some answers and adding dummies: never fails, and errs more"),
    ),
)
SHARE: Final = Option(
    "share",
    "real",
    "Largest share of the users in a bin, or with a text, whose error counts [default: 0.01]; with --by, share of the users in "
    "the group whose mean is to be most accurate [default: half of an even share].",
)
DIMENSION: Final = Option("dimension", "whole", "Numbers in a row (vector).")
COLUMNS: Final = Option("columns", "several", "Names of the columns whose means are asked for (vector).")
NORM: Final = Option("norm", "real", "Length that no row exceeds, or is cut down to (vector) [default: 1].")
RANGES: Final = Option(
    "ranges",
    "groups",
    "The range of a column, e.g. age=0,100; repeat for each column (moments, regression; vector in place of a norm).",
)
TARGET: Final = Option("target", "text", "The column that is explained by the others (regression).")
FEATURES: Final = Option("features", "several", "The columns that explain it (regression) [default: all others].")
RIDGE: Final = Option(
    "ridge", "real", "Share of its own variance that is added to that of each feature (regression) [default: 0]."
)
CANDIDATES: Final = Option("candidates", "lines", "Texts that will be asked about, one per line (texts).")
ALPHABET: Final = Option(
    "alphabet",
    "text",
    "The letters that texts are made of, e.g. a-z (heavy-hitters) [default: any UTF-8, letters being bytes].",
)
MAX_LENGTH: Final = Option("max_length", "whole", "Letters of the longest text (heavy-hitters).")
FALSE_POSITIVES: Final = Option(
    "false_positives",
    "real",
    "Texts that are found although nobody holds them, on average (heavy-hitters) [default: 1].",
)
QUESTIONS: Final = Option("questions", "questions", "The questions of a survey.")
WAY: Final = Option(
    "way",
    "text",
    "How people answer a survey: one question each, all of them, or a table of all in one message [default: the best].",
    (
        ("one", "one question each"),
        ("all", "all questions"),
        ("table", "all, in one table"),
    ),
)


def noise(given: Mapping[str, Any]) -> str | None:
    """Which noise the shuffler adds; None if users hide each other."""
    word = given.get(NOISE.name)
    if word not in (None, *NOISE.words):
        raise InvalidInput(f"`noise` is {', '.join(NOISE.words)}; got {word!r}. Leave it out for that of users.")
    return None if word == NOISE.words[0] else word
