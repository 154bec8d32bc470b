"""What is installed here, by the extras that this package has; and how to install what is missing.

The package may come from a folder, a wheel or an index, so a hint names what is missing itself: that works with all of them.
"""

import re
import shlex
from importlib.metadata import PackageNotFoundError, metadata, requires, version
from typing import Final

from shuffledp.errors import InvalidInput

_NAME: Final = re.compile(r"[A-Za-z0-9._-]+")
_EXTRA: Final = re.compile(r"""extra\s*==\s*['"]([\w-]+)['"]""")
_ELSEWHERE: Final = re.compile(r"sys_platform|platform_system|os_name")


def extras() -> dict[str, dict[str, str]]:
    """What each extra needs: requirements by the name of the package. The first, without a name, is always needed."""
    needed_by: dict[str, dict[str, str]] = {"": {}}
    try:
        lines = requires("shuffledp") or []
        needed_by |= {extra: {} for extra in sorted(metadata("shuffledp").get_all("Provides-Extra") or ())}
    except PackageNotFoundError:  # a folder that is on the path, and was never installed
        lines = []
    for line in lines:
        requirement, _, marker = line.partition(";")
        extra = _EXTRA.search(marker)
        name = _NAME.match(requirement)
        if name is not None and not _ELSEWHERE.search(marker):
            needed_by[extra.group(1) if extra else ""][name.group()] = requirement.strip()
    return {extra: needed for extra, needed in needed_by.items() if needed}


def installed_version(package: str) -> str | None:
    """None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def install_command(*wanted: str) -> str:
    """A command that installs what these extras lack; all that they need if nothing seems to be lacking. Empty if unknown."""
    known = extras()
    needed = {name: text for extra in wanted for name, text in known.get(extra, {}).items() if name != "shuffledp"}
    lacking = {name: text for name, text in needed.items() if installed_version(name) is None}
    return shlex.join(["pip", "install", *(lacking or needed).values()]) if needed else ""


def not_installed(sentence: str, *wanted: str) -> InvalidInput:
    """The error that something needs a package of an extra: `sentence` says what and which.

    >>> print(not_installed("pages need jinja2", "figures"))  # doctest: +ELLIPSIS
    pages need jinja2, which is not installed. Install it: pip install ...
    """
    command = install_command(*wanted)
    return InvalidInput(f"{sentence}, which is not installed. Install it{f': {command}' if command else '.'}")
