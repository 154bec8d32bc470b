"""Any text: which number it is, whatever the column is made of."""

import hashlib
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from shuffledp import InvalidInput, Policy
from shuffledp.domains.texts import Texts, text_hashes

KEY = "00112233445566778899aabbccddeeff"
DOMAIN = Texts(KEY)


def number(text: str, key: str = KEY, tag: int = 0) -> int:
    hashed = hashlib.sha256(b"shuffledp text 1" + bytes.fromhex(key) + tag.to_bytes(4, "big") + text.encode("utf-8"))
    return int(hashed.hexdigest()[:16], 16)


def test_a_text_is_the_number_that_the_formula_gives() -> None:
    texts = ["", "apple", "Apple", "caf\u00e9", "cafe\u0301", " apple", "x" * 10_000]
    assert text_hashes(KEY, texts).tolist() == [number(text) for text in texts]
    assert DOMAIN.clean(texts).values.tolist() == [number(text) for text in texts]
    assert len({number(text) for text in texts}) == len(texts)  # nothing is normalised
    assert text_hashes(KEY, ["apple"], tag=7).tolist() == [number("apple", tag=7)]
    assert text_hashes("ff" * 16, ["apple"]).tolist() == [number("apple", "ff" * 16)]
    assert text_hashes(KEY, ["apple", b"apple"]).tolist() == [number("apple")] * 2
    assert DOMAIN.points(texts, 49).tolist() == [number(text) % 49 for text in texts]


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["7", "8", None, "7"]),
        pa.array(["7", "8", None, "7"], type=pa.large_string()),
        pa.array([7, 8, None, 7]),
        pa.array([7.0, 8.0, float("nan"), 7.0]),
        pa.array(["7", "8", None, "7"]).dictionary_encode(),
        pa.array(["0", "7", "8", None, "7"]).dictionary_encode()[1:],
        pa.DictionaryArray.from_arrays([0, 1, 2, 0], pa.array(["7", "8", None])),
        pa.DictionaryArray.from_arrays([90, 5, None, 90], pa.array(["8" if j == 5 else "7" for j in range(99)])),
        pa.chunked_array([["7"], ["8", None, "7"]]),
        ["7", "8", None, "7"],
        ["7", "8", float("nan"), "7"],
    ],
)
def test_columns_of_every_make_have_the_same_texts(column: Any) -> None:
    found = DOMAIN.clean(column, Policy(missing_as="8"))
    assert found.values.tolist() == [number("7"), number("8"), number("8"), number("7")]
    assert found.adjusted == {"missing": 1}
    skipped = DOMAIN.clean(column, Policy(missing="skip"))
    assert skipped.keep is not None
    assert skipped.keep.tolist() == [True, True, False, True]
    with pytest.raises(InvalidInput, match="in data row 103 the value is missing"):
        DOMAIN.clean(column, first_row=100)


def test_an_empty_text_is_a_text_and_columns_may_be_empty() -> None:
    assert DOMAIN.clean(["", "a"]).values.tolist() == [number(""), number("a")]
    assert DOMAIN.clean(pa.array(["", "a"])).values.tolist() == [number(""), number("a")]
    none: list[Any] = [[], pa.array([], type=pa.string()), pa.array([], type=pa.string()).dictionary_encode()]
    for nothing in none:
        assert DOMAIN.clean(nothing).values.dtype == np.uint64
    for missing in ([None], pa.array([None]), pa.array([None], type=pa.string())):
        assert DOMAIN.clean(missing, Policy(missing="skip")).rejected == {"missing": 1}


def test_what_is_no_text_is_refused_without_being_shown() -> None:
    broken = pa.StringArray.from_buffers(
        3, pa.py_buffer(np.array([0, 1, 2, 9], dtype=np.int32)), pa.py_buffer(b"ab\xffsecret")
    )
    for column, why in (
        (broken, "row 13 the value is not text in UTF-8"),
        (["a", "b", "\ud800secret"], "row 13 the value is not text in UTF-8"),
        (["a", "b", [31337]], "row 13 the value is not a text"),
    ):
        with pytest.raises(InvalidInput, match=why) as refused:
            DOMAIN.clean(column, first_row=10)
        assert refused.value.__context__ is None
    for policy in (Policy(outside="clamp"), Policy(other="b")):
        with pytest.raises(InvalidInput, match="Leave it out"):
            DOMAIN.clean(["a"], policy)
    for key in ("", "00", KEY.upper(), 5, f"{KEY}\n"):
        with pytest.raises(InvalidInput, match="32 hexadecimal digits"):
            Texts(key)  # type: ignore[arg-type]
