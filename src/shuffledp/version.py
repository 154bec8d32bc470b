"""Which version this is: below every layer, because certificates name what made them."""

from typing import Final

VERSION: Final = "0.1.0"
