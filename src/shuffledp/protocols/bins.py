"""The values that a question about a histogram is about."""

from typing import Any

from shuffledp.domains.cross_table import CrossTable
from shuffledp.domains.intervals import Intervals
from shuffledp.domains.labels import Labels
from shuffledp.domains.listed import Listed
from shuffledp.domains.whole_numbers import WholeNumbers
from shuffledp.errors import InvalidInput
from shuffledp.protocols.grouping import groups
from shuffledp.protocols.options import texts
from shuffledp.protocols.question import Question


def listed(question: Question) -> Listed:
    """The values that a question about a histogram is about."""
    size, labels, low, high = (question.option(name) for name in ("size", "labels", "low", "high"))
    if size is None and labels is None:
        raise InvalidInput("a histogram needs the number of bins. Give size or labels.")
    if size is not None and labels is not None:
        raise InvalidInput("the number of bins is the number of labels. Give size or labels, not both.")
    if (low is None) != (high is None) or (labels is not None and low is not None):
        raise InvalidInput("bins have labels, or both low and high, or neither. Leave one out.")
    values = _values(size, labels, low, high)
    by = groups(question)
    return CrossTable(by, values) if by else values


def _values(size: Any, labels: Any, low: Any, high: Any) -> Listed:
    if labels is not None:
        return Labels(texts(labels, "labels"))
    return WholeNumbers(size) if low is None else Intervals(size, low, high)
