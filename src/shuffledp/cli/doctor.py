"""`shuffledp doctor`: what is installed, and what each missing part would give."""

import platform
from typing import Any, Final

import click

from shuffledp.cli.command import Command
from shuffledp.cli.exit_codes import BAD_INPUT
from shuffledp.cli.output import json_option, show
from shuffledp.core.installed import extras, install_command, installed_version
from shuffledp.core.text_tables import aligned
from shuffledp.version import VERSION

_GIVES: Final = {
    "": "account, curve, compose, plan, compare, verify, audit",
    "all": "everything but Flower, Spark and the demo's data",
    "demo": "the data of make demo",
    "figures": "pictures and pages: --plot, --report, figures",
    "flower": "federated averaging with Flower",
    "postgres": "the shuffler's store in PostgreSQL",
    "run": "run, export, and files: CSV, Parquet, Arrow, SQL questions",
    "service": "shuffler, client and analyzer over HTTP",
    "spark": "run and analyzer on Apache Spark",
    "web": "the planner in the browser",
}


@click.command("doctor", cls=Command)
@json_option
def doctor_command(as_json: bool) -> None:
    """Which parts of shuffledp are installed here, and what each missing part would add.

    Exit code: 0 unless something that every command needs is missing.
    """
    parts = _parts()
    rows = [[_label(name), part["state"], _GIVES.get(name, ""), _missing(part)] for name, part in parts.items()]
    document = {"shuffledp": VERSION, "python": platform.python_version(), "parts": parts}
    head = f"shuffledp {VERSION}, Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    lacking = [name for name, part in parts.items() if name and part["state"] != "installed"]
    advice = f"\n\nto install what is missing: {install_command(*lacking)}" if lacking else ""
    words = f"{head}\n\n{aligned(['part', 'state', 'gives', 'missing'], rows)}{advice}"
    show(document, words, as_json=as_json)
    if parts[""]["state"] != "installed":
        raise SystemExit(BAD_INPUT)


def _parts() -> dict[str, dict[str, Any]]:
    """Every extra and its packages with their versions, None for one that is not there; the first is what all need."""
    parts: dict[str, dict[str, Any]] = {}
    for extra, needed in extras().items():
        packages = {name: installed_version(name) for name in needed if name != "shuffledp"}
        there = [known for known in packages.values() if known is not None]
        state = "installed" if len(there) == len(packages) else "incomplete" if there else "missing"
        if packages:
            parts[extra] = {"state": state, "packages": packages}
    return parts


def _label(name: str) -> str:
    return name or "(always)"


def _missing(part: dict[str, Any]) -> str:
    return ", ".join(name for name, known in part["packages"].items() if known is None) or "-"
