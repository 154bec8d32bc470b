"""The paper's formulas at 80 digits with mpmath, written from the paper and not from the package."""

from typing import Any

import mpmath as mp

DIGITS = 80


def phi(u: Any) -> Any:
    return (1 + u) * mp.log(1 + u) - u


def response_law(k: int, epsilon0: float, epsilon: float) -> tuple[Any, Any, Any, Any]:
    """(gamma, b_+, b_-, c) of Lemma 5.7."""
    p, a = mp.exp(mp.mpf(epsilon0)), mp.exp(mp.mpf(epsilon))
    g = k / (p + k - 1)
    return (
        g,
        g * (1 - a) + (1 - g) * k,
        g * (1 - a) - (1 - g) * k * a,
        g * (2 - g) * (1 - a) ** 2 + (1 - g) ** 2 * k * (1 + a**2),
    )


def laplace_law(epsilon0: float, epsilon: float) -> tuple[Any, Any, Any, Any]:
    """(gamma, b_+, b_-, c) of Lemma 5.8."""
    e0, e = mp.mpf(epsilon0), mp.mpf(epsilon)
    second = (mp.exp(2 * e) + 1) / 3 * (2 * mp.exp(e0 / 2) + mp.exp(-e0))
    cross = 2 * mp.exp(e) * (2 * mp.exp(-e0 / 2) - mp.exp(-e0))
    return (
        mp.exp(-e0 / 2),
        mp.exp(e0 / 2) * (1 - mp.exp(e - e0)),
        mp.exp(-e0 / 2) * (1 - mp.exp(e + e0)),
        second - cross,
    )


def generic_law(epsilon0: float, epsilon: float) -> tuple[Any, Any, Any, Any]:
    """(gamma, b_+, b_-, c): least gamma, and Lemma 5.4 with gamma = 1 (c as in the authors' code)."""
    p, a = mp.exp(mp.mpf(epsilon0)), mp.exp(mp.mpf(epsilon))
    return 1 / p, p - a / p, 1 / p - a * p, p * (a**2 + 1) - 2 * a / p**3


def log_hoeffding(law: tuple[Any, Any, Any, Any], n: int, epsilon: float) -> Any:
    g, up, down, _ = law
    a, b = mp.expm1(mp.mpf(epsilon)), up - down
    return mp.log(b**2 / (4 * a)) - mp.log(g * n) + n * mp.log(1 - g + g * mp.exp(-2 * a**2 / b**2))


def log_bennett(law: tuple[Any, Any, Any, Any], n: int, epsilon: float) -> Any:
    g, up, _, c = law
    a = mp.expm1(mp.mpf(epsilon))
    u = a * up / c
    rate = c / up**2 * phi(u)
    return mp.log(up / mp.log(1 + u)) - mp.log(g * n) + n * mp.log(1 - g + g * mp.exp(-rate))
