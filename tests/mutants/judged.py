"""Bugs that were looked at: those that are none (`equivalent.toml`), and those that a given test must notice (`named.toml`)."""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mutants.bug import Bug, Key
from mutants.reach import ROOT, SOURCES

HERE: Final = Path(__file__).parent


def equivalent() -> dict[Key, str]:
    """Why a survivor is no bug: what it computes, promises or refuses is the same."""
    found = tomllib.loads((HERE / "equivalent.toml").read_text(encoding="utf-8")).get("equivalent", [])
    return {
        (one["module"], one["function"], one["operator"], one["text"], one["change"]): " ".join(one["why"].split())
        for one in found
    }


def stale(judged: Iterable[Key], bugs: Iterable[Bug]) -> list[Key]:
    """Judgements about lines that are no longer there."""
    known = {bug.key for bug in bugs}
    return [key for key in judged if key not in known]


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A bug that somebody could have made, in words, and the test that must notice it."""

    what: str
    bug: Bug
    noticed_by: str


def named() -> list[Named]:
    """All of them; one whose text is not in its module exactly once is refused."""
    found = list[Named]()
    for one in tomllib.loads((HERE / "named.toml").read_text(encoding="utf-8"))["bug"]:
        source = (SOURCES / one["module"]).read_text(encoding="utf-8")
        if source.count(one["before"]) != 1:
            raise ValueError(f"{one['what']}: its text is {source.count(one['before'])} times in {one['module']}")
        if not (ROOT / one["noticed_by"].partition("::")[0]).exists():
            raise ValueError(f"{one['what']}: there is no {one['noticed_by']}")
        before = source[: source.index(one["before"])]
        line = before.count("\n") + 1
        bug = Bug(
            module=one["module"], function="", operator="named", text=source.splitlines()[line - 1].strip(),
            before=one["before"], after=one["after"], start=len(before.encode()), line=line,
            last_line=line + one["before"].count("\n"),
        )  # fmt: skip
        found.append(Named(what=one["what"], bug=bug, noticed_by=one["noticed_by"]))
    return found
