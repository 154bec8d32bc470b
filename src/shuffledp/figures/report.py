"""The analyzer's result for people: a picture, and a page that needs nothing but itself. Both are made of its JSON data alone."""

import base64
import io
import math
import re
import warnings
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from shuffledp.core.digits import rounded_up
from shuffledp.errors import InvalidInput
from shuffledp.figures.style import BLACK, BLUE, SKY, canvas, check_drawing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

_FEW: Final = 60
"""Up to so many bins each gets a line with its name."""
_WIDTH: Final = 4.8
"""Inches: narrow, so that the letters can still be read when a phone shrinks the picture."""
_NOT_IN_XML: Final = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def check_report(path: Path) -> None:
    """Refuse a report that cannot be made, before the work."""
    if path.suffix.lower() not in (".html", ".png"):
        raise InvalidInput(f"{path.name} is not a kind of report we write. Use .html or .png.")
    check_drawing(path)


def rendered(result: dict[str, Any], path: Path) -> bytes:
    """The bytes of a report; its kind follows from the file's ending."""
    return page(result).encode() if path.suffix.lower() == ".html" else picture(result)


class _Row(NamedTuple):
    """One estimate."""

    name: str
    value: float
    error: float
    low: float
    high: float


class _Written(NamedTuple):
    """One estimate as text; the interval is rounded outwards."""

    name: str
    value: str
    error: str
    low: str
    high: str


def picture(result: dict[str, Any], kind: Literal["png", "svg"] = "png") -> bytes:
    """Estimates with their intervals."""
    rows = _rows(result)
    lines = len(rows) if len(rows) <= _FEW else 11
    with canvas(_WIDTH, 1.2 + 0.2 * lines, 1, 1) as (figure, axes), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # a box is drawn for a letter the font lacks
        if len(rows) == 1:
            _draw_one(axes[0], rows[0], result)
        elif len(rows) <= _FEW:
            _draw_few(axes[0], rows, result["measure"])
        else:
            _draw_many(axes[0], rows, result["measure"])
        together = "simultaneous " if result["estimate"].get("simultaneous") else ""
        interval = f"{together}{_percent(result)} {'interval' if len(rows) == 1 else 'intervals'}"
        figure.suptitle(f"{_promise(result)}\n{result['n']:,} reports, {interval}", fontsize=9.0)
        file = io.BytesIO()
        if kind == "svg":  # bare: the page's ground shows through, and nothing in it names a place elsewhere
            figure.savefig(
                file, format="svg", transparent=True, metadata=dict.fromkeys(("Creator", "Date", "Format", "Type"))
            )
        else:
            figure.savefig(file, format="png", metadata={"Software": "shuffledp"})
    return file.getvalue()


def _draw_few(axis: "Axes", rows: list[_Row], measure: str) -> None:
    """One line a bin, the first on top."""
    at = range(len(rows))
    axis.barh(at, [row.value for row in rows], 0.7, color=SKY)
    limits = [row.value - row.low for row in rows], [row.high - row.value for row in rows]
    axis.errorbar([row.value for row in rows], at, xerr=limits, fmt="none", ecolor=BLACK, elinewidth=1.0, capsize=2.5)
    axis.set_yticks(at, [_short(row.name) for row in rows], parse_math=False)
    axis.set_ylim(len(rows) - 0.4, -0.6)
    axis.tick_params(axis="y", length=0)
    axis.spines["left"].set_visible(False)  # the line at zero is there already
    axis.grid(visible=False, axis="y")
    axis.axvline(0.0, color=BLACK, linewidth=0.8)
    axis.set_xlabel(measure)
    axis.xaxis.set_major_locator(_few_ticks())
    axis.xaxis.set_major_formatter(lambda x, _: f"{x:,.10g}")
    axis.set_axisbelow(True)


def _draw_many(axis: "Axes", rows: list[_Row], measure: str) -> None:
    """A curve with a band; only some bins are named."""
    edges = [j - 0.5 for j in range(len(rows) + 1)]
    axis.stairs([row.high for row in rows], edges, baseline=[row.low for row in rows], fill=True, color=SKY)
    axis.stairs([row.value for row in rows], edges, baseline=None, color=BLUE, linewidth=0.8)
    axis.axhline(0.0, color=BLACK, linewidth=0.8)
    named = [round(j * (len(rows) - 1) / 5) for j in range(6)]
    axis.set_xticks(named, [_short(rows[j].name) for j in named], parse_math=False)
    if max(len(rows[j].name) for j in named) > 6:
        axis.tick_params(axis="x", labelrotation=30)
        for label in axis.get_xticklabels():
            label.set_horizontalalignment("right")
    axis.use_sticky_edges = False  # room below the lowest interval
    axis.autoscale_view()
    axis.set_xlim(edges[0], edges[-1])
    axis.set_xlabel(f"{len(rows):,} bins")
    axis.set_ylabel(measure)
    axis.yaxis.set_major_formatter(lambda y, _: f"{y:,.10g}")
    axis.set_axisbelow(True)


def _draw_one(axis: "Axes", row: _Row, result: dict[str, Any]) -> None:
    """A point, its interval, and both in digits."""
    axis.hlines([0], [row.low], [row.high], color=SKY, linewidth=6.0)
    axis.plot([row.value], [0], marker="o", color=BLUE)
    text = _written([row])[0]
    axis.annotate(
        f"{text.value}  ({text.low} to {text.high})", (row.value, 0), (0, 10), textcoords="offset points", ha="center"
    )
    axis.set_ylim(-1, 2)
    axis.set_yticks([])
    axis.spines["left"].set_visible(False)
    axis.margins(x=0.3)
    axis.grid(visible=False)
    axis.xaxis.set_major_locator(_few_ticks())
    axis.set_xlabel(result["measure"])


def _few_ticks() -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10])


def page(result: dict[str, Any]) -> str:
    """The whole result as HTML: nothing is loaded, nothing runs."""
    rows = _written(_rows(result))
    title = _html(f"{result['question'].capitalize()} of {result['n']:,} reports")
    summary = f"{_promise(result)}. {result['n']:,} of {result['received']:,} reports are valid."
    body = [f"<h1>{title}</h1>", f"<p>{_html(summary)}</p>", _figure(result, rows), _estimates(result, rows)]
    body += [_guarantee(result), _reports(result), _budget(result), _names(result)]
    return _PAGE.format(title=title, style=_STYLE, body="\n".join(body))


def _figure(result: dict[str, Any], rows: list[_Written]) -> str:
    drawing = picture(result, "svg")
    data = base64.b64encode(drawing[drawing.index(b"<svg") :]).decode()  # before it: a DTD elsewhere
    percent = _percent(result)
    if len(rows) == 1:
        alt = f"{result['measure']}: {rows[0].value}, {percent} interval from {rows[0].low} to {rows[0].high}"
        caption = f"The point is the estimate, the bar its {percent} interval."
    else:
        alt = f"Estimated {result['measure']} in each of {len(rows):,} bins with {percent} intervals; the table has the numbers"
        together = (
            "All intervals hold together" if result["estimate"]["simultaneous"] else "Each interval holds by itself"
        )
        caption = f"Estimated {result['measure']} in each bin. {together} with {percent}. Noise can make an estimate negative."
    return (
        f'<figure><img src="data:image/svg+xml;base64,{data}" alt="{_html(alt)}">'
        f"<figcaption>{_html(caption)}</figcaption></figure>"
    )


def _estimates(result: dict[str, Any], rows: list[_Written]) -> str:
    several, percent = len(rows) > 1, _percent(result)
    header = ["Bin" if several else "Answer", "Estimate", "Standard error", f"{percent} from", "to"]
    caption = f"Estimated {result['measure']}" if several else result["measure"]
    table = _table(caption, header, rows)
    if len(rows) > _FEW:
        table = f"<details><summary>All {len(rows):,} bins</summary>{table}</details>"
    return f"<h2>Estimates</h2>\n{table}"


def _guarantee(result: dict[str, Any]) -> str:
    promise = result["guarantee"]
    delta = rounded_up(promise["delta"])
    rows = [
        (f"Promised, from {promise['n']:,} honest reports on", rounded_up(promise["epsilon"]), delta),
        (
            f"If at least {promise['realised_honest']:,} of the {result['received']:,} reports received are from honest users",
            rounded_up(promise["realised_epsilon"]),
            delta,
        ),
        (
            "If shuffler and analyzer collude",
            rounded_up(promise["epsilon_if_shuffler_and_analyzer_collude"]),
            "0",
        ),
    ]
    table = _table("Differential privacy, rounded up; smaller is stronger", ["", "epsilon", "delta"], rows)
    terms = f"Neighbours: {promise['adjacency']}; {promise['unit']}. Proved by the bound {promise['bound']}."
    return f"<h2>Guarantee</h2>\n{table}\n<p>{_html(result['trust'])}</p>\n<p>{_html(terms)}</p>"


def _reports(result: dict[str, Any]) -> str:
    rows = [("Received", f"{result['received']:,}"), ("Valid", f"{result['n']:,}")]
    rows += [(f"Rejected: {reason}", f"{count:,}") for reason, count in sorted(result["rejected"].items())]
    table = _table("What became of them", ["", "Reports"], rows)
    shift = f"One false report can shift an estimate by at most {rounded_up(result['max_shift_per_false_report'])}."
    return f"<h2>Reports</h2>\n{table}\n<p>{shift}</p>"


def _budget(result: dict[str, Any]) -> str:
    ledger = result["ledger"]
    if ledger is None:
        return f"<h2>Budget</h2>\n<p>{_html(' '.join(result['notes']))}</p>"
    rows = [
        ("Spent epsilon", rounded_up(ledger["spent_epsilon"])),
        ("Budget epsilon", rounded_up(ledger["budget_epsilon"])),
        ("At delta", rounded_up(ledger["delta"])),
        ("Releases", f"{ledger['releases']:,}"),
    ]
    return f"<h2>Budget</h2>\n{_table('All releases of the ledger together', ['', 'Amount'], rows)}"


def _names(result: dict[str, Any]) -> str:
    names = {"Task": result["task"], "Batch": result["batch"], "Plan": result["plan"]}
    if result["ledger"] is not None:
        names["Ledger head"] = result["ledger"]["head"]
    listed = "".join(f"<dt>{name}</dt><dd><code>{_html(value)}</code></dd>" for name, value in names.items())
    return f"<h2>Fingerprints (SHA-256)</h2>\n<dl>{listed}</dl>"


def _table(caption: str, header: "Sequence[str]", rows: "Sequence[Sequence[str]]") -> str:
    """A table whose first column names the rows. Everything is escaped here."""
    head = "".join(f'<th scope="col">{_html(cell)}</th>' if cell else "<td></td>" for cell in header)
    lines = [
        f'<tr><th scope="row" dir="auto">{_html(name)}</th>{"".join(f"<td>{_html(cell)}</td>" for cell in cells)}</tr>'
        for name, *cells in rows
    ]
    body = "\n".join(lines)
    return (
        f'<div class="wide" role="region" aria-label="{_html(caption)}" tabindex="0"><table><caption>{_html(caption)}</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
    )


def _rows(result: dict[str, Any]) -> list[_Row]:
    estimate = result["estimate"]
    columns = (estimate[key] for key in ("names", "value", "standard_error", "interval"))
    return [
        _Row(_clean(name).strip() or "(empty)", value, error, low, high)
        for name, value, error, (low, high) in zip(*columns, strict=True)
    ]


def _written(rows: list[_Row]) -> list[_Written]:
    """All with as many decimals as show two digits of the least standard error."""
    least = min(row.error for row in rows)
    largest = max(abs(end) for row in rows for end in (row.low, row.high))
    ordinary = least > 1e-9 and largest < 1e12
    places = max(0, 1 - math.floor(math.log10(least))) if ordinary else None
    return [
        _Written(
            row.name, _digits(row.value, places), _digits(row.error, places), _digits(row.low, places, ROUND_FLOOR),
            _digits(row.high, places, ROUND_CEILING),
        )
        for row in rows
    ]  # fmt: skip


def _digits(value: float, places: int | None, rounding: str = ROUND_HALF_EVEN) -> str:
    """So many decimals, or six digits of a number that is too large or too small for that."""
    decimal = Decimal(repr(value))
    if places is None:
        return f"{Context(prec=6, rounding=rounding).plus(decimal).normalize():g}"
    return f"{decimal.quantize(Decimal(1).scaleb(-places), rounding=rounding) + 0:,f}"  # + 0: no minus before a zero


def _html(text: str) -> str:
    return escape(_clean(text))


def _clean(text: str) -> str:
    return _NOT_IN_XML.sub("\ufffd", text)


def _promise(result: dict[str, Any]) -> str:
    promise = result["guarantee"]
    return f"({rounded_up(promise['epsilon'])}, {rounded_up(promise['delta'])})-differentially private"


def _percent(result: dict[str, Any]) -> str:
    return f"{100 * result['estimate']['confidence']:g} %"


def _short(name: str) -> str:
    return name if len(name) <= 20 else f"{name[:19]}…"


_STYLE: Final = """
:root { color-scheme: light dark; --ground: #ffffff; --ink: #1a1a1a; --line: #cccccc; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; }
main { max-width: 40rem; margin: 0 auto; padding: 1rem; }
h1, h2 { line-height: 1.2; }
h2 { margin-top: 2rem; font-size: 1.2rem; }
figure { margin: 1rem 0; }
img { display: block; width: 100%; height: auto; }
figcaption, caption { text-align: left; font-size: 0.9rem; padding-bottom: 0.3rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 0.2rem 0.6rem; border-bottom: 1px solid var(--line); text-align: right; vertical-align: top; }
th:first-child, td:first-child { text-align: start; padding-left: 0; min-width: 6rem; overflow-wrap: anywhere; }
tbody th { font-weight: normal; }
dt { font-size: 0.9rem; }
dd { margin: 0 0 0.5rem; overflow-wrap: anywhere; }
summary { cursor: pointer; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #1a1a1a; --ink: #e6e6e6; --line: #555555; }
  img { filter: invert(0.9) hue-rotate(180deg); }
}
"""

_PAGE: Final = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main>
{body}
</main>
</body>
</html>
"""
