"""What callers give for a parameter, checked where it comes in.

Errors are a sentence that names the parameter and the kind of what was given, never a value of people.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from shuffledp.errors import InvalidInput, hint


def of_kind(value: Any, kind: type | tuple[type, ...], name: str, what: str) -> Any:
    """Something of this kind.

    >>> of_kind("x", int, "n", "a number of users")
    Traceback (most recent call last):
        ...
    shuffledp.errors.InvalidInput: `n` must be a number of users; got a str. Give one.
    """
    if not isinstance(value, kind):
        raise wrong(value, name, what)
    return value


def with_method(value: Any, method: str, name: str, what: str) -> Any:
    """An object that can do this, and no class of such."""
    if isinstance(value, type) or not callable(getattr(value, method, None)):
        raise wrong(value, name, what)
    return value


def truth(value: Any, name: str) -> bool:
    """True or False, and nothing that only counts as one of them."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidInput(f"`{name}` must be True or False; got a {kind_of(value)}. Say which.")
    return bool(value)


def text(value: Any, name: str, example: str) -> str:
    """Refuse anything but a text."""
    if not isinstance(value, str):
        raise InvalidInput(f"`{name}` must be a string; got a {kind_of(value)}. Give e.g. {example!r}.")
    return value


def one_of(value: Any, name: str, words: Sequence[str]) -> str:
    """One of a few words."""
    if isinstance(value, str) and value in words:
        return value
    got = repr(value) if isinstance(value, str) else f"a {kind_of(value)}"
    near = hint(value, words) if isinstance(value, str) else ""
    raise InvalidInput(
        f"`{name}` must be {' or '.join(map(repr, words))}; got {got}. {near or 'Choose one of them.'}".rstrip()
    )


def texts(value: Any, name: str, example: str) -> list[str]:
    """Refuse anything but a list of texts; one text alone is not one."""
    if isinstance(value, str | bytes | dict) or not isinstance(value, Iterable):
        raise InvalidInput(f"`{name}` must be a list of strings; got a {kind_of(value)}. Give e.g. {example}.")
    return [text(entry, name, "a") for entry in value]


def function(value: Any, name: str) -> Callable[..., Any]:
    """Something to call: `float` is one, too."""
    if not callable(value):
        raise wrong(value, name, "a function")
    return value  # type: ignore[no-any-return]


def wrong(value: Any, name: str, what: str) -> InvalidInput:
    """Something else was given."""
    return InvalidInput(f"`{name}` must be {what}; got a {kind_of(value)}. Give one.")


def kind_of(value: Any) -> str:
    """What was given, by its type."""
    return f"class ({value.__name__})" if isinstance(value, type) else type(value).__name__
