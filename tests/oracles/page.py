"""A page as a browser sees it."""

from html.parser import HTMLParser
from typing import Any

import pytest

_VOID = {"meta", "img"}


class Page(HTMLParser):
    """What a browser sees: tags that nest, tables as lists of rows, the visible text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.tables: list[list[list[str]]] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("th", "td"):
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" in self.open:
            return
        self.text += data
        if self.open and self.open[-1] in ("th", "td"):
            self.tables[-1][-1][-1] += data


def number(text: str) -> float:
    return float(text.replace(",", ""))


def assert_the_table_has(result: dict[str, Any], found: Page) -> None:
    estimate = result["estimate"]
    columns = [estimate[key] for key in ("value", "standard_error", "interval")]
    head, *rows = found.tables[0]
    error = "Standard error, at most" if estimate["standard_error_is_a_bound"] else "Standard error"
    assert head[1:] == ["Estimate", error, "95 % from", "to"]
    for (_, *cells), value, error, (low, high) in zip(rows, *columns, strict=True):
        shown = [number(cell) for cell in cells]
        assert shown[0] == pytest.approx(value, abs=0.05 * error)
        assert shown[1] == pytest.approx(error, rel=0.05)
        assert low - 0.1 * error <= shown[2] <= low  # outwards, not far
        assert high <= shown[3] <= high + 0.1 * error
