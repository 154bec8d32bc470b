"""A result in plain text: what `run` and `analyzer run` print alike."""

from collections.abc import Sequence
from typing import Final

from shuffledp.cli.tables import aligned
from shuffledp.core.digits import rounded_up
from shuffledp.core.document import Document
from shuffledp.figures.entries import largest
from shuffledp.protocols.counting import MANY
from shuffledp.results.promise import selection

_COLUMNS: Final = ("names", "value", "standard_error", "interval")
_LARGEST: Final = 50


def estimates(result: Document) -> str:
    """The answer as a table: the quantiles of a distribution and what is below its edges, if wanted; or else all entries."""
    found, wording = result.get("derived", {}), result["wording"]
    above = [text for text in (wording["title"], wording["question"]) if text]
    tables = [_entries(result)]
    if "curve" in found:
        tables = [_quantiles(result), *([_entries(result, in_order=True)] if "cumulative" in found else [])]
    return "\n\n".join(["\n".join(above), *tables] if above else tables)


def read_off(result: Document) -> list[str]:
    """What else was read off the estimates, a table each."""
    found, names = result.get("derived", {}), result["estimate"]["names"]
    curve = "curve" in found  # its quantiles and what is below its edges are the answer itself
    tables = []
    if "projected" in found:
        tables.append(_plain(["nearest possible histogram (biased)", "users"], names, found["projected"]))
    if "consistent" in found:
        cumulative = found["consistent"]["cumulative"]
        tables.append(_plain(["nearest curve that never falls (biased)", "users"], names, cumulative))
    for key, what in (("frequencies", "share of users"), ("cumulative", "cumulative")):
        if key in found and not (curve and key == "cumulative"):
            tables.append(_table(result, what, {"names": names, "refused": {}} | found[key], None, in_order=True))
    if "quantiles" in found and not curve:
        level = f"{100 * result['estimate']['confidence']:g} % from"
        lines = [[f"{one['share']:g}", *map(_shown, (one["bin"], *one["interval"]))] for one in found["quantiles"]]
        tables.append(aligned(["quantile", "bin", level, "to"], lines))
    if "top" in found:
        top = _plain(["largest", "estimate"], *([one[key] for one in found["top"]] for key in ("bin", "value")))
        tables.append(f"{top}\n{_reached(found['threshold'])}" if "threshold" in found else top)
    if "ranges" in found:
        columns = {key: [one[key] for one in found["ranges"]] for key in ("value", "standard_error", "interval")}
        ranges = {"names": [one["range"] for one in found["ranges"]], "refused": {}} | columns
        tables.append(_table(result, "range", ranges, None))
    return tables


def _plain(header: list[str], names: Sequence[str], values: Sequence[float]) -> str:
    """A number for each name, of many the first."""
    rows = [[_shown(name), _number(value)] for name, value in zip(names, values, strict=True)]
    if len(rows) <= MANY:
        return aligned(header, rows)
    return f"{aligned(header, rows[:_LARGEST])}\n... and {len(rows) - _LARGEST:,} others, which the JSON has"


def _reached(threshold: Document) -> str:
    """Why these and no others."""
    least, chance = _number(threshold["estimate"]), rounded_up(threshold["false_positives"], 3)
    return f"estimates of at least {least}; if nobody held any of all {threshold['values']:,}, {chance} would be there on average"


def _quantiles(result: Document) -> str:
    """A line per quantile: where it is, and its limits."""
    estimate, rows = result["estimate"], result["derived"]["quantiles"]
    together = " (all at once)" if estimate["simultaneous"] else ""
    header = ["quantile", "estimate", f"{100 * estimate['confidence']:g} % from", f"to{together}"]
    lines = [[f"{one['share']:g}", *(_number(x) for x in (one["value"], *one["interval"]))] for one in rows]
    if result["truth"] is not None:
        header.append("truth (not private)")
        lines = [[*line, one["truth"]] for line, one in zip(lines, rows, strict=True)]
    return aligned(header, lines)


def _entries(result: Document, *, in_order: bool = False) -> str:
    """A line per entry: its estimate, its error and its interval, and the truth if it was asked for; of many the largest."""
    why = selection(result)
    main = _table(result, result["question"], result["estimate"], result["truth"], in_order=in_order)
    return "\n\n".join(
        [
            f"{main}\n{why}" if why else main,
            *(_table(result, name, one, None) for name, one in result["also"].items()),
        ]
    )


def _table(
    result: Document, what: str, estimate: Document, truth: list[float | None] | None, *, in_order: bool = False
) -> str:
    """Entries without a number say why instead."""
    how, size = result["estimate"], len(estimate["names"])
    if size > MANY:
        spread = [j * (size - 1) // (_LARGEST - 1) for j in range(_LARGEST)]
        shown = spread if in_order else largest(estimate["value"], _LARGEST)
        estimate = estimate | {key: [estimate[key][j] for j in shown] for key in _COLUMNS}
        truth = None if truth is None else [truth[j] for j in shown]
    together = " (all at once)" if how["simultaneous"] else ""
    header = [
        what,
        "estimate",
        f"standard error{', at most' if estimate.get('standard_error_is_a_bound') else ''}",
        f"{100 * how['confidence']:g} % from",
        f"to{together}",
    ]
    columns = (estimate[key] for key in _COLUMNS)
    rows = [
        [_shown(name), *(_number(number) for number in (value, error, *(ends or [None, None])))]
        for name, value, error, ends in zip(*columns, strict=True)
    ]
    if truth is not None:
        header.append("truth (not private)")
        rows = [[*row, _number(exact)] for row, exact in zip(rows, truth, strict=True)]
    lines = [aligned(header, rows)]
    if size > MANY:
        lines.append(f"... and {size - _LARGEST:,} {'others' if in_order else 'smaller ones'}, which the JSON has")
    refused = [f"{_shown(name)}: {why}" for name, why in estimate["refused"].items()]
    return "\n".join([*lines, *refused])


def _shown(name: str) -> str:
    """A name may be a text that somebody sent: what would steer the terminal is written out."""
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in name)


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.2f}" if abs(value) >= 1000 else f"{value:.6g}"
