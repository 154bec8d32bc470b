"""*Crowd*: a few people as dots: what they hold, what they send, what the shuffler and what the analyzer see."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from shuffledp.accounting.account import account
from shuffledp.errors import InvalidInput
from shuffledp.randomizers.response import RandomizedResponse
from shuffledp.web.answer_blocks import Block, Number, numbers, table
from shuffledp.web.form import Field, Slider, Tab, Typed
from shuffledp.web.shown_numbers import up

_MOST_PEOPLE: Final = 400
_MOST_ANSWERS: Final = 5
_DELTA: Final = 1e-3
"""Of the guarantee that is shown: the crowd is small."""
_LARGEST_SEED: Final = 2**32


def _fields() -> list[Field]:
    return [
        Field(
            name="n",
            label="People",
            kind="whole",
            start="120",
            slider=Slider(10, _MOST_PEOPLE, 10),
            section="The crowd",
        ),
        Field(name="size", label="Possible answers", kind="whole", start="3", slider=Slider(2, _MOST_ANSWERS)),
        Field(
            name="first",
            label="Hold the first answer",
            start="60",
            unit="%",
            slider=Slider(0, 100, 5),
            help="The others hold one of the other answers.",
        ),
        Field(
            name="epsilon0",
            label="Local epsilon0",
            start="2",
            slider=Slider(0.2, 6, 0.2),
            section="What each person does",
        ),
        Field(
            name="seed",
            label="Draw number",
            kind="whole",
            start="1",
            again="Draw again",
            help="The same number draws the same crowd.",
        ),
    ]


def _answer(typed: Typed) -> Iterator[Block]:
    n, size, seed, share = typed.whole("n"), typed.whole("size"), typed.whole("seed"), typed.real("first")
    if not 1 <= n <= _MOST_PEOPLE:
        raise InvalidInput(f"n must be from 1 to {_MOST_PEOPLE} to be drawn; got {n}. Account takes more.")
    if not 2 <= size <= _MOST_ANSWERS:
        raise InvalidInput(f"size must be from 2 to {_MOST_ANSWERS} to be drawn; got {size}. Account takes more.")
    if not 0 <= share <= 100:
        raise InvalidInput(f"first must be from 0 to 100 per cent; got {share}. It is a share of the people.")
    if not 0 <= seed < _LARGEST_SEED:
        raise InvalidInput("seed must be from 0 to 4294967295. Give another number.")
    made = RandomizedResponse(size=size, epsilon0=typed.real("epsilon0"))
    generator = np.random.default_rng(seed)
    first = round(n * share / 100)
    holds = generator.permutation(np.concatenate([np.zeros(first, int), 1 + np.arange(n - first) % (size - 1)]))
    noise = generator.random(n) < made.gamma
    sends = np.where(noise, generator.integers(0, size, n), holds)
    order = generator.permutation(n)
    guarantee = account(made, n=n, delta=_DELTA)
    lied = int((sends != holds).sum())
    yield numbers(
        "numbers",
        [
            Number(
                label=["epsilon of the crowd, at delta = ", up(_DELTA)],
                value=[up(guarantee.epsilon)],
                note="proved, of what the analyzer sees",
            ),
            Number(
                label="epsilon of one message",
                value=[up(made.epsilon0)],
                note="for somebody who knows who sent it",
            ),
            Number(
                label="sent something random",
                value=f"{int(noise.sum()):,} of {n:,}",
                note=f"{lied:,} of them something other than what they hold",
            ),
        ],
    )
    yield {
        "id": "crowd",
        "kind": "crowd",
        "title": "The crowd",
        "size": size,
        "holds": holds.tolist(),
        "sends": sends.tolist(),
        "noise": noise.tolist(),
        "order": order.tolist(),
    }
    counts, truth = np.bincount(sends, minlength=size), np.bincount(holds, minlength=size)
    estimates = (counts - n * made.gamma / size) / (1 - made.gamma)
    rows = [[f"answer {j + 1}", f"{truth[j]:,}", f"{counts[j]:,}", f"{estimates[j]:,.1f}"] for j in range(size)]
    yield table(
        "counts",
        "What the analyzer makes of it",
        ["", "hold it", "messages", "estimate"],
        rows,
        [
            "The estimate subtracts what random messages add on average. In a crowd this small it is rough; this is a simulation."
        ],
    )


CROWD: Final = Tab(
    name="crowd",
    lead="Who holds what, who sent something random, and what the shuffler and the analyzer get to see.",
    asks=_fields,
    answer=_answer,
)
