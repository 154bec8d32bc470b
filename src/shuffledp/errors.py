"""What can go wrong, as a tree.

ShuffledpError
├── InvalidInput      an argument is wrong; the message says which and how to fix it (exit code 2)
├── NoClaim           the request is well formed but no bound can grant it; names the nearest (exit code 3)
├── Contradiction     a proven lower end is above a proven upper end: a bug of ours, never shown as a number (exit code 2)
└── NotDefined        the object has no such quantity, e.g. the density of "some" randomizer (exit code 2)

Two UserWarnings: PlanWarning is about plans that keep their promises and are probably not what was meant, DataWarning about data
of which many values did not fit.

A message is one sentence of fact and one of remedy. Parameters are between backquotes, as in `missing='skip'`; the command line
shows them as its options. No message ever contains a user's value.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final


class ShuffledpError(Exception):
    """Base of every error this package raises on purpose."""


class PlanWarning(UserWarning):
    """A plan that keeps its promise, and is probably not what was meant."""


class DataWarning(UserWarning):
    """Data that a plan takes, though many values did not fit."""


class InvalidInput(ShuffledpError, ValueError):  # noqa: N818 - reads as what it is
    """An argument is outside what the callee accepts."""


class NoClaim(ShuffledpError):  # noqa: N818
    """No privacy claim of the requested kind can be made."""


class Contradiction(ShuffledpError):  # noqa: N818
    """Two certified ends exclude each other, so one of them is wrong. Please report it: it is a privacy bug."""


class NotDefined(ShuffledpError):  # noqa: N818
    """The object does not determine the requested quantity."""


_MOST_NAMED: Final = 50


def unknown(what: str, name: str, known: Iterable[str]) -> InvalidInput:
    """An error for a name that does not exist, with the names that do and the nearest of them.

    >>> print(unknown("bound", "numric", ["best", "numeric"]))
    there is no bound 'numric'. Did you mean 'numeric'? Use one of best, numeric.
    """
    known = list(known)
    few = ", ".join(known[:_MOST_NAMED]) + (", ..." if len(known) > _MOST_NAMED else "")
    return InvalidInput(f"there is no {what} {name!r}. {hint(name, known)}Use one of {few}.")


def hint(name: str, known: Iterable[str]) -> str:
    """The question whether a near name was meant, or nothing. Case, hyphens and underscores make no difference.

    >>> hint("Labels", ["labels", "size"])
    "Did you mean 'labels'? "
    """
    names = {folded(one): one for one in known}
    near = [folded(name)] if folded(name) in names else get_close_matches(folded(name), names, n=1)
    return f"Did you mean {names[near[0]]!r}? " if near else ""


def folded(name: str) -> str:
    """A name without what Python and the command line write differently."""
    return name.lower().strip("-").replace("_", "-")
