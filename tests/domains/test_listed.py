"""Which symbol a value is: labels, intervals, whole numbers."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

from shuffledp import Histogram, InvalidInput, Policy, RandomizedResponse, plan
from shuffledp.domains.intervals import Intervals
from shuffledp.domains.labels import Labels
from shuffledp.domains.whole_numbers import WholeNumbers


def test_labels() -> None:
    labels = Labels(("a", "b", "c"))
    assert labels.clean(["c", "a"]).values.tolist() == [2, 0]
    assert labels.index("b") == 1


def test_labels_by_their_codes() -> None:
    """Of a dictionary with unknown, missing and unused entries, in few names and in many."""
    texts = pa.array(["b", None, "a", "x", "unused"])
    codes = pa.DictionaryArray.from_arrays(pa.array([2, 0, None, 1, 3, 2], type=pa.int32()), texts)
    for names in (("a", "b"), ("a", "b", *(f"label {j}" for j in range(300)))):
        clean = Labels(names).clean(codes, Policy(missing="skip", other="a"))
        assert clean.values[[0, 1, 4, 5]].tolist() == [0, 1, 0, 0]
        assert (clean.keep is not None and clean.keep.tolist()) == [True, True, False, False, True, True]
        assert (dict(clean.rejected), dict(clean.adjusted)) == ({"missing": 2}, {"other": 1})
    damaged = pa.DictionaryArray.from_arrays(pa.array([0, 7], type=pa.int32()), texts, safe=False)
    with pytest.raises(InvalidInput, match="stand for nothing"):
        Labels(("a", "b")).clean(damaged)


def test_intervals() -> None:
    assert Intervals(4, -1.0, 1.0).clean([-1.0, -0.5, 0.999, 1.0]).values.tolist() == [0, 1, 3, 3]
    hundred = Intervals(100, 0.0, 1.0)
    assert hundred.clean([0.29, 0.57, 0.58, 0.0, 1.0]).values.tolist() == [29, 57, 58, 0, 99]
    assert (hundred.clean(hundred.edges[:-1]).values == np.arange(100)).all()
    assert Intervals(22, 0.0, 22.0).clean(np.arange(22)).values.tolist() == list(range(22))
    assert len(set(Intervals(40, 1e6, 1e6 + 1).names)) == 40
    for size in range(2, 300):
        assert Intervals(size, 0.1, 1.1).clean([0.1, 1.1]).values.tolist() == [0, size - 1]


def test_whole_numbers() -> None:
    assert WholeNumbers(3).clean(np.array([2, 0])).values.tolist() == [2, 0]
    assert WholeNumbers(3).names == ("0", "1", "2")
    assert WholeNumbers(3).edges.tolist() == [-0.5, 0.5, 1.5, 2.5]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Labels(("a", "a")),
        lambda: Labels(("a",)),
        lambda: Labels(["a", "b"]),  # type: ignore[arg-type]
        lambda: plan("histogram", n=1000, epsilon=1.0, delta=1e-6, size=3, labels=["a", "b"]),
        lambda: plan("histogram", n=1000, epsilon=1.0, delta=1e-6, size=2, low=0.0),
        lambda: plan("histogram", n=1000, epsilon=1.0, delta=1e-6, labels=["a", "b"], low=0.0, high=1.0),
        lambda: Intervals(2, 1.0, 0.0),
        lambda: Labels(("a", "b")).index("secret"),
        lambda: Labels(("a", "b")).clean(["secret77"]),
        lambda: Intervals(2, 0.0, 1.0).clean([77.0]),
        lambda: Intervals(2, 0.0, 1.0).clean([np.nan]),
        lambda: WholeNumbers(2).clean(np.array([77])),
        lambda: Histogram(RandomizedResponse(size=3, gamma=0.1), WholeNumbers(4)),
        lambda: Histogram(RandomizedResponse(size=3, gamma=0.1), Labels(("a", "b"))),
    ],
)
def test_what_is_not_listed_is_refused_without_being_shown(wrong: Callable[[], object]) -> None:
    with pytest.raises(InvalidInput) as refused:
        wrong()
    assert "77" not in str(refused.value)


@pytest.mark.parametrize(
    "kind",
    [list, lambda texts: np.array(texts, dtype=object), pa.array, lambda texts: pa.array(texts).dictionary_encode()],
)
def test_labels_that_nearly_match_are_said_to_and_can_be_matched_loosely(
    kind: Callable[[list[str | None]], object],
) -> None:
    labels = Labels(("insured", "uninsured", "1"))
    given = kind(["INSURED", " uninsured", "1.0", "insured", "1.00"])
    with pytest.raises(InvalidInput, match=r"letter by letter, and some would match .* use `match='loosely'`"):
        labels.clean(given)
    clean = labels.clean(given, Policy(match="loosely"))
    assert clean.values.tolist() == [0, 1, 2, 0, 2]
    assert dict(clean.adjusted) == {"alike": 4}
    both = labels.clean(kind(["INSURED", "unknown", "insured"]), Policy(match="loosely", other="uninsured"))
    assert both.values.tolist() == [0, 1, 0]
    assert dict(both.adjusted) == {"alike": 1, "other": 1}
    with pytest.raises(InvalidInput, match=r"letter by letter: plan with all labels that occur, or use `other=LABEL`"):
        labels.clean(kind(["unknown", "insured"]))
    with pytest.raises(InvalidInput, match="is missing"):
        labels.clean(kind(["INSURED", None]), Policy(match="loosely"))


def test_labels_that_are_alike_cannot_be_matched_loosely() -> None:
    labels = Labels(("Yes", "yes"))
    assert labels.clean(["Yes", "yes"], Policy(match="loosely")).values.tolist() == [0, 1]
    with pytest.raises(InvalidInput, match="cannot be matched loosely"):
        labels.clean(["YES"], Policy(match="loosely"))
    with pytest.raises(InvalidInput, match="plan with all labels that occur"):
        labels.clean(["YES", "yes"])
    with pytest.raises(InvalidInput, match="'exactly' or 'loosely'"):
        Policy(match="nearly")  # type: ignore[arg-type]


def test_values_that_were_split_at_their_commas_are_planned_again_and_not_counted_as_others() -> None:
    split = Labels(("Craftsmen", "foremen", "Clerks"))
    for raw in (["Clerks", "Craftsmen, foremen"], pa.array(["Clerks", "Craftsmen, foremen"])):
        with pytest.raises(InvalidInput, match="in quotation marks or with --labels-file") as refused:
            split.clean(raw)
        assert "other" not in str(refused.value)
    with pytest.raises(InvalidInput, match="other=LABEL"):
        split.clean(["Clerks", "Craftsmen, bakers"])
