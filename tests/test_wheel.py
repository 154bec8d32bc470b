"""What is handed to others: a wheel and a source archive that say what they are, and work by themselves."""

import email
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import requires
from pathlib import Path

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    for builder in (SdistBuilder, WheelBuilder):
        list(builder(str(ROOT)).build(directory=str(folder), versions=["standard"]))
    return folder


def test_the_wheel_says_what_it_is(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        about = email.message_from_bytes(archive.read(next(name for name in names if name.endswith("/METADATA"))))
    assert about["License-Expression"] == "Apache-2.0"
    assert about["Requires-Python"] == ">=3.11"
    assert {"all", "run", "service", "figures"} <= set(about.get_all("Provides-Extra") or ())
    text = str(about.get_payload())
    assert text.startswith("# shuffledp")
    links = re.findall(r"\]\(([^)]*)\)", text)
    assert all(link.startswith("https://") for link in links), links
    inside = {Path(name).name for name in names}
    assert {"py.typed", "report.html.jinja", "vectors.json", "LICENSE"} <= inside
    assert not any(name.startswith(("tests/", "docs/")) for name in names)


def test_the_archive_has_what_the_wheel_is_made_of(built: Path) -> None:
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        names = {Path(name).name for name in opened.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "py.typed"} <= names


def test_it_works_bare_and_offline(built: Path, tmp_path: Path) -> None:
    """Installed from the folder with nothing but what it always needs, taken from what was fetched for the tests."""
    uv = next((ROOT / ".uv").glob("*/bin/uv"))
    (wheel,) = built.glob("*.whl")
    place = tmp_path / "bare"
    subprocess.run([uv, "venv", "--quiet", "--offline", "--python", sys.executable, place], check=True)
    always = tmp_path / "always.txt"
    always.write_text("\n".join(_pinned(name) for name in sorted(_always("shuffledp") - {"shuffledp"})))
    into = ["--quiet", "--offline", "--python", str(place)]
    subprocess.run([uv, "pip", "sync", *into, "--require-hashes", always], check=True)
    subprocess.run([uv, "pip", "install", *into, "--no-deps", wheel], check=True)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}

    def typed(*words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [place / "bin" / "shuffledp", *words], capture_output=True, text=True, check=False, cwd=tmp_path, env=clean
        )

    asked = ("--n", "1e4", "--epsilon", "1", "--delta", "1e-6")
    assert "differentially private" in typed("plan", "histogram", "--size", "4", *asked, "-o", "plan.json").stdout
    assert "missing" in typed("doctor").stdout
    (tmp_path / "people.csv").write_text("x\n1\n")
    refused = typed("run", "plan.json", "people.csv", "--column", "x")
    assert refused.returncode == 2
    assert "Install shuffledp[run]" in refused.stderr


def _always(package: str) -> set[str]:
    """A package and all that it always needs, here."""
    found, waiting = set[str](), [package]
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name not in found:
            found.add(name)
            needed = map(Requirement, requires(name) or ())
            waiting += [one.name for one in needed if one.marker is None or one.marker.evaluate({"extra": ""})]
    return found


def _pinned(package: str) -> str:
    """Its lines in the lock file, with their hashes."""
    text = (ROOT / "requirements" / "lock.txt").read_text()
    return "".join(re.findall(rf"^{re.escape(package)}==.*\n(?:    --hash.*\n)*", text, re.MULTILINE))
