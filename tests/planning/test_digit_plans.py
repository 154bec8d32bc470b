"""Plans of digits: the numbers that the literature's arithmetic gives, within what is allowed, certified and read back."""

import json
import math
from typing import Any

import pytest

from oracles.process import called
from oracles.scale import full
from shuffledp import InvalidInput, NoClaim, Plan, plan, verify
from shuffledp.accounting.account import bound_named
from shuffledp.accounting.histogram_theorem import PAPER_BOUND
from shuffledp.accounting.releases import composition
from shuffledp.baselines.compare import compare
from shuffledp.core.guarantee import NOTHING_LOCAL
from shuffledp.planning.ask import ask
from shuffledp.planning.error_targets import epsilon_possible
from shuffledp.planning.families.digit_sums import DigitSumsFamily, hidden, least_dummies
from shuffledp.planning.families.summation import SumQuestion
from shuffledp.planning.question import Terms
from shuffledp.planning.release_cost import Spend, composed
from shuffledp.protocols.digit_sums import DigitSums
from shuffledp.randomizers.digit_by_digit import Digits

TERMS: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6}
MILLION: dict[str, Any] = {"n": 10**6, **TERMS}
KNOWN = [
    (1.0, 10_000, 12, (42.661,), 1.051193, 8.430815),
    (1.0, 1_000_000, 64, (42.661,), 1.002730, 17.255036),
    (1.0, 100_000_000, 100, (42.661,), 1.000043, 53.976384),
    (1.0, 10_000, 5, (240.32, 48.064), 2.144192, 5.419743),
    (1.0, 1_000_000, 12, (537.963, 44.83), 2.006994, 7.818649),
    (1.0, 100_000_000, 32, (1390.864, 43.465), 2.000459, 11.980514),
    (1.0, 10_000, 4, (821.756, 205.439, 51.36), 3.431422, 4.729636),
    (1.0, 1_000_000, 6, (1724.511, 287.419, 47.903), 3.012359, 5.786343),
    (1.0, 100_000_000, 12, (6483.212, 540.268, 45.022), 3.000848, 7.562047),
    (1.0, 10_000, 3, (1527.769, 509.256, 169.752, 56.584), 4.679008, 4.414491),
    (1.0, 1_000_000, 5, (6181.761, 1236.352, 247.27, 49.454), 4.038574, 5.040707),
    (1.0, 100_000_000, 8, (23784.508, 2973.064, 371.633, 46.454), 4.002174, 6.028262),
    (1.0, 10_000, 2, (9409.233, 4704.617, 2352.308, 1176.154, 588.077, 294.039, 147.019, 73.51), 11.748991, 4.299759),
    (1.0, 1_000_000, 2, (9409.233, 4704.617, 2352.308, 1176.154, 588.077, 294.039, 147.019, 73.51), 8.037490, 4.721668),
    (
        1.0,
        100_000_000,
        2,
        (9409.233, 4704.617, 2352.308, 1176.154, 588.077, 294.039, 147.019, 73.51),
        8.000375,
        20.072792,
    ),
    (0.1, 1_000_000, 12, (2645.95,), 1.031751, 72.063498),
    (0.1, 100_000_000, 48, (2645.95,), 1.001270, 149.504225),
    (0.1, 1_000_000, 5, (15894.932, 3178.986), 2.095370, 45.713782),
    (0.1, 100_000_000, 12, (34451.314, 2870.943), 2.004479, 65.988570),
    (0.1, 1_000_000, 4, (55717.691, 13929.423, 3482.356), 3.292518, 39.204606),
    (0.1, 100_000_000, 6, (114123.663, 19020.61, 3170.102), 3.008179, 48.976116),
    (0.1, 1_000_000, 3, (106305.104, 35435.035, 11811.678, 3937.226), 4.472467, 36.984812),
    (0.1, 100_000_000, 5, (414754.931, 82950.986, 16590.197, 3318.039), 4.025881, 41.543756),
    (
        0.1,
        100_000_000,
        2,
        (682623.823, 341311.912, 170655.956, 85327.978, 42663.989, 21331.994, 10665.997, 5332.999),
        8.027198,
        41.508380,
    ),
]
"""epsilon, users, base, dummies of each symbol by digit, messages per user, error of the sum: by losses added up in doubles on a
grid, rounded up, of which nothing here was computed with this package. delta = 1e-6."""


@pytest.mark.parametrize(("epsilon", "n", "base", "dummies", "messages", "rmse"), KNOWN)
def test_known_dummies_hide_as_much_as_was_asked_for(
    epsilon: float, n: int, base: int, dummies: tuple[float, ...], messages: float, rmse: float
) -> None:
    """1 % of the dummies is 0.5 % of epsilon. The other grid is too coarse for eight digits at epsilon = 0.1."""
    randomizer = Digits(base=base, dummies=tuple(rate * base / n for rate in dummies))
    found = composition(randomizer.blanket(), n, bound_named("best")).epsilon(1e-6) / epsilon
    assert (0.992 if (epsilon, len(dummies)) == (0.1, 8) else 0.995) <= found <= 1.001
    protocol = DigitSums(randomizer=randomizer)
    assert protocol.messages_per_user == pytest.approx(messages, rel=1e-5)
    assert protocol.rmse(n) == pytest.approx(rmse, rel=1e-5)


@pytest.mark.parametrize(("epsilon", "n", "base", "dummies", "messages", "rmse"), KNOWN[:: full(17, 1)])
def test_the_dummies_are_those_of_another_computation(
    epsilon: float, n: int, base: int, dummies: tuple[float, ...], messages: float, rmse: float
) -> None:
    """Within 1 %; for eight digits at epsilon = 0.1 a Gaussian, of whom the least is known, needs 1.5 % less as well."""
    found = least_dummies(Terms(n=n, epsilon=epsilon, delta=1e-6), base, len(dummies))
    protocol = DigitSums(randomizer=found)
    low = 0.985 if (epsilon, len(dummies)) == (0.1, 8) else 0.99
    for rate, known in zip(found.dummies, dummies, strict=True):
        assert low * known <= rate * n / base <= 1.01 * known
    assert protocol.messages_per_user == pytest.approx(messages, rel=0.01)
    assert protocol.rmse(n) == pytest.approx(rmse, rel=0.01)
    if epsilon == 0.1:
        assert 2636.06 < hidden(found, n) < 1.0025 * 2636.06  # 2 / mu^2 of a Gaussian


def made(**given: Any) -> tuple[Plan, DigitSums]:
    found = plan("sum", **given)
    assert isinstance(found.protocol, DigitSums)
    return found, found.protocol


def test_every_message_more_makes_the_error_smaller() -> None:
    one = plan("sum", **MILLION)
    errors = [one.rmse]
    for messages in (1.25, 2.25, 3.25):
        found, protocol = made(messages_per_user=messages, **MILLION)
        assert protocol.messages_per_user <= messages
        assert protocol.randomizer.digits == math.floor(messages)
        assert found.epsilon0 == math.inf
        assert NOTHING_LOCAL in found.explain()
        errors.append(found.rmse)
    assert errors == pytest.approx([26.44, 16.98, 7.82, 5.80], rel=0.01)
    assert one.protocol.messages_per_user == 1  # what nobody asked for nobody sends


def test_a_plan_is_read_back_and_confirmed_by_other_means() -> None:
    found, _ = made(n=10**5, messages_per_user=2.25, **TERMS)
    document = json.loads(json.dumps(found.document()))
    assert Plan.from_document(document) == found
    assert document["local"] == {"gamma": 0.0, "epsilon0": None}
    assert composed([Spend.of(found)], 1e-6) == pytest.approx(1.0, rel=1e-4)
    assert verify(document).verdict == "confirmed"
    document["protocol"]["randomizer"]["dummies"][1] *= 0.99
    with pytest.raises(InvalidInput, match="SHA-256"):
        Plan.from_document(document)


def test_fewer_dummies_than_planned_are_not_certified() -> None:
    found, protocol = made(n=10**5, messages_per_user=2.25, **TERMS)
    first, second = protocol.randomizer.dummies
    for dummies in ((0.997 * first, 0.997 * second), (first, 0.99 * second)):
        fewer = type(protocol)(randomizer=type(protocol.randomizer)(base=protocol.randomizer.base, dummies=dummies))
        assert not type(found)(protocol=fewer, guarantee=found.guarantee, min_batch=found.min_batch).holds()


def test_with_liars_only_honest_dummies_count() -> None:
    honest, half = (
        made(honest_fraction=h, n=10**5, messages_per_user=2.5, precision=99, **TERMS)[1] for h in (1.0, 0.5)
    )
    assert half.randomizer.dummies == pytest.approx([2 * rate for rate in honest.randomizer.dummies], rel=1e-4)


def test_a_precision_that_is_no_power_has_one_digit() -> None:
    assert made(precision=99, messages_per_user=3, **MILLION)[1].randomizer.digits == 2
    _, protocol = made(precision=97, messages_per_user=3, **MILLION)
    assert (protocol.randomizer.digits, protocol.precision) == (1, 97)


def test_dummies_that_are_too_few_leave_one_message() -> None:
    found = plan("mean", n=1000, messages_per_user=1.02, **TERMS)
    assert found.protocol.messages_per_user == 1


def test_an_error_is_turned_into_dummies() -> None:
    found = epsilon_possible("sum", n=100_000, delta=1e-6, rmse=7.0, messages_per_user=2.25)
    assert isinstance(found.protocol, DigitSums)
    assert found.protocol.messages_per_user <= 2.25
    assert found.rmse == pytest.approx(7.0, rel=1e-6)
    assert found.guarantee.epsilon < 1.0
    with pytest.raises(InvalidInput, match="no epsilon"):
        epsilon_possible("sum", n=1000, delta=1e-6, rmse=1e-9, messages_per_user=2.25)


def test_few_users_have_several_digits_as_well() -> None:
    """The search passes numbers of dummies with which nothing is proved at any epsilon."""
    found, protocol = made(high=9, messages_per_user=5, n=40, epsilon=2.0, delta=1e-2)
    assert protocol.randomizer.digits > 1
    assert found.rmse < made(high=9, messages_per_user=2.25, n=40, epsilon=2.0, delta=1e-2)[0].rmse


def test_rounds_share_a_budget() -> None:
    daily = plan("sum", n=10**5, messages_per_user=2.25, rounds=2, **TERMS)
    assert isinstance(daily.protocol, DigitSums)
    assert daily.over_time is not None
    assert composed([Spend.of(daily)] * 2, 1e-6) == pytest.approx(1.0, rel=1e-3)
    assert Plan.from_document(daily.document()) == daily


def test_the_papers_bound_knows_no_dummies() -> None:
    question = ask("sum", bound=PAPER_BOUND, options={"messages_per_user": 2.25}, **MILLION)
    assert isinstance(question, SumQuestion)
    with pytest.raises(NoClaim, match="not for dummies"):
        DigitSumsFamily().propose(question)


def test_compare_has_a_row_for_digits() -> None:
    row = next(
        row for row in compare("mean", only=("shuffledp, digits",), **MILLION) if row.name == "shuffledp, digits"
    )
    assert row.rmse is not None
    assert 2 < (row.messages or 0) <= 2.25
    assert row.epsilon0 is None


def test_the_command_says_what_messages_buy_and_what_another_would() -> None:
    one = called("plan mean --n 1e5 --epsilon 1 --delta 1e-6")
    assert (
        "with up to 2.25 messages per user: expected error (root mean square) about 0.000065 instead of" in one.stdout
    )
    two = called("plan mean --n 1e5 --epsilon 1 --delta 1e-6 --messages-per-user 2.25")
    assert "NO LOCAL GUARANTEE" in two.stdout
    assert "messages per user instead of 1: expected error (root mean square) 0.00006" in two.stdout
    assert "with up to 3.25 messages per user" in two.stdout
    assert "messages per user" not in called("plan mean --n 1e5 --epsilon 1 --delta 1e-6 --paper").stdout
