"""Messages under a fixed key are what they were before the protocols had one interface (tests/golden/README.md)."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shuffledp import KeyedRandomness, plan
from shuffledp.protocols.registry import from_document

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parents[1] / "golden" / "messages.json").read_text())
PEOPLE = np.arange(100_000) * 7919
VALUES: dict[str, Any] = {
    "labels": [GOLDEN["labels"]["question"]["labels"][j] for j in PEOPLE % 5],
    "numbers": PEOPLE % 13501 / 1000 - 2.0,
    "sum": PEOPLE % 12001 / 1000 - 3.0,
    "mean": PEOPLE % 121 * 1.0,
    "query": (PEOPLE % 100 >= 65) * 1.0,
}


@pytest.mark.parametrize("name", GOLDEN)
def test_messages_under_a_fixed_key_never_change(name: str) -> None:
    protocol = from_document(GOLDEN[name]["protocol"])
    values = protocol.domain.clean(VALUES[name]).values
    for row, same in ((7, True), (8, False)):
        messages = protocol.randomize(values, KeyedRandomness(bytes(range(32)), private=True), first_row=row)
        assert (hashlib.sha256(messages.astype("<u4").tobytes()).hexdigest() == GOLDEN[name]["sha256"]) == same


@pytest.mark.parametrize("name", GOLDEN)
def test_the_same_question_is_still_planned_so(name: str) -> None:
    """To the precision of the solver, which moves one message in a million."""
    was, made = from_document(GOLDEN[name]["protocol"]).document(), plan(**GOLDEN[name]["question"]).protocol.document()
    assert int(made["randomizer"]["threshold"]) == pytest.approx(int(was["randomizer"]["threshold"]), rel=5e-6)
    assert made["randomizer"]["size"] == was["randomizer"]["size"]
    assert made | {"randomizer": was["randomizer"]} == was
