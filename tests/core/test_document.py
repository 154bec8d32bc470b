"""Documents are read strictly: nothing is missing, nothing is left over, and each field is what it says."""

from collections.abc import Callable
from typing import Any

import pytest

from shuffledp import InvalidInput
from shuffledp.core.canonical import LARGEST, canonical
from shuffledp.core.document import fields, number, several, text, whole, word


@pytest.mark.parametrize(
    ("read", "good", "bad"),
    [
        (text, ["", "a"], [1, None, b"a", ["a"]]),
        (whole, [0, -5, 10**30, 1.0, -3.0], [True, False, 1.5, 1e300, float("nan"), "1", None]),
        (number, [0, -1.5, 2**53, 1e308], [True, float("nan"), float("inf"), -float("inf"), 2**53 + 1, 10**400, "1", None]),
        (word, ["0", "1", str(2**64), "10"], [str(2**64 + 1), "01", "-1", "", "1.0", "1 ", " 1", "1" * 21, 1, None, "\u0661"]),
    ],
)  # fmt: skip
def test_a_field_is_of_its_type(read: Callable[[Any], Any], good: list[Any], bad: list[Any]) -> None:
    document = {"kind": "some", "list": []}
    for value in good:
        assert fields({**document, "one": value}, "some", one=read, list=several(read))["one"] == (
            int(value) if read is word else value
        )
        assert fields({**document, "list": [value]}, "some", list=several(read)) == {"list": (read(value),)}
    for value in bad:
        with pytest.raises(InvalidInput, match=r"the field 'one' of a document must be .*\. Correct it"):
            fields({**document, "one": value}, "some", one=read, list=several(read))
    with pytest.raises(InvalidInput, match="must be a list"):
        fields({"kind": "some", "list": "ab"}, "some", list=several(read))


def test_every_field_is_there_and_no_other() -> None:
    others: list[object] = [None, [], {"kind": "other", "one": "a"}, {"one": "a"}]
    for wrong in others:
        with pytest.raises(InvalidInput, match="not a document of kind 'some'"):
            fields(wrong, "some", one=text)
    with pytest.raises(InvalidInput, match="needs the field 'one'"):
        fields({"kind": "some"}, "some", one=text)
    with pytest.raises(InvalidInput, match="has no field 'two'"):
        fields({"kind": "some", "one": "a", "two": "b"}, "some", one=text)


def test_an_error_that_says_enough_is_left_alone() -> None:
    def refuses(_: Any) -> None:
        raise InvalidInput("this is why. Do that.")

    with pytest.raises(InvalidInput, match=r"^this is why\. Do that\.$"):
        fields({"kind": "some", "one": 1}, "some", one=refuses)


def test_the_largest_number_is_the_largest_that_every_language_keeps() -> None:
    assert float(LARGEST) == LARGEST == 9_007_199_254_740_991
    assert canonical(LARGEST) == b"9007199254740991"
    with pytest.raises(InvalidInput, match="cannot carry"):
        canonical(LARGEST + 1)
