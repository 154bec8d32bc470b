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
            raise InvalidInput(f"`{self.name}` must be a text; got a {type(value).__name__}. Give it in quotes.")
        if self.values == "several":
            return texts(value, self.name)
        if self.values == "groups" and isinstance(value, Mapping):
            if not all(isinstance(column, str) for column in value):
                raise InvalidInput(f"{self.name} names columns by texts. Write e.g. {self.name}={{'sex': ['f', 'm']}}.")
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


SIZE: Final = Option("size", "whole", "Number of bins (histogram).")
LABELS: Final = Option("labels", "several", "Names of the bins, separated by commas (histogram).")
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
    "What to make small: total, the error summed over all bins, or share, that of one bin that a share of the users hold "
    "[default: share above 256 bins].",
    (
        ("total", "the error of all bins together"),
        ("share", "the error of a single bin"),
    ),
)
MESSAGES_PER_USER: Final = Option(
    "messages_per_user", "real", "Messages that a user may send on average: dummies beside the true one [default: 1]."
)
SHARE: Final = Option(
    "share",
    "real",
    "Up to which share of the users a bin's or text's error counts [default: 0.01]; with --by, that of a group whose mean is to "
    "be best [default: half of an even share].",
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
    "Texts that nobody holds and that are found nevertheless, on average (heavy-hitters) [default: 1].",
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
