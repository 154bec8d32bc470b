"""The package built and installed in an empty environment, offline: from a wheel, and what was fetched for the tests."""

import os
import re
import subprocess
import sys
from importlib.metadata import requires, version
from pathlib import Path

from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]


def build(folder: Path) -> Path:
    """A wheel and a source archive in the folder; the wheel."""
    for builder in (SdistBuilder, WheelBuilder):
        list(builder(str(ROOT)).build(directory=str(folder), versions=["standard"]))
    (wheel,) = folder.glob("*.whl")
    return wheel


def install(wheel: Path, place: Path, *, extras: tuple[str, ...] = ()) -> dict[str, str]:
    """Install the wheel and what it needs in a new environment; the variables under which its commands are found first."""
    uv = next((ROOT / ".uv").glob("*/bin/uv"))
    subprocess.run([uv, "venv", "--quiet", "--offline", "--python", sys.executable, place], check=True)
    needed = place / "needed.txt"
    needed.write_text("\n".join(_pinned(name) for name in sorted(_needed("shuffledp", extras) - {"shuffledp"})))
    into = ["--quiet", "--offline", "--python", str(place)]
    subprocess.run([uv, "pip", "sync", *into, "--require-hashes", needed], check=True)
    subprocess.run([uv, "pip", "install", *into, "--no-deps", wheel], check=True)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return clean | {"PATH": f"{place / 'bin'}{os.pathsep}{clean['PATH']}"}


def add(wheel: Path, place: Path) -> None:
    """Install one more wheel, whose needs are there, into an environment."""
    uv = next((ROOT / ".uv").glob("*/bin/uv"))
    subprocess.run(
        [uv, "pip", "install", "--quiet", "--offline", "--python", str(place), "--no-deps", wheel], check=True
    )


def remove(package: str, place: Path) -> None:
    """Uninstall a package from an environment."""
    uv = next((ROOT / ".uv").glob("*/bin/uv"))
    subprocess.run([uv, "pip", "uninstall", "--quiet", "--python", str(place), package], check=True)


def install_more(requirements: list[str], place: Path) -> None:
    """Install what `pip install` is asked for, and what that needs, into an environment that is there."""
    uv = next((ROOT / ".uv").glob("*/bin/uv"))
    needed = place / "more.txt"
    asked = [(re.sub(r"[-_.]+", "-", one.name).lower(), one) for one in map(Requirement, requirements)]
    for name, one in asked:
        assert one.specifier.contains(version(name), prereleases=True)
    every = set[str]().union(*(_needed(name, extra) for name, one in asked for extra in ((), tuple(one.extras))))
    needed.write_text("\n".join(_pinned(name) for name in sorted(every)))
    into = ["--quiet", "--offline", "--python", str(place)]
    # All that is needed is listed; to look for more uv would want to know what each package needs, which is not in its cache.
    subprocess.run([uv, "pip", "install", *into, "--no-deps", "--require-hashes", "--requirement", needed], check=True)


def _needed(package: str, extras: tuple[str, ...]) -> set[str]:
    """A package and all that it needs, here, with these extras."""
    found, waiting = set[tuple[str, str]](), [(package, extra) for extra in ("", *extras)]
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) not in found:
            found.add((name, extra))
            for one in map(Requirement, requires(name) or ()):
                if one.marker is None or one.marker.evaluate({"extra": extra}):
                    needed = re.sub(r"[-_.]+", "-", one.name).lower()
                    waiting += [(needed, wanted) for wanted in ("", *one.extras)]
    return {name for name, _ in found}


def _pinned(package: str) -> str:
    """Its lines in the lock file, with their hashes."""
    text = (ROOT / "requirements" / "lock.txt").read_text()
    return "".join(re.findall(rf"^{re.escape(package)}==.*\n(?:    --hash.*\n)*", text, re.MULTILINE))
