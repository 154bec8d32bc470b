"""Which data were answered before on this machine: a second answer about the same people spends their budget again."""

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from shuffledp.cli.state import state_folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """One answer that was given."""

    data: str
    plan: str
    epsilon: float
    delta: float
    unit: str
    when: str

    def __post_init__(self) -> None:
        numbers = all(isinstance(x, float | int) and not isinstance(x, bool) for x in (self.epsilon, self.delta))
        if not (numbers and all(isinstance(x, str) for x in (self.data, self.plan, self.unit, self.when))):
            raise ValueError


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def earlier(data: str) -> list[Release]:
    """Answers about the same data; lines that cannot be read are somebody else's."""
    found = []
    try:
        lines = _file().read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []
    for line in lines:
        try:
            release = Release(**json.loads(line))
        except (TypeError, ValueError):
            continue
        if release.data == data:
            found.append(release)
    return found


def remember(data: str, plan: str, epsilon: float, delta: float, unit: str) -> bool:
    """Write an answer down, before it is shown. Says whether that worked."""
    release = Release(
        data=data,
        plan=plan,
        epsilon=epsilon,
        delta=delta,
        unit=unit,
        when=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    try:
        _file().parent.mkdir(parents=True, exist_ok=True)
        with _file().open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(release)) + "\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        return False
    return True


def _file() -> Path:
    return state_folder() / "releases.jsonl"
