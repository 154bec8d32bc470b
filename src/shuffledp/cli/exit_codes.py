"""Exit codes."""

from typing import Final

BAD_INPUT: Final = 2
NO_CLAIM: Final = 3
UNEXPECTED: Final = 1
VIOLATED: Final = 4
"""An audit saw what is not possible under the claim."""
