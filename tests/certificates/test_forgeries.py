"""Every field of certificates, edited and sealed again: none is confirmed but what is still true, in exactly its words."""

import copy
import math
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import Any

import pytest
from flint import arb, ctx

from oracles.forgery import Place, forged, resealed
from oracles.scale import full
from oracles.statements import restated, statement_of
from shuffledp import (
    Certificate,
    Channel,
    Gaussian,
    Generic,
    Laplace,
    LatticeChannel,
    RandomizedResponse,
    Verification,
    account,
    verify,
)
from shuffledp.accounting.best import Best
from shuffledp.accounting.composition import Collection, compose
from shuffledp.core.guarantee import Guarantee
from shuffledp.randomizers.design_response import DesignResponse
from shuffledp.randomizers.dummies import Dummies
from shuffledp.randomizers.geometric_noise import ThinnedGeometric, TwoSidedGeometric
from shuffledp.randomizers.hadamard_design import Hadamard
from shuffledp.randomizers.identity import Identity
from shuffledp.randomizers.local_hashing import LocalHashing
from shuffledp.randomizers.mixture import Mixture
from shuffledp.randomizers.registry import from_document
from shuffledp.randomizers.shuffler_noise import ShufflerNoise
from shuffledp.randomizers.structures import AffineSpace
from shuffledp.randomizers.together import Together

CHANNEL = Channel([[0.6, 0.3, 0.1], [0.2, 0.3, 0.5]])
COIN = RandomizedResponse(size=2, epsilon0=1.0).as_run()
LINES = DesignResponse.private(AffineSpace(prime=3), gamma=0.5)
RANDOMIZERS: dict[str, Any] = {
    "response": RandomizedResponse(size=5, epsilon0=1.5).as_run(),
    "coin": COIN,
    "channel": CHANNEL,
    "lattice": LatticeChannel.of(CHANNEL),
    "design": LINES,
    "hadamard": DesignResponse.private(Hadamard(order=8), gamma=0.3),
    "hashing": DesignResponse.private(LocalHashing(prime=5, range=3), gamma=0.3),
    "dummies": Dummies(structure=Identity(size=3), dummies=6.0),
    "noise": ShufflerNoise(size=4, noise=TwoSidedGeometric.least(0.8, 5e-4)),
    "thinned": ShufflerNoise(size=4, noise=ThinnedGeometric.least(0.8)),
    "generic": Generic(epsilon0=0.5),
    "laplace": Laplace(epsilon0=1.0),
    "gaussian": Gaussian(sigma=5.0),
    "mixture": Mixture(weights=(1, 2), parts=(COIN, LINES)),
    "together": Together(parts=(COIN, COIN)),
    "rounds": RandomizedResponse(size=4, epsilon0=1.0).as_run(),
}
N, DELTA = 40, 1e-3
ROUNDS = 3
STRUCTURED = ("hadamard", "hashing")
SLOW, A_FEW = ("gaussian", "together", "rounds"), full(2, 100)


@cache
def certificate(name: str) -> dict[str, Any]:
    """An honest one, whose epsilon is a little larger than it need be."""
    randomizer = RANDOMIZERS[name]
    rounds = ROUNDS if name == "rounds" else 1
    if name in ("rounds", "together"):
        epsilon = composed(randomizer, N, rounds).epsilon(DELTA)
    else:
        epsilon = account(randomizer, n=N, delta=DELTA).epsilon
    guarantee = Guarantee(epsilon=epsilon * 1.001, delta=DELTA, n=N, bound="best", reference="")
    return Certificate.of(randomizer, guarantee, reports=2 * N, rounds=rounds).document()


def composed(randomizer: Any, n: int, rounds: int) -> Any:
    blanket = randomizer.blanket()
    releases = blanket.releases() or [blanket]
    return compose([Collection(blanket=part, n=n, rounds=rounds, bound=Best()) for part in releases])


def claimable(document: dict[str, Any]) -> bool:
    """Whether the accountant, which shares no code with what is tested, does not contradict a claim."""
    claim = document["claim"]
    n, rounds = int(claim["honest"]), int(claim["rounds"])
    epsilon, delta = (float.fromhex(claim[name]) for name in ("epsilon", "delta"))
    randomizer = from_document(claim["randomizer"])
    if rounds > 1 or claim["randomizer"]["kind"] == "together":
        return bool(composed(randomizer, n, rounds).delta(epsilon) <= delta * 1.01)
    found = Best().claim(randomizer.blanket(), n=n, epsilon=epsilon)
    return math.exp(found.log_delta.lower) <= delta and math.exp(found.log_delta.upper) <= delta * 1.01


def edits(name: str) -> Iterator[tuple[Place, dict[str, Any]]]:
    """All forgeries; where what is claimed can still be said in words, also with these: a few of each field that take long."""
    often = Counter[Place]()
    for at, made in forged(certificate(name)):
        honest = restated(made)
        if honest is None or honest != made:
            yield at, made
        often[at] += honest is not None
        slow = name in SLOW or at[-1] == "rounds"
        if honest is not None and (not slow or often[at] <= A_FEW):
            yield at, resealed(honest)


def check(name: str, at: Place, made: dict[str, Any], found: Verification) -> bool:
    """Whether it was confirmed; then it is true, and said in exactly its words."""
    if not found.confirmed:
        assert not found.proved
        return False
    assert list(found.proved) == [statement_of(made)], (name, at)
    assert claimable(made), (name, at)
    if at[0] in ("bound", "made_with"):
        assert any("bound" in one and "version" in one for one in found.unproved)
    return True


@pytest.mark.parametrize("name", RANDOMIZERS)
def test_a_forged_certificate_is_confirmed_only_if_it_is_true(name: str) -> None:
    honest, tried, true = certificate(name), 0, 0
    assert verify(honest).confirmed
    one_in = full(3, 1) if name in SLOW else 1  # proofs of some take so long that make test tries every third
    for at, made in islice(edits(name), one_in // 2, None, one_in):
        if name in STRUCTURED and at[:2] != ("claim", "randomizer"):
            continue
        tried += one_in
        true += check(name, at, made, verify(made))
    assert tried >= (30 if name in STRUCTURED else 100)
    assert true >= (
        1 if name in STRUCTURED else 2 if name in SLOW else 5
    )  # a larger epsilon, a larger delta, fewer rounds, more honest reports


def test_the_forgeries_of_old_are_refused() -> None:
    honest = certificate("gaussian")
    more = copy.deepcopy(honest)
    more["claim"]["assumes"].append("epsilon is 0.01, as an audit has shown")
    two = copy.deepcopy(certificate("response"))
    two["claim"]["assumes"] = ["nothing is left to prove\x1b[2K\rc.json: confirmed"]
    for made in (more, two):
        words = restated(made)
        assert words is not None
        assert verify(resealed(words)).verdict == "refused"
    for text in ("\x1b[2Jnumeric", "best, (0.0001, 1e-12)", "a\nb", "", "x" * 1000):
        assert verify(resealed(copy.deepcopy(honest) | {"bound": text})).verdict == "refused", text
        assert verify(resealed(copy.deepcopy(honest) | {"made_with": {"shuffledp": text}})).verdict == "refused", text


def test_what_is_certain_to_be_small_is_not_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs are ranked by doubles: one whose rank is no number must still be looked at."""
    from shuffledp.certificates import proof_methods
    from shuffledp.certificates.randomizers import law_of

    claim = certificate("channel")["claim"]
    seen: list[Any] = []

    def second_unknown(term: Any, crowd: Any) -> arb:
        seen.append(term)
        return arb(1e-300) if len(seen) == 1 else arb("nan")

    with ctx.workprec(192):
        law = law_of(claim["randomizer"])
        assert len(law.pairs) == 2
        monkeypatch.setattr(proof_methods, "chernoff", second_unknown)
        assert proof_methods.prove(law, 10, 0.01, 1e-6).method is None
