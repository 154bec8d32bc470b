"""What people call a question, and which one answers it."""

from collections.abc import Iterable
from typing import Final

from shuffledp.errors import InvalidInput, unknown

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
    **dict.fromkeys(
        ("variance", "var", "std", "stdev", "sd", "spread"),
        "A variance is the mean of the squares less the square of the mean: plan a mean of each, or a distribution.",
    ),
    **dict.fromkeys(
        ("correlation", "corr", "regression"), "A histogram by groups shows how two columns go together: add `by`."
    ),
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


def no_question(name: str, known: Iterable[str]) -> InvalidInput:
    """There is no question of this name; which one was probably meant.

    >>> print(no_question("median", ["mean"]))
    there is no question 'median'. A distribution has the median, quantiles and ranges.
    """
    meant = _MEANT.get(name.lower().replace("_", "-"))
    return (
        unknown("question", name, known) if meant is None else InvalidInput(f"there is no question {name!r}. {meant}")
    )
