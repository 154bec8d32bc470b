"""`shuffledp doctor`: what is installed, and what each missing part would give."""

import platform
import re
from importlib.metadata import PackageNotFoundError, distribution, metadata, requires, version
from typing import Any, Final

import click

from shuffledp import __version__
from shuffledp.cli.exits import BAD_INPUT
from shuffledp.cli.output import json_option, show
from shuffledp.core.tables import aligned

_GIVES: Final = {
    "": "account, curve, compose, plan, verify, audit",
    "all": "everything but Spark and the demo's data",
    "compare": "the curator's noise in compare",
    "demo": "the data of make demo",
    "figures": "pictures and pages: --plot, --report, figures",
    "postgres": "the shuffler's store in PostgreSQL",
    "run": "run, export, and files: CSV, Parquet, Arrow, SQL questions",
    "service": "shuffler, client and analyzer over HTTP",
    "spark": "run and analyzer on Apache Spark",
    "web": "the planner in the browser",
}
_NAME: Final = re.compile(r"[A-Za-z0-9._-]+")
_EXTRA: Final = re.compile(r"""extra\s*==\s*['"]([\w-]+)['"]""")
_ELSEWHERE: Final = re.compile(r"sys_platform|platform_system|os_name")


@click.command("doctor")
@json_option
def doctor_command(as_json: bool) -> None:
    """What of shuffledp is installed here, and what each missing part would give.

    Exit code: 0 unless something that every command needs is missing.
    """
    parts = _parts()
    rows = [[_label(name), part["state"], _GIVES.get(name, ""), _missing(part)] for name, part in parts.items()]
    document = {"shuffledp": __version__, "python": platform.python_version(), "parts": parts}
    head = f"shuffledp {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    lacking = [name for name, part in parts.items() if name and part["state"] != "installed"]
    advice = f"\n\nto install what is missing: pip install 'shuffledp[{','.join(lacking)}]'" if lacking else ""
    words = f"{head}\n\n{aligned(['part', 'state', 'gives', 'missing'], rows)}{advice}"
    show(document, words, as_json=as_json)
    if parts[""]["state"] != "installed":
        raise SystemExit(BAD_INPUT)


def _parts() -> dict[str, dict[str, Any]]:
    """Every extra and its packages with their versions, None for one that is not there; the first is what all need."""
    parts: dict[str, dict[str, Any]] = {"": {"state": "installed", "packages": {}}}
    for extra in sorted(metadata("shuffledp").get_all("Provides-Extra") or ()):
        parts[extra] = {"state": "installed", "packages": {}}
    for requirement in requires("shuffledp") or ():
        needed, _, marker = requirement.partition(";")
        found = _EXTRA.search(marker)
        name = _NAME.match(needed)
        if name is None or _ELSEWHERE.search(marker):
            continue
        parts[found.group(1) if found else ""]["packages"][name.group()] = _version(name.group())
    for part in parts.values():
        there = [known for known in part["packages"].values() if known is not None]
        if len(there) < len(part["packages"]):
            part["state"] = "incomplete" if there else "missing"
    return {name: part for name, part in parts.items() if part["packages"]}


def _version(package: str) -> str | None:
    try:
        distribution(package)
    except PackageNotFoundError:
        return None
    return version(package)


def _label(name: str) -> str:
    return name or "(always)"


def _missing(part: dict[str, Any]) -> str:
    return ", ".join(name for name, known in part["packages"].items() if known is None) or "-"
