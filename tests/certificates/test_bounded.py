"""Whatever a certificate says, `verify` comes to an end and raises nothing: what is too large is refused by its size."""

import random
from functools import partial
from typing import Any

import pytest
from flint import arb, ctx, fmpq

from oracles.forgery import resealed
from shuffledp import Certificate, verify
from shuffledp.certificates import proof_methods, prove_certificate
from shuffledp.certificates.binary import covered
from shuffledp.certificates.contour_nodes import Term
from shuffledp.certificates.cushion import cushioned_delta
from shuffledp.certificates.effort import Effort, unbounded
from shuffledp.certificates.law import Law
from shuffledp.certificates.positive_part import BITS, Crowd, contour_bound
from shuffledp.certificates.randomizers import law_of
from shuffledp.certificates.unverifiable import Unverifiable

WORD = 1 << 64
HALF = WORD // 2
SIGMA = "takes (0, 1) as the worst pair of inputs: proved but for one corner, checked numerically there"
Document = dict[str, Any]


def claim(
    randomizer: Document, *, epsilon: float = 1.0, delta: float = 1e-6, n: int = 10**6, rounds: int = 1
) -> Document:
    return Certificate(
        randomizer=randomizer, honest=n, reports=n, epsilon=epsilon, delta=delta, rounds=rounds,
        assumes=(SIGMA,) if randomizer["kind"] == "gaussian" else (),
    ).document()  # fmt: skip


def response(size: int = 3, threshold: int = HALF) -> Document:
    return {"kind": "response", "size": size, "threshold": str(threshold)}


def channel(rows: int, columns: int) -> Document:
    rng = random.Random(rows * columns)
    table = [[rng.uniform(0.05, 1) for _ in range(columns)] for _ in range(rows)]
    return {"kind": "channel", "matrix": [[entry / sum(row) for entry in row] for row in table]}


def matrix(*rows: list[float]) -> Document:
    return {"kind": "channel", "matrix": [list(row) for row in rows]}


HUGE = {
    "coins of very different kinds": claim(matrix([0.5, 0.5], [1 - 1e-15, 1e-15]), n=10**18, epsilon=1e-6),
    "a coin that tells the truth": claim(response(2, 1), n=10**18, delta=1e-300),
    "everybody tells the truth": claim(response(1 << 32, 1), n=10**18, delta=1e-300),
    "a quintillion rounds": claim(response(), n=10**18, rounds=10**18),
    "as many questions": claim({"kind": "together", "parts": [response()] * 1000}, rounds=10**18),
    "steep and rare": claim(response(3, 1), n=10**18, epsilon=700.0, delta=5e-324),
    "flat": claim(response(), n=10**18, epsilon=5e-324, delta=0.0),
    "many inputs": claim(channel(100, 100)),
    "many messages": claim(channel(3, 5000), epsilon=700.0, delta=0.0),
    "nearly impossible messages": claim(matrix([1 - 1e-300, 1e-300, 0.0], [0.3, 0.3, 0.4])),
    "many questions": claim({"kind": "mixture", "weights": [1] * 999, "parts": [response(3, HALF + k) for k in range(999)]}),
    "any randomizer at all": claim({"kind": "generic", "epsilon0": 700.0}, n=10**18),
    "hardly any noise": claim({"kind": "laplace", "epsilon0": 700.0}),
    "nothing but noise": claim({"kind": "laplace", "epsilon0": 1e-9}, epsilon=1e-12, delta=1e-15),
    "as good as no Gaussian noise": claim({"kind": "gaussian", "sigma": 0.1}),
    "nothing but Gaussian noise": claim({"kind": "gaussian", "sigma": 1e6}, epsilon=1e-9, delta=0.0),
    "a thousand dummies each": claim(
        {"kind": "dummies", "structure": {"kind": "identity", "size": 1 << 32}, "dummies": 1000.0}, n=10**18, epsilon=1e-8
    ),
    "hardly any dummies": claim(
        {"kind": "dummies", "structure": {"kind": "identity", "size": 2}, "dummies": 1e-9}, n=1, rounds=10**6
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HUGE)
def test_huge_claims_come_to_an_end(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prove_certificate, "Effort", partial(Effort, most=3_000_000))
    found = verify(HUGE[name])
    assert found.verdict in ("refused", "cannot be verified", "confirmed")
    if found.confirmed:  # a Gaussian mechanism has no delta of 0, and few coins cannot hide the truth
        assert name in ("steep and rare", "many messages", "nothing but noise", "many questions")


def test_a_proof_that_takes_too_much_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    different = claim({"kind": "together", "parts": [response(3, HALF + k) for k in range(100)]})
    monkeypatch.setattr(prove_certificate, "Effort", partial(Effort, most=3_000_000))
    found = verify(different)
    assert found.verdict == "cannot be verified"
    assert "terms" in found.reason
    with pytest.raises(Unverifiable):
        Effort(most=10).spend(11)


def proved(law: Law, rounds: int, effort: Effort) -> proof_methods.Proof:
    if rounds == 1:
        return proof_methods.prove(law, 5000, 0.01, 1e-6, effort)
    return proof_methods.prove_composed(law, 5000, rounds, 0.01, 1e-6, effort)


@pytest.mark.parametrize("rounds", [1, 3])
@pytest.mark.parametrize(
    "randomizer", [response(), response(2), channel(3, 4), {"kind": "laplace", "epsilon0": 1.0}], ids=str
)
def test_every_method_counts_before_it_sums_up(randomizer: Document, rounds: int) -> None:
    with ctx.workprec(BITS):
        law, nothing = law_of(randomizer), Effort(most=0)
        with pytest.raises(Unverifiable):
            proved(law, rounds, nothing)
        with pytest.raises(Unverifiable):
            contour_bound(Term([arb(1), arb(-2)], [arb(0.1), arb(0.2)]), Crowd(100), 0.02, nothing)
        if law.rows:
            with pytest.raises(Unverifiable):
                cushioned_delta(law.rows, 10**6, 0.001, arb(1e-6), nothing)


def test_one_circle_for_coins_that_are_too_different_is_not_drawn() -> None:
    with ctx.workprec(BITS):
        skewed = fmpq(1, 2), fmpq(1, 10**15)
        assert not covered(skewed, 10**18, arb(1e-6).exp(), arb(1e-6), unbounded())


STRANGE: list[Any] = [
    None, 7, "certificate", [], {}, {"kind": None}, {"kind": "shuffledp certificate"}, {1: 2},
    {"kind": "shuffledp certificate", 1: 2}, {"kind": ["shuffledp certificate"]}, float("nan"), {"kind": float("inf")},
]  # fmt: skip


@pytest.mark.parametrize("document", STRANGE, ids=range(len(STRANGE)))
def test_what_is_no_certificate_is_refused(document: Any) -> None:
    assert verify(document).verdict == "refused"


def deep() -> list[Any]:
    """More levels than anybody can follow."""
    found: list[Any] = []
    for _ in range(100_000):
        found = [found]
    return found


def test_what_is_nested_too_deeply_is_refused() -> None:
    document = claim(response(), n=1000, epsilon=5.0)
    for made in (deep(), {"kind": "shuffledp certificate", "claim": deep()}, document | {"sha256": deep()}):
        assert verify(made).verdict == "refused"
    document["claim"]["randomizer"] = {"kind": "mixture", "weights": [1], "parts": [deep()]}
    assert verify(document).verdict == "refused"
    for outer in ("mixture", "together"):
        inside = response()
        for _ in range(50):
            inside = {"kind": outer, "parts": [inside]} | ({"weights": [1]} if outer == "mixture" else {})
        document["claim"]["randomizer"] = inside
        assert verify(resealed(document)).verdict == "refused"


DOUBLES: list[Any] = [
    "inf", "nan", "-0x1.0000000000000p+0", "0x1.0000000000000p+9999", "0x1.0000000000000p-9999", "0x1p+9999", "0x1p+40",
    "0x1.0000000000000p+40", "1.0", "1", "0X1.0000000000000P-1", "0x1.0000000000000p-1 ", "0x1.8p-1", 0.5, None, ["0x1"],
    "", "0x1." + "0" * 10**6 + "p-1", "0x0.0p+1", "-0x0.0p+0",
]  # fmt: skip
WHOLES: list[Any] = [
    "0", "-1", "5_00", " 500", "0500", "\u0665\u0660\u0660", "1e3", "1000000000000000001", "9" * 10**6, 500, None, [], "",
    "500.0",
]  # fmt: skip
TEXTS: list[Any] = [None, "x", ["x"], [1], ["\x1b[2J"], ["a\nb"], [""], ["x" * 10**6], [[]], {}]
ODD: list[tuple[str, Any]] = [
    *((name, text) for name in ("epsilon", "delta") for text in DOUBLES),
    *((name, text) for name in ("honest", "reports", "rounds") for text in WHOLES),
    *(("assumes", value) for value in TEXTS),
    ("adjacency", "add-remove"), ("view", "messages"), ("randomizer", None), ("randomizer", []), ("randomizer", {}),
    ("randomizer", {"kind": 7}), ("randomizer", {"kind": "mixture", "weights": [1], "parts": [[[]]]}),
    ("randomizer", response() | {"threshold": "9" * 10**6}), ("randomizer", response() | {"size": 10**400}),
    ("randomizer", {"kind": "laplace", "epsilon0": float("nan")}), ("randomizer", {"kind": "laplace", "epsilon0": 10**400}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), ODD, ids=range(len(ODD)))
def test_odd_fields_are_refused(name: str, value: Any) -> None:
    document = claim(response(), n=1000, epsilon=5.0)
    assert verify(document).confirmed
    document["claim"][name] = value
    try:
        made = resealed(document)
    except ValueError:
        made = document  # no hash can be made of it
    assert verify(made).verdict == "refused"
