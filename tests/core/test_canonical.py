"""The canonical form is that of RFC 8785, so that other languages find the same hashes."""

import json

import pytest

from shuffledp import InvalidInput
from shuffledp.core.canonical import canonical, digest


def test_the_example_of_rfc_8785() -> None:
    """Section 3.2.2 and 3.2.3 of the RFC."""
    document = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "€$\u000f\u000aA'\u0042\u0022\u005c\\\"\u002f",
        "literals": [None, True, False],
    }
    assert canonical(document).decode() == (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )


def test_what_python_spells_otherwise() -> None:
    assert canonical({"a": 1.0, "b": 1e-6, "c": -0.0, "d": 1e21}) == b'{"a":1,"b":0.000001,"c":0,"d":1e+21}'
    assert (
        canonical(json.loads('{"\\ud83d\\ude00": 1, "\\ufb33": 2}')).decode() == '{"\U0001f600":1,"\ufb33":2}'
    )  # UTF-16 order
    assert len(digest({})) == 64


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), 2**60, "\ud800", {1: 2}, {"a": {1, 2}}])
def test_what_json_cannot_carry(wrong: object) -> None:
    with pytest.raises(InvalidInput):
        canonical(wrong)
