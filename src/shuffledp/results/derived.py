"""What is read off a histogram or a distribution, as JSON data."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import checks
from shuffledp.core.captions import spoken
from shuffledp.core.estimate import Estimate
from shuffledp.errors import InvalidInput
from shuffledp.planning.plan import Plan
from shuffledp.protocols.reading import Reading
from shuffledp.protocols.statistics import BinStatistics, like
from shuffledp.results.quantiles import axis, in_ranges, quantiles_of
from shuffledp.results.result import Result, listed


def check_asked(plan: Plan, *, confidence: float, quantiles: Sequence[float], others: bool) -> None:
    """Refuse what the plan's answer cannot be asked, before anything is read."""
    checks.probability(confidence, "confidence", "0.95")
    for share in quantiles:
        checks.probability(share, "the share of a quantile", "0.5")
    inside = plan.protocol.reading.curved and not others
    if (quantiles or others) and type(plan.protocol.reading).statistics is Reading.statistics and not inside:
        raise _nothing_derived(plan)


def _nothing_derived(plan: Plan) -> InvalidInput:
    if plan.protocol.description.measures and not plan.protocol.reading.curved:
        return InvalidInput(
            f"nothing is derived from {spoken(plan.question)}, whose answer is not one histogram. Leave out the option: the "
            "shares of the users are printed with the answer to each question, and in Python answer.frequencies(name) gives them."
        )
    if plan.protocol.reading.curved:
        return InvalidInput(
            f"of {spoken(plan.question)} only the quantiles of its distributions are derived. Leave out the others, or plan that "
            "question by itself."
        )
    return InvalidInput(
        f"nothing is derived from {spoken(plan.question)}, whose answer is not one histogram. Plan a histogram, or a "
        "distribution for quantiles."
    )


def derived(
    result: Result,
    *,
    confidence: float = 0.95,
    simultaneous: bool = False,
    project: bool = False,
    frequencies: bool = False,
    cdf: bool = False,
    quantiles: Sequence[float] = (),
    top: int | None = None,
    ranges: Sequence[str] = (),
    false_positives: float | None = None,
) -> dict[str, Any]:
    """Only what is asked for, and the usual quantiles of a distribution; a range is two bins or numbers with .. between them.

    With `simultaneous`, the intervals of a list hold together, as those of the bins do. With `false_positives` the largest
    bins, `top` of them at most, are those that reach the threshold for so many.
    """
    counts = None if false_positives is None else result.counts  # all of them are decoded for a threshold
    statistics = result.plan.protocol.reading.statistics(result.estimate, counts)
    if statistics is None:
        curves = result.plan.protocol.reading.curves(result.estimate)
        others = project or frequencies or cdf or top is not None or ranges or false_positives is not None
        if others or (quantiles and not curves):
            raise _nothing_derived(result.plan)
        inside = {
            name: axis(curve, consistent=False)
            | {
                "quantiles": quantiles_of(
                    curve, quantiles or curve.usual_quantiles, _truth_of(result, name), confidence, simultaneous
                )
            }
            for name, curve in curves.items()
        }
        return {"by_question": inside} if inside else {}
    names = result.names
    ordered, curve = statistics.ordered, statistics.curve
    if ordered is None and curve is None and (cdf or quantiles or ranges):
        raise InvalidInput(
            "cumulative counts, quantiles and ranges need a plan by randomized response, because only there the errors of "
            "several bins together are known. Plan with `objective='total'`."
        )
    read_off: dict[str, Any] = {} if curve is None else axis(curve, consistent=project)
    if project and curve is None:
        read_off["projected"] = statistics.projected().tolist()
    if frequencies:
        read_off["frequencies"] = _entries(statistics.frequencies(), confidence, simultaneous)
    if cdf:
        cumulative = result.estimate if ordered is None else ordered.cumulative()
        read_off["cumulative"] = _entries(cumulative, confidence, simultaneous)
    if curve is not None:
        shares = quantiles or curve.usual_quantiles
        read_off["quantiles"] = quantiles_of(curve, shares, result.truth, confidence, simultaneous)
    elif quantiles and ordered is not None:
        read_off["quantiles"] = [
            dict(zip(("share", "bin", "interval"), (share, names[at], [names[low], names[high]]), strict=True))
            for share in quantiles
            for at, low, high in [ordered.quantile(share, confidence, simultaneous=simultaneous)]
        ]
    if top is not None or false_positives is not None:
        largest = statistics.top(len(names) if top is None else top)
        if false_positives is not None:
            threshold = statistics.threshold(false_positives)
            read_off["threshold"] = threshold._asdict() | {"values": len(names)}
            largest = largest[result.estimate.value[largest] >= threshold.estimate]
        read_off["top"] = [{"bin": names[j], "value": float(result.estimate.value[j])} for j in largest]
    if ranges:
        summed = _in_ranges(ordered, names, ranges) if ordered is not None else None
        summed = in_ranges(curve, ranges) if curve is not None else summed
        counted = {} if summed is None else _entries(summed, confidence, simultaneous)
        read_off["ranges"] = [
            {"range": text} | {key: values[j] for key, values in counted.items()} for j, text in enumerate(ranges)
        ]
    return read_off


def _truth_of(result: Result, question: str) -> NDArray[np.float64] | None:
    """The exact entries of one question of a survey."""
    if result.truth is None:
        return None
    return result.truth[[name.startswith(f"{question}: ") for name in result.names]]


def _in_ranges(statistics: BinStatistics, names: tuple[str, ...], ranges: Sequence[str]) -> Estimate:
    bins = {name: j for j, name in enumerate(names)}
    sums = []
    for text in ranges:
        first, dots, last = text.partition("..")
        if not dots or first not in bins or last not in bins:
            raise InvalidInput(f"{text!r} is not a range of bins. Write the names of two bins with .. between them.")
        sums.append(statistics.in_range(bins[first], bins[last]))
    value, error = (np.concatenate([getattr(summed, part) for summed in sums]) for part in ("value", "standard_error"))
    return like(statistics.counts, value, error)


def _entries(estimate: Estimate, confidence: float, simultaneous: bool) -> dict[str, list[Any]]:
    return listed(estimate, confidence=confidence, simultaneous=simultaneous)
