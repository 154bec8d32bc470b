"""What many rounds cost, in one picture."""

from collections.abc import Sequence
from pathlib import Path

from shuffledp.core.digits import rounded_up
from shuffledp.figures import style
from shuffledp.planning.plan import Plan
from shuffledp.planning.rounds import Choice


def draw_rounds(plan: Plan, costs: dict[int, float], beside: Sequence[Choice], path: Path) -> None:
    """On the left what a person has spent after how many rounds; on the right the error, by how often a person is asked."""
    with style.canvas(8.0, 3.6, 1, 2) as (figure, (left, right)):
        left.plot(list(costs), list(costs.values()), color=style.BLUE, marker="o")
        left.set(xlabel="rounds taken part in", ylabel="epsilon spent", xscale="log", yscale="log")
        style.plain_ticks(left.xaxis, costs)
        style.plain_ticks(left.yaxis, style.round_numbers(costs.values()))
        total = plan.over_time
        if total is not None:
            left.set_title(f"at delta = {rounded_up(total.delta)}", loc="left")
        known = [(choice.per_person, choice.rmse) for choice in beside if choice.rmse is not None]
        if known:
            right.plot(*zip(*known, strict=True), color=style.VERMILION, marker="o")
            right.set(xlabel="rounds per person", ylabel="expected error of a round", xscale="log", yscale="log")
            style.plain_ticks(right.xaxis, [rounds for rounds, _ in known])
            style.plain_ticks(right.yaxis, style.round_numbers(error for _, error in known))
        right.set_title(f"{plan.question}, all people", loc="left")
        style.save_picture(figure, path)
