"""Load one module from another text than its file: here, and in every program that is started from here.

Python imports `sitecustomize` from PYTHONPATH when it starts. Without its variables this does nothing. No file of the project
is ever written.
"""

import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType

MODULE = "SHUFFLEDP_MUTANT_MODULE"
"""The variable that names the module, as it is imported."""
FILE = "SHUFFLEDP_MUTANT_FILE"
"""The variable that names its file."""
SOURCE = "SHUFFLEDP_MUTANT_SOURCE"
"""The variable that names the file with its other text."""


class Planted(SourceFileLoader):
    """Loads a module whose text is in another file; errors still name the module's own."""

    def get_code(self, fullname: str) -> CodeType:
        return compile(Path(os.environ[SOURCE]).read_bytes(), self.path, "exec", dont_inherit=True)


class Finder(MetaPathFinder):
    """Finds that module, wherever it is looked for."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != os.environ.get(MODULE):
            return None
        return spec_from_file_location(fullname, os.environ[FILE], loader=Planted(fullname, os.environ[FILE]))


def install() -> None:
    """From now on."""
    sys.meta_path.insert(0, Finder())


if __name__ == "sitecustomize" and os.environ.get(MODULE):
    install()
