"""Surveys whose answers everybody sends as one message: a cell of the table of all questions."""

import math
from collections.abc import Callable
from typing import Any, Final

from shuffledp.accounting.account import calibrate
from shuffledp.core.captions import spoken
from shuffledp.errors import InvalidInput
from shuffledp.planning.families.randomized_response import BlanketFamily
from shuffledp.planning.families.survey import Part, SurveyFamily, SurveyQuestion
from shuffledp.protocols.one_message import OneMessage
from shuffledp.protocols.survey import Asked
from shuffledp.protocols.survey_table import MOST_CELLS, JointTable
from shuffledp.randomizers.response import RandomizedResponse

_GRIDS: Final = (1, 2, 3, 4, 6, 8, 12, 16)
"""Steps of the grids of sums and means that are tried."""


class TableOfAll(SurveyFamily):
    """The least blanket on all cells."""

    name, way = "shuffledp, joint table", "table"

    def shape(self, question: SurveyQuestion) -> Callable[[float], JointTable]:
        """On the grid that is best at the question's epsilon."""
        grid = _best_grid(question)
        return lambda gamma: _table(question, grid, gamma)

    def private(self, question: SurveyQuestion) -> JointTable:
        """On the best grid."""
        grid = _best_grid(question)
        return _table(question, grid, _least_gamma(question, grid))


def _best_grid(question: SurveyQuestion) -> int:
    """The steps of the questions that are rounded, so that the error is least."""
    rounded = any(isinstance(_family(part).steps(part.question), range) for part in question.parts)
    costs, refusal = dict[int, float](), None
    for grid in _GRIDS if rounded else _GRIDS[:1]:
        if _cells(question, grid) > MOST_CELLS:
            break
        try:
            costs[grid] = _table(question, grid, _least_gamma(question, grid)).cost(question.n)
        except InvalidInput as refused:
            refusal = refused
    if costs:
        return min(costs, key=lambda grid: costs[grid])
    raise refusal or InvalidInput(f"a table of all questions has more than {MOST_CELLS:,} cells. Ask in another way.")


def _least_gamma(question: SurveyQuestion, grid: int) -> float:
    family = RandomizedResponse.family(size=_cells(question, grid), parameter="gamma")
    return calibrate(family, n=question.honest, epsilon=question.epsilon, delta=question.delta)


def _table(question: SurveyQuestion, grid: int, gamma: float) -> JointTable:
    questions = []
    for part in question.parts:
        randomizer = RandomizedResponse(size=_size(part, grid), gamma=gamma).as_run()
        protocol = _family(part).build(part.question, randomizer)
        if not isinstance(protocol, OneMessage):
            raise InvalidInput(f"question {part.name!r} is not answered by one message. Ask it on its own.")
        questions.append(Asked(name=part.name, weight=part.weight, protocol=protocol))
    return JointTable(questions=tuple(questions))


def _cells(question: SurveyQuestion, grid: int) -> int:
    return math.prod(_size(part, grid) for part in question.parts)


def _size(part: Part, grid: int) -> int:
    """How many values a question has."""
    family = _family(part)
    steps = family.steps(part.question)
    return family.messages(part.question, grid if isinstance(steps, range) else steps)


def _family(part: Part) -> BlanketFamily[Any]:
    for family in part.families():
        if isinstance(family, BlanketFamily):
            return family
    raise InvalidInput(
        f"question {part.name!r}, {spoken(part.question.name)}, does not fit a table. Ask it in another way."
    )
