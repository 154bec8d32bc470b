"""Cases of accounting and arithmetic: inputs that reach each bound's branches, small enough to be quick."""

# mypy: disable-error-code="misc,arg-type,assignment,var-annotated"

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from flint import arb, fmpz

from shuffledp import Channel, Gaussian, Generic, Laplace, RandomizedResponse
from shuffledp.accounting.account import account, bound_named, bounds, calibrate
from shuffledp.accounting.composition import Collection, compose
from shuffledp.accounting.curve import privacy_curve
from shuffledp.accounting.error_floor import summation_error_floor
from shuffledp.accounting.group import group
from shuffledp.accounting.rounds import solve_rounds
from shuffledp.accounting.shuffle_index import shuffle_index
from shuffledp.accounting.solve import Problem, solve
from shuffledp.arithmetic import balls, inversion
from shuffledp.arithmetic.blocks import largest_block
from shuffledp.arithmetic.exact import exact_sum
from shuffledp.arithmetic.least import least_integer
from shuffledp.arithmetic.loss import LossLaw
from shuffledp.arithmetic.loss_points import dominated, dominating
from shuffledp.arithmetic.positive_part import log_expected_positive_part
from shuffledp.arithmetic.summand_law import Law, Poisson
from shuffledp.arithmetic.tilt import chernoff, chernoff_many
from shuffledp.randomizers.design_response import DesignResponse
from shuffledp.randomizers.dummies import Dummies
from shuffledp.randomizers.identity import Identity
from shuffledp.randomizers.mixture import Mixture
from shuffledp.randomizers.structures import AffineSpace
from shuffledp.randomizers.together import Together

Case = Callable[[], Any]

RR: Final = RandomizedResponse(size=10, epsilon0=1.0)
COIN: Final = RandomizedResponse(size=2, epsilon0=2.0)
FEW: Final = Channel([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.3, 0.2, 0.5]])
BARE: Final = Channel([[0.5, 0.5, 0.0], [0.25, 0.5, 0.25]])
PLANE: Final = DesignResponse.private(AffineSpace(prime=5), gamma=0.3)
DUMMIES: Final = Dummies(structure=AffineSpace(prime=5), dummies=2.0)
OWN: Final = Dummies(structure=Identity(size=8), dummies=0.5)
MIXED: Final = Mixture.examples()[1]
BOTH: Final = Together(parts=(COIN, RandomizedResponse(size=4, gamma=0.4)))
SUBJECTS: Final = {
    "response": RR, "coin": COIN, "channel": FEW, "bare channel": BARE, "plane": PLANE, "dummies": DUMMIES, "own dummies": OWN,
    "mixture": MIXED, "generic": Generic(epsilon0=1.5), "laplace": Laplace(epsilon0=1.0), "gaussian": Gaussian(sigma=1.5),
}  # fmt: skip
SLOW: Final = ("composed", "messages together", "rounds")
"""Once is enough: what they are made of is in other cases."""
FORMULAS: Final = ("bennett", "hoeffding", "closed-form", "erlingsson", "histogram-theorem")


def law(values: list[float], masses: list[float], ulps: float = 2.0) -> Law:
    """Scales are the sizes."""
    return Law(np.array(values), np.array(masses), np.abs(values) + 0.5, ulps)


LAWS: Final = {
    "even": law([1.0, -1.0], [0.5, 0.5]),
    "drifting": law([2.0, -0.75, 0.25, -1.5], [0.125, 0.25, 0.25, 0.0625], 3.0),
    "steep": law([30.0, -0.5], [1e-4, 0.25]),
    "never above": law([-1.0, -0.25], [0.5, 0.25]),
}


def claims(subject: Any, name: str, n: int, epsilons: tuple[float, ...]) -> Case:
    """A bound's claims."""
    blanket = subject.blanket
    return lambda: [bound_named(name).claim(blanket(), n=n, epsilon=e, side="both") for e in epsilons]


def formulas() -> dict[str, Case]:
    """In balls and fractions alone: pinned to the last bit."""
    found: dict[str, Case] = {}
    for name in FORMULAS:
        for subject in ("response", "coin", "generic", "laplace", "gaussian", "plane", "mixture", "channel", "dummies"):
            found[f"{name} of {subject}"] = claims(SUBJECTS[subject], name, 3000, (0.0, 0.01, 0.3, 0.9))
        found[f"{name} solved"] = lambda name=name: [
            solve(bound_named(name), Problem(randomizer=r.blanket(), **given))
            for r in (RR, Generic(epsilon0=0.4))
            for given in (
                {"n": 20_000, "delta": 1e-6}, {"n": 20_000, "epsilon": 0.25}, {"epsilon": 0.25, "delta": 1e-6},
                {"n": 10, "delta": 1e-9}, {"n": 10, "epsilon": 0.01},
            )
        ]  # fmt: skip
    found["histogram theorem's limits"] = lambda: [
        bound_named("histogram-theorem").claim(RR.blanket(), n=n, epsilon=e)
        for n, e in ((1, 0.5), (2, 0.5), (10**6, 1.0), (10**6, math.nextafter(1.0, 2)), (10**6, 0.0), (200, 1.0))
    ]
    found["formulas calibrated"] = lambda: [
        calibrate(RandomizedResponse.family(size=10, parameter=p), n=10**5, epsilon=0.5, delta=1e-6, bound=b)
        for p in ("epsilon0", "gamma")
        for b in ("bennett", "histogram-theorem")
        if (p, b) != ("epsilon0", "histogram-theorem")
    ]
    found["error floor"] = lambda: [
        summation_error_floor(n=n, epsilon=e, delta=1e-6, tightened=t)
        for n in (1, 27, 1000, 1001, 10**6) for e in (0.1, 3.0) for t in (False, True)
    ]  # fmt: skip
    found["error floor without delta"] = lambda: [
        summation_error_floor(n=729, epsilon=1.0, delta=d, tightened=True) for d in (0.0, 0.25, 0.49)
    ]
    found |= _balls() | _losses() | _searches()
    return found


def _balls() -> dict[str, Case]:
    numbers = (0.0, 5e-324, 1e-300, 0.1, 1.0, 3.0, 700.0, 1e300)
    return {
        "rounded functions": lambda: [
            [f(x) for x in numbers if not (f in (balls.exp_up, balls.exp_down) and x > 700)]
            for f in (balls.exp_up, balls.exp_down, balls.log_up, balls.log_down)
        ],
        "rounded exponentials": lambda: [
            [f(x) for x in (-math.inf, -1e4, -800.0, -745.2, -708.5, -1.0, -1e-17, 0.0)]
            for f in (balls.exp_up, balls.exp_down)
        ],
        "rounded balls": lambda: [
            [f(ball) for ball in (arb(1) / 3, arb(-1) / 3, arb(2), arb("nan"), arb.pos_inf(), arb(1, 1e-3), arb(0))]
            for f in (balls.round_up, balls.round_down)
        ],
        "rounded sums": lambda: [
            balls.sum_up(), balls.sum_up(0.1, 0.2, 0.3), balls.sum_up(1.0, -(2.0**-70)), balls.product_up(0.1, 7),
            balls.product_up(0.1, 0), balls.product_up(-0.1, 3),
        ],
        "a pole": lambda: balls.evaluate(lambda: (arb(1, 1e-30) - 1).log()),
        "cancelled digits": lambda: balls.evaluate(lambda: (arb(1e-200).exp() - 1).log()),
        "zero": lambda: balls.evaluate(lambda: arb(3).sqrt() ** 2 - 3),
        "exact sums": lambda: [
            exact_sum(np.array(x)) for x in ([0.1] * 7, [1e300, -1e300, 5e-324], [-1.5, 2.25, 1e-7], [0.0])
        ],
    }  # fmt: skip


def _losses() -> dict[str, Case]:
    points, step = (0, 1, 2, 4, 7, 9), 2.0**-4
    up = (0.2, 0.12, 0.07, 0.02, 1e-3, 1e-5)
    ahead = [(x * 0.98, x) for x in up]
    behind = [(x * 0.9, x * 0.95) for x in up]

    def upper(bits: int = 80) -> LossLaw:
        return dominating(points, up, step=step, bits=bits, spare=1 << 20)

    def lower(bits: int = 80) -> LossLaw:
        return dominated(points, ahead, behind, step=step, bits=bits, spare=1 << 20)

    def plain(up: bool, first: int, masses: list[int], infinite: int = 0, step: float = 0.5) -> LossLaw:
        return LossLaw(
            upper=up, bits=10, spare=2, step=step, first=first, masses=tuple(map(fmpz, masses)), infinite=infinite
        )

    some = (-3, [1, 1, 5, 100, 300, 7, 250, 90, 40, 1, 1])

    def asked(one: LossLaw) -> Any:
        return [one, one.deviation, [one.delta(e) for e in (0.0, 0.03, 0.25, 0.4, 5.0)],
                [one.epsilon(d) for d in (1e-7, 1e-4, 0.03, 0.15, 0.9)]]  # fmt: skip

    return {
        "a law above": lambda: asked(upper()),
        "a law below": lambda: asked(lower()),
        "laws composed": lambda: [asked(make().power(k)) for make in (upper, lower) for k in (1, 2, 3, 5)],
        "laws beside each other": lambda: [
            asked(plain(up, *some, infinite).times(plain(up, 2, [500, 300, 100], 9, step)))
            for up in (True, False) for infinite in (0, 3) for step in (0.5, 2.0, 0.125)
        ],
        "coarser laws": lambda: [
            plain(up, first, masses, 4).coarser() for up in (True, False) for first in (-3, -2, 0, 1)
            for masses in ([1, 1, 5, 100, 300, 7, 250, 90, 40, 1, 1], [0, 700, 0, 3], [600], [0, 0, 512, 5, 0, 2, 9])
        ],
        "trimmed laws": lambda: [
            plain(up, 0, masses).trimmed() for up in (True, False)
            for masses in ([1, 1, 5, 2], [1, 1, 1], [0], [3, 0, 2], [2, 3, 1, 1, 1])
        ],
        "long laws": lambda: asked(plain(True, -900, [3 + k % 5 for k in range(1800)]).fitted()),
        "laws of few points": lambda: [
            dominating((0, 3), (0.5, 0.0), step=0.5, bits=40, spare=0), dominating((0,), (0.25,), step=0.5, bits=40, spare=0),
            dominated((0, 3), [(0.2, 0.3), (0.0, 0.1)], [(0.2, 0.3), (0.0, 0.1)], step=0.5, bits=40, spare=0),
            dominated((0, 1, 2), [(0.3, 0.3), (0.2, 0.2), (0.0, 0.0)], [(0.3, 0.3), (0.3, 0.31), (0.29, 0.3)], step=1.0,
                bits=40, spare=3),
        ],
        "laws that do not compose": lambda: plain(True, 0, [5]).times(plain(False, 0, [5])),
        "steps that do not compose": lambda: plain(True, 0, [5]).times(plain(True, 0, [5], step=1.5)),
    }  # fmt: skip


def _searches() -> dict[str, Case]:
    def seen(margin: Callable[[float], float], axis: inversion.Search, start: float, **more: float) -> Any:
        points: list[float] = []

        def noted(x: float) -> float:
            points.append(x)
            return margin(x)

        return inversion.search(noted, axis, start, more.pop("precision", 1e-3), **more), len(points)

    wide = inversion.Search(low=1e-6, high=1e6, towards="larger")
    whole = inversion.Search(low=1.0, high=1000.0, towards="larger", whole=True)
    from_zero = inversion.Search(low=0.0, high=5.0, towards="larger")
    return {
        "integers": lambda: [
            inversion.first_integer(lambda k, at=at: k >= at, -5, 40) for at in (-4, 0, 17, 39, 40, 99)
        ],
        "doubles": lambda: [
            (inversion.first_double(lambda x, at=at: x >= at, 0.0, 8.0), inversion.last_double(lambda x, at=at: x <= at, 0.0,
                8.0))
            for at in (5e-324, 1e-9, 0.1, 1.0, 7.5)
        ],
        "reals": lambda: [
            inversion.first_real(lambda x, at=at: x >= at, 1.0, 64.0, precision=p) for at in (1.5, 9.0, 63.9) for p in (0.1, 1e-6)
        ],
        "a least cost": lambda: [
            (least_integer(lambda k, at=at: abs(math.log(k / at)), range(2, 500)), at) for at in (0.5, 1, 2, 3, 77, 499, 600)
        ],
        "searches": lambda: [
            seen(lambda x, at=at: (at - x) / 2**6, axis, start, **more)
            for axis in (wide, wide.mirrored(), whole, whole.mirrored(), from_zero, from_zero.mirrored())
            for at in (0.25, 3.0, 40.0, 2000.0) for start, more in ((0.0, {}), (2.5, {"precision": 0.01}),
                (900.0, {"steepness": 2.0}))
        ],
    }  # fmt: skip


def numeric() -> dict[str, Case]:
    """In doubles: pinned to what another machine's elementary functions may change."""
    found: dict[str, Case] = {}
    for name, one in LAWS.items():
        for n in (1, 2, 30, 5000):
            found[f"kernel of {n} {name}"] = lambda one=one, n=n: [
                log_expected_positive_part(one, n, tolerance=t) for t in (1e-2, 1e-4)
            ]
        for many in (Poisson(40.0), Poisson(25.0, -3.0)):
            found[f"kernel of Poisson {many.mean:g} {name}"] = lambda one=one, many=many: log_expected_positive_part(
                one, many
            )
    found["chernoff"] = lambda: [
        [chernoff(one, n) for one in LAWS.values() for n in (1, 40, 10**6, Poisson(40.0), Poisson(9.0, -1.0))],
        chernoff_many([one for name, one in LAWS.items() if name != "steep"], 500),
    ]
    for m in (1, 64, 3000):
        found[f"blocks of {m}"] = lambda m=m: largest_block(
            [law([0.5, -0.25, 0.125], [0.25, 0.25, 0.5]), law([0.375, -0.125], [0.5, 0.25], 5.0)], m
        )
    for name, subject in SUBJECTS.items():
        for bound in ("numeric", "witness", "generic", "binary", "cushion"):
            if bound == "binary" and name not in ("coin", "response"):
                continue
            if bound == "cushion" and name not in ("channel", "coin", "gaussian"):
                continue
            if bound == "generic" and name not in ("generic", "response", "gaussian", "channel"):
                continue
            epsilons = (0.0, 0.05, 0.4) if bound in ("numeric", "witness") else (0.1, 0.4)
            found[f"{bound} of {name}"] = claims(subject, bound, 4000, epsilons)
    found["coins of few and many"] = lambda: [
        bound_named("binary").claim(COIN.blanket(), n=n, epsilon=e) for n, e in ((1, 0.5), (2, 1.5), (10**7, 1e-3))
    ]
    found["unlike coins"] = lambda: [
        bound_named("binary").claim(Channel([[0.9, 0.1], [0.4, 0.6], [0.5, 0.5]]).blanket(), n=900, epsilon=e)
        for e in (0.05, 1.5)
    ]
    found["a large crowd"] = claims(FEW, "cushion", 10**6, (1e-3, 0.01))
    found["one user"] = lambda: [
        bound_named(b).claim(s.blanket(), n=1, epsilon=0.3)
        for b in ("numeric", "witness", "best")
        for s in (RR, FEW, BARE, MIXED)
    ]
    for name in ("response", "generic", "channel", "dummies", "plane"):
        found[f"best of {name}"] = claims(SUBJECTS[name], "best", 20_000, (0.02, 0.2))
    found["solved for epsilon"] = lambda: account(RR, n=10**5, delta=1e-6)
    found["solved for delta"] = lambda: account(RR, n=10**5, epsilon=0.02)
    found["solved for users"] = lambda: account(RR, epsilon=0.05, delta=1e-6)
    found["both ends"] = lambda: solve(bound_named("best"), Problem(randomizer=PLANE.blanket(), n=5000, delta=1e-5))
    families = {
        "epsilon0": RandomizedResponse.family(size=6), "gamma": RandomizedResponse.family(size=6, parameter="gamma"),
        "dummies": Dummies.family(Identity(size=5)), "plane": DesignResponse.family(AffineSpace(prime=5)),
    }  # fmt: skip
    for name, family in families.items():
        found[f"calibrated {name}"] = lambda family=family: calibrate(
            family, n=20_000, epsilon=0.5, delta=1e-6, bound="numeric"
        )
    for name in ("response", "channel", "bare channel", "laplace", "gaussian", "plane", "generic", "mixture"):
        found[f"index of {name}"] = lambda name=name: shuffle_index(SUBJECTS[name])
    found["index of dummies"] = lambda: shuffle_index(DUMMIES)
    found["a group"] = lambda: [
        group(RR, n=10**5, delta=1e-6, rows=m, bound=b) for m in (1, 3) for b in ("bennett", "numeric")
    ]
    found["a group that is too large"] = lambda: group(
        Channel([[1.0, 0.0], [0.0, 1.0]]), n=2, delta=1e-9, rows=9, bound="numeric"
    )
    found["a curve"] = lambda: privacy_curve(
        Generic(epsilon0=1.0).blanket(), [bound_named("bennett"), bound_named("generic")], n=5000, points=4
    )
    found["rounds"] = lambda: [
        solve_rounds(
            bound_named("numeric"), Problem(randomizer=COIN.blanket(), n=3000, **given), rounds=r, honest_fraction=0.75
        )
        for r, given in ((3, {"delta": 1e-6}), (2, {"epsilon": 0.5}), (1, {"delta": 1e-6}))
    ]
    found["rounds for users"] = lambda: solve_rounds(
        bound_named("bennett"), Problem(randomizer=COIN.blanket(), epsilon=0.3, delta=1e-6), honest_fraction=0.7
    )
    found["composed"] = _composed
    found["messages together"] = claims(BOTH, "best", 3000, (0.2, 0.6))
    return found


def _composed() -> Any:
    numeric = bounds()["numeric"]
    one = Collection(blanket=RR.blanket(), n=2000, rounds=3, bound=bounds()["best"])
    two = compose(
        [
            Collection(blanket=PLANE.blanket(), n=900, rounds=2, bound=numeric),
            Collection(blanket=RR.blanket(), n=2000, rounds=1, bound=numeric),
        ]
    )
    return [
        two.epsilon(1e-6), two.delta(0.5), two.local_epsilon, two.rounds, two.caveats, two.delta(1.9), two.delta(100.0),
            two.least_epsilon(1e-6),
        compose([one]).least_epsilon(1e-4), compose([one]).least_delta(0.2),
    ]  # fmt: skip
