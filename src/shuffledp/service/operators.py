"""Names of who runs a shuffler or an analyzer: one line that can be printed, and a warning where two could be taken for one.

Names are claims, and nothing checks whose they are. What a reader sees must at least be what is written, so a name has no letter
that moves a cursor, ends a line or reorders others. Names that look alike are pointed out, not refused: an honest one may look
like another. What is noticed is listed here and no more: letters of the Cyrillic, Greek and Armenian alphabets that look like
Latin ones, digits and pairs of letters that look like letters, accents, punctuation, and words of several of these alphabets.
"""

import re
import unicodedata
from collections.abc import Sequence
from itertools import combinations
from typing import Final

from shuffledp.errors import InvalidInput

LONGEST: Final = 200
_JOINERS: Final = "\u200c\u200d"
"""Format characters that Persian, Hindi and other languages are written with; they reorder nothing."""
_UNSEEN: Final = "\u034f\u115f\u1160\u17b4\u17b5\u2800" + "".join(map(chr, range(0xFE00, 0xFE10)))
"""Characters that are seen as nothing, or as a space, and are no format characters."""
_LOOK: Final = str.maketrans(
    "АВЕЗКМНОРСТУХЅІЈҺԌԚԜӀЬ" "авезкмнорстухѕіјһԁԍԛԝӏьгпби"
    "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ" "αβγεηικμνορστυχωϲ"  # noqa: RUF001
    "ՕՍԼօսոհցզլյ" "015|",
    "ABE3KMHOPCTYXSIJHGQWIb" "abe3kmhopctyxsijhdgqwlbrn6u"
    "ABEZHIKMNOPTYX" "aBYeniKuvopotuXwc"
    "OULounhgqlj" "olsl",
)  # fmt: skip
"""Letters and digits as the Latin letters that they look like, after the confusables of Unicode (UTS 39)."""
_PAIRS: Final = (("rn", "m"), ("vv", "w"), ("i", "l"))
_ALIKE: Final = {"ARMENIAN", "CHEROKEE", "COPTIC", "CYRILLIC", "GREEK", "LATIN"}
"""Alphabets that have letters in common as far as one sees; no honest word is of two of them."""


def checked_operator(role: str, name: object) -> str:
    """A name that can be printed; refused if there is more, or less, than a reader would see."""
    if type(name) is not str or len(comparable(name)) > LONGEST or not set(comparable(name)) - {*_UNSEEN, " "}:
        raise InvalidInput(f"{role} must be the name of who runs it. Use up to {LONGEST} characters.")
    if any(_is_hidden(letter) for letter in name):
        raise InvalidInput(
            f"the name of who runs the {role} has line breaks, control characters or invisible characters. Use letters, "
            "digits, punctuation and spaces."
        )
    return name


def comparable(name: str) -> str:
    """A name without the differences that are not seen: names that agree in it are the same operator's."""
    seen = "".join(letter for letter in unicodedata.normalize("NFKC", name) if unicodedata.category(letter) != "Cf")
    return " ".join(seen.casefold().split())


def cautions(names: Sequence[str]) -> list[str]:
    """A sentence about each name that may be made to be taken for another, and each two that look alike but are not the same."""
    different = list({comparable(name): name for name in names}.values())
    found = [
        f"The name {name} mixes alphabets within a word: it is written {_spelled(name)}."
        for name in different
        if any(len(_alphabets(word)) > 1 for word in re.split(r"[\s\W_]+", name))
    ]
    return found + [
        f"The names {one} and {other} look alike and are written {_spelled(one)} and {_spelled(other)}: make sure that they are "
        "two parties."
        for one, other in combinations(different, 2)
        if _look(one) == _look(other)
    ]


def _is_hidden(letter: str) -> bool:
    return unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Zl", "Zp") and letter not in _JOINERS


def _look(name: str) -> str:
    """What is left of a name at a glance: two names of one look are easily taken for each other."""
    shapes = unicodedata.normalize("NFKD", name).translate(_LOOK).casefold().translate(_LOOK)
    letters = "".join(letter for letter in shapes if letter.isalnum() and letter not in _UNSEEN)
    for pair, one in _PAIRS:
        letters = letters.replace(pair, one)
    return letters or shapes


def _alphabets(word: str) -> set[str]:
    """Those of its letters that look like letters of another one."""
    return _ALIKE & {unicodedata.name(letter, "").partition(" ")[0] for letter in unicodedata.normalize("NFKC", word)}


def _spelled(name: str) -> str:
    """A name in ASCII, so that other letters are seen for what they are."""
    return ascii(name)
