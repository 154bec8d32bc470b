"""The licences of all locked packages, as they state them: `make licences`."""

import contextlib
import re
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

ROOT = Path(__file__).parents[1]
NAME = re.compile(r"[A-Za-z0-9][\w.-]*")
KNOWN = (
    "Apache",
    "BSD",
    "MIT",
    "ISC",
    "PSF",
    "Python Software Foundation",
    "Mozilla Public License 2.0",
    "Zlib",
    "CC0",
    "LGPL",
)
"""What an Apache-licensed program may depend on."""


def normal(name: str) -> str:
    """As the lock file writes it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def locked() -> dict[str, str]:
    """Version by name."""
    text = (ROOT / "requirements" / "lock.txt").read_text(encoding="utf-8")
    return dict(re.findall(r"^([a-z0-9][\w.-]*)(?:\[[^\]]*\])?==([^\s;\\]+)", text, re.MULTILINE))


def needed(requirement: str) -> str | None:
    """The name of a requirement; None if it is for an extra."""
    found = NAME.match(requirement)
    return None if found is None or re.search(r"\bextra\s*==", requirement) else normal(found.group())


def installed_with() -> set[str]:
    """All locked packages that an installation with every extra may bring."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    waiting, found = [needed(one) for one in asked], set[str]()
    if "psycopg[binary]" in " ".join(asked):
        waiting.append("psycopg-binary")
    while waiting:
        name = waiting.pop()
        if name is not None and name not in found and name in locked():
            found.add(name)
            with contextlib.suppress(PackageNotFoundError):
                waiting += [needed(one) for one in distribution(name).requires or []]
    return found


def licence(name: str) -> str | None:
    """What a package states: None if it states nothing, or is not installed on this machine."""
    try:
        stated = distribution(name).metadata
    except PackageNotFoundError:
        return None
    classifiers = [
        line.split("::")[-1].strip() for line in stated.get_all("Classifier") or [] if line.startswith("License ::")
    ]
    expression, short = (
        stated[field].strip() if field in stated else "" for field in ("License-Expression", "License")
    )
    return expression or ", ".join(classifiers) or (short if 0 < len(short) < 60 and short != "UNKNOWN" else None)


def known(text: str | None) -> bool:
    """Whether it is one of those that an Apache-licensed program may come with."""
    return text is not None and any(word.lower() in text.lower() for word in KNOWN)


def table() -> list[tuple[str, str, str, bool]]:
    """(name, version, licence, whether an installation brings it), all locked packages."""
    ours = installed_with()
    return [
        (name, version, licence(name) or "not installed here", name in ours)
        for name, version in sorted(locked().items())
    ]


if __name__ == "__main__":
    for name, version, said, ours in table():
        print(f"{'installed with shuffledp' if ours else 'development only':26}{name + ' ' + version:36}{said}")
