"""Figures 2 and 3 of "The Privacy Blanket of the Shuffle Model", from our own numbers."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from shuffledp.accounting.account import bound_named
from shuffledp.accounting.solve import Problem, solve
from shuffledp.core.blanket import Blanket, RandomizerFamily
from shuffledp.figures import style
from shuffledp.randomizers.generic import Generic
from shuffledp.randomizers.laplace import Laplace
from shuffledp.randomizers.response import RandomizedResponse

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Curve = Sequence[float | None]
DELTA = 1e-6


def figure2(out: Path) -> list[Path]:
    """The blanket of a 1-LDP Laplace mechanism on [0, 1], and what is left over for three values."""
    laplace = Laplace(epsilon0=1.0)
    y = np.linspace(-5, 6, 1101)
    omega = laplace.omega(y)
    table: dict[str, Curve] = {"message": y.tolist(), "omega": omega.tolist()}
    with style.canvas(7.2, 2.9, 1, 2) as (figure, (left, right)):
        left.fill_between(y, laplace.gamma * omega, color="#BBBBBB", label=r"$\gamma\,\omega$")
        right.fill_between(y, omega, color="#BBBBBB", label=r"$\omega$")
        for value, colour in {0.0: style.BLUE, 0.5: style.GREEN, 1.0: style.VERMILION}.items():
            law, rest = laplace.density(y, value), laplace.left_over(y, value)
            table |= {f"mu_{value:g}": law.tolist(), f"nu_{value:g}": rest.tolist()}
            left.plot(y, law, color=colour, label=rf"$\mu_{{{value:g}}}$")
            right.plot(y, rest, color=colour, label=rf"$\nu_{{{value:g}}}$", linestyle="--" if value == 0.5 else "-")
        left.set_title(rf"laws $\mu_x$ over the blanket, $\gamma$ = {laplace.gamma:.4f}", loc="left")
        right.set_title(r"blanket $\omega$ and left-over $\nu_x$", loc="left")
        for axes in (left, right):
            axes.set(xlabel="message", ylabel="density", xlim=(-5, 6), ylim=(0, None))
            axes.legend()
        return [*style.save(figure, out, "figure2"), style.save_table(out, "figure2", table)]


def figure3(out: Path) -> list[Path]:
    """The four panels of curves."""
    panels = {"i": panel_i(), "ii": panel_ii(), "iii": panel_iii(), "iv": panel_iv()}
    titles = {
        "i": r"(i) any randomizer, $\varepsilon_0 = 0.5$, $\delta = 10^{-6}$",
        "ii": r"(ii) $\varepsilon = 0.1$, $\delta = 10^{-6}$, by Hoeffding",
        "iii": r"(iii) $\varepsilon = 0.1$, $\delta = 10^{-6}$, Hoeffding and Bennett",
        "iv": r"(iv) RR of size $n^{1/3}$, $\varepsilon = 0.1$, $\delta = n^{-2}$",
    }
    paths = [style.save_table(out, f"figure3_{name}", table) for name, table in panels.items()]
    with style.canvas(9.0, 7.0, 2, 2) as (figure, axes):
        for ax, (name, table) in zip(axes, panels.items(), strict=True):
            _draw(ax, table)
            ax.set_title(titles[name], loc="left")
            if name == "i":
                ax.set(ylabel=r"$\varepsilon$", yscale="log")
            else:
                ax.set_ylabel(r"$\varepsilon_0$")
                ax.axhline(0.1, color="#888888", linewidth=0.8, linestyle=":", label="no amplification")
            ax.legend()
        return [*style.save(figure, out, "figure3"), *paths]


def panel_i(points: int = 46) -> dict[str, Curve]:
    """epsilon(n) for any 0.5-LDP randomizer.

    Theorem 5.1 covers epsilon0 < 1/2 strictly; like the paper we draw its formula at the limit, 1/2.
    """
    users = _users(1e3, 1e6, points)
    blanket = Generic(epsilon0=0.5).blanket()
    return {
        "n": users,
        "erlingsson": [12 * 0.5 * math.sqrt(math.log(1 / DELTA) / n) for n in users],
        "hoeffding": [_epsilon("hoeffding", blanket, n) for n in users],
        "bennett": [_epsilon("bennett", blanket, n) for n in users],
    }


def panel_ii(points: int = 46) -> dict[str, Curve]:
    """epsilon0(n) by Hoeffding for what is known about the randomizer, and by Theorem 5.1."""
    users = _users(1e2, 1e5, points)
    families = {"generic": Generic.family(), **_specific()}
    return {
        "n": users,
        "erlingsson": [_epsilon0("erlingsson", Generic.family(), n) for n in users],
        **{f"hoeffding {name}": [_epsilon0("hoeffding", f, n) for n in users] for name, f in families.items()},
    }


def panel_iii(points: int = 46) -> dict[str, Curve]:
    """epsilon0(n), Hoeffding against Bennett."""
    users = _users(1e2, 1e5, points)
    return {"n": users} | {
        f"{bound} {name}": [_epsilon0(bound, family, n) for n in users]
        for name, family in _specific().items()
        for bound in ("hoeffding", "bennett")
    }


def panel_iv(points: int = 46) -> dict[str, Curve]:
    """epsilon0(n) when the domain grows with n, as in the paper's summation protocol."""
    users = _users(1e2, 1e5, points)

    def curve(bound: str) -> Curve:
        return [
            _epsilon0(bound, RandomizedResponse.family(size=max(2, round(n ** (1 / 3)))), n, delta=n**-2.0)
            for n in users
        ]

    return {"n": users, "hoeffding": curve("hoeffding"), "bennett": curve("bennett")}


FIGURES: dict[str, Callable[[Path], list[Path]]] = {"figure2": figure2, "figure3": figure3}

_COLOURS = {
    "erlingsson": style.BLACK,
    "generic": style.PURPLE,
    "RR-2": style.BLUE,
    "RR-100": style.VERMILION,
    "Laplace": style.GREEN,
    "hoeffding": style.BLUE,
    "bennett": style.VERMILION,
}


def _draw(ax: "Axes", table: Mapping[str, Curve]) -> None:
    for name, curve in table.items():
        if name != "n":
            bound, _, randomizer = name.partition(" ")
            ax.plot(
                [n for n in table["n"] if n is not None],
                [math.nan if value is None else value for value in curve],
                color=_COLOURS[randomizer or bound],
                linestyle={"hoeffding": "--", "bennett": "-"}.get(bound, "-."),
                label=f"{bound.capitalize()} {randomizer}".strip(),
            )
    ax.set_xscale("log")
    ax.set_xlabel("n")


def _specific() -> dict[str, RandomizerFamily]:
    return {
        "RR-2": RandomizedResponse.family(size=2),
        "RR-100": RandomizedResponse.family(size=100),
        "Laplace": Laplace.family(),
    }


def _users(low: float, high: float, points: int) -> list[int]:
    return [round(n) for n in np.geomspace(low, high, points)]


def _epsilon(bound: str, blanket: Blanket, n: int) -> float | None:
    return solve(bound_named(bound), Problem(randomizer=blanket, n=n, delta=DELTA)).value


def _epsilon0(
    bound: str, family: RandomizerFamily, n: int, *, epsilon: float = 0.1, delta: float = DELTA
) -> float | None:
    return solve(bound_named(bound), Problem(randomizer=family, n=n, epsilon=epsilon, delta=delta)).value
