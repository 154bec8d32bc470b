"""The inverse questions answer with plans that meet the error, and only just."""

import math
from typing import Any

import pytest

from shuffledp import InvalidInput, Plan, epsilon_possible, plan, users_needed


@pytest.mark.parametrize(
    ("question", "share", "shape"),
    [
        ("mean", 0.001, {}),
        ("query", 0.01, {}),
        ("histogram", 0.002, {"size": 8}),
        ("sum", 0.005, {"low": 0.0, "high": 10.0}),
    ],
)
def test_fewest_users(question: str, share: float, shape: dict[str, object]) -> None:
    found = users_needed(question, rmse_share=share, epsilon=1.0, delta=1e-6, **shape)  # type: ignore[arg-type]
    assert found.rmse_share <= share
    assert Plan.from_document(found.document()) == found
    fewer = plan(question, n=int(found.min_batch * 0.998) - 1, epsilon=1.0, delta=1e-6, **shape)
    assert fewer.rmse_share > share


@pytest.mark.parametrize(
    ("question", "n", "rmse", "shape"),
    [
        ("sum", 10**4, 20.0, {}),
        ("mean", 10**5, 0.001, {"low": -1.0, "high": 1.0}),
        ("histogram", 10**5, 50.0, {"size": 8}),
    ],
)
def test_smallest_epsilon(question: str, n: int, rmse: float, shape: dict[str, object]) -> None:
    found = epsilon_possible(question, n=n, delta=1e-6, rmse=rmse, **shape)  # type: ignore[arg-type]
    assert found.rmse <= rmse
    assert found.rmse == pytest.approx(rmse, rel=1e-9)
    assert Plan.from_document(found.document()) == found
    back = plan(question, n=n, epsilon=found.guarantee.epsilon * 0.99, delta=1e-6, **shape)
    assert back.rmse > rmse
    there = plan(question, n=n, epsilon=found.guarantee.epsilon * 1.001, delta=1e-6, **shape)
    assert there.rmse <= rmse * 1.001


SHARED = [
    ("histogram", {"size": 3000}),
    ("histogram", {"size": 40, "share": 0.05}),
    ("texts", {}),
    ("texts", {"share": 0.1}),
]


@pytest.mark.parametrize(("question", "shape"), SHARED)
def test_an_error_up_to_a_share_is_met_by_the_smallest_epsilon(question: str, shape: dict[str, Any]) -> None:
    n, rmse, share = 20_000, 30.0, shape.get("share", 0.01)

    def error(found: Plan) -> float:
        protocol: Any = found.protocol
        return math.sqrt(protocol.worst_variance(share, n))

    found = epsilon_possible(question, n=n, delta=1e-6, rmse=rmse, **shape)
    assert error(found) == pytest.approx(rmse, rel=1e-6)
    assert error(found) <= rmse
    assert Plan.from_document(found.document()) == found
    there = plan(question, n=n, epsilon=found.guarantee.epsilon, delta=1e-6, **shape)
    assert error(there) == pytest.approx(rmse, rel=0.01)  # the best at that epsilon is hardly better
    if question == "histogram":
        return  # its users take longer to find
    fewest = users_needed(question, epsilon=there.guarantee.epsilon, delta=1e-6, rmse_share=error(there) / n, **shape)
    assert fewest.min_batch == pytest.approx(n, rel=0.01)


def test_paper_plans_are_the_papers() -> None:
    """k and gamma of section 4 for n = 1e6 and 1e4, and the bound on the error in the proof of Theorem 4.1."""
    for n, precision, gamma, bound, truth in ((10**6, 17, 0.003656, 2710, 2027), (10**4, 4, 0.1016, 803, 508)):
        found = plan("sum", n=n, epsilon=1.0, delta=1e-6, paper=True)
        assert found.protocol.alphabet - 1 == precision
        assert found.protocol.randomizer.gamma == pytest.approx(gamma, rel=1e-3)
        assert found.paper_error == pytest.approx(bound, rel=1e-3)
        assert found.mean_squared_error == pytest.approx(truth, rel=1e-3)
        assert found.guarantee.bound == "histogram-theorem"
        assert Plan.from_document(found.document()) == found
        assert plan("sum", n=n, epsilon=1.0, delta=1e-6).mean_squared_error < found.mean_squared_error / 2


def test_the_papers_bound_on_the_error_is_in_the_units_of_the_values() -> None:
    errors = [
        plan(question, n=10**4, epsilon=1.0, delta=1e-6, paper=True, low=-2, high=high).paper_error
        for question, high in (("sum", -1), ("sum", 3), ("mean", 3))
    ]
    assert errors[0] is not None
    assert errors[1:] == [pytest.approx(25 * errors[0]), pytest.approx(25 * errors[0] / 10**8)]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: users_needed("mean", rmse_share=0.0, epsilon=1.0, delta=1e-6),
        lambda: users_needed("histogram", rmse_share=0.1, epsilon=1.0, delta=1e-6),
        lambda: users_needed("mean", rmse_share=1e-12, epsilon=1.0, delta=1e-6),
        lambda: epsilon_possible("sum", n=10**6, delta=1e-6, rmse=1e-6),
        lambda: epsilon_possible("histogram", n=10**6, delta=1e-6, rmse=1e-12, size=3),
        lambda: epsilon_possible("sum", n=10**6, delta=2.0, rmse=10.0),
    ],
)
def test_bad_questions(wrong: object) -> None:
    with pytest.raises(InvalidInput):
        wrong()  # type: ignore[operator]
