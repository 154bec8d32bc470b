"""Which protocol for very many values: the standard error of one of them against the share of the users who hold it."""

from pathlib import Path
from typing import Any, Final

import numpy as np

from shuffledp.baselines.central import Curator
from shuffledp.baselines.hashed_response import HashedResponses
from shuffledp.figures import style
from shuffledp.planning.ask import ask
from shuffledp.planning.families.dummies import DummiesFamily
from shuffledp.planning.families.frequencies import FrequenciesFamily
from shuffledp.planning.families.histogram import HistogramFamily

N: Final = 10**6
SIZE: Final = 1361**2
MESSAGES: Final = 1.25
_CURVES: Final[dict[str, tuple[Any, str, str]]] = {
    "local hashing, nobody trusted": (HashedResponses(shuffled=False), style.VERMILION, "-"),
    "randomized response": (HistogramFamily(), style.ORANGE, "-"),
    "plane, for values up to 1 %": (FrequenciesFamily(), style.BLUE, "-"),
    f"dummies, {MESSAGES:g} messages per user": (DummiesFamily(), style.GREEN, "-"),
    "curator": (Curator(), style.BLACK, "--"),
}
"""What is drawn: a family that proposes, a colour, a line."""


def table(points: int = 61) -> dict[str, list[float]]:
    """Standard errors by share, each protocol with the parameters that its family proposes."""
    asked = ask(
        "histogram", n=N, epsilon=1.0, delta=1e-6, options={"size": SIZE, "messages_per_user": MESSAGES}
    )  # fmt: skip
    users = np.concatenate([[0.0], np.geomspace(10, 0.3 * N, points - 1)])
    columns = {"share": (users / N).tolist()}
    for name, (family, _, _) in _CURVES.items():
        columns[name] = np.sqrt(family.propose(asked).variance(users, N)).tolist()
    return columns


def large_domains(out: Path) -> list[Path]:
    """The picture of when which wins."""
    columns = table()
    with style.canvas(4.8, 4.4, 1, 1) as (figure, axes):
        axis = axes[0]
        for name, (_, colour, line) in _CURVES.items():
            axis.plot(columns["share"][1:], columns[name][1:], color=colour, linestyle=line, label=name)
        axis.set(
            xscale="log", yscale="log", xlabel="share of the users who hold the value", ylabel="standard error in users"
        )
        axis.set_xlim(columns["share"][1], columns["share"][-1])
        axis.set_title(f"{SIZE:,} values, {N:,} users\nepsilon = 1, delta = 1e-6")
        axis.xaxis.set_major_formatter(lambda x, _: f"{100 * x:g} %")
        figure.legend(loc="outside lower center")
        return [*style.save(figure, out, "large-domains"), style.save_table(out, "large-domains", columns)]
