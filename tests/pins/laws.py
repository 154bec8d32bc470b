"""Cases of randomizers and core: what each randomizer says of itself and sends, and the plain tools below it."""

# mypy: disable-error-code="misc,arg-type,assignment,var-annotated"

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

import numpy as np
from flint import arb, ctx

from shuffledp import Channel, Gaussian, KeyedRandomness, Laplace, RandomizedResponse
from shuffledp.arithmetic.primes import is_prime, prime_from
from shuffledp.core import checks, counts, digits, document, randomness, turnout
from shuffledp.core.canonical import canonical, digest
from shuffledp.core.estimate import Estimate, SideBySide
from shuffledp.core.guarantee import Guarantee, claim
from shuffledp.core.pair import Pair, doubles, held_by_either, pair_of
from shuffledp.core.population import Population, users_at
from shuffledp.core.ragged import Ragged
from shuffledp.core.ratio import Ratios
from shuffledp.randomizers.channel import ChannelBlanket
from shuffledp.randomizers.design_response import DesignResponse, design_threshold
from shuffledp.randomizers.dummies import Dummies
from shuffledp.randomizers.hadamard_design import Hadamard, walsh_hadamard
from shuffledp.randomizers.hull import corners
from shuffledp.randomizers.identity import Identity
from shuffledp.randomizers.lattice import LatticeChannel
from shuffledp.randomizers.local_hashing import LocalHashing
from shuffledp.randomizers.mixture import Mixture
from shuffledp.randomizers.named import KINDS, RandomizerChoice, channel_of, local_parameter, refuse_strays, takers
from shuffledp.randomizers.poisson import CappedPoisson, capped_poisson
from shuffledp.randomizers.registry import RANDOMIZERS, from_document
from shuffledp.randomizers.structures import AffineSpace, structure_of

Case = Callable[[], Any]
WORDS: Final = KeyedRandomness(bytes(range(32)), private=True)
STRUCTURES: Final = {
    "plane": AffineSpace(prime=5), "space": AffineSpace(prime=3, dimension=3), "two": AffineSpace(prime=2),
        "hadamard": Hadamard(order=8),
    "own": Identity(size=7), "hashing": LocalHashing(prime=7, range=3), "even hashing": LocalHashing(prime=7, range=7),
}  # fmt: skip
_TOLD: Final = ("gamma", "epsilon0", "symbols", "messages", "threshold", "gamma_as_run", "most", "offsets")


def tried(what: Callable[[], Any]) -> Any:
    """An error is an answer, too."""
    try:
        return what()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def blanket_of(randomizer: Any) -> Any:
    """All that accounting may ask."""
    blanket = randomizer.blanket()
    with ctx.workprec(160):
        said = [
            blanket.gamma(),
            blanket.epsilon0(),
            blanket.coins(),
            blanket.uniform_size,
            blanket.bounded,
            blanket.chi_squared(),
        ]
        laws = [[tried(lambda e=e: blanket.amplification(arb(e)))] for e in (0.0, 0.1, 1.25)]
        pairs = tried(blanket.pairs)
        options = [[*list(one)[:2], one[-1]] for one in pairs] if not isinstance(pairs, str) else pairs
        others = [tried(ask) for ask in (blanket.witnesses, blanket.crowds, blanket.agreements, blanket.releases)]
    n, e = 500, 0.3
    some = [p for one in options[:3] for p in one] if not isinstance(options, str) else []
    of_pairs = [
        (p.law(e), p.uncovered_up(e), p.largest_ratio, p.spread, p.summands(blanket.summands(n), e)) for p in some
    ]
    return [said, *laws, options, *others, of_pairs, blanket.summands(n), blanket.shortfall(n, e)]


def sent_by(randomizer: Any) -> Any:
    """Its messages under fixed words, its probabilities and its document."""
    told = [getattr(randomizer, name, None) for name in _TOLD]
    values = np.arange(200) % getattr(randomizer, "symbols", 1)
    sent = tried(lambda: randomizer.randomize(values, WORDS, first_row=3))
    chances = [
        tried(lambda what=what, symbol=symbol: getattr(randomizer, what)(np.arange(3), *symbol))
        for what in ("probability", "omega", "left_over", "density")
        for symbol in ((0,), (1,), ())
    ]
    written = randomizer.document()
    return [told, sent, chances, digest(written), from_document(written), tried(lambda: randomizer.family())]


def structure(one: Any) -> Any:
    """A structure's numbers, messages and totals."""
    values, choices = np.arange(200) % one.values, (np.arange(200, dtype=np.uint32) * 7) % one.choices
    seen = np.arange(one.messages, dtype=np.int64) ** 2 % 11
    return [
        one.values, one.choices, one.messages, one.share, one.shared, one.overlap, one.triple, one.decoding_memory,
        one.member(values, choices.astype(np.uint32)), one.totals(seen), one.totals_of(seen, np.array([1, 0])),
            structure_of(one.document()),
    ]  # fmt: skip


def randomizers() -> dict[str, Case]:
    """Mostly whole numbers and balls."""
    found: dict[str, Case] = {}
    for kind, randomizer in RANDOMIZERS.items():
        for i, one in enumerate(randomizer.examples()[:3]):
            found[f"blanket of {kind} {i}"] = lambda one=one: blanket_of(one)
            found[f"messages of {kind} {i}"] = lambda one=one: sent_by(one)
    found["blanket of a channel without symmetry"] = lambda: blanket_of(
        Channel([[0.7, 0.1, 0.1, 0.1], [0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1], [0.25, 0.25, 0.25, 0.25]])
    )
    found["blanket of a sure coin"] = lambda: blanket_of(RandomizedResponse(size=2, gamma=1.0))
    found["blanket of many symbols"] = lambda: blanket_of(RandomizedResponse(size=1000, epsilon0=9.0))
    for name, one in STRUCTURES.items():
        found[f"structure {name}"] = lambda one=one: structure(one)
        found[f"blanket of {name}"] = lambda one=one: blanket_of(DesignResponse.private(one, epsilon0=1.5))
        found[f"dummies of {name}"] = lambda one=one: [tried(lambda: blanket_of(Dummies(structure=one, dummies=0.25)))]
    found["thresholds"] = lambda: (
        [
            design_threshold(AffineSpace(prime=p), **given)
            for p in (2, 5, 31)
            for given in (
                {"gamma": 1e-18},
                {"gamma": 0.3},
                {"gamma": 1.0},
                {"epsilon0": 1e-9},
                {"epsilon0": 3.0},
                {"epsilon0": 60.0},
            )
        ]
        + [RandomizedResponse(size=s, epsilon0=e).threshold for s in (2, 9, 2**32) for e in (0.0, 1e-9, 2.0, 700.0)]
    )
    found["lattices"] = lambda: [
        one.lattice(inputs=i, outputs=o, reach=r)
        for one in (Laplace(epsilon0=2.0), Gaussian(sigma=1.0)) for i, o, r in ((2, 9, None), (5, 4, 0.5))
    ] + [LatticeChannel.of(Channel([[0.5, 0.5, 0.0], [1 / 3, 1 / 3, 1 / 3]]))]  # fmt: skip
    found["wide and narrow noise"] = lambda: [blanket_of(Laplace(epsilon0=e)) for e in (1e-3, 12.0)]
    found["a wide normal law"] = lambda: blanket_of(Gaussian(sigma=6.0))
    found["poisson numbers"] = lambda: [
        (capped_poisson(mean), capped_poisson(mean).draw(5, 400, WORDS)) for mean in (1e-9, 0.25, 2.0, 30.0)
    ]
    found["poisson ties"] = _ties
    found["hulls"] = lambda: [
        corners(ChannelBlanket(rows=Channel(m).blanket().rows, name="").rows)
        for m in (
            [[0.5, 0.5], [0.25, 0.75], [0.75, 0.25], [0.75, 0.25]], [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5],
                [0.375, 0.375, 0.25]],
            [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5], [0.1, 0.1, 0.8]], [[0.5, 0.5], [0.5, 0.5]],
        )
    ]  # fmt: skip
    found["hadamard sums"] = lambda: [walsh_hadamard(np.arange(n) ** 2 % 7) for n in (1, 2, 8, 16)]
    found["primes"] = lambda: [
        [is_prime(k) for k in range(-2, 60)],
        [prime_from(k) for k in (0, 2, 8, 24, 1000, 2**20)],
    ]
    found["mixtures"] = lambda: [
        Mixture.of((2, 3), (Mixture.examples()[1], RandomizedResponse(size=3, gamma=0.5))),
        Mixture.examples()[2].probability(np.arange(6), 3), [Mixture.examples()[1].share(t) for t in (0, 1)],
        tried(lambda: Mixture.examples()[1].randomize(np.array([[0, 1], [1, 8], [1, 2]]), WORDS, first_row=0)),
        Mixture.family((1, 3), [RandomizedResponse.family(size=2), RandomizedResponse.family(size=3)]).blanket(1.0),
    ]  # fmt: skip
    found["names"] = _names
    return found


def _ties() -> Any:
    class Tied:
        """Every row ties with the first threshold in its first 64 bits."""

        private = False

        def reserve(self) -> None:
            """They are not for releases."""

        def stream(self, first_row: int, count: int, lane: int) -> Any:
            return np.full(count, 0x80, dtype=np.uint8)

        def blocks(self, rows: Any, draw: int) -> Any:
            return np.stack([np.zeros(len(rows), dtype=np.uint64), np.arange(len(rows), dtype=np.uint64)], axis=1)

    half = CappedPoisson(1.0, ((1 << 127) + 2, (1 << 127) + 4, 3 << 126), 0.0)
    return half.draw(0, 8, Tied())


def _names() -> Any:
    options: list[dict[str, Any]] = [
        {}, {"epsilon0": 1.0}, {"gamma": 0.5}, {"sigma": 1.0}, {"dummies": 0.5}, {"epsilon0": 1.0, "gamma": 0.5},
    ]  # fmt: skip
    found: list[Any] = [takers(name) for name in ("size", "prime", "range", "dimension", "sigma", "epsilon0")]
    shapes: list[dict[str, Any]] = [
        {}, {"size": 4}, {"prime": 5}, {"size": 4, "range": 2}, {"prime": 5, "dimension": 3}, {"size": 4, "prime": 5},
            {"size": 4, "dimension": 2},
    ]  # fmt: skip
    matrix = channel_of("0.5, 0.5\n\n0.25 0.75\n", "table")
    for name in (*KINDS, "nothing"):
        for given in options:
            for solve_for in (None, "epsilon0", "sigma", "n"):
                found.append(tried(lambda n=name, g=given, s=solve_for: local_parameter(n, g, s)))
        for shape in shapes if name in KINDS else ():
            found.append(tried(lambda n=name, s=shape: refuse_strays(n, s, None)))
            local = KINDS[name].parameters[0] if KINDS[name].parameters else None
            for given in (shape, shape | ({local: 0.5} if local else {})):
                for table in (None, matrix):
                    choice = RandomizerChoice(name=name, matrix=table)
                    found.append(type(tried(lambda c=choice, g=given, k=local: c.at(g, k))).__name__)
                    found.append(str(tried(lambda c=choice, g=given, k=local: c.that_runs(g, k)))[:60])
        found.append(tried(lambda n=name: refuse_strays(n, {}, matrix)))
    found += [
        tried(lambda t=t: channel_of(t, "table"))
        for t in ("[[0.5, 0.5], [1, 0]]", "[[", "a b", "", " [0.5]", "1 0\n0 1")
    ]
    return [[str(one) for one in found], len(found), *found[:3]]


def core() -> dict[str, Case]:
    """Whole numbers, texts and plain doubles."""
    rows = np.array([7, 3, 3, 9, 2**40], dtype=np.uint64)
    seeded = KeyedRandomness.seeded(5)
    apart, in_order = randomness.RowWords(WORDS, rows, 10), randomness.RowWords(WORDS, randomness.rows_from(6, 40), 4)
    question, encoder = randomness.QuestionRandomness(WORDS, 3), randomness.EncodingRandomness(WORDS)
    lanes = (randomness.RESPONSE, randomness.ROUNDING, randomness.CHOICE, randomness.PART, randomness.DUMMIES)
    bytes_ = WORDS.stream(0, 3000, 1)
    gap = Pair(
        np.array([1.0, -0.5]),
        np.array([0.5, 2.0]),
        np.array([0.25, 0.5]),
        np.array([0.25, 0.1]),
        np.array([0.05, 0.1]),
        3.0,
        0.125,
    )
    atoms = [(arb(1) / 3, arb(1), arb(1) / 2), (arb(-1) / 7, arb(2), arb(1) / 4)]
    three = np.array([3.0, 40.0, 0.5])
    estimate = Estimate(value=three, standard_error=np.array([1.0, 2.0, 0.25]), n=100, names=("a", "b", "c"))
    ratios = [
        Ratios.between(
            estimate, top=np.array([1.0, 9.0, -2.0, 3.0]), bottom=np.array([4.0, 20.0, 8.0, 0.0]), names=("a", "b", "c", "d"),
            variances=(np.array([0.5, 2.0, 1.0, 1.0]), np.array([0.1, -1.0, 0.5, 0.0]), np.array([1.0, 4.0, 4.5, 0.0])), **more,
        )
        for more in ({}, {"start": 10.0, "span": -4.0})
    ]  # fmt: skip
    ragged = Ragged(np.arange(9, dtype=np.uint32), np.array([2, 0, 4, 3]))
    sample = np.concatenate([np.arange(300) % 9, [8, 8]])
    numbers = (
        0.0,
        1e-9,
        0.1,
        1 / 3,
        0.12345678,
        7.0,
        12345.678,
        999999.5,
        1e8,
        1e9,
        1e15,
        1.5e15,
        1e-5,
        9.9e-6,
        -2.5,
        math.inf,
        math.nan,
    )
    return {
        "streams": lambda: [w.stream(16 * k, 48, lane) for w in (WORDS, seeded, question, encoder) for k in (0,
            1) for lane in lanes],
        "streams from anywhere": lambda: [WORDS.stream(k, 20, 1) for k in (0, 1, 15, 16, 17, 2**40)] + [len(WORDS.stream(3,
            1 << 20, 0))],
        "streams at rows": lambda: [WORDS.stream_at(rows, lane) for lane in (0, 2, 8, 10)],
        "blocks": lambda: [w.blocks(rows, draw) for w in (WORDS, seeded, question, encoder) for draw in (0, 5, 1 << 32)],
        "rows": lambda: [
            apart.stream(10, 5, 0), apart.stream(11, 3, 1), apart.stream(40, 20, 2),
                apart.blocks(np.array([10, 14], dtype=np.uint64), 3),
            in_order.stream(4, 40, 0), in_order.stream(9, 3, 1), in_order.stream(20, 8, 2), in_order.stream(4, 0, 0),
                apart.spread(3).stream(30, 15, 0),
            randomness.words_each(in_order, 2).stream(8, 6, 0), randomness.words_each(WORDS, 2).stream(8, 6, 0),
            [tried(lambda a=a: apart.stream(*a)) for a in ((9, 5, 0), (10, 6, 0), (42, 4, 2), (36, 4, 2), (15, 1, 0),
                (40, 6, 2))],
        ],
        "draws": lambda: [
            randomness.choose_below(b, 500, WORDS, first_row=7, lane=lane) for b in (1, 2, 3, 1000, 3 * 2**30,
                2**32) for lane in (randomness.CHOICE, randomness.PART)
        ] + [randomness.uniform_below(b, rows, WORDS, WORDS.blocks(rows, 4), 4) for b in (3, 3 * 2**30, 2**31 + 1, 2**32)],
        "coins": lambda: [randomness.coins(t, c, rows, WORDS, 9) for t in (0, 1, 1 << 62, (1 << 64) - 1, 1 << 64) for c in (1, 2,
            3, 4)],
        "few bytes": lambda: [randomness.where_at_most(bytes_[:k], top) for k in (0, 1, 8, 9, 3000) for top in (0, 3, 15, 16, 200,
            255)],
        "questions": lambda: [randomness.randomness_of(2, w).stream(0, 9, 0) for w in (WORDS,
            encoder)] + [randomness.width_of(k) for k in range(12)],
        "counts": lambda: [
            counts.Counts.of(sample.astype(t), size) for t in (np.uint8, np.int64, np.uint16) for size in (9, 12, 300)
        ] + [counts.Counts.of(np.resize(sample, n).astype(np.uint8), s) for n in (1 << 14, (1 << 14) + 1) for s in (9, 10,
            256, 400)]
          + [counts.Counts.none(4) + counts.Counts.of(np.array([1, 1, 3]), 4)],
        "digits": lambda: [
            [f(x) for x in numbers if not (math.isnan(x) and f in (digits.about,
                digits.at_most))] for f in (digits.rounded_up, digits.rounded_down, digits.about, digits.at_most)
        ],
        "fixed digits": lambda: [[digits.fixed(x, p) for x in numbers if math.isfinite(x)] for p in (None, 0, 2)] + [
            digits.interval(0.125, 0.375, 2), digits.column_up([0.0, 0.24, 0.34671, 2.0]), digits.column_up([0.0]),
                digits.column_up([5e4]), digits.counted(1, "user"),
            digits.counted(2, "user"), [digits.decimals(e, n) for e, n in (((1e-9,), (1.0,)), ((2e-9,), (1.0,)),
                ((99.0, 0.0), (math.nan, 1e12)), ((1000.0,), (1.0,)), ((), ()))],
        ],
        "honest people": lambda: [
            [turnout.honest_reports(n, f) for n in (2, 10, 11, 999) for f in (0.5, 0.7, 1.0)],
                [turnout.users_for(k, f) for k in (1, 7, 700) for f in (0.1, 0.45, 0.7, 1.0)],
            [turnout.reports_expected(n, d) for n in (10, 11, 1000) for d in (0.0, 0.3, 0.35)],
                [turnout.people_to_ask(n, d) for n in (1, 7, 700) for d in (0.0, 0.3, 0.9)],
        ],
        "checked symbols": lambda: [checks.symbols(np.array([0, 3, 2], dtype=t), s) for t in (np.int8, np.uint8,
            np.int64) for s in (4, 256, 257, 70_000)],
        "within": lambda: [
            checks.within(np.array(v), low, high) for v in ([], [0.0], [-0.0, 0.5], [1.0], [1.5], [-0.5], [math.nan]) for low,
                high in ((0.0, 1.0), (-1.0, 1.0), (0.5, 0.5))
        ],
        "canonical": lambda: [canonical({"b": [1, 2.5, None], "a": "é"}), digest({"a": 1})],
        "documents": lambda: [
            [tried(lambda r=r, v=v: r(v)) for v in (0, 1, True, 1.5, 2**53, 2**53 + 1, 10**400, math.inf, "7", "07", "0",
                str(2**64), str(2**64 + 1), "-1", [], [1], None)]
            for r in (document.text, document.whole, document.number, document.word, document.several(document.whole))
        ],
        "pairs": lambda: [
            [(gap.law(e), gap.uncovered_up(e)) for e in (0.0, 0.5, 2.0)], gap.spread, gap.largest_ratio, pair_of(atoms),
                held_by_either(atoms), doubles([arb(1) / 3]),
        ],
        "guarantees": lambda: [
            (one.success, [one.hits(a) for a in (0.0, 0.01, 0.3, 0.9, 1.0)], claim(one.epsilon, one.delta), str(one))
            for one in (Guarantee(epsilon=e, delta=d, n=9, bound="best", reference="", caveat=c) for e, d,
                c in ((0.0, 0.0, None), (1.0, 1e-6, "x"), (700.0, 0.5, None)))
        ],
        "estimates": lambda: [
            [one.interval(c, simultaneous=s) for c in (0.9, 0.95) for s in (False,
                True)] + [one.refused] for one in (estimate, *ratios, SideBySide.of([estimate, ratios[0]], ["x ", "y "]))
        ],
        "people": lambda: [
            users_at(np.array(w), np.array(p), np.array(u)) for w, p, u in (([7, 5, 7], [5, 6, 5], [1, 10, 100]),
                ([1], [9, 1], [3, 4]), ([4, 2], [2, 4], [5, 6]))
        ] + [users_at(np.zeros(0), np.array([1.0]), np.array([1])), Population(values=np.arange(2), users=np.array([3, 4])).n],
        "ragged": lambda: [
            ragged[r] for r in (slice(1, 3), np.array([3, 0, 3]), np.array([True, False, True, False]))
        ] + [ragged.of_row(k) for k in range(4)] + [len(ragged)],
        "exact fractions": lambda: [turnout.exact_fraction(f) for f in (0.7, 1.0, 0.1, 1e-9)] + [Fraction(1, 3)],
    }  # fmt: skip
