"""The documentation site: it builds without a warning, from this folder alone, and needs nothing from elsewhere."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import shuffledp
from shuffledp.randomizers.named import KINDS
from shuffledp.randomizers.registry import RANDOMIZERS

ROOT = Path(__file__).parents[1]


pytestmark = pytest.mark.xdist_group("site")  # which is built once


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "docs", folder],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


class Links(HTMLParser):
    """Where a page leads to, what it loads, and the places it has."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links, self.loaded, self.places = set[str](), set[str](), set[str]()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.places.add(given.get("id", ""))
        if tag == "a" and "href" in given:
            self.links.add(given["href"])
        elif tag in ("script", "link", "img", "iframe", "source"):
            self.loaded |= {given[name] for name in ("src", "href") if name in given}


def test_no_link_is_dead_and_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    pages = {page: Links(page) for page in site.rglob("*.html")}
    assert len(pages) > 50
    for page, found in pages.items():
        for link in found.links | found.loaded:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                assert link not in found.loaded, (page.name, link)
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            assert target.exists(), (page.name, link)
            if parts.fragment and target in pages and page.name not in ("genindex.html", "search.html"):
                assert unquote(parts.fragment) in pages[target].places, (page.name, link)
    for style in site.rglob("*.css"):
        assert not re.search(r"(@import|url\()\s*['\"]?(https?:)?//", style.read_text(encoding="utf-8"))


def test_every_page_is_in_a_menu(site: Path) -> None:
    menu = Links(site / "index.html").links
    for page in sorted((ROOT / "docs").glob("*.md")):
        assert page.stem == "index" or any(link.split("#")[0] == f"{page.stem}.html" for link in menu), page.name


def test_every_public_name_and_command_is_described(site: Path) -> None:
    names, commands = (
        (site / "reference" / f"{page}.html").read_text(encoding="utf-8") for page in ("python", "commands")
    )
    described = [name for name in shuffledp.__all__ if re.search(rf'id="shuffledp\.(errors\.)?{name}"', names)]
    assert set(described) == set(shuffledp.__all__)
    assert all(f"shuffledp {words}" in commands for words in ("account", "shuffler serve", "doctor"))


def test_every_randomizer_has_a_page() -> None:
    """By the name that people type; those that only Python has, by their kind."""
    folder = ROOT / "docs" / "randomizers"
    typed = {"response": "rr", "design": "plane"}
    names = {typed.get(kind, kind) for kind in RANDOMIZERS} | set(KINDS)
    assert {page.stem for page in folder.glob("*.md")} == names | {"README"}
    for name in names:
        text = (folder / f"{name}.md").read_text(encoding="utf-8")
        assert all(word in text for word in ("## When to use it", "## Law", "## Blanket", f"randomizer-{name}.png"))
        assert re.search(r"shuffledp account|account\(", text)
