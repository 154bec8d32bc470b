"""One form of a JSON document that every language can reproduce: RFC 8785. Names of plans, tasks and keys are hashes of it.

Integers of 64 bits are written as strings, because JSON numbers are doubles elsewhere.
"""

import hashlib
from typing import Any, Final

import rfc8785

from shuffledp.errors import InvalidInput

LARGEST: Final = 2**53 - 1
"""The largest whole number that is a JSON number everywhere."""


def canonical(document: Any) -> bytes:
    """The bytes of RFC 8785.

    >>> canonical({"b": 1e-6, "a": [1.0, True, "é"]}).decode()
    '{"a":[1,true,"é"],"b":0.000001}'
    """
    try:
        return rfc8785.dumps(document)
    except RecursionError:
        raise InvalidInput("the document is nested too deeply. Give one that shuffledp wrote.") from None
    except (rfc8785.CanonicalizationError, UnicodeError):
        raise InvalidInput(
            "the document has a number or text that JSON cannot carry. Use numbers below 2^53 and valid Unicode."
        ) from None


def digest(document: Any) -> str:
    """SHA-256 of the canonical form, in hexadecimal."""
    return hashlib.sha256(canonical(document)).hexdigest()
