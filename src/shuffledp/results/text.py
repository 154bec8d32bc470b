"""A result in plain text: what `print` shows of it, and `run`, `analyzer run` and `analyzer read` print.

It is made of the result's JSON data, so that one that was read from a file looks the same.
"""

from collections.abc import Sequence
from typing import Final

from shuffledp.core.digits import counted, fixed, rounded_up
from shuffledp.core.document import Document
from shuffledp.core.guarantee import NOTHING_LOCAL, Guarantee
from shuffledp.core.text_tables import aligned
from shuffledp.core.visible import visible
from shuffledp.protocols.counting import MANY
from shuffledp.results.balance import Balance
from shuffledp.results.estimate_entries import (
    USERS,
    entries,
    is_curve,
    largest,
    listed,
    parts,
    places_of,
    quantiles,
    written,
)
from shuffledp.results.guarantee_text import selection, shift, stated, with_reports_received

_LINES: Final = 50
"""Of many entries, unless --top says how many."""


def in_words(result: Document, unit: str | None, guarantee: Guarantee | None) -> str:
    """The answer, what was read off it, and the terms: whom it protects and what is promised."""
    terms = _of_rows(result, unit, guarantee) if result["task"] is None else _of_service(result)
    return "\n\n".join([_estimates(result), *_read_off(result), "\n".join(map(visible, terms))])


def _of_rows(result: Document, unit: str | None, guarantee: Guarantee | None) -> list[str]:
    reports = counted(result["n"], "report")
    lines = [reports if unit is None else f"{reports}, {unit}"]
    for what in ("rejected", "adjusted"):
        lines += [f"{what}: {count:,} {reason}" for reason, count in result[what].items()]
    if guarantee is not None:
        lines.append(f"guarantee: {guarantee}")
        lines += with_reports_received(result)
        if result["guarantee"]["epsilon_if_shuffler_and_analyzer_collude"] is None:
            lines.append(NOTHING_LOCAL)
    return [*lines, shift(result), *(f"note: {note}" for note in result["notes"])]


def _of_service(result: Document) -> list[str]:
    promised, received, _ = stated(result)
    lines = [f"{result['n']:,} valid of {counted(result['received'], 'report')}"]
    lines += [f"rejected: {count:,} {reason}" for reason, count in sorted(result["rejected"].items())]
    lines += [f"epsilon = {claim.epsilon} at delta = {claim.delta} {claim.when}" for claim in (promised, received)]
    lines += [shift(result), result["trust"], *result["notes"]]
    return [*lines, *(str(Balance(**result["ledger"])).splitlines() if result["ledger"] else [])]


def _estimates(result: Document) -> str:
    """The answer as tables: the quantiles of a distribution and what is below its edges, if wanted; or else all entries."""
    read_off, wording = result.get("derived", {}), result["wording"]
    above = [visible(text) for text in (wording["title"], wording["question"]) if text]
    tables = []
    for part in parts(result):
        if is_curve(part):
            what = "quantile" if part is result else f"quantile of {visible(part['question'])}"
            tables += [_quantiles(part, what), *(_answer(part) if "cumulative" in read_off else [])]
        else:
            tables += _answer(part)
    why = selection(result)
    if why:
        tables[0] += f"\n{why}"
    return "\n\n".join(["\n".join(above), *tables] if above else tables)


def _read_off(result: Document) -> list[str]:
    """What else was read off the estimates, a table each."""
    read_off, names = result.get("derived", {}), result["estimate"]["names"]
    curve = "curve" in read_off  # its quantiles and what is below its edges are the answer itself
    tables = []
    if "projected" in read_off:
        tables.append(_plain(result, "nearest possible histogram (biased)", read_off["projected"]))
    if "consistent" in read_off:
        tables.append(_plain(result, "nearest curve that never falls (biased)", read_off["consistent"]["cumulative"]))
    lists = [("frequencies", "share of users", _places(result))]
    lists += [] if curve else [("cumulative", "cumulative", _spread(len(names)))]
    tables += [
        _table(result, what, {"names": names} | read_off[key], places) for key, what, places in lists if key in read_off
    ]
    if "quantiles" in read_off and not curve:
        level = f"{100 * result['estimate']['confidence']:g} % from"
        lines = [
            [f"{entry['share']:g}", *map(visible, (entry["bin"], *entry["interval"]))]
            for entry in read_off["quantiles"]
        ]
        tables.append(aligned(["quantile", "bin", level, "to"], lines))
    if "ranges" in read_off:
        columns = {key: [entry[key] for entry in read_off["ranges"]] for key in ("value", "standard_error", "interval")}
        ranges = {"names": [entry["range"] for entry in read_off["ranges"]]} | columns
        tables.append(_table(result, "range", ranges, range(len(read_off["ranges"]))))
    return tables


def _answer(result: Document) -> list[str]:
    """A line per entry: its estimate, its error and its interval, and the truth if it was asked for; then what else is said."""
    unit = result["wording"]["unit"]
    what = f"{result['question']} ({visible(unit)})" if unit and result["measure"] == USERS else result["question"]
    read_off, estimate = result.get("derived", {}), result["estimate"]
    lines = [_table(result, what, estimate, _places(result), result["truth"])]
    if "threshold" in read_off:
        lines.append(_reached(result, read_off["threshold"]))
    lines += [f"{visible(name)}: {why}" for name, why in estimate["refused"].items()]
    plain = result | {"measure": USERS}  # what is said besides is not in the values' unit
    also = [_table(plain, name, more, _most(more)) for name, more in result["also"].items()]
    return ["\n".join(lines), *also]


def _places(result: Document) -> Sequence[int]:
    """Which entries are shown: of many the largest, or as many of them as were asked for; those of a curve all the way."""
    read_off, estimate = result.get("derived", {}), result["estimate"]
    if "curve" in read_off:
        return _spread(len(estimate["names"]))
    return largest(estimate["value"], len(read_off["top"])) if "top" in read_off else _most(estimate)


def _most(columns: Document) -> Sequence[int]:
    values = columns["value"]
    return range(len(values)) if len(values) <= MANY else largest(values, _LINES)


def _spread(size: int) -> Sequence[int]:
    return range(size) if size <= MANY else [j * (size - 1) // (_LINES - 1) for j in range(_LINES)]


def _table(
    result: Document, what: str, columns: Document, shown: Sequence[int], truth: list[float | None] | None = None
) -> str:
    how, unit, names = result["estimate"], result["wording"]["unit"], columns["names"]
    together = " (all at once)" if how["simultaneous"] else ""
    header = [
        what,
        f"estimate ({visible(unit)})" if unit and result["measure"] != USERS else "estimate",
        f"standard error{', at most' if columns.get('standard_error_is_a_bound') else ''}",
        f"{100 * how['confidence']:g} % from",
        f"to{together}",
        *([] if truth is None else ["truth (not private)"]),
    ]
    rows = [
        [visible(names[j]), *(cell for cell in row[1:] if cell is not None)]
        for j, row in zip(shown, written(listed(columns, truth, shown)), strict=True)
    ]
    return aligned(header, rows) + _rest(result, len(names) - len(rows))


def _rest(result: Document, left_out: int) -> str:
    """How many lines there would be more, and how to see them unless it was asked for so few."""
    if not left_out:
        return ""
    how = "" if "top" in result.get("derived", {}) else ": --top shows more of the largest, the JSON has all"
    return f"\n... and {counted(left_out, 'other')}{how}"


def _plain(result: Document, what: str, values: Sequence[float]) -> str:
    """A number for each name, with as many decimals as the estimates."""
    names, shown = result["estimate"]["names"], _places(result)
    places = places_of(entries(result, shown))
    rows = [[visible(names[j]), fixed(values[j], places)] for j in shown]
    return aligned([what, "users"], rows) + _rest(result, len(names) - len(rows))


def _reached(result: Document, threshold: Document) -> str:
    """Why these and no others."""
    least, chance = (
        fixed(threshold["estimate"], places_of(entries(result, _places(result)))),
        rounded_up(threshold["false_positives"], 3),
    )
    nobody = f"if nobody held any of the {threshold['values']:,}"
    return f"estimates of at least {least}; {nobody}, {chance} would be listed on average"


def _quantiles(result: Document, what: str) -> str:
    """A line per quantile: where it is, and its limits."""
    estimate, rows, unit = result["estimate"], result["derived"]["quantiles"], result["wording"]["unit"]
    together = " (all at once)" if estimate["simultaneous"] else ""
    estimated = f"estimate ({visible(unit)})" if unit else "estimate"
    header = [what, estimated, f"{100 * estimate['confidence']:g} % from", f"to{together}"]
    lines = [list(cells) for cells in quantiles(rows)]
    if result["truth"] is not None:
        header.append("truth (not private)")
        lines = [[*line, row["truth"]] for line, row in zip(lines, rows, strict=True)]
    return aligned(header, lines)
