"""A randomizer's document builds the very law that runs, and nothing else is taken for one."""

import json
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.mutation import STRANGE, places, replaced
from shuffledp import (
    Channel,
    Gaussian,
    Generic,
    InvalidInput,
    KeyedRandomness,
    Laplace,
    LatticeChannel,
    RandomizedResponse,
)
from shuffledp.core.canonical import canonical
from shuffledp.core.pair import Pair
from shuffledp.core.randomizer import LocalRandomizer
from shuffledp.randomizers.registry import RANDOMIZERS, from_document

EXAMPLES = [randomizer for kind in RANDOMIZERS.values() for randomizer in kind.examples()]


@st.composite
def matrices(draw: st.DrawFn) -> list[list[float]]:
    messages = draw(st.integers(2, 5))
    weights = draw(
        st.lists(st.lists(st.floats(0.05, 1.0), min_size=messages, max_size=messages), min_size=2, max_size=4)
    )
    return [[weight / math.fsum(row) for weight in row] for row in weights]


randomizers: st.SearchStrategy[LocalRandomizer] = st.one_of(
    st.builds(RandomizedResponse, size=st.integers(2, 2**32), gamma=st.floats(1e-300, 1.0)),
    st.builds(RandomizedResponse, size=st.integers(2, 1000), gamma=st.fractions(Fraction(1, 2**70), 1)),
    st.builds(RandomizedResponse, size=st.integers(2, 2**32), epsilon0=st.floats(0, 60)),
    st.builds(Laplace, epsilon0=st.floats(1e-3, 20)),
    st.builds(Gaussian, sigma=st.floats(0.3, 1e6)),
    st.builds(Generic, epsilon0=st.floats(0, 700)),
    st.builds(Channel, matrices()),
    st.builds(lambda matrix: LatticeChannel.of(Channel(matrix)), matrices()),
)


def doubles(pairs: Sequence[Pair]) -> list[list[Any]]:
    return [[pair.difference.tolist(), pair.second.tolist(), pair.masses.tolist()] for pair in pairs]


@given(randomizers)
def test_a_document_builds_the_very_law_that_runs(randomizer: LocalRandomizer) -> None:
    document = randomizer.document()
    law = randomizer.as_run() if isinstance(randomizer, RandomizedResponse) else randomizer
    for text in (json.dumps(document, allow_nan=False), canonical(document)):
        found = from_document(json.loads(text))
        assert type(found) is type(randomizer)
        assert found.document() == document
        assert (found.gamma, found.epsilon0) == (law.gamma, law.epsilon0)
        ours, theirs = found.blanket(), law.blanket()
        assert ours == theirs
        assert doubles(ours.witnesses()[:2]) == doubles(theirs.witnesses()[:2])
        assert [doubles(options[:1]) for options in ours.pairs()] == [
            doubles(options[:1]) for options in theirs.pairs()
        ]


@given(st.integers(2, 9), st.floats(1e-6, 1))
def test_a_document_randomizes_alike(size: int, gamma: float) -> None:
    response = RandomizedResponse(size=size, gamma=gamma)
    symbols = np.arange(100) % size
    found = RandomizedResponse.from_document(response.document())
    randomness = KeyedRandomness.seeded(7)
    assert (
        found.randomize(symbols, randomness, first_row=3) == response.randomize(symbols, randomness, first_row=3)
    ).all()


def test_a_document_never_promises_more_than_the_parameter_it_was_made_from() -> None:
    for epsilon0 in (0.1, 1.0, 10.0, 40.0):
        response = RandomizedResponse(size=7, epsilon0=epsilon0)
        assert from_document(response.document()).gamma >= response.gamma


@pytest.mark.parametrize("randomizer", EXAMPLES, ids=lambda randomizer: randomizer.kind)
def test_any_other_document_is_refused_or_is_one_of_its_own(randomizer: LocalRandomizer) -> None:
    document = randomizer.document()
    spoilt = [replaced(document, place, value) for place in places(document) for value in STRANGE]
    spoilt += [{name: value for name, value in document.items() if name != left_out} for left_out in document]
    for other in [*spoilt, document | {"extra": 1}, [document], None, "response", 7]:
        try:
            found = from_document(other)
        except InvalidInput:
            continue
        assert isinstance(other, dict)
        assert found.document() == other


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ({"kind": "magic"}, "no such kind"),
        ({"kind": ["response"]}, "no such kind"),
        ({"kind": "response", "size": 3}, "needs the field 'threshold'"),
        ({"kind": "response", "size": 3, "threshold": "1", "n": 4}, "has no field 'n'"),
        ({"kind": "response", "size": True, "threshold": "1"}, "'size' of a document must be a whole number"),
        ({"kind": "response", "size": 3.5, "threshold": "1"}, "'size' of a document must be a whole number"),
        ({"kind": "response", "size": 3, "threshold": 1}, "decimal digits"),
        ({"kind": "response", "size": 3, "threshold": "01"}, "decimal digits"),
        ({"kind": "response", "size": 3, "threshold": "0"}, "from 1 to 2"),
        ({"kind": "response", "size": 3, "threshold": str(2**64 + 1)}, "from 0 to 2"),
        ({"kind": "response", "size": 1, "threshold": "5"}, "size must be"),
        ({"kind": "laplace", "epsilon0": "1"}, "a finite number"),
        ({"kind": "laplace", "epsilon0": 10**400}, "a finite number"),
        ({"kind": "gaussian", "sigma": float("nan")}, "a finite number"),
        ({"kind": "channel", "matrix": [[0.5, 0.5], [0.5]]}, "rows of one length"),
        ({"kind": "lattice", "counts": [["1"], ["1"]], "inputs": [0, 1], "outputs": [0], "label": "x"}, "the sum 2"),
    ],
)
def test_why_a_document_is_refused(document: Any, why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        from_document(document)


@pytest.mark.parametrize("threshold", [0, -1, 2**64 + 1])
def test_a_threshold_out_of_range_is_refused(threshold: int) -> None:
    with pytest.raises(InvalidInput, match="from 1 to 2"):
        RandomizedResponse.of_threshold(size=3, threshold=threshold)
