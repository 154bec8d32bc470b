"""Every argument of every constructor and function that checks what it is given, at its limits and beyond: accepted or refused.

One argument at a time is replaced by each probe, the others stay good. What comes of it is pinned: the refusal with its
message, or the value that was made.
"""

# mypy: disable-error-code="misc,arg-type,assignment,var-annotated"

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np
from flint import arb

from shuffledp import Channel, Gaussian, Generic, KeyedRandomness, Laplace, RandomizedResponse
from shuffledp.accounting.account import account, bound_named, calibrate
from shuffledp.accounting.bound import Claim, at_most
from shuffledp.accounting.composition import Collection, compose
from shuffledp.accounting.curve import privacy_curve
from shuffledp.accounting.error_floor import summation_error_floor
from shuffledp.accounting.group import group
from shuffledp.accounting.loss_grid import reach
from shuffledp.accounting.numeric import out_of_range, upper_claim
from shuffledp.accounting.rounds import solve_rounds
from shuffledp.accounting.solve import Problem
from shuffledp.arithmetic.enclosure import Enclosure
from shuffledp.arithmetic.loss import ceiled, floored
from shuffledp.arithmetic.positive_part import ErrorLedger
from shuffledp.arithmetic.summand_law import Law, Poisson
from shuffledp.core import checks, document, files, randomness, turnout
from shuffledp.core.canonical import canonical
from shuffledp.core.counts import Counts
from shuffledp.core.estimate import Estimate
from shuffledp.core.pair import Pair, doubles
from shuffledp.core.ragged import Ragged
from shuffledp.randomizers.design_response import DesignResponse
from shuffledp.randomizers.dummies import Dummies
from shuffledp.randomizers.hadamard_design import Hadamard
from shuffledp.randomizers.identity import Identity
from shuffledp.randomizers.lattice import LatticeChannel, discretize
from shuffledp.randomizers.local_hashing import LARGEST_PRIME, LocalHashing
from shuffledp.randomizers.mixture import Mixture, part_of
from shuffledp.randomizers.registry import RANDOMIZERS, from_document
from shuffledp.randomizers.structures import AffineSpace, structure_of
from shuffledp.randomizers.together import Together

Probe = tuple[Callable[..., Any], dict[str, Any], dict[str, list[Any]]]


def around(*limits: float) -> list[float]:
    """Each limit, and the doubles next to it."""
    return [x for limit in limits for x in (math.nextafter(limit, -math.inf), limit, math.nextafter(limit, math.inf))]


def near(*limits: int) -> list[int]:
    """Each limit, and the whole numbers next to it."""
    return [x for limit in limits for x in (limit - 1, limit, limit + 1)]


ODD: Final[list[Any]] = [None, True, "1", b"1", math.nan, math.inf, -math.inf, 1.5, [1], 1 + 0j]
SHARES: Final[list[Any]] = [*ODD, *around(0.0, 1.0), -1, 0, 1, 2, Fraction(1, 3), np.float64(0.5)]
WHOLE: Final[list[Any]] = [*ODD, *near(0, 2), 2**31, 2**32, 2**32 + 1, np.int64(4)]
EPSILONS: Final[list[Any]] = [*ODD, *around(0.0, 1e-9, 700.0), -1, 3]
USERS: Final[list[Any]] = [*ODD, *near(0, 2, 10**18)]
COIN: Final = RandomizedResponse(size=2, gamma=0.5)
RUNS: Final = RandomizedResponse.of_threshold(size=2, threshold=1 << 62)
PLANE: Final = AffineSpace(prime=3)
WORD: Final = 1 << 64
HALF: Final = WORD // 2
KEY: Final = KeyedRandomness(bytes(32), private=False)
ROWS: Final = np.arange(3, dtype=np.uint64)
THREE: Final = np.array([0.25, 0.5, 0.25])


def probes() -> dict[str, Probe]:
    """By name: what is called, good arguments, and what each is replaced by."""
    return _checks() | _core() | _randomizers() | _accounting()


def _checks() -> dict[str, Probe]:
    names = [*ODD, *around(0.0, 0.1, 1.0, 1e6), 0, 1, 10**400, "x", np.array([1.0, 2.0])]
    return {
        "users": (lambda n: checks.users(n), {"n": 5}, {"n": USERS}),
        "size": (checks.size, {"value": 5}, {"value": [*WHOLE, 2**33]}),
        "real": (checks.real, {"value": 1.0, "name": "x"}, {"value": names}),
        "probability": (checks.probability, {"value": 0.5, "name": "x"}, {"value": [*SHARES, *names]}),
        "scale": (checks.scale, {"value": 0.5, "name": "x"}, {"value": names}),
        "epsilon": (checks.epsilon, {"value": 0.5}, {"value": EPSILONS}),
        "positive epsilon": (lambda value: checks.epsilon(value, positive=True), {"value": 0.5}, {"value": EPSILONS}),
        "whole": (checks.whole, {"value": 1, "name": "x", "remedy": "Y."}, {"value": [*WHOLE, -5, 10**30]}),
        "numbers": (checks.numbers, {"values": [1.0]}, {
            "values": [[], [1, 2], [True], ["a"], ["1"], [[1.0]], 5.0, None, [1j], np.array(["2020-01-01"], dtype="M8[D]"),
                np.array([3], dtype="m8[s]"), [None], [math.nan]],
        }),
        "symbols": (lambda values, size: checks.symbols(values, size), {"values": np.array([0, 1]), "size": 3}, {
            "values": [np.array(v) for v in ([0, 2], [0, 3], [-1], [], [[0]], [0.0], [True], ["a"])]
            + [np.array([2], dtype=np.uint8), np.array([3], dtype=np.uint64), np.zeros(0, dtype=np.int8)],
            "size": [1, 2, 256, 257, 2**32],
        }),
    }  # fmt: skip


def _core() -> dict[str, Probe]:
    encoder, question = randomness.EncodingRandomness(KEY), randomness.QuestionRandomness(KEY, 1)
    there, private = Path(__file__), Path(__file__).parent / "no such file"
    return {
        "counts": (Counts, {"values": np.array([1, 2])}, {
            "values": [np.array([0]), np.array([-1, 1]), np.array([[1]]), np.array([1.0]), np.array([1], dtype=np.int32),
                np.zeros(0, dtype=np.int64)],
        }),
        "counted": (Counts.of, {"messages": np.array([0, 1]), "size": 3}, {
            "messages": [np.array(m, dtype=t) for m in ([2], [3], [255], []) for t in (np.uint8, np.int64)] + [np.array([-1]),
                np.array([0.5])],
            "size": [1, 2, 256, 300],
        }),
        "no counts": (Counts.none, {"size": 3}, {"size": [0, 1, 2, True, 1.5]}),
        "counts added": (lambda size: Counts.none(3) + Counts.none(size), {"size": 3}, {"size": [2, 4]}),
        "key": (lambda key: KeyedRandomness(key, private=True).private, {"key": bytes(32)}, {"key": [bytes(31), bytes(33), b""]}),
        "question": (lambda q: randomness.QuestionRandomness(KEY, q).blocks(ROWS, 0), {"q": 1}, {"q": near(0, 1 << 16)}),
        "question's draw": (lambda d: question.blocks(ROWS, d), {"d": 1}, {"d": near(0, 1 << 40)}),
        "encoder's draw": (lambda d: encoder.blocks(ROWS, d), {"d": 1}, {"d": near(0, 1 << 32, 1 << 33)}),
        "first row": (lambda r: KEY.stream(r, 3, 0), {"r": 1}, {"r": near(0, 1 << 62)}),
        "rows": (lambda r, c: randomness.rows_from(r, c), {"r": 1, "c": 2}, {"r": near(0, 1 << 62), "c": [0, 1]}),
        "draw below": (lambda b: randomness.choose_below(b, 3, KEY, first_row=0), {"b": 2}, {"b": near(0, 1 << 32)}),
        "no words": (lambda what: what(randomness.NoWords()), {"what": lambda w: w.private}, {
            "what": [lambda w: w.stream(0, 1, 0), lambda w: w.blocks(ROWS, 0)],
        }),
        "row words": (lambda source: randomness.RowWords(source, ROWS, 0).stream(0, 3, 0), {"source": KEY},
            {"source": [randomness.SystemRandomness(), randomness.NoWords()]}),
        "spread words": (lambda top, each: randomness.RowWords(KEY, np.array([0, top], dtype=np.uint64),
            0).spread(each).blocks(ROWS, 0), {"top": 5, "each": 2}, {
            "top": near(1 << 61, 1 << 63)[:-1], "each": [1, 2, 8],
        }),
        "rows in order": (lambda rows, n: randomness.RowWords(KEY, np.array(rows, dtype=np.uint64), 0).stream(0, n, 0),
            {"rows": [4, 5], "n": 2}, {
            "rows": [[5, 4], [4, 6], [1, 3, 2, 4], [(1 << 60) - 2, (1 << 60) - 1], [(1 << 60) - 1, 1 << 60]], "n": [0, 1, 3],
        }),
        "fields": (lambda d: document.fields(d, "k", a=document.whole, b=document.number), {"d": {"kind": "k", "a": 1, "b": 2}}, {
            "d": [None, [], {}, {"kind": "j", "a": 1, "b": 2}, {"kind": "k", "a": 1}, {"kind": "k", "b": 1},
                {"kind": "k", "a": 1, "b": 2, "c": 3}, {"kind": "k", "a": "1", "b": 2}, {"kind": "k", "a": 1, "b": "2"}],
        }),
        "canonical": (canonical, {"document": 1}, {"document": [2**53 - 1, 2**53, math.nan, "\ud800", object, {1: 2}]}),
        "honest reports": (lambda n, f: turnout.honest_reports(n, f), {"n": 10, "f": 0.5}, {"n": [1, 2, 0, True, 10**18],
            "f": [*SHARES, 0.1, 0.09, 1e-12]}),
        "users for": (lambda h, f: turnout.users_for(h, f), {"h": 10, "f": 0.5}, {"h": [1, 2], "f": SHARES}),
        "expected reports": (lambda n, d: turnout.reports_expected(n, d), {"n": 10, "d": 0.5},
            {"n": [1, 2, 0], "d": [*SHARES, 0.9, 0.91]}),
        "people to ask": (lambda n, d: turnout.people_to_ask(n, d), {"n": 10, "d": 0.5}, {"n": [1], "d": SHARES}),
        "ragged rows": (lambda rows: Ragged(np.arange(3), np.array([2, 1]))[rows], {"rows": slice(0, 1)},
            {"rows": [0, [0, 1], np.array([1])]}),
        "thin balls": (lambda ball: doubles([ball]), {"ball": arb(1)}, {
            "ball": [arb(1, 2.0**-54), arb(1, 2.0**-56), arb(1, 2.0**-58), arb(0), arb(0, 1e-310),
                arb(0, 1e-200) * arb(2) ** -1000],
        }),
        "confidence": (lambda c: Estimate(value=np.ones(2), standard_error=np.ones(2), n=1).interval(c), {"c": 0.9},
            {"c": SHARES}),
        "read json": (lambda path: _said(lambda: files.read_json(path, "a table", "Fix it.")), {"path": there},
            {"path": [private]}),
        "others can read": (files.others_can_read, {"path": private}, {"path": [private]}),
        "vast ratios": (lambda d: Pair(np.array([d]), np.array([1.0]), np.array([0.5])).spread, {"d": 1.0}, {"d": around(1e150)}),
    }  # fmt: skip


def _said(what: Callable[[], Any]) -> str:
    """Without the folder that it happened in."""
    try:
        return str(what())
    except Exception as error:
        return str(error).replace(str(Path(__file__).parent), "...")


def _randomizers() -> dict[str, Probe]:
    table = [[0.5, 0.5], [0.25, 0.75]]
    good = {"counts": ((HALF, HALF), (1, WORD - 1)), "inputs": (0.0, 1.0), "outputs": (0.0, 1.0), "label": "x"}
    found: dict[str, Probe] = {
        "response": (RandomizedResponse, {"size": 4, "gamma": 0.5}, {"size": WHOLE, "gamma": [*SHARES, 5e-324],
            "epsilon0": EPSILONS}),
        "response of epsilon0": (RandomizedResponse, {"size": 4, "epsilon0": 1.0}, {"epsilon0": EPSILONS, "gamma": [0.5]}),
        "response of a threshold": (RandomizedResponse.of_threshold, {"size": 4, "threshold": 5},
            {"threshold": [*ODD, *near(0, WORD)], "size": WHOLE}),
        "families": (RandomizedResponse.family, {"size": 4}, {"size": WHOLE, "parameter": ["epsilon0", "gamma"]}),
        "laplace": (Laplace, {"epsilon0": 1.0}, {"epsilon0": EPSILONS}),
        "generic": (Generic, {"epsilon0": 1.0}, {"epsilon0": EPSILONS}),
        "gaussian": (Gaussian, {"sigma": 1.0}, {"sigma": [*ODD, *around(0.1, 1e6), 0]}),
        "laplace on a lattice": (Laplace(epsilon0=1.0).lattice, {"inputs": 2, "outputs": 3, "reach": 1.0},
            {"inputs": [0, 1, True, 2.5], "outputs": [0, 1, 2], "reach": [*ODD, *around(0.0, 1e12)]}),
        "discretized": (discretize, {"cdf": lambda x: (1 + x / 9) / 2, "inputs": 2, "outputs": 3, "reach": 1.0, "label": "x"},
            {"reach": around(0.0, 1e12), "inputs": [1], "outputs": [1, 2]}),
        "channel": (lambda m: Channel(m), {"m": table}, {
            "m": [None, "x", [[1.0]], [[1.0], [1.0]], [[0.5, 0.5]], [[0.5, 0.5], [1.0]], [[1.5, -0.5], [0.5, 0.5]],
                [[math.nan, 1.0], [0.5, 0.5]], [[0.5, 0.5], [0.5, math.inf]],
                  [[1.0, 0.0], [0.0, 1.0]], [[1.0, 1e-300], [0.5, 0.5]], [[1.0, math.nextafter(1e-300, 0)], [0.5, 0.5]],
                      [[0.5, 0.5], [0.5, 0.5 + 9e-10]], [[0.5, 0.5], [0.5, 0.5 + 2e-9]], [[0.5, 0.5], [0.5, 0.5 - 2e-9]]],
        }),
        "blanket of a channel": (lambda m: Channel(m).omega(np.arange(2)), {"m": table},
            {"m": [[[1.0, 0.0], [0.0, 1.0]], [[0.5, 0.5], [0.5, 0.5]]]}),
        "rest of a channel": (lambda m: Channel(m).left_over(np.arange(2), 0), {"m": table},
            {"m": [[[1.0, 0.0], [0.0, 1.0]], [[0.5, 0.5], [0.5, 0.5]]]}),
        "lattice": (LatticeChannel, good, {
            "counts": [((HALF, HALF),), ((HALF, HALF), (1, WORD)), ((HALF, HALF), (-1, WORD + 1)), ((HALF, HALF), (0, WORD)),
                ((HALF, HALF), (1, 1, WORD - 2)), ((HALF, HALF), (0.5, WORD - 0.5)), ((HALF, HALF),) * 3],
            "inputs": [(0.0,), (0.0, 1.0, 2.0)], "outputs": [(0.0,), (0.0, 1.0, 2.0)],
        }),
        "plane": (AffineSpace, {"prime": 5, "dimension": 2}, {"prime": [*ODD, 0, 1, 2, 3, 4, 9, 65537, 65521, 46337, 46349],
            "dimension": [*ODD, *near(2, 3)]}),
        "space": (lambda prime: AffineSpace(prime=prime, dimension=3), {"prime": 5}, {"prime": [1597, 1621, 1627, 251, 257,
            65521]}),
        "order": (lambda o, d: AffineSpace.from_order(o, d), {"o": 5, "d": 2}, {"o": [4, 1, 2, 65521, 65537, 10**7],
            "d": [1, 3, 4]}),
        "hadamard": (Hadamard, {"order": 8}, {"order": [*ODD, *near(0, 2, 4), 1 << 31, 1 << 32, 1 << 33]}),
        "holding": (Hadamard.holding, {"size": 8}, {"size": [*near(1, 8), 1 << 31, (1 << 31) + 1]}),
        "identity": (Identity, {"size": 8}, {"size": WHOLE}),
        "hashing": (LocalHashing, {"prime": 7, "range": 3}, {"prime": [*ODD, 2, 3, 4, LARGEST_PRIME, 2147483659],
            "range": [*ODD, *near(2, 7)]}),
        "hashing of": (lambda s, v: LocalHashing.holding(s, v), {"s": 6, "v": 3}, {"s": near(1, LARGEST_PRIME), "v": near(2, 7)}),
        "design": (DesignResponse, {"structure": PLANE, "threshold": 5}, {"threshold": [*ODD, *near(0, WORD)],
            "structure": [LocalHashing(prime=65521, range=2)]}),
        "design of": (lambda **g: DesignResponse.private(PLANE, **g), {"gamma": 0.5}, {"gamma": [*SHARES, 5e-324],
            "epsilon0": [1.0]}),
        "design of epsilon0": (lambda **g: DesignResponse.private(PLANE, **g), {"epsilon0": 0.5}, {"epsilon0": EPSILONS}),
        "law of a design": (lambda **g: DesignResponse.law(PLANE, **g), {"gamma": 0.5}, {"gamma": [*SHARES], "epsilon0": [1.0]}),
        "family of a design": (DesignResponse.family, {"design": PLANE}, {"parameter": ["epsilon0", "gamma"]}),
        "dummies": (Dummies, {"structure": PLANE, "dummies": 0.5}, {"dummies": [*ODD, *around(1e-9, 1000.0), 0, 5],
            "structure": [LocalHashing(prime=65521, range=2)]}),
        "mixture": (Mixture, {"weights": (1, 2), "parts": (RUNS, RUNS)}, {
            "weights": [(), (1,), (0, 1), (-1, 1), (True, 1), (1.0, 1), (2**32 - 1, 1), (2**32, 1), (1, 1, 1)],
            "parts": [(), (RUNS,), (RUNS, Generic(epsilon0=1.0)), (RUNS, Mixture.examples()[0]),
                (RUNS, RandomizedResponse.of_threshold(size=2**32 - 2, threshold=5)),
                    (RUNS, RandomizedResponse.of_threshold(size=2**32 - 1, threshold=5))],
        }),
        "mixture's symbols": (lambda s: Mixture(weights=(1, 2), parts=(RUNS, RUNS)).randomize(np.array(s), KEY, first_row=0),
            {"s": [0, 3]}, {
            "s": [[4], [-1], [[0, 1]], [[0, 2]], [[0]], [[[0]]], [[0, 1, 1]], [0.5]],
        }),
        "family of a mixture": (Mixture.family, {"weights": (1, 1), "families": [RandomizedResponse.family(size=2)] * 2}, {
            "families": [[RandomizedResponse.family(size=2), RandomizedResponse.family(size=2, parameter="gamma")],
                [RandomizedResponse.family(size=2), Laplace.family()]],
        }),
        "part of a mixture": (part_of, {"document": RUNS.document()}, {"document": [None, Mixture.examples()[0].document(),
            Generic(epsilon0=1.0).document(), Channel(table).document()]}),
        "together": (Together, {"parts": (RUNS, RUNS)}, {
            "parts": [(), (RUNS,), (RUNS, Generic(epsilon0=1.0)), (RUNS, Dummies.examples()[0]),
                (RandomizedResponse.of_threshold(size=2**32 - 2, threshold=5), RUNS),
                    (RandomizedResponse.of_threshold(size=2**32 - 1, threshold=5), RUNS), (RUNS,) * 65537],
        }),
        "together's symbols": (lambda s: Together(parts=(RUNS, RUNS)).randomize(np.array(s), KEY, first_row=0),
            {"s": [[0, 1]]}, {"s": [[0], [[0]], [[0, 2]], [[-1, 0]], [[0, 1, 1]]]}),
        "document of nothing": (from_document, {"document": RUNS.document()}, {"document": [None, [], {}, {"kind": 1},
            {"kind": "none"}]}),
        "document of a structure": (structure_of, {"document": PLANE.document()}, {"document": [None, {}, {"kind": []},
            {"kind": "none"}, {"kind": "identity"}]}),
    }  # fmt: skip
    for kind, randomizer in RANDOMIZERS.items():
        written = randomizer.examples()[0].document()
        wrong: list[Any] = [written | {"kind": "other"}, written | {"more": 1}]
        wrong += [{k: v for k, v in written.items() if k != name} for name in written]
        wrong += [
            written | {name: value}
            for name in written
            if name != "kind"
            for value in (None, True, "x", -1, 0, [], {}, [[]])
        ]
        found[f"document of {kind}"] = (randomizer.from_document, {"document": written}, {"document": wrong})
    return found


def _accounting() -> dict[str, Probe]:
    best, blanket = bound_named("bennett"), COIN.blanket()
    values, family = np.array([1.0, -1.0]), RandomizedResponse.family(size=2)
    law = {"values": values, "masses": np.array([0.5, 0.5]), "scales": np.array([1.0, 1.0])}
    pair = [[Pair(values, np.array([1.0, 2.0]), THREE[:2])]]
    above = math.exp(170.0)
    return {
        "account": (account, {"randomizer": COIN, "n": 1000, "delta": 1e-6, "bound": "bennett"}, {
            "n": [*USERS, None], "delta": SHARES, "epsilon": EPSILONS, "bound": ["none", "best ", "hoeffding"],
        }),
        "calibrate": (calibrate, {"family": family, "n": 1000, "epsilon": 0.5, "delta": 1e-6, "bound": "bennett"}, {
            "n": USERS, "epsilon": EPSILONS, "delta": SHARES, "family": [RandomizedResponse.family(size=2, parameter="gamma")],
        }),
        "problem": (Problem, {"randomizer": blanket, "n": 10, "epsilon": 0.5}, {"n": [None, *USERS],
            "epsilon": [None, *EPSILONS], "delta": SHARES, "randomizer": [family]}),
        "problem of a family": (Problem, {"randomizer": family, "n": 10, "epsilon": 0.5, "delta": 0.1},
            {"n": [None], "epsilon": [None], "delta": [None], "randomizer": [blanket]}),
        "error floor": (summation_error_floor, {"n": 10, "epsilon": 1.0, "delta": 0.1}, {"n": USERS[:-3], "epsilon": EPSILONS,
            "delta": [*around(0.0, 0.5), -1, math.nan]}),
        "collection": (Collection, {"blanket": blanket, "n": 5, "rounds": 1, "bound": best}, {"rounds": [*ODD, *near(0, 10**9)]}),
        "composition of nothing": (lambda parts: compose(parts), {"parts": [Collection(blanket=blanket, n=500, rounds=1,
            bound=best)]}, {"parts": [[]]}),
        "composed": (lambda delta, epsilon: (lambda c: (c.epsilon(delta),
            c.delta(epsilon)))(compose([Collection(blanket=blanket, n=500, rounds=2, bound=best)])),
                {"delta": 1e-3, "epsilon": 0.5}, {
            "delta": SHARES, "epsilon": [*EPSILONS, 2.1, 2.3],
        }),
        "curve": (lambda points: privacy_curve(blanket, [best], n=500, points=points, epsilon_max=0.5)[-1], {"points": 2},
            {"points": [*near(1), 3, 10_001]}),
        "group": (group, {"randomizer": COIN, "n": 1000, "delta": 1e-6, "rows": 2, "bound": "bennett"},
            {"rows": [*ODD, *near(0)], "n": USERS, "delta": SHARES, "bound": ["none"]}),
        "rounds": (lambda **given: solve_rounds(best, Problem(randomizer=blanket, n=1000, delta=1e-6), **given),
            {"rounds": 1, "honest_fraction": 0.5}, {
            "rounds": [0, 2, True], "honest_fraction": [*SHARES, 1e-4],
        }),
        "rounds for users": (lambda r: solve_rounds(best, Problem(randomizer=blanket, epsilon=0.5, delta=1e-6), rounds=r),
            {"r": 1}, {"r": [2]}),
        "rounds of a family": (lambda r: solve_rounds(best, Problem(randomizer=family, n=1000, epsilon=0.5, delta=1e-6),
            rounds=r), {"r": 1}, {"r": [2]}),
        "claim": (lambda u: at_most(Enclosure(-math.inf, u)), {"u": -1.0}, {"u": around(0.0)}),
        "numeric claim": (lambda u: upper_claim(u, ErrorLedger(), name="x"), {"u": -1.0},
            {"u": [*around(0.0), math.nan, math.inf, -math.inf]}),
        "certificate": (lambda **given: Claim(log_delta=Enclosure(-1.0, 0.0), **given).certificate("v"), {"lower_by": None,
            "upper_by": None}, {"lower_by": ["x"], "upper_by": ["x"], "ledger": [ErrorLedger()]}),
        "range": (lambda e, top: out_of_range([[Pair(np.array([top]), np.array([1.0]), np.array([0.5]))], *pair], e),
            {"e": 1.0, "top": 1.0}, {"e": around(170.0), "top": around(above)}),
        "reach": (lambda left: reach(lambda e: left, 0, 1.0), {"left": 0.0}, {"left": [*around(1e-3), *around(2.0**-56), 1.0,
            0.9]}),
        "enclosure": (Enclosure, {"lower": 0.0, "upper": 1.0}, {"lower": [math.nan, *around(1.0), -math.inf],
            "upper": [math.nan, *around(0.0), math.inf]}),
        "law": (Law, law, {
            "values": [THREE, np.array([math.inf, 0.0]), np.array([math.nan, 0.0]), np.ones((2, 1))],
                "masses": [np.array([0.5, -0.1]), np.array([0.5, 0.5 + 2e-9]), np.array([0.5, 0.5 + 5e-10]),
                    np.array([0.0, 0.0]), THREE], "scales": [THREE],
        }),
        "flat laws only": (lambda shape: Law(*(np.full(shape, 0.25),) * 3).log_zero_mass_down, {"shape": (2,)},
            {"shape": [(1,), (2, 1), (4,), (3,)]}),
        "poisson": (Poisson, {"mean": 1.0, "drift": 0.0}, {"mean": [*around(0.0), math.inf, math.nan], "drift": [*around(0.0),
            -math.inf, math.nan]}),
        "whole numbers of balls": (lambda f, b: f(b), {"f": floored, "b": arb(2.5)}, {"f": [ceiled], "b": [arb(2), arb(-2.5),
            arb(2, 0.25), arb("nan"), arb.pos_inf()]}),
    }  # fmt: skip


def outcomes(probe: Probe) -> Mapping[str, Any]:
    """What becomes of the good arguments, and of each probe."""
    call, good, wrong = probe
    found = {"all good": _tried(call, good)}
    for name, values in wrong.items():
        for i, value in enumerate(values):
            found[f"{name} {i}"] = _tried(call, good | {name: value})
    return found


def _tried(call: Callable[..., Any], given: dict[str, Any]) -> Any:
    try:
        return call(**given)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
