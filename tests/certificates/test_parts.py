"""Certificates and the accountant take the same documents of randomizers: of every kind, and of any two of them."""

import copy
from itertools import product
from typing import Any

import pytest
from flint import ctx

from shuffledp import Certificate, Guarantee, RandomizedResponse, verify
from shuffledp.certificates.positive_part import BITS
from shuffledp.certificates.randomizers import law_of
from shuffledp.certificates.unverifiable import Unverifiable
from shuffledp.errors import InvalidInput
from shuffledp.randomizers.registry import RANDOMIZERS, from_document

WORD = 1 << 64
PLAIN = [kind for kind in RANDOMIZERS if kind not in ("mixture", "together")]
Document = dict[str, Any]


def example(kind: str) -> Document:
    """One that leaves no message uncovered."""
    found: Document = RANDOMIZERS[kind].examples()[1 if kind in ("lattice", "mixture") else 0].document()
    return found


def several(kind: str, parts: list[Document]) -> Document:
    return {"kind": kind, "parts": parts} | ({"weights": [1] * len(parts)} if kind == "mixture" else {})


def accounted(document: Document) -> bool:
    """Whether the accountant knows it, with all that a claim about it needs."""
    try:
        blanket = from_document(document).blanket()
        for one in blanket.releases() or [blanket]:
            one.pairs()
    except InvalidInput:
        return False
    return True


def certified(document: Document) -> bool:
    """Whether it is known to whoever reads certificates."""
    try:
        with ctx.workprec(BITS):
            law_of(document)
    except Unverifiable:
        return True
    except InvalidInput:
        return False
    return True


@pytest.mark.parametrize("kind", RANDOMIZERS)
def test_every_kind_is_known_to_both(kind: str) -> None:
    for randomizer in RANDOMIZERS[kind].examples():
        assert accounted(randomizer.document())
        assert certified(randomizer.document())


@pytest.mark.parametrize(("first", "second"), list(product(RANDOMIZERS, repeat=2)))
def test_both_take_the_same_pairs_of_questions(first: str, second: str) -> None:
    """One of two, all of two, and either of these inside the other."""
    parts = [example(first), example(second)]
    taken = 0
    for outer in ("mixture", "together"):
        document = several(outer, parts)
        assert accounted(document) == certified(document), document
        taken += accounted(document)
        for inner in ("mixture", "together"):
            inside = several(inner, [example(first)])
            document = several(outer, [inside, example(second)])
            assert accounted(document) == certified(document), document
    runs = {"response", "design", "lattice"}
    assert taken == ({first, second} <= runs) + ({first, second} <= runs | {"mixture"})


@pytest.mark.parametrize("kind", ["laplace", "gaussian", "generic", "dummies", "channel", "mixture", "together"])
def test_a_mixture_with_a_part_of_which_it_is_not_known_what_equal_inputs_show_is_refused(kind: str) -> None:
    coin = RandomizedResponse(size=2, gamma=0.5).document()
    loose = Guarantee(epsilon=50.0, delta=0.5, n=1000, bound="best", reference="")
    claim = Certificate.of(RandomizedResponse(size=2, gamma=0.5), loose).document()
    document = copy.deepcopy(claim)
    document["claim"]["randomizer"] = several("mixture", [coin, example(kind)])
    found = verify(resealed(document))
    assert found.verdict == "refused"
    assert "several questions" in found.reason


def resealed(document: Document) -> Document:
    from oracles.forgery import resealed as sealed

    return sealed(document)


def response(size: Any = 3, threshold: Any = "5") -> Document:
    return {"kind": "response", "size": size, "threshold": threshold}


def design(**structure: Any) -> Document:
    return {"kind": "design", "structure": structure, "threshold": "5"}


def lattice(counts: Any, **more: Any) -> Document:
    rows, columns = len(counts), len(counts[0])
    return {"kind": "lattice", "counts": counts, "inputs": [0] * rows, "outputs": [0.5] * columns, "label": "x"} | more


HALVES = [str(WORD // 2)] * 2
MATRICES: list[Any] = [
            [[0.5, 0.5], [0.5, 0.5]], [[1, 0], [0, 1]], [[1.0], [1.0]], [[0.5, 0.5]], [], [[], []], [[0.5, 0.5], [1.0]],
            [[0.5, 0.5], [0.5, 0.5 + 5e-10]], [[0.5, 0.5], [0.5, 0.5 + 5e-9]], [[1.5, -0.5], [0.5, 0.5]],
            [["0.5", "0.5"], [0.5, 0.5]], [[True, False], [0.5, 0.5]], [[1.0, 1e-300], [0.5, 0.5]], [[1.0, 1e-301], [0.5, 0.5]],
            [[1.0, 5e-324], [0.5, 0.5]], [[0.5, 0.5, 0.0], [0.25, 0.75, 0.0]], {"0": [1]}, "x", [[None, 1], [0.5, 0.5]],
]  # fmt: skip
ODD: list[Document] = [
    *(response(size=size) for size in (1, 2, 0, -3, 1 << 32, (1 << 32) + 1, True, None, "3", 3.5, [3])),
    *(
        response(threshold=threshold)
        for threshold in ("0", "1", str(WORD), str(WORD + 1), "05", "5_0", " 5", "\uff15", "-5", "5.0", 5, None, "", "9" * 5000)
    ),
    *(
        design(kind="affine", prime=p, dimension=d)
        for p, d in ((2, 2), (4, 2), (65521, 2), (65537, 2), (1621, 3), (1627, 3), (7, 4), (7, 1))
    ),
    *(design(kind="hadamard", order=order) for order in (2, 4, 8, 12, 1 << 32, 1 << 33, 0, -4)),
    *(
        design(kind="local-hashing", prime=p, range=h)
        for p, h in ((2, 2), (5, 1), (5, 5), (5, 6), (1621, 1621), (1627, 1627), (65521, 2), (46337, 2), ((1 << 31) - 1, 2))
    ),
    *(design(kind="identity", size=size) for size in (1, 2, 1 << 32, (1 << 32) + 1)),
    {"kind": "design", "structure": {"kind": "square", "size": 3}, "threshold": "5"},
    {"kind": "design", "structure": {"kind": "identity", "size": 3}, "threshold": "0"},
    {"kind": "design", "structure": {"kind": "identity", "size": 3}, "threshold": "5", "more": 1},
    *(
        {"kind": "dummies", "structure": {"kind": "identity", "size": 3}, "dummies": rate}
        for rate in (1e-9, 1e-10, 1000, 1000.5, 0, -1.0, "1", None, True)
    ),
    *({"kind": "laplace", "epsilon0": local} for local in (0, 1e-10, 1e-9, 1, 700, 700.5, -1, "1", True, None)),
    *({"kind": "gaussian", "sigma": sigma} for sigma in (0.1, 0.05, 1, 1e6, 1e6 + 1, "1", True, None)),
    *({"kind": "generic", "epsilon0": local} for local in (0, 1, 700, 701, -1, "1", True, None, 10**400)),
    *({"kind": "channel", "matrix": matrix} for matrix in MATRICES),
    lattice([HALVES, HALVES]), lattice([HALVES]), lattice([[str(WORD)], [str(WORD)]]), lattice([HALVES, [str(WORD)]]),
    lattice([HALVES, ["0", str(WORD)]]), lattice([HALVES, ["0" + HALVES[0], HALVES[1]]]), lattice([HALVES, ["1", "2"]]),
    lattice([HALVES, ["-1", str(WORD + 1)]]), lattice([HALVES, HALVES], label=7), lattice([HALVES, HALVES], inputs=[0]),
    lattice([HALVES, HALVES], inputs=["0", "1"]), lattice([HALVES, HALVES], outputs=[0, None]),
    lattice([HALVES, HALVES], more=1), {"kind": "unheard of"}, {}, {"kind": ["response"]},
    *({"kind": "mixture", "weights": weights, "parts": [response(), response()]}
      for weights in ([1, 1], [1], [1, 0], [1, 1.5], [1, "1"], [1 << 32, 1], [(1 << 32) - 1, 1], [True, 1], [], None)),
    {"kind": "mixture", "weights": [1, 1], "parts": [response(size=1 << 32), response()]},
    {"kind": "mixture", "weights": [], "parts": []}, {"kind": "together", "parts": []},
    {"kind": "together", "parts": [response(size=1 << 32), response()]}, {"kind": "together", "parts": response()},
]  # fmt: skip


@pytest.mark.parametrize("document", ODD, ids=lambda document: str(document)[:70])
def test_both_refuse_the_same_odd_values(document: Document) -> None:
    assert accounted(document) == certified(document)


def test_a_channel_whose_rows_are_alike_shows_nothing() -> None:
    same = {"kind": "channel", "matrix": [[0.3, 0.7], [0.3, 0.7]]}
    claim = Certificate(randomizer=same, honest=1, reports=1, epsilon=0.0, delta=0.0)
    assert verify(claim.document()).confirmed
