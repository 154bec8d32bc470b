"""How the documentation site is built: `make site`. Nothing in it is loaded from elsewhere.

Pages are also read as they are, on a forge. What only this site understands is not shown there: menus stand in comments,
and the reference of Python is a list of names.
"""

import inspect
import re
from operator import attrgetter

from sphinx.application import Sphinx

import shuffledp
from shuffledp.version import VERSION

project = "shuffledp"
author = "the shuffledp authors"
release = version = VERSION
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_click", "sphinx_copybutton"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "deploy", "static", "templates"]
templates_path = ["templates"]
html_theme = "furo"
html_title = "shuffledp"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_sidebars = {
    "**": [
        "sidebar/scroll-start.html",
        "sidebar/brand.html",
        "sidebar/versions.html",
        "sidebar/search.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
EARLIER: list[str] = []
"""Released versions whose sites stand in folders of their names, beside the folder of this one."""
html_context = {"earlier": EARLIER}
smartquotes = False  # or options of commands would begin with a dash that nobody can type
html_show_copyright = False
html_show_sphinx = False
html_copy_source = False
autodoc_typehints = "description"
autodoc_member_order = "bysource"
copybutton_prompt_text = "$ "
nitpicky = False

_COMMENTED = re.compile(r"^<!--\n(```\{.*?^```)\n-->$", re.MULTILINE | re.DOTALL)
_NAME = re.compile(r"^- `([\w.]+)`(?:, with (.*))?$", re.MULTILINE)


def described(item: re.Match[str]) -> str:
    """What autodoc makes of a public name in the reference, and of the members given with it (of a class alone: all)."""
    name, members = item[1], ", ".join(re.findall(r"`(\w+)`", item[2] or ""))
    thing = shuffledp if name == "errors" else attrgetter(name)(shuffledp)
    kind = "module" if name == "errors" else "class" if inspect.isclass(thing) else "function"
    options = "" if kind == "function" else f"\n   :members: {members}"
    return f"```{{eval-rst}}\n.. auto{kind}:: shuffledp.{name}{options}\n```"


def for_this_site(app: Sphinx, page: str, source: list[str]) -> None:  # noqa: ARG001
    """A page with what it hides from other readers."""
    source[0] = _COMMENTED.sub(r"\1", source[0])
    if page == "reference/python":
        source[0] = _NAME.sub(described, source[0])


def setup(app: Sphinx) -> None:
    """What Sphinx calls."""
    app.connect("source-read", for_this_site)
