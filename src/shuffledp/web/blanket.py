"""*Blanket*: the paper's Figure 2 to play with: the part of every message that does not depend on the value."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from shuffledp.core import checks
from shuffledp.errors import InvalidInput
from shuffledp.randomizers.gaussian import Gaussian
from shuffledp.randomizers.laplace import Laplace
from shuffledp.randomizers.response import RandomizedResponse
from shuffledp.web.answer_blocks import Axis, Block, Colour, Line, Number, Plot, numbers, plot, words
from shuffledp.web.form import Field, Slider, Tab, Typed
from shuffledp.web.shown_numbers import down, up

_MOST: Final = 40
"""Values of randomized response that can be drawn."""
_POINTS: Final = 241


def _fields() -> list[Field]:
    noise = ["laplace", "gaussian"]
    return [
        Field(
            name="randomizer",
            label="Randomizer",
            kind="choice",
            start="laplace",
            section="What each person does",
            choices=[
                ("laplace", "Laplace noise on [0, 1]"),
                ("gaussian", "Gaussian noise on [0, 1]"),
                ("rr", "randomized response"),
            ],
        ),
        Field(
            name="epsilon0",
            label="Local epsilon0",
            start="1",
            slider=Slider(0.1, 8, 0.1),
            only={"randomizer": ["laplace", "rr"]},
        ),
        Field(
            name="sigma",
            label="Standard deviation sigma",
            start="1",
            slider=Slider(0.1, 5, 0.1),
            only={"randomizer": ["gaussian"]},
        ),
        Field(
            name="size",
            label="Number of values",
            kind="whole",
            start="8",
            slider=Slider(2, _MOST),
            only={"randomizer": ["rr"]},
        ),
        Field(
            name="value",
            label="A person's value",
            start="0.2",
            slider=Slider(0, 1, 0.01),
            only={"randomizer": noise},
            section="The value",
        ),
        Field(
            name="symbol",
            label="A person's value",
            kind="whole",
            start="2",
            slider=Slider(0, _MOST - 1),
            only={"randomizer": ["rr"]},
            help="Counted from 0.",
        ),
    ]


def _answer(typed: Typed) -> Iterator[Block]:
    if typed.choice("randomizer") == "rr":
        yield from _response(typed)
    else:
        yield from _noise(typed)


def _noise(typed: Typed) -> Iterator[Block]:
    made: Laplace | Gaussian
    if typed.choice("randomizer") == "laplace":
        made = Laplace(epsilon0=typed.real("epsilon0"))
        reach = 6 / made.epsilon0
    else:
        made = Gaussian(sigma=typed.real("sigma"))
        reach = 4 * made.sigma
    value = typed.real("value")
    if not 0 <= value <= 1:
        raise InvalidInput(f"value must be from 0 to 1; got {value}. It is what a person holds.")
    y = np.linspace(-reach, 1 + reach, _POINTS)
    omega = made.omega(y)
    yield numbers("numbers", _numbers(made.gamma, made.epsilon0))
    laws: dict[float, Colour] = {0.0: "green", 1.0: "purple", value: "vermilion"}
    each = [
        Line(name=f"value {x:g}", y=made.density(y, x).tolist(), colour=colour, strong=x == value)
        for x, colour in laws.items()
    ]
    yield _picture(
        "laws", "Distributions of the messages over the blanket", y.tolist(), "density",
        [Line(name="blanket: gamma omega", y=(made.gamma * omega).tolist(), colour="grey", kind="area"), *each],
        "The grey area is the largest that lies below all the curves, whatever the value. Its mass is gamma.",
    )  # fmt: skip
    rest = made.left_over(y, value).tolist()
    yield _picture(
        "rest", "The blanket alone, and what is left over", y.tolist(), "density",
        [
            Line(name="blanket omega", y=omega.tolist(), colour="grey", kind="area"),
            Line(name=f"left over of value {value:g}", y=rest, colour="vermilion", strong=True),
        ],
        "A message is drawn from omega with probability gamma, else from what is left over.",
    )  # fmt: skip
    yield _story()


def _response(typed: Typed) -> Iterator[Block]:
    size = checks.size(typed.whole("size"))
    if size > _MOST:
        raise InvalidInput(f"size must be at most {_MOST} to be drawn; got {size}. Account takes more.")
    made = RandomizedResponse(size=size, epsilon0=typed.real("epsilon0"))
    symbol = typed.whole("symbol")
    if not 0 <= symbol < size:
        raise InvalidInput(f"symbol must be from 0 to {size - 1}; got {symbol}. It is what a person holds.")
    messages = np.arange(size)
    yield numbers("numbers", _numbers(made.gamma, made.epsilon0))
    law, blanket = made.probability(messages, symbol), made.gamma * made.omega(messages)
    yield _picture(
        "laws", "Distributions of the messages over the blanket", [*map(float, messages)], "probability",
        [
            Line(name=f"value {symbol}", y=law.tolist(), colour="vermilion", kind="bars"),
            Line(name="blanket: gamma omega", y=blanket.tolist(), colour="grey", kind="bars"),
        ],
        "With probability gamma a message is uniformly random. Otherwise it is the true value.",
    )  # fmt: skip
    yield _story()


def _picture(name: str, title: str, x: list[float], up: str, lines: list[Line], note: str) -> Block:
    """How likely each message is."""
    return plot(name, Plot(title=title, x=x, across=Axis(label="message"), up=Axis(label=up), lines=lines, note=note))


def _numbers(gamma: float, local: float | None) -> list[Number]:
    return [
        Number(
            label="gamma, the mass of the blanket",
            value=[down(gamma)],
            note=f"of 1,000 people about {1000 * gamma:,.0f} send messages that say nothing about them",
        ),
        Number(
            label="local epsilon0",
            value="none" if local is None else [up(local)],
            note="what one message guarantees on its own",
        ),
    ]


def _story() -> Block:
    return words(
        "story",
        "Why it hides people",
        [
            "Every distribution contains the same part, the blanket. So each person may as well toss a coin first: with "
            "probability gamma send something from the blanket, which has nothing to do with their value, and otherwise send "
            "what is left over.",
            "Once the messages are shuffled, those from the blanket hide the others. With n people there are about gamma n of "
            "them, so a crowd hides well what a single message barely hides. Account says how well.",
        ],
    )


BLANKET: Final = Tab(
    name="blanket",
    lead="The part of every message that does not depend on its sender, to play with.",
    asks=_fields,
    answer=_answer,
)
