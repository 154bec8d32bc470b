"""The fast tests on several versions of Python and of what this package needs: `make test-versions`.

The first version of Python runs them with the lowest versions that pyproject.toml allows, the last one with the newest that
there are, those between with the locked ones. Each has an environment of its own in the folder .versions.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
PLACE: Final = ROOT / ".versions"
TESTS: Final = (
    "tests/core", "tests/domains", "tests/frozen", "tests/accounting/test_golden.py", "tests/arithmetic/test_exact.py",
    "tests/baselines/test_discrete_laplace.py", "tests/certificates/test_verify.py", "tests/cli/test_help.py",
    "tests/core/test_text_tables.py", "tests/sources/test_csv.py", "tests/sources/test_frames.py",
    "tests/sources/test_queries.py", "tests/engines/test_run.py", "tests/service/test_exchange.py",
    "tests/service/test_http.py", "tests/service/test_metrics.py",
    "tests/service/test_sealing.py", "tests/service/test_vectors.py", "tests/figures/test_result_page.py",
    "tests/protocols/test_golden_messages.py", "tests/service/stores/test_sqlite.py", "tests/web/test_app.py",
)  # fmt: skip
"""Every layer and everything that others made, as far as no browser, database server or Java is needed."""
OPTIONS: Final = ("-q", "-p", "no:cacheprovider", "-k", "not spark and not postgres")
OTHERS: Final = (
    "ignore:The anyio.abc:DeprecationWarning",
    "ignore::pyparsing.warnings.PyparsingDeprecationWarning",
    "ignore:Matplotlib currently does not support:UserWarning",  # so it said of scripts, before it shaped them
)
"""Warnings about old packages by newer ones that they use, not about this one: the test client of starlette, matplotlib."""


@dataclass(frozen=True)
class Environment:
    """One version of Python and what is installed there.

    Attributes:
        python: its version, as in 3.11.
        kind: lowest, locked or newest.
    """

    python: str
    kind: str

    @property
    def folder(self) -> Path:
        """Where it is."""
        return PLACE / f"{self.python}-{self.kind}"

    def requirements(self, uv: str) -> Path:
        """What is installed, with hashes; the newest are found now."""
        if self.kind != "newest":
            return ROOT / "requirements" / {"lowest": "lowest.txt", "locked": "lock.txt"}[self.kind]
        found = PLACE / "newest.txt"
        asked = [
            "--extra",
            "all",
            "--extra",
            "demo",
            "--group",
            "test",
            "pyproject.toml",
            "--python-version",
            self.python,
        ]
        compiling = [uv, "pip", "compile", "--quiet", "--upgrade", "--generate-hashes", "--no-emit-index-url", *asked]
        subprocess.run([*compiling, "--output-file", str(found)], check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
        return found

    def build(self, uv: str, interpreter: str) -> None:
        """Anew."""
        into = ["--quiet", "--python", str(self.folder)]
        needed = str(self.requirements(uv))
        subprocess.run([uv, "venv", "--quiet", "--clear", "--python", interpreter, str(self.folder)], check=True)
        subprocess.run([uv, "pip", "sync", *into, "--require-hashes", needed], check=True)
        editable = ["--no-deps", "--no-build-isolation", "--editable", str(ROOT)]
        subprocess.run([uv, "pip", "install", *into, *editable], check=True)

    def test(self) -> tuple[bool, str]:
        """Whether the tests passed, and pytest's last line."""
        ignored = [word for warning in OTHERS for word in ("-W", warning)]
        command = [str(self.folder / "bin" / "python"), "-m", "pytest", *OPTIONS, *ignored, *TESTS]
        lines = [""]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as running:
            for line in running.stdout or ():
                sys.stdout.write(line)
                sys.stdout.flush()
                lines.append(line.strip() or lines[-1])
        return running.returncode == 0, lines[-1]


def interpreter(uv: str, version: str) -> str | None:
    """One of this version: on the path, where pyenv has it, or where uv looks; None if there is none that starts."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    places = [shutil.which(f"python{version}"), *sorted(map(str, pyenv.glob(f"{version}.*/bin/python")), reverse=True)]
    found = subprocess.run([uv, "python", "find", version], capture_output=True, text=True, check=False)
    for place in [*places, found.stdout.strip()]:
        if place and _version(place) == version:
            return place
    return None


def _version(python: str) -> str | None:
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def environments(versions: Sequence[str]) -> list[Environment]:
    """Lowest on the first, newest on the last, locked on those between; a single one has all three."""
    if len(versions) == 1:
        return [Environment(versions[0], kind) for kind in ("lowest", "locked", "newest")]
    return [
        Environment(version, "lowest" if j == 0 else "newest" if j == len(versions) - 1 else "locked")
        for j, version in enumerate(versions)
    ]


def main(uv: str, versions: Sequence[str]) -> int:
    """Build and test them all; fails if one of them fails, or if an interpreter is missing."""
    uv = str((ROOT / uv).resolve())
    found = {version: interpreter(uv, version) for version in versions}
    missing = [version for version, place in found.items() if place is None]
    if missing:
        said = " and ".join(f"Python {version}" for version in missing)
        print(
            f"{said} is not here, and nothing was tested. Install it, or say which to use: make test-versions PYTHONS=..."
        )
        return 1
    PLACE.mkdir(exist_ok=True)
    rows = []
    for environment in environments(versions):
        print(f"\n== Python {environment.python}, {environment.kind} versions", flush=True)
        environment.build(uv, found[environment.python] or "")
        rows.append((environment, *environment.test()))
    print()
    for environment, passed, line in rows:
        print(f"Python {environment.python}, {environment.kind}: {'passed' if passed else 'FAILED'} ({line})")
    return 0 if all(passed for _, passed, _ in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
