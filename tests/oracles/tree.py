"""Which code the processes that tests start import: the tree under test, and what the tests themselves import."""

import os
from pathlib import Path

import shuffledp


def python_path() -> str:
    """PYTHONPATH for a process that must run the code that this process runs, and finds `oracles`.

    What is set already stays, in its order: a planted bug gets into processes that way.
    """
    tree, tests = Path(shuffledp.__file__).parents[1], Path(__file__).parents[1]
    already = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return os.pathsep.join(dict.fromkeys([str(tree), str(tests), *filter(None, already)]))
