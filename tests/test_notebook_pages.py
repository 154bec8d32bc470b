"""The notebooks of the docs, executed by a real kernel and opened in a real browser, light and dark."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jinja2 import DictLoader
from nbclient import NotebookClient
from nbconvert import HTMLExporter
from playwright.sync_api import Browser, Page

from oracles.browser import chromium, person
from oracles.planner import OUTSIDE

NOTEBOOKS = sorted((Path(__file__).parents[1] / "docs" / "notebooks").glob("*.ipynb"))
OFFLINE = """{% extends 'lab/index.html.j2' %}
{% block html_head_js %}{% endblock %}{% block html_head_js_mathjax %}{% endblock %}
{% block html_head_js_mermaidjs %}{% endblock %}"""
"""The usual page without the scripts that it would load from elsewhere."""
CONTRASTS = """
() => {
  const parts = (colour) => (colour.match(/[\\d.]+/g) || []).map(Number);
  const light = (c) => c.slice(0, 3).map((x) => x / 255).map((x) => (x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4))
    .reduce((sum, x, j) => sum + x * [0.2126, 0.7152, 0.0722][j], 0);
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const found = parts(getComputedStyle(at).backgroundColor);
      if (found.length === 3 || found[3] === 1) return found;
    }
    return [255, 255, 255];
  };
  const seen = [];
  for (const element of document.querySelectorAll(".jp-OutputArea-output *, .jp-MarkdownOutput *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own || !element.checkVisibility()) continue;
    const style = getComputedStyle(element);
    const [a, b] = [light(parts(element.closest("svg") ? style.fill : style.color)), light(ground(element))];
    seen.push([element.textContent.slice(0, 40), (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)]);
  }
  return seen;
}
"""
"""The words of the outputs, and the contrast of each (WCAG 2)."""


@pytest.fixture(scope="module")
def executed() -> dict[str, Any]:
    """All notebooks one after the other in one kernel, whose names are forgotten in between."""
    read = {path.stem: nbformat.read(path, as_version=4) for path in NOTEBOOKS}
    together = nbformat.v4.new_notebook()
    for notebook in read.values():
        together.cells += [nbformat.v4.new_code_cell("%reset -f"), *notebook.cells]
    NotebookClient(together, timeout=None, startup_timeout=600, kernel_name="python3").execute()
    return read


@pytest.fixture(scope="module")
def pages(executed: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Path]:
    folder, written = tmp_path_factory.mktemp("pages"), {}
    for name, notebook in executed.items():
        for theme in ("light", "dark"):
            loader = DictLoader({"offline.html.j2": OFFLINE})
            exporter = HTMLExporter(theme=theme, extra_loaders=[loader], template_file="offline.html.j2")
            written[name, theme] = folder / f"{name}-{theme}.html"
            written[name, theme].write_text(exporter.from_notebook_node(notebook)[0], encoding="utf-8")
    return written


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


def opened(page: Page, path: Path) -> list[str]:
    """What the page complains of, or asks of others."""
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(error.message))
    page.on("console", lambda message: problems.append(message.text))
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    return problems + [url for url in asked if not url.startswith(("file:", "data:"))]


def test_there_are_notebooks_and_they_are_kept_without_outputs() -> None:
    assert len(NOTEBOOKS) >= 2
    for path in NOTEBOOKS:
        cells = nbformat.read(path, as_version=4).cells
        assert all(not cell.outputs and cell.execution_count is None for cell in cells if cell.cell_type == "code")


def test_every_notebook_runs_and_draws(executed: dict[str, Any]) -> None:
    for notebook in executed.values():
        kinds = [kind for cell in notebook.cells for out in cell.get("outputs", ()) for kind in out.get("data", {})]
        assert kinds.count("text/html") >= 4
        assert kinds.count("image/png") >= 2


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", [path.stem for path in NOTEBOOKS])
def test_a_page_can_be_read(browser: Browser, pages: dict[tuple[str, str], Path], name: str, theme: Any) -> None:
    with person(browser, color_scheme=theme, viewport={"width": 1000, "height": 1400}) as context:
        page = context.new_page()
        assert opened(page, pages[name, theme]) == []
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (ground == "rgb(255, 255, 255)") == (theme == "light")
        drawings = page.locator(".jp-OutputArea-output svg").all()
        assert len(drawings) >= 3
        assert all(
            box and box["width"] > 300 and box["height"] > 20 for box in (one.bounding_box() for one in drawings)
        )
        contrasts = page.evaluate(CONTRASTS)
        assert len(contrasts) > 50
        assert [words for words, contrast in contrasts if contrast < 4.5] == []
        assert page.evaluate(OUTSIDE) == []
        sizes = page.evaluate("[...document.images].map((image) => [image.complete, image.naturalWidth])")
        assert sizes
        assert all(complete and width > 200 for complete, width in sizes)


def test_what_cannot_be_read_is_noticed(browser: Browser) -> None:
    with person(browser) as context:
        page = context.new_page()
        page.set_content(
            "<body style='background:#111'><div class='jp-OutputArea-output'>"
            "<p style='color:#000'>black</p><p style='color:#fff'>white</p>"
            "<svg width='50' height='20'><text x='0' y='15' style='fill:#222'>sticks out of it</text></svg></div>"
        )
        assert [words for words, contrast in page.evaluate(CONTRASTS) if contrast < 4.5] == [
            "black",
            "sticks out of it",
        ]
        assert page.evaluate(OUTSIDE) == ["sticks out of it"]
