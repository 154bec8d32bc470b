"""The front door of planning in Python: one function for each question, and one for all of them."""

import functools
import inspect
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Literal, NoReturn, SupportsFloat, TypedDict, TypeVar, Unpack, cast

from shuffledp.core.argument import truth
from shuffledp.errors import InvalidInput, PlanWarning
from shuffledp.planning import registry
from shuffledp.planning.concerns import concerns
from shuffledp.planning.from_targets import plan_from_targets
from shuffledp.planning.plan import Plan
from shuffledp.planning.synonyms import no_question

Number = SupportsFloat
"""An int, a float, a scalar of numpy, a fraction or a decimal."""
Label = str | int
_Method = TypeVar("_Method", bound=Callable[..., Plan])


class Asked(TypedDict, total=False):
    """What every question takes."""

    n: Number
    epsilon: Number
    delta: Number
    rmse: Number
    rmse_share: Number
    rounds: Number
    rounds_per_person: Number
    honest_fraction: Number
    dropout: Number
    paper: bool


def _spelled_out(method: _Method) -> _Method:
    """Show what every question takes in the signature, where help, editors and notebooks look for it."""
    signature = inspect.signature(method)
    own = [one for one in signature.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
    asked = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if name == "delta" else None,
            annotation=kind,
        )
        for name, kind in Asked.__annotations__.items()
    ]
    plain = [one.replace(annotation=_in_short(one.annotation)) for one in (*own, *asked)]

    @functools.wraps(method)
    def by_name(self: "Planner", *unnamed: object, **asked: Any) -> Plan:
        if unnamed:
            first = next((one.name for one in own if one.name != "self"), "n")
            raise InvalidInput(
                f"all options are keyword arguments. Write e.g. plan.{method.__name__}({first}=..., n=1000)."
            )
        return method(self, **asked)

    by_name.__signature__ = signature.replace(parameters=plain)  # type: ignore[attr-defined]
    return cast("_Method", by_name)


def _in_short(annotation: Any) -> Any:
    """Numbers of any kind are shown as floats."""
    if annotation is Number:
        return float
    return float | None if annotation == Number | None else annotation


def _caller() -> int:
    """How many frames above `warnings.warn` the code is that asked for a plan: warnings name its line, not one of ours."""
    level, frame = 2, sys._getframe(2)
    while frame.f_back is not None and frame.f_globals.get("__name__") == __name__:
        level, frame = level + 1, frame.f_back
    return level


class Planner:
    """The most accurate protocol for a question to n people at (epsilon, delta), certified.

    `plan.histogram(...)`, `plan.mean(...)` and so on list what each question takes; `plan("histogram", ...)` is the same with
    the question as a string. Every question takes these:

    Args:
        n: people asked.
        epsilon: of the central guarantee: how much anybody can learn about one person. Usual values are 0.1 to 2.
        delta: how often that may fail. It should be well below 1/n; a usual choice is 1e-6.
        rmse: the error to reach, in place of epsilon (or of n, for a mean or query); of a histogram that of all bins together,
            or of one value with objective="share".
        rmse_share: the error to reach, divided by n, in place of n or epsilon.
        rounds: plan one of so many rounds; epsilon and delta are of all of them together.
        rounds_per_person: in how many rounds one person takes part at most; all, if left out.
        honest_fraction: the share of those who answer that is relied on to follow the protocol; all, if left out.
        dropout: the share of the people asked who may not answer; none, if left out.
        paper: with the parameters of the paper (Theorem 3.1 and Theorem 4.1), to compare with.

    >>> made = plan.histogram(labels=["no", "yes"], n=100_000, epsilon=0.5, delta=1e-6)
    >>> made == plan("histogram", labels=["no", "yes"], n=100_000, epsilon=0.5, delta=1e-6)
    True
    """

    def __call__(self, question: str, *unnamed: object, **asked: Any) -> Plan:
        """The plan for the question of this name; what it takes besides is that of the method of the same name."""
        if unnamed:
            raise InvalidInput(
                "only the question is a positional argument. Write e.g. plan('mean', n=1000, epsilon=1, delta=1e-6)."
            )
        if not isinstance(question, str):
            raise InvalidInput(
                f"the question must be a string, such as 'histogram'; got a {type(question).__name__}. Name the question first."
            )
        given = {name: value for name, value in asked.items() if value is not None}
        if "delta" not in given:
            raise InvalidInput("a plan needs `delta`, how often its guarantee may fail. A usual choice is 1e-6.")
        made = plan_from_targets(question.replace("_", "-"), given, paper=truth(given.pop("paper", False), "paper"))
        if "dropout" in given:
            made = replace(made, dropout=float(given["dropout"]))
        for concern in concerns(made):
            warnings.warn(concern, PlanWarning, stacklevel=_caller())
        return made

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(str(no_question(name, registry.questions())))

    @_spelled_out
    def histogram(
        self, *, labels: Iterable[Label] | None = None, size: Number | None = None, low: Number | None = None,
        high: Number | None = None, by: Mapping[str, Iterable[Label]] | None = None,
        objective: Literal["total", "share"] | None = None, share: Number | None = None,
        messages_per_user: Number | None = None, noise: Literal["users", "shuffler", "shuffler-pure"] | None = None,
        **asked: Unpack[Asked],
    ) -> Plan:  # fmt: skip
        """How many people hold each value.

        Args:
            labels: the values, in the order in which they are shown; or
            size: how many there are, the values being 0, 1, ..., or the intervals into which
            low: the least and
            high: the greatest number are divided.
            by: for tables: columns and the labels of each, e.g. by={"sex": ["f", "m"]}.
            objective: what to make small: "total", the error of all values together, or "share", that of one value that a share
                of the people hold. Above 256 values the second is usual.
            share: up to which share of the people hold that value; a usual choice is 0.01.
            messages_per_user: how many messages a person may send on average; one, if left out. More hide each other better.
            noise: "users", who answer at random now and then, hide each other; or the "shuffler" hides any number of people by
                adding dummies to true answers. With "shuffler-pure" that never fails, at a larger error.
            **asked: what every question takes: n, epsilon, delta, ...
        """
        return self(
            "histogram", labels=labels, size=size, low=low, high=high, by=by, objective=objective, share=share,
            messages_per_user=messages_per_user, noise=noise, **asked,
        )  # fmt: skip

    @_spelled_out
    def mean(
        self, *, low: Number | None = None, high: Number | None = None,
        by: Mapping[str, Iterable[Label]] | None = None, share: Number | None = None, precision: Number | None = None,
        messages_per_user: Number | None = None, **asked: Unpack[Asked],
    ) -> Plan:  # fmt: skip
        """The mean of a number.

        Args:
            low: the least number, 0 if left out.
            high: the greatest, 1 if left out. What is outside is refused or clamped.
            by: the mean of each group: columns and the labels of each, e.g. by={"carrier": ["AA", "DL"]}.
            share: of the people in the group whose mean is to be best.
            precision: steps of the grid on which numbers are rounded at random; the best, if left out.
            messages_per_user: how many messages a person may send on average; one, if left out. With two, digits are sent.
            **asked: what every question takes: n, epsilon, delta, ...
        """
        return self(
            "mean", low=low, high=high, by=by, share=share, precision=precision, messages_per_user=messages_per_user,
            **asked,
        )  # fmt: skip

    @_spelled_out
    def sum(
        self, *, low: Number | None = None, high: Number | None = None,
        by: Mapping[str, Iterable[Label]] | None = None, share: Number | None = None, precision: Number | None = None,
        messages_per_user: Number | None = None, **asked: Unpack[Asked],
    ) -> Plan:  # fmt: skip
        """The sum of a number.

        Args:
            low: the least number, 0 if left out.
            high: the greatest, 1 if left out. What is outside is refused or clamped.
            by: the sum of each group: columns and the labels of each, e.g. by={"carrier": ["AA", "DL"]}.
            share: of the people in the group whose sum is to be best.
            precision: steps of the grid on which numbers are rounded at random; the best, if left out.
            messages_per_user: how many messages a person may send on average; one, if left out. With two, digits are sent.
            **asked: what every question takes: n, epsilon, delta, ...
        """
        return self(
            "sum", low=low, high=high, by=by, share=share, precision=precision, messages_per_user=messages_per_user,
            **asked,
        )  # fmt: skip

    @_spelled_out
    def query(
        self, *, by: Mapping[str, Iterable[Label]] | None = None, share: Number | None = None,
        precision: Number | None = None, messages_per_user: Number | None = None, **asked: Unpack[Asked],
    ) -> Plan:  # fmt: skip
        """The share of the people of whom something is true, or the mean of any function of a person in [0, 1].

        What is asked is said when the plan is run.

        Args:
            by: for each group: columns and the labels of each.
            share: of the people in the group whose answer is to be best.
            precision: steps of the grid on which answers are rounded at random; the best, if left out.
            messages_per_user: how many messages a person may send on average; one, if left out. With two, digits are sent.
            **asked: what every question takes: n, epsilon, delta, ...
        """
        return self("query", by=by, share=share, precision=precision, messages_per_user=messages_per_user, **asked)

    @_spelled_out
    def distribution(
        self, *, low: Number, high: Number, resolution: Number,
        noise: Literal["users", "shuffler", "shuffler-pure"] | None = None, **asked: Unpack[Asked],
    ) -> Plan:  # fmt: skip
        """How many people are below each number: its median, quantiles and ranges.

        Args:
            low: the least number.
            high: the greatest. What is outside is refused or clamped.
            resolution: into how many equal intervals the range is divided; a usual choice is 100.
            noise: who hides people: "users", each other, or the "shuffler" by dummies, as in a histogram.
            **asked: what every question takes: n, epsilon, delta, ...
        """
        return self("distribution", low=low, high=high, resolution=resolution, noise=noise, **asked)

    @_spelled_out
    def vector(
        self, *, dimension: Number | None = None, columns: Iterable[str] | None = None, norm: Number | None = None,
        ranges: Mapping[str, Sequence[Number]] | None = None, messages_per_user: Number | None = None,
        **asked: Unpack[Asked],
    ) -> Plan:  # fmt: skip
        """The mean of rows of numbers, such as several columns or an embedding, from one small message each.

        Args:
            dimension: how many numbers a row has; or
            columns: the names of the columns.
            norm: a length that no row exceeds, 1 if left out; longer rows are refused or cut down.
            ranges: instead of a norm, the least and the greatest value of each column, e.g. {"age": [0, 100]}.
            messages_per_user: how many messages a person sends about the row; one, if left out. More are more accurate.
            **asked: what every question takes: n, epsilon, delta, ...
        """
        return self(
            "vector", dimension=dimension, columns=columns, norm=norm, ranges=ranges, messages_per_user=messages_per_user,
            **asked,
        )  # fmt: skip

    @_spelled_out
    def moments(
        self, *, ranges: Mapping[str, Sequence[Number]], messages_per_user: Number | None = None, **asked: Unpack[Asked]
    ) -> Plan:
        """Means, variances, covariances and correlations of columns, from one small message each.

        Args:
            ranges: the least and the greatest value of each column, e.g. {"age": [0, 100], "rent": [0, 3000]}.
            messages_per_user: how many messages a person sends about the row; one, if left out. More are more accurate.
            **asked: what every question takes: n, epsilon, delta, ...
        """
        return self("moments", ranges=ranges, messages_per_user=messages_per_user, **asked)

    @_spelled_out
    def regression(
        self, *, ranges: Mapping[str, Sequence[Number]], target: str, features: Iterable[str] | None = None,
        ridge: Number | None = None, messages_per_user: Number | None = None, **asked: Unpack[Asked],
    ) -> Plan:  # fmt: skip
        """A linear regression of one column on others, with an intercept, and all their moments, from one small message each.

        Args:
            ranges: the least and the greatest value of each column, e.g. {"age": [0, 100], "rent": [0, 3000]}.
            target: the column that is explained.
            features: the columns that explain it; all others, if left out.
            ridge: the share of its own variance that is added to that of each feature; none, if left out.
            messages_per_user: how many messages a person sends about the row; one, if left out. More are more accurate.
            **asked: what every question takes: n, epsilon, delta, ...
        """
        return self(
            "regression", ranges=ranges, target=target, features=features, ridge=ridge, messages_per_user=messages_per_user,
            **asked,
        )  # fmt: skip

    @_spelled_out
    def texts(
        self, *, candidates: Iterable[str] | None = None, share: Number | None = None, **asked: Unpack[Asked]
    ) -> Plan:
        """How often each of some texts occurs, such as domains or words, when people may hold any text.

        Args:
            candidates: the texts to ask about; others can be asked about later, of the same reports.
            share: up to which share of the people hold the text whose error is made small; a usual choice is 0.01.
            **asked: what every question takes: n, epsilon, delta, ...
        """
        return self("texts", candidates=candidates, share=share, **asked)

    @_spelled_out
    def heavy_hitters(
        self, *, max_length: Number, alphabet: str | None = None, false_positives: Number | None = None,
        **asked: Unpack[Asked],
    ) -> Plan:  # fmt: skip
        """Texts that many people hold, though nobody listed them before.

        Args:
            max_length: letters of the longest text.
            alphabet: the letters that texts are made of, e.g. "a-z"; any UTF-8, if left out.
            false_positives: how many texts that nobody holds may be found on average; one, if left out.
            **asked: what every question takes: n, epsilon, delta, ...
        """
        return self("heavy-hitters", max_length=max_length, alphabet=alphabet, false_positives=false_positives, **asked)

    @_spelled_out
    def survey(
        self, *, questions: Sequence[Mapping[str, Any]], way: Literal["one", "all", "table"] | None = None,
        noise: Literal["users", "shuffler", "shuffler-pure"] | None = None, **asked: Unpack[Asked],
    ) -> Plan:  # fmt: skip
        """Several questions to the same people.

        Args:
            questions: each with a name, what to ask, and what that takes, e.g.
                {"name": "smokes", "ask": "histogram", "labels": ["no", "yes"], "weight": 2}.
            way: "one" question for each person, "all" of them, or a "table" of all in one message; the best, if left out.
            noise: who hides people: "users", each other, or the "shuffler" by dummies of every cell of a table.
            **asked: what every question takes: n, epsilon, delta, ...
        """
        return self("survey", questions=questions, way=way, noise=noise, **asked)


plan: Final = Planner()
"""Plans for all questions."""
