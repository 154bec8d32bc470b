"""The groups that a question asks for."""

from collections.abc import Mapping

from shuffledp.domains.labels import Labels
from shuffledp.errors import InvalidInput
from shuffledp.protocols.options import texts
from shuffledp.protocols.question import Question

Groups = tuple[tuple[str, Labels], ...]


def groups(question: Question) -> Groups:
    """Columns and their labels, in their order; none if nothing is asked by group."""
    by = question.option("by")
    if by is None:
        return ()
    if not isinstance(by, Mapping) or not by:
        raise InvalidInput('groups are labels by column. Give e.g. by={"carrier": ["AA", "DL"]}.')
    found = []
    for column, labels in by.items():
        found.append((column, Labels(texts(labels, f"the groups of column {column!r}"))))
    return tuple(found)
