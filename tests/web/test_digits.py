"""Numbers with fewer digits: rounded by the page itself, run in node, against decimal arithmetic."""

import json
import random
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from importlib import resources

import pytest

from oracles.node import node
from shuffledp.web.shown_numbers import Figure, exact, near, said, up

SIDES = {"up": ROUND_CEILING, "down": ROUND_FLOOR, "nearest": ROUND_HALF_EVEN}


def brief(cases: list[tuple[str, str]]) -> list[str]:
    """What the page shows of these numbers, each rounded to its side."""
    module = resources.files("shuffledp.web") / "static" / "digits.js"
    program = (
        f'const source = (await import("node:fs")).readFileSync({json.dumps(str(module))}, "utf8");'
        'const body = source.replace(/^import .*$/m, "const html = null;");'
        'const { brief } = await import("data:text/javascript," + encodeURIComponent(body));'
        'const given = JSON.parse((await import("node:fs")).readFileSync(0, "utf8"));'
        "console.log(JSON.stringify(given.map((one) => brief(...one))));"
    )
    done = node("--input-type=module", "-e", program, given=json.dumps(cases))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("number", "side", "shown"),
    [
        ("0.9996", "up", "1.00"),
        ("0.9996", "down", "0.999"),
        ("0.99951", "nearest", "1.00"),
        ("0.9994", "nearest", "0.999"),
        ("9.9999", "up", "10.0"),
        ("0.4734316", "up", "0.474"),
        ("0.4730001", "up", "0.474"),
        ("103.7391", "up", "104"),
        ("999.01", "up", "1,000"),
        ("12,345.6", "nearest", "12,300"),
        ("28000", "nearest", "28,000"),
        ("0.1245", "nearest", "0.124"),
        ("0.1235", "nearest", "0.124"),
        ("-0.12345", "up", "-0.123"),
        ("-0.12345", "down", "-0.124"),
        ("9.9999e-7", "up", "1.00e-6"),
        ("1.2345e-300", "up", "1.24e-300"),
        ("1.2345e300", "up", "1.24e300"),
        ("999999999", "up", "1.00e9"),
        ("0.00001234567", "up", "0.0000124"),
        ("0.002390", "up", "0.00239"),
        ("1", "up", "1"),
        ("0.05", "up", "0.05"),
        ("1e-6", "up", "1e-6"),
        ("none", "up", "none"),
        ("inf", "nearest", "inf"),
        ("-", "down", "-"),
    ],
)
def test_a_number_with_three_digits(number: str, side: str, shown: str) -> None:
    assert brief([(number, side)]) == [shown]


def test_numbers_are_rounded_to_their_side() -> None:
    coins = random.Random(27)
    numbers = [
        repr(coins.choice((1, -1)) * coins.uniform(0.9, 10) * 10.0 ** coins.randint(-12, 12)) for _ in range(2000)
    ]
    numbers += [f"{coins.choice(('0.999', '9.99', '99.9', '0.0999'))}{coins.randint(1, 9999)}" for _ in range(200)]
    cases = [(number, side) for number in numbers for side in SIDES]
    for (number, side), shown in zip(cases, brief(cases), strict=True):
        rounded = Context(prec=3, rounding=SIDES[side]).create_decimal(Decimal(number))
        assert Decimal(shown.replace(",", "")) == rounded, (number, side)


def test_the_figures_of_a_sentence_are_claims_unless_they_are_forecasts() -> None:
    line = "(0.0571588, 1e-6)-private, epsilon0 = 1.99498; with probability 0.440452 off by about 99.14, at 28,000"
    found = said(line)
    assert exact(found) == line
    assert [(one.number, one.rounding) for one in found if isinstance(one, Figure)] == [
        ("0.0571588", "up"),
        ("1.99498", "up"),
        ("0.440452", "nearest"),
        ("99.14", "nearest"),
    ]
    assert said("nothing to round") == ["nothing to round"]
    assert (up(0.1234567891).number, near(2 / 3).number, near(0.0).number) == ("0.1234568", "0.6666667", "0")
