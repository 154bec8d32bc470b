"""What results, simulations and rehearsals say, entry by entry, against the same worked out by hand at uneven data."""

import json
import math
from contextlib import nullcontext
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from shuffledp import DataWarning, InvalidInput, KeyedRandomness, Plan, Result, plan, run
from shuffledp.core.estimate import Estimate, SideBySide
from shuffledp.core.population import Population
from shuffledp.core.ratio import Ratios
from shuffledp.engines.run import run_source
from shuffledp.results import rehearsal, simulation
from shuffledp.results.derived import derived
from shuffledp.results.guarantee_text import promise, stated
from shuffledp.results.rehearsal import rehearse
from shuffledp.results.simulation import simulate
from shuffledp.sources.values import ValuesSource

Reals = NDArray[np.float64]
ASKED: dict[str, Any] = {"n": 3000, "epsilon": 3.0, "delta": 1e-5}
WORDS = KeyedRandomness.seeded(4)
KEYS = ("estimate", "standard_error", "low", "high")
LEVELS = [(0.5, False), (0.9, True), (0.999, False)]
"""Of confidence, each alone and all together; none is the usual one."""


@pytest.fixture(scope="module")
def bins() -> Result:
    """Seven intervals from 3 to 10, most people in the last but one."""
    made = plan("histogram", size=7, low=3, high=10, **ASKED)
    return run(made, np.repeat(np.arange(3.5, 10), [40, 500, 300, 90, 700, 1300, 70]), randomness=WORDS, truth=True)


@pytest.fixture(scope="module")
def curve() -> Result:
    """Eight intervals from -2 to 14."""
    made = plan("distribution", low=-2, high=14, resolution=8, **ASKED)
    return run(
        made, np.repeat(np.arange(-1, 15, 2), [40, 500, 300, 90, 700, 1200, 70, 100]), randomness=WORDS, truth=True
    )


@pytest.fixture(scope="module")
def table() -> Result:
    """Means of three groups, one of which is too small to say."""
    made = plan("mean", low=2, high=6, by={"g": ["a", "b", "c"]}, **ASKED)
    people = ["a, 2.5"] * 1900 + ["b, 5.75"] * 1097 + ["c, 3"] * 3
    return run(made, people, randomness=WORDS, truth=True)


@pytest.fixture(scope="module")
def survey() -> Result:
    """A list and a mean, of which everybody sends one cell."""
    questions = [
        {"name": "diet", "ask": "histogram", "labels": ["meat", "fish", "plants"]},
        {"name": "age", "ask": "mean", "low": 18, "high": 98},
    ]
    made = plan("survey", questions=questions, way="table", **ASKED)
    people = [{"diet": "fish", "age": 30.0}] * 2100 + [{"diet": "plants", "age": 77.5}] * 900
    return run(made, people, randomness=WORDS, truth=True)


def by_hand(estimate: Estimate, confidence: float, entries: int, *, together: bool) -> tuple[Reals, Reals]:
    """Limits: so many standard errors, or Fieller's roots for a ratio; with all together, each misses a share of the rest."""
    if isinstance(estimate, SideBySide):
        each = [by_hand(part, confidence, entries, together=together) for part in estimate.parts]
        return np.concatenate([low for low, _ in each]), np.concatenate([high for _, high in each])
    z = NormalDist().inv_cdf(1 - (1 - confidence) / 2 / (entries if together else 1))
    if not isinstance(estimate, Ratios):
        return estimate.value - z * estimate.standard_error, estimate.value + z * estimate.standard_error
    above, across, below = estimate.variances
    found = []
    for top, bottom, a, b, c in zip(estimate.top, estimate.bottom, above, across, below, strict=True):
        if bottom < 4 * math.sqrt(c):
            found.append((math.nan, math.nan))
            continue
        # all m with (top - m bottom)^2 <= z^2 (a - 2 m b + m^2 c)
        roots = np.sort(np.roots([bottom**2 - z * z * c, -2 * (top * bottom - z * z * b), top**2 - z * z * a]).real)
        possible = bottom**2 > z * z * c
        found.append((roots[0], roots[1]) if possible else (min(0.0, top / bottom), max(1.0, top / bottom)))
    return tuple(estimate.start + estimate.span * np.array(column) for column in zip(*found, strict=True))  # type: ignore[return-value]


@pytest.mark.parametrize(("confidence", "together"), LEVELS)
@pytest.mark.parametrize("name", ["bins", "curve", "table", "survey"])
def test_every_way_to_read_a_result_has_the_intervals_that_were_asked_for(
    name: str, confidence: float, together: bool, request: pytest.FixtureRequest
) -> None:
    answer: Result = request.getfixturevalue(name)
    how: Any = {"confidence": confidence, "simultaneous": together}
    found, entries = answer.estimate, len(answer.names)
    low, high = by_hand(found, confidence, entries, together=together)
    for end, expected_end in zip(found.interval(confidence, simultaneous=together), (low, high), strict=True):
        assert end == pytest.approx(expected_end, nan_ok=True)
    columns = answer.columns(**how)
    frame = answer.to_frame(**how)
    entered = answer.to_dict(**how)
    document = json.loads(json.dumps(answer.document(**how)))
    assert (document["estimate"]["confidence"], document["estimate"]["simultaneous"]) == (confidence, together)
    assert (
        list(entered) == columns["name"] == list(frame["name"]) == document["estimate"]["names"] == list(answer.names)
    )
    for j, one in enumerate(answer.names):
        expected = [found.value[j], found.standard_error[j], low[j], high[j]]
        for shown in (
            [columns[key][j] for key in KEYS],
            [frame[key][j] for key in KEYS],
            [math.nan if (value := entered[one][key]) is None else value for key in KEYS],
        ):
            assert shown == pytest.approx(expected, nan_ok=True), one
        written = [document["estimate"]["value"][j], document["estimate"]["standard_error"][j]]
        if math.isnan(found.value[j]):
            assert [*written, document["estimate"]["interval"][j]] == [None] * 3
            assert one in document["estimate"]["refused"]
            assert [entered[one][key] for key in ("estimate", "low")] == [None] * 2
        else:
            assert [*written, *document["estimate"]["interval"][j]] == pytest.approx(expected)
    assert answer.truth is not None
    assert columns["truth"].tolist() == answer.truth.tolist()
    for title, more in answer.also.items():
        low, high = by_hand(more, confidence, len(more.names), together=together)
        beside = document["also"][title]
        assert beside["names"] == list(more.names)
        assert beside["value"] == pytest.approx(more.value.tolist())
        assert [end[0] for end in beside["interval"]] == pytest.approx(low.tolist())
        assert [end[1] for end in beside["interval"]] == pytest.approx(high.tolist())
    assert bool(answer.also) == (name == "table")


@pytest.mark.parametrize(("confidence", "together"), LEVELS)
def test_ranges_shares_and_cumulative_counts_are_sums_of_bins(bins: Result, confidence: float, together: bool) -> None:
    """By the covariance matrix at the estimate; ranges by the names of their first and last bins."""
    names, value, protocol = bins.names, bins.estimate.value, bins.plan.protocol
    how: Any = {"confidence": confidence, "simultaneous": together}
    wanted = [(1, 3), (4, 5), (0, 0)]
    found = derived(bins, **how, cdf=True, frequencies=True, ranges=[f"{names[a]}..{names[b]}" for a, b in wanted])
    some: Any = protocol
    g, size, n = some.gamma, 7, 3000

    def error(count: float, bins_in: int) -> float:
        """Of a set of bins as one of a coarser histogram."""
        outside, held = g * bins_in / size, min(max(count, 0), n)
        inside = 1 - g + outside
        return math.sqrt((held * inside * (1 - inside) + (n - held) * outside * (1 - outside)) / (1 - g) ** 2)

    def check(listed: Any, values: list[float], errors: list[float]) -> None:
        z = NormalDist().inv_cdf(1 - (1 - confidence) / 2 / (len(values) if together else 1))
        assert listed["value"] == pytest.approx(values)
        assert listed["standard_error"] == pytest.approx(errors, abs=1e-6)
        for (low, high), middle, off in zip(listed["interval"], values, errors, strict=True):
            assert (low, high) == (pytest.approx(middle - z * off, abs=1e-6), pytest.approx(middle + z * off, abs=1e-6))

    sums = [float(value[a : b + 1].sum()) for a, b in wanted]
    ranges = {key: [one[key] for one in found["ranges"]] for key in ("value", "standard_error", "interval")}
    check(ranges, sums, [error(total, b - a + 1) for (a, b), total in zip(wanted, sums, strict=True)])
    below = [*np.cumsum(value)[:-1].tolist(), 3000.0]
    check(found["cumulative"], below, [*(error(count, j + 1) for j, count in enumerate(below[:-1])), 0.0])
    check(found["frequencies"], (value / n).tolist(), [error(count, 1) / n for count in value.tolist()])


@pytest.mark.parametrize("shares", [(0.1, 0.55), (0.02, 0.3, 0.97)])
@pytest.mark.parametrize(("confidence", "together"), [(0.5, False), (0.9, True), (0.9999, False)])
def test_quantiles_are_where_the_estimated_counts_reach_their_share(
    bins: Result, curve: Result, shares: tuple[float, ...], confidence: float, together: bool
) -> None:
    """The limits are the edges whose own intervals hold the wanted number, and the next ones; counted by hand."""
    for answer, edges in ((bins, np.arange(3.0, 11)), (curve, np.arange(-2.0, 15, 2))):
        how: Any = {"confidence": confidence, "simultaneous": together}
        found = derived(answer, **how, quantiles=shares)["quantiles"]
        if answer is bins:
            below = derived(answer, **how, cdf=True)["cumulative"]
            values, limits = below["value"][:-1], below["interval"][:-1]
        else:
            values = answer.estimate.value.tolist()
            limits = np.transpose(answer.estimate.interval(confidence, simultaneous=together)).tolist()
        assert all(np.diff(values) > 0)  # so that no curve that never falls is nearer than the estimate
        for share, one in zip(shares, found, strict=True):
            wanted = 3000 * share
            at = sum(value < wanted for value in values)
            possible = [at]
            for j in range(len(values) + 1):
                too_low = j < len(values) and limits[j][1] < wanted  # certainly not reached at its upper edge
                too_high = j > 0 and limits[j - 1][0] >= wanted  # certainly reached at its lower edge
                possible += [] if too_low or too_high else [j]
            first, last = min(possible), max(possible)
            assert one["share"] == share
            if answer is bins:
                assert one["bin"] == answer.names[at]
                assert one["interval"] == [answer.names[first], answer.names[last]]
            else:
                inner = [0.0, *values, 3000.0]
                part = (wanted - inner[at]) / (inner[at + 1] - inner[at])
                assert one["value"] == pytest.approx(edges[at] + part * (edges[at + 1] - edges[at]))
                assert one["interval"] == [edges[first], edges[last + 1]]


def test_ranges_of_a_distribution_are_differences_of_the_curve_wherever_it_begins(curve: Result) -> None:
    below = [0.0, *curve.estimate.value.tolist(), 3000.0]
    found = derived(curve, ranges=["-2..2", "4..10", "10..14", "0..14"], quantiles=(0.5,))
    assert [one["value"] for one in found["ranges"]] == pytest.approx(
        [below[2], below[6] - below[3], 3000 - below[6], 3000 - below[1]]
    )
    truth = np.cumsum([40, 500, 300, 90, 700, 1200, 70, 100])
    assert curve.truth is not None
    assert curve.truth.tolist() == truth[:-1].tolist()
    domain: Any = curve.plan.protocol.domain
    assert found["quantiles"][0]["truth"] == domain.names[4]  # 1,500 of 3,000 are reached from 6 to 8
    for wrong in ("4..4", "10..4", "5..10", "-4..2", "4..16", "4"):
        with pytest.raises(InvalidInput):
            derived(curve, ranges=[wrong])


# Simulations


@pytest.mark.parametrize("batch", [7, 1000])
def test_a_simulation_says_what_its_runs_show_however_they_are_batched(
    batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Means of three groups of which one seldom has a number: errors are of those runs in which there is one."""
    made = plan("mean", low=2, high=6, by={"g": ["a", "b", "c"]}, **ASKED)
    protocol: Any = made.protocol
    fewest = round(protocol.smallest(3000))
    values = np.array([(0, 2.7), (0, 5.1), (1, 3.3), (2, 4.9)], dtype=protocol.domain.dtype)
    held = Population(values=values, users=np.array([900, 1500, 600 - fewest, fewest]))
    monkeypatch.setattr(simulation, "_AT_ONCE", batch * protocol.cells_per_run)
    found = simulate(made, held, trials=100, generator=np.random.default_rng(3))
    generator, runs = np.random.default_rng(3), list[Estimate]()
    while len(runs) < 100:
        entries = protocol.simulate(held, generator, min(batch, 100 - len(runs)))
        runs += [
            protocol.reading.of(Estimate(value=row, standard_error=protocol.standard_error(row, 3000), n=3000))
            for row in entries
        ]
    truth = np.array([(900 * 2.7 + 1500 * 5.1) / 2400, 3.3, 4.9])
    errors = np.array([one.value for one in runs]) - truth
    there = ~np.isnan(errors)
    assert 10 < there[:, 2].sum() < 90
    assert (found.n, found.trials, found.question, found.forecast_rmse) == (3000, 100, "mean", made.rmse)
    assert found.bias == pytest.approx(np.nanmean(errors, axis=0).tolist())
    assert found.rmse == pytest.approx(math.sqrt(np.nanmean(errors**2, axis=0).sum()))
    assert found.refused == pytest.approx(1 - there.mean())
    inside = [(low <= truth) & (truth <= high) for low, high in (one.interval(0.95) for one in runs)]
    assert found.coverage == pytest.approx(np.sum(inside) / there.sum())
    assert found.expected_rmse == pytest.approx(math.sqrt(protocol.reading.error(held).sum()))


@pytest.fixture(scope="module")
def finder() -> Plan:
    return plan("heavy-hitters", alphabet="ab", max_length=3, n=3000, epsilon=4.0, delta=1e-4, false_positives=2.0)


def test_rehearsals_have_coins_of_their_own_and_are_added_up(finder: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three runs are as three times one, under the next seeds; blocks of rows change nothing."""
    domain = finder.protocol.domain
    held = Population(values=domain.clean(["aba", "b", "ab", "bbb"]).values, users=np.array([1900, 700, 395, 5]))
    alone = [rehearse(finder, held, runs=1, seed=11 + run) for run in range(3)]
    monkeypatch.setattr(rehearsal, "_BLOCK", 701)
    heard = list[int]()
    together = rehearse(finder, held, runs=3, seed=11, progress=heard.append)
    least = finder.protocol.forecast(3000).others["found_from_users"]
    assert together.frequent == alone[0].frequent == sum(users >= least for users in (1900, 700, 395, 5))
    assert (together.runs, heard) == (3, [1, 1, 1])
    for what in ("found", "false_positives", "stated_false_positives"):
        assert getattr(together, what) == pytest.approx(sum(getattr(one, what) for one in alone) / 3), what
    assert together.found == 1.0
    assert len({(one.false_positives, one.stated_false_positives) for one in alone}) > 1


# Promises


class Several(ValuesSource):
    """Values of which any three may be one person's."""

    rows_per_person = 3


def test_what_holds_before_shuffling_is_for_all_rows_of_a_person() -> None:
    made = plan("histogram", size=4, n=1000, epsilon=1.0, delta=1e-5, honest_fraction=0.8)
    values = [j % 4 for j in range(1500)]
    one, three = run(made, values), run_source(made, Several(values), engine="memory")
    epsilon0 = made.protocol.randomizer.epsilon0
    assert epsilon0 is not None
    for answer, rows in ((one, 1), (three, 3)):
        assert answer.local_epsilon is not None
        assert Fraction(answer.local_epsilon) >= rows * Fraction(epsilon0)
        assert answer.local_epsilon == pytest.approx(rows * epsilon0, rel=1e-12)
    for answer, unit in ((one, "one row = one person"), (three, "one person = at most 3 rows")):
        said = answer.document()["guarantee"]
        assert (said["unit"], said["realised_honest"]) == (unit, 1200)
        assert said["epsilon_if_shuffler_and_analyzer_collude"] == answer.local_epsilon
        assert said["realised_epsilon"] == answer.realised_epsilon
    assert (three.spend, three.certificate) == (None, None)
    assert one.realised_epsilon == made.epsilon_at(1200)
    bare = plan("histogram", size=4, n=1000, epsilon=1.0, delta=1e-5, messages_per_user=5)
    assert run(bare, values).local_epsilon is None


def test_rows_that_did_not_fit_are_pointed_out_from_a_tenth_on() -> None:
    made = plan("mean", low=0, high=1, n=900, epsilon=2.0, delta=1e-4)
    for skipped, clamped, told in ((0, 0, False), (50, 50, False), (51, 50, True), (0, 101, True), (100, 1, True)):
        rows = [None] * skipped + [7.0] * clamped + [0.5] * (1000 - skipped - clamped)
        with pytest.warns(DataWarning) if told else nullcontext():
            answer = run(made, rows, missing="skip", outside="clamp")
        assert (answer.misfits is not None) == told
        assert (answer.received, answer.n) == (1000, 1000 - skipped)
        if told:
            assert answer.misfits.startswith(f"{skipped + clamped} of 1,000 rows")  # type: ignore[union-attr]


def test_labels_that_were_to_be_matched_loosely_did_fit() -> None:
    made = plan("histogram", labels=["no", "yes"], n=1000, epsilon=2.0, delta=1e-4)
    answer = run(made, ["NO", "Yes"] * 450 + ["no"] * 100 + [None] * 50, match="loosely", missing="skip")
    assert (dict(answer.adjusted), answer.misfits) == ({"alike": 900}, None)
    answer = run(made, ["NO"] * 1000 + [None] * 200, match="loosely", missing="skip")
    assert answer.misfits is not None
    assert "200 of 1,200 rows did not fit the plan and were left out or changed: 200 missing." in answer.misfits


def test_shares_are_shown_and_found_by_their_names() -> None:
    shares = run(plan("histogram", labels=["bus", "tram"], **ASKED), ["bus"] * 2000 + ["tram"] * 1000).frequencies()
    assert shares["bus"] == shares.entries()[0] == next(iter(shares))
    header, first, second = str(shares).splitlines()
    assert header.split() == ["name", "estimate", "standard", "error", "95", "%", "from", "to"]
    name, estimate, error, low, high = first.split()
    assert (name, second.split()[0]) == ("bus", "tram")
    assert float(low) <= shares["bus"].low < float(estimate) < shares["bus"].high <= float(high)
    assert float(error) == pytest.approx(shares["bus"].standard_error, rel=0.01)
    assert float(estimate) == pytest.approx(shares["bus"].estimate, rel=0.01)
    for cell in ("<th>bus</th>", f"<td>{estimate}</td>", f"<td>{low}</td>"):
        assert cell in shares._repr_html_()
    with pytest.raises(InvalidInput, match=r"there is no entry 'buss'\. Did you mean 'bus'"):
        shares["buss"]
    many = Estimate(value=np.arange(60.0), standard_error=np.ones(60), n=60, names=tuple(f"v{j}" for j in range(60)))
    assert str(many).splitlines()[-1] == "... and 10 more"
    assert "... and 10 more" in many._repr_html_()
    nameless = Estimate(value=np.arange(3.0), standard_error=np.ones(3), n=60)
    assert str(nameless) == repr(nameless) == "<Estimate: 3 entries from 60 reports>"


def test_other_texts_are_asked_about_with_all_that_depends_on_them() -> None:
    made = plan("texts", n=2000, epsilon=4.0, delta=1e-4, candidates=["left", "right"])
    answer = run(made, ["left"] * 1500 + ["up"] * 500, truth=True)
    other = answer.about(["up", "down", "left"])
    fresh = other.plan.protocol.estimate(answer.counts)
    assert (other.names, other.truth) == (("up", "down", "left"), None)
    assert other.estimate.value.tolist() == fresh.value.tolist()
    assert other.estimate.value[2] == answer.estimate.value[0]
    assert (other.guarantee, other.estimate.guarantee) == (answer.guarantee, answer.guarantee)
    assert (other.received, other.n, other.realised_honest) == (2000, 2000, answer.realised_honest)
    assert other.plan.sha256 == answer.plan.sha256


def rare(messages: int, chance: float, values: int, allowed: float) -> tuple[int, float]:
    """The least total that so few of the values reach by chance, one after the other, and how many do."""
    for total in range(messages + 2):
        expected = values * float(binom.sf(total - 1, messages, chance))
        if expected <= allowed:
            return total, expected
    raise AssertionError


@pytest.mark.parametrize("allowed", [0.5, 3.0])
@pytest.mark.parametrize("options", [{"size": 40, "messages_per_user": 4}, {"size": 7}, {"size": 700}], ids=str)
def test_what_is_found_by_a_threshold_is_what_chance_alone_seldom_reaches(
    options: dict[str, Any], allowed: float
) -> None:
    """Of a value that nobody holds: by the messages of all others, and by all dummies that were sent."""
    made = plan("histogram", **ASKED, **options)
    size = options["size"]
    held = np.r_[np.full(2500, size - 1), np.full(460, 3), np.full(40, 1)]
    answer = run(made, np.r_[held, held], randomness=KeyedRandomness.seeded(7))
    found = derived(answer, false_positives=allowed, top=size)
    some: Any = made.protocol
    if "messages_per_user" in options:
        dummies, share = int(answer.counts.values[:-1].sum()) - 6000, 1 / size
        assert some.randomizer.structure.shared == 0  # each value has a message of its own
        total, expected = rare(dummies, share, size, allowed)
        least = total - dummies * share
    else:
        own, other = some.law
        total, expected = rare(6000, other, size, allowed)
        least = (total - 6000 * other) / (own - other)
    assert found["threshold"]["estimate"] == pytest.approx(least, rel=1e-6)
    assert found["threshold"]["false_positives"] == pytest.approx(expected, rel=1e-6)
    assert found["threshold"]["values"] == size
    value = answer.estimate.value
    order = sorted(range(size), key=lambda j: -value[j])
    passed = [j for j in order if value[j] >= least]
    assert [one["bin"] for one in found["top"]] == [answer.names[j] for j in passed]
    assert [one["value"] for one in found["top"]] == [value[j] for j in passed]
    assert passed[:2] == [size - 1, 3]
    few = derived(answer, false_positives=allowed, top=1)
    assert [one["bin"] for one in few["top"]] == [answer.names[order[0]]]
    assert [one["bin"] for one in derived(answer, top=2)["top"]] == [answer.names[j] for j in order[:2]]


@pytest.mark.parametrize("way", ["one", "table"])
def test_the_weight_and_range_of_a_question_decide_what_its_error_counts(way: str) -> None:
    """Squared errors as shares of the answers' ranges, by weight: of a mean, a sum, all bins of a list."""
    questions: list[dict[str, Any]] = [
        {"name": "age", "ask": "mean", "low": 18, "high": 98, "weight": 5},
        {"name": "spent", "ask": "sum", "low": -3, "high": 1, "weight": 2},
        {"name": "diet", "ask": "histogram", "labels": ["meat", "fish", "plants"]},
    ]
    protocol: Any = plan("survey", questions=questions, way=way, **ASKED).protocol
    errors, n = protocol.errors(2000), 2000
    mean, total, bins = (one / scale**2 for one, scale in zip(errors, (80, 4 * n, n), strict=True))
    assert protocol.cost(n) == pytest.approx((5 * mean + 2 * total + bins) / 8)
    assert protocol.mean_squared_error(n) == pytest.approx(sum(errors))
    assert [one.weight for one in protocol.questions] == [5, 2, 1]
    if way == "one":
        assert [protocol.share(t) for t in range(3)] == [5 / 8, 2 / 8, 1 / 8]


def test_what_is_said_if_nothing_else_is_asked_for(bins: Result, curve: Result, table: Result) -> None:
    """95 % for each entry alone, everywhere; quartiles of a distribution, and no others."""
    usual: Any = {"confidence": 0.95, "simultaneous": False}
    for answer in (bins, curve, table):
        low, high = by_hand(answer.estimate, 0.95, 1, together=False)
        assert [one.low for one in answer] == pytest.approx(low.tolist(), nan_ok=True)
        assert [one.high for one in answer] == pytest.approx(high.tolist(), nan_ok=True)
        assert json.dumps(answer.to_dict()) == json.dumps(answer.to_dict(**usual))
        assert answer.document() == answer.document(**usual)
        assert answer.to_frame().equals(answer.to_frame(**usual))
    asked: Any = {"cdf": True, "frequencies": True, "ranges": [f"{bins.names[0]}..{bins.names[2]}"]}
    assert derived(bins, **asked) == derived(bins, **usual, **asked)
    found = derived(curve)
    assert [one["share"] for one in found["quantiles"]] == [0.25, 0.5, 0.75]
    assert found == derived(curve, **usual, quantiles=(0.25, 0.5, 0.75))
    assert derived(bins) == derived(table) == {}


def test_the_sentences_of_a_guarantee_have_its_own_numbers() -> None:
    """Seven of ten are honest, some rows were left out: each sentence says of which reports it speaks."""
    made = plan("histogram", labels=["no", "yes"], n=1000, epsilon=1.0, delta=1e-6, honest_fraction=0.7)
    answer = run(made, ["no"] * 900 + ["yes"] * 600 + [None] * 300, missing="skip")
    document = json.loads(json.dumps(answer.document()))
    planned, realised, alone = stated(document)
    assert planned == ("once 700 honest reports arrive", "1", "1e-6")
    assert realised.when == "if at least 1,050 of the 1,500 valid reports (70 %) are from honest users"
    assert float(realised.epsilon) >= made.epsilon_at(1050) >= 0.99 * float(realised.epsilon)
    assert (realised.delta, alone.delta) == ("1e-6", "0")
    assert float(alone.epsilon) >= made.epsilon0 >= 0.99 * float(alone.epsilon)
    served = document | {"task": "0" * 64}
    assert stated(served)[1].when == "if at least 1,050 of the 1,800 reports received (58.4 %) are from honest users"
    assert promise(document) == "(1, 1e-6)-differentially private"
    assert promise(document | {"guarantee": None}) == "simulation, no guarantee"
    assert stated(document | {"guarantee": None}) == []
