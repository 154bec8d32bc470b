"""A result for people: a picture, or a page that needs nothing but itself. Both are made of its JSON data alone."""

import base64
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from shuffledp.core.digits import counted, fixed, rounded_up
from shuffledp.core.document import Document
from shuffledp.core.installed import not_installed
from shuffledp.core.visible import printable
from shuffledp.errors import InvalidInput
from shuffledp.figures.result_picture import picture
from shuffledp.figures.style import check_drawing
from shuffledp.results.estimate_entries import (
    FEW,
    MANY,
    Written,
    are_ranked,
    entries,
    is_curve,
    listed,
    measured,
    parts,
    percent,
    places_of,
    quantiles,
    shown,
    written,
)
from shuffledp.results.guarantee_text import promise, selection, shift, stated

if TYPE_CHECKING:
    from jinja2 import Template


class _Table(NamedTuple):
    """A table whose first column names the rows."""

    caption: str
    header: Sequence[str]
    rows: Sequence[tuple[str, ...]]


def check_report(path: Path) -> None:
    """Refuse a report that cannot be made, before the work."""
    if path.suffix.lower() not in (".html", ".png"):
        raise InvalidInput(f"{path.name} is not a kind of report that can be written. Use .html or .png.")
    check_drawing(path)
    if path.suffix.lower() == ".html":
        _template()


def rendered(result: Document, path: Path) -> bytes:
    """The bytes of a page or a picture; which it is follows from the file's ending."""
    kind = path.suffix.lower().removeprefix(".")
    return page(result).encode() if kind == "html" else picture(result, kind)


def page(result: Document) -> str:
    """The whole result as HTML: nothing is loaded, nothing runs."""
    answers = [_Answer.of(part) for part in parts(result)]
    drawing = picture(result, "svg", transparent=True)  # the page's ground shows through
    alt, caption = _descriptions(result, answers[0].rows) if len(answers) == 1 else _several(result, len(answers))
    why = selection(result)
    return _template().render(
        title=result["wording"]["title"]
        or _sentence(f"{result['question']} of {counted(result['n'], 'report')}", end=""),
        asked=result["wording"]["question"] or "",
        summary=f"{_sentence(promise(result))} {result['n']:,} of {counted(result['received'], 'report')} are valid.",
        drawing=base64.b64encode(drawing[drawing.index(b"<svg") :]).decode(),  # before it: a DTD elsewhere
        alt=alt,
        caption=caption,
        estimates=[
            (_folded(answer.part, answer.rows), _estimates(answer.part, answer.rows, name=len(answers) > 1))
            for answer in answers
        ],
        derived=_derived(result),
        guarantee=_guarantee(result),
        trust=result["trust"],
        terms=_terms(result),
        reports=_reports(result),
        shift=_sentence(shift(result)),
        budget=_budget(result),
        notes=[
            *([] if why is None else [_sentence(why)]),
            *(f"{name}: {reason}." for name, reason in result["estimate"]["refused"].items()),
            *result["notes"],
        ],
        fingerprints=_fingerprints(result),
    )


class _Answer(NamedTuple):
    """One question's answer, and the rows of its table."""

    part: Document
    rows: list[Written]

    @classmethod
    def of(cls, part: Document) -> Self:
        places = shown(part["estimate"]["value"], in_order=is_curve(part))
        return cls(part, written(entries(part, places)))


def _several(result: Document, questions: int) -> tuple[str, str]:
    """What the picture of a survey shows, for those who cannot see it; and the line below it."""
    alt = (
        f"The answers to {counted(questions, 'question')} with {percent(result)} intervals; the tables have the numbers"
    )
    return alt, f"Each question on a scale of its own. {_together(result)} with {percent(result)}."


def _descriptions(result: Document, rows: list[Written]) -> tuple[str, str]:
    """What the picture shows, for those who cannot see it and for those who can."""
    level, measure = percent(result), measured(result)
    if len(rows) == 1:
        alt = f"{measure}: {rows[0].value}, {level} interval from {rows[0].low} to {rows[0].high}"
        return alt, f"The point is the estimate, the bar its {level} interval."
    size = len(result["estimate"]["names"])
    if is_curve(result):
        alt = f"The share of users below each of {counted(size, 'edge')} with {level} intervals; the tables have the numbers"
        biased = " The dashed curve never falls; it is biased." if "consistent" in result["derived"] else ""
        return alt, f"The share of users below each number. {_together(result)} with {level}.{biased}"
    if are_ranked(result):
        alt = f"The largest of {size:,} estimates of {measure} with {level} intervals; the table has the numbers"
        chance = "Among so many, some are large by chance." if size > MANY else ""
        together = _together(result)
        return alt, f"The largest estimates of {measure}. {together} with {level}. {chance}".rstrip()
    alt = f"Estimated {measure} in each of {counted(size, 'bin')} with {level} intervals; the table has the numbers"
    return (
        alt,
        f"Estimated {measure} in each bin. {_together(result)} with {level}. Noise can make an estimate negative.",
    )


def _together(result: Document) -> str:
    return "All intervals hold together" if result["estimate"]["simultaneous"] else "Each interval holds on its own"


def _folded(result: Document, rows: list[Written]) -> str:
    """What a long table is folded under; nothing if it is short."""
    size = len(result["estimate"]["names"])
    if is_curve(result):
        return (
            f"{len(rows):,} of {counted(size, 'edge')}; the result as JSON has all"
            if len(rows) < size
            else f"All {counted(size, 'edge')}"
        )
    if len(rows) < size:
        return f"The {len(rows):,} largest of {counted(size, 'bin')}; the result as JSON has all"
    return f"All {counted(size, 'bin')}" if size > FEW else ""


def _estimates(result: Document, rows: list[Written], *, name: bool) -> _Table:
    several, truth = len(rows) != 1, result["truth"] is not None
    error = f"Standard error{', at most' if result['estimate']['standard_error_is_a_bound'] else ''}"
    what = "Numbers" if is_curve(result) else "Bin" if several else "Answer"
    header = [what, "Estimate", error, f"{percent(result)} from", "to"]
    caption = f"Estimated {measured(result)}" if several else measured(result)
    return _Table(
        f"{result['question']}: {caption}" if name else caption,
        [*header, "Truth (not private)"] if truth else header,
        [tuple(cell for cell in row if cell is not None) for row in rows],
    )


def _derived(result: Document) -> list[_Table]:
    """What the operator asked to read off a histogram."""
    read_off, names, level = result.get("derived", {}), result["estimate"]["names"], percent(result)
    places = places_of(entries(result, shown(result["estimate"]["value"], in_order=is_curve(result))))
    interval = ["Estimate", "Standard error", f"{level} from", "to"]
    tables = [
        _Table(_sentence(name, end=""), ["Bin", *interval], _intervals(entry["names"], entry, shown(entry["value"])))
        for name, entry in result["also"].items()
    ]
    if "projected" in read_off:
        rows = [(names[j], fixed(read_off["projected"][j], places)) for j in shown(read_off["projected"])]
        tables.append(_Table("Nearest possible histogram", ["Bin", "Users"], rows))
    if "consistent" in read_off:
        curve = read_off["consistent"]["cumulative"]
        rows = [(names[j], fixed(curve[j], places)) for j in shown(curve, in_order=True)]
        tables.append(_Table("Nearest curve that never falls (biased)", ["Numbers", "Users"], rows))
    for key, caption in (("frequencies", "Shares of users"), ("cumulative", "Cumulative users")):
        if key in read_off and not (is_curve(result) and key == "cumulative"):  # the estimates are cumulative already
            tables.append(
                _Table(caption, ["Bin", *interval], _intervals(names, read_off[key], shown(read_off[key]["value"])))
            )
    for part in filter(is_curve, parts(result)):
        caption = "Quantiles" if part is result else f"{part['question']}: quantiles"
        read = quantiles(part["derived"]["quantiles"])
        tables.append(_Table(caption, ["Share of users", "Estimate", f"{level} from", "to"], read))
    if "quantiles" in read_off and not is_curve(result):
        rows = [(f"{entry['share']:g}", entry["bin"], *entry["interval"]) for entry in read_off["quantiles"]]
        tables.append(_Table("Quantiles", ["Share of users", "Bin", f"{level} from", "to"], rows))
    if "top" in read_off:
        rows = [(entry["bin"], fixed(entry["value"], places)) for entry in read_off["top"]]
        tables.append(_Table(_largest(read_off.get("threshold"), places), ["Bin", "Estimate"], rows))
    if "ranges" in read_off:
        columns = {key: [entry[key] for entry in read_off["ranges"]] for key in ("value", "standard_error", "interval")}
        names = [entry["range"] for entry in read_off["ranges"]]
        tables.append(_Table("Ranges of bins", ["Range", *interval], _intervals(names, columns, range(len(names)))))
    return tables


def _largest(threshold: Document | None, places: int | None) -> str:
    """What the largest bins are, and how many of them would be there by chance."""
    if threshold is None:
        return "Largest bins"
    least, chance = fixed(threshold["estimate"], places), rounded_up(threshold["false_positives"], 3)
    return (
        f"Bins of at least {least}; if nobody were in any of the {threshold['values']:,}, {chance} of them on average"
    )


def _intervals(names: list[str], columns: dict[str, list[Any]], places: Sequence[int]) -> list[tuple[str, ...]]:
    return [row[:-1] for row in written(listed(columns | {"names": names}, shown=places))]


def _guarantee(result: Document) -> _Table | None:
    claims = stated(result)
    if not claims:
        return None
    conditions = [f"Promised {claims[0].when}", *(_sentence(claim.when, end="") for claim in claims[1:])]
    rows = [(when, claim.epsilon, claim.delta) for when, claim in zip(conditions, claims, strict=True)]
    return _Table("Differential privacy, rounded up; smaller is stronger", ["", "epsilon", "delta"], rows)


def _terms(result: Document) -> str:
    guarantee = result["guarantee"]
    if guarantee is None:
        return ""
    return f"Neighbours: {guarantee['adjacency']}; {guarantee['unit']}. Proved by the {guarantee['bound']} bound."


def _reports(result: Document) -> _Table:
    rows = [("Received", result["received"]), ("Valid", result["n"])]
    for what in ("rejected", "adjusted"):
        rows += [(f"{what.capitalize()}: {reason}", count) for reason, count in sorted(result[what].items())]
    return _Table("What became of them", ["", "Reports"], [(what, f"{count:,}") for what, count in rows])


def _budget(result: Document) -> _Table | None:
    ledger = result["ledger"]
    if ledger is None:
        return None
    rows = [
        ("Spent epsilon", rounded_up(ledger["spent_epsilon"])),
        ("Budget epsilon", rounded_up(ledger["budget_epsilon"])),
        ("At delta", rounded_up(ledger["delta"])),
        ("Releases", f"{ledger['releases']:,}"),
    ]
    return _Table("All releases of the ledger together", ["", "Amount"], rows)


def _fingerprints(result: Document) -> dict[str, str]:
    names = {"Task": result["task"], "Batch": result["batch"], "Plan": result["plan"]}
    if result["ledger"] is not None:
        names["Ledger head"] = result["ledger"]["head"]
    return {name: value for name, value in names.items() if value is not None}


def _sentence(text: str, end: str = ".") -> str:
    return f"{text[:1].upper()}{text[1:]}{end}"


def _template() -> "Template":
    return template("report.html.jinja")


@cache
def template(name: str) -> "Template":
    """A page's template; whatever it prints is cleaned of control characters and escaped."""
    try:
        from jinja2 import Environment, StrictUndefined
        from markupsafe import Markup
    except ImportError:
        raise not_installed("pages need jinja2", "figures") from None

    def clean(value: Any) -> Any:
        return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    environment = Environment(autoescape=True, undefined=StrictUndefined, finalize=clean)
    return environment.from_string(files("shuffledp.figures").joinpath(name).read_text(encoding="utf-8"))
