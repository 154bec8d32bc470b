"""What is handed to others: a wheel and a source archive that say what they are, and work by themselves."""

import email
import re
import shlex
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

from oracles.installed import build, install, install_more


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    build(folder)
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


def test_the_archive_makes_the_same_wheel(built: Path, tmp_path: Path) -> None:
    """Unpacked anywhere, without the repository."""
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as unpacked:
        unpacked.extractall(tmp_path, filter="data")
    (folder,) = tmp_path.iterdir()
    (made,) = WheelBuilder(str(folder)).build(directory=str(tmp_path / "dist"), versions=["standard"])
    contents = []
    for wheel in (next(built.glob("*.whl")), Path(made)):
        with zipfile.ZipFile(wheel) as opened:
            contents.append({name: opened.read(name) for name in opened.namelist()})
    assert contents[0] == contents[1]


def test_it_works_bare_and_offline(built: Path, tmp_path: Path) -> None:
    """Installed from the folder with nothing but what it always needs."""
    (wheel,) = built.glob("*.whl")
    environment = install(wheel, tmp_path / "bare")

    def typed(*words: str) -> "subprocess.CompletedProcess[str]":
        command = [str(tmp_path / "bare" / "bin" / "shuffledp"), *words]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment)

    asked = ("--n", "1e4", "--epsilon", "1", "--delta", "1e-6")
    assert "differentially private" in typed("plan", "histogram", "--size", "4", *asked, "-o", "plan.json").stdout
    assert "missing" in typed("doctor").stdout
    (tmp_path / "people.csv").write_text("x\n" + "1\n" * 10_000)
    refused = typed("run", "plan.json", "people.csv", "--column", "x")
    assert refused.returncode == 2
    (command,) = re.findall(r"Install it: pip install (.*)$", refused.stderr, re.MULTILINE)
    install_more(shlex.split(command), tmp_path / "bare")  # who follows the hint can go on
    assert "differentially private" in typed("run", "plan.json", "people.csv", "--column", "x").stdout
    assert re.search(r"^run +installed", typed("doctor").stdout, re.MULTILINE)
