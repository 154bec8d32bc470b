"""A bug that can be planted: a few bytes of one module, and what to write in their place."""

import difflib
import hashlib
from dataclasses import dataclass

Key = tuple[str, str, str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bug:
    """One change.

    Attributes:
        module: its file below src/shuffledp.
        function: the function or class that it is in, with those around it; empty at the top of a module.
        operator: its kind.
        text: the first line that it changes, as it stands there.
        before: what is replaced.
        after: by what.
        start: where that begins, in bytes of the file.
        line: and in lines.
        last_line: the last line that it changes, or of the function whose default it changes.
        repeat: how many equal ones come before it in the same function.
    """

    module: str
    function: str
    operator: str
    text: str
    before: str
    after: str
    start: int
    line: int
    last_line: int
    repeat: int = 0

    @property
    def change(self) -> str:
        """In one line."""
        again = f" [{self.repeat + 1}]" if self.repeat else ""
        return f"{' '.join(self.before.split())} -> {' '.join(self.after.split()) or 'nothing'}{again}"

    @property
    def key(self) -> Key:
        """What a judgement is about: it outlives changes elsewhere in the file."""
        return self.module, self.function, self.operator, self.text, self.change

    @property
    def package(self) -> str:
        """The package whose figures it counts in."""
        return self.module.partition("/")[0]

    @property
    def name(self) -> str:
        """The module as it is imported."""
        return "shuffledp." + self.module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    def planted(self, source: bytes) -> bytes:
        """The module with this bug."""
        end = self.start + len(self.before.encode())
        if source[self.start : end] != self.before.encode():
            raise ValueError(f"{self.module} has changed since this bug was listed")
        return source[: self.start] + self.after.encode() + source[end:]

    def difference(self, source: bytes) -> str:
        """The changed lines."""
        before, after = source.decode().splitlines(), self.planted(source).decode().splitlines()
        found = list(difflib.unified_diff(before, after, lineterm="", n=0))
        return "\n".join(line for line in found[2:] if not line.startswith("@@"))

    def rank(self, seed: int) -> bytes:
        """Its place in a sample: decided by the seed and by what it is, not by what else there is."""
        return hashlib.sha256(repr((seed, self.key)).encode()).digest()
