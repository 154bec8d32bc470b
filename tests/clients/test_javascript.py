"""The JavaScript client: its own tests in node, and what it sends to a real shuffler."""

import json
from pathlib import Path

import httpx
import numpy as np

from golden.make_vectors import RecordingWords, made, on_plane, randomized, sent
from oracles.node import CLIENT, node
from oracles.parties import ANALYZER, PARTIES, SHUFFLER, prepared
from oracles.result import analyzed
from oracles.server import TOKENS, running
from shuffledp import KeyedRandomness, plan
from shuffledp.arithmetic.primes import prime_from
from shuffledp.domains.intervals import Intervals
from shuffledp.domains.labels import Labels
from shuffledp.domains.whole_numbers import WholeNumbers
from shuffledp.protocols.digit_sums import DigitSums
from shuffledp.protocols.dummies import DummyCounts
from shuffledp.protocols.noised import NoisedCounts
from shuffledp.protocols.noised_distribution import NoisedDistribution
from shuffledp.protocols.noised_survey import NoisedTable
from shuffledp.protocols.survey import Asked
from shuffledp.randomizers.digit_by_digit import Digits
from shuffledp.randomizers.dummies import Dummies
from shuffledp.randomizers.geometric_noise import ThinnedGeometric, TwoSidedGeometric
from shuffledp.randomizers.identity import Identity
from shuffledp.randomizers.shuffler_noise import ShufflerNoise
from shuffledp.randomizers.structures import AffineSpace
from shuffledp.service.analyzer.analyzer import analyze
from shuffledp.service.analyzer.batch_fetcher import BatchFetcher
from shuffledp.service.task import Task

REPORTS = 1000
LABELS = ["no", "yes", "don't know", "Größe 😀"]
# so little blanket that every answer is the truth, but for one run in a hundred thousand
EXACT = plan("histogram", n=REPORTS, epsilon=20.0, delta=1e-6, labels=LABELS)
AMONG_DUMMIES = plan("histogram", n=100, epsilon=2.0, delta=1e-6, labels=LABELS, messages_per_user=3)


def test_its_own_tests_and_the_shipped_vectors_pass_in_node() -> None:
    files = sorted((CLIENT / "test").glob("*.test.js"))
    assert files
    done = node("--test", "--test-reporter=tap", *files)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "\n# fail 0\n" in done.stdout
    assert "\n# skipped 0\n" in done.stdout


def test_it_randomizes_as_python_does_whatever_the_protocol_and_the_value() -> None:
    value: float
    random, cases = np.random.default_rng(17), []
    for j in range(2000):
        name = ("histogram", "histogram", "sum", "mean")[j % 4]
        size = int(random.integers(2, 1 << int(random.integers(2, 33))))
        low = float(random.normal(scale=10.0 ** random.integers(-30, 30)))
        high = low + abs(low) * float(random.uniform(0.01, 3))
        if j % 4 == 0:
            protocol, value = made(name, size, random.uniform(0.01, 0.99)), int(random.integers(size))
        else:
            size = min(size, 1 << 12)
            protocol = made(name, size, random.uniform(0.01, 0.99), low=low, high=high)
            value = (low, high, float(random.uniform(low, high)))[j % 3]
        cases.append(randomized(protocol, value, RecordingWords(j, {}, {})))
    for j in range(500):
        dimension = int(random.integers(2, 4))
        prime = prime_from(int(2 ** random.uniform(0.1, 15.9 if dimension == 2 else 10.6)))
        size = int(random.integers(2, prime**dimension, endpoint=True))
        protocol = on_plane(prime, dimension, random.uniform(0.01, 0.99), WholeNumbers(size))
        cases.append(randomized(protocol, int(random.integers(size)), RecordingWords(j, {}, {})))
    for j in range(300):
        structure = Identity(size=int(2 ** random.uniform(1, 32))) if j % 2 else AffineSpace(prime=prime_from(j + 2))
        randomizer = Dummies(structure=structure, dummies=float(2 ** random.uniform(-8, 3)))
        listed = WholeNumbers(min(structure.values, 10**6))
        counts = DummyCounts(randomizer=randomizer, domain=listed)
        cases.append(sent(counts, int(random.integers(listed.size)), RecordingWords(j, {}, {})))
    for j in range(50):
        noise = TwoSidedGeometric.least(1.0, 1e-6) if j % 2 else ThinnedGeometric.least(2.0)
        told = NoisedCounts(randomizer=ShufflerNoise(size=j + 2, noise=noise), domain=WholeNumbers(j + 2))
        value = int(random.integers(j + 2))
        cases.append({"protocol": told.document(), "value": value, "bytes": {}, "blocks": {}, "messages": [value]})
    for j in range(50):
        noise = TwoSidedGeometric.least(1.0, 1e-6) if j % 2 else ThinnedGeometric.least(2.0)
        grid = Intervals(j + 2, float(random.normal()), 5.0 + j)
        curve = NoisedDistribution(randomizer=ShufflerNoise(size=j + 2, noise=noise), domain=grid)
        real = float(random.uniform(grid.low, grid.high))
        interval = [int(symbol) for symbol in grid.clean([real]).values]
        cases.append({"protocol": curve.document(), "value": real, "bytes": {}, "blocks": {}, "messages": interval})
        label = LABELS[j % len(LABELS)]
        counts_of = NoisedCounts(randomizer=ShufflerNoise(size=len(LABELS), noise=noise), domain=Labels(tuple(LABELS)))
        asked = tuple(Asked(name=name, protocol=one) for name, one in (("a", curve), ("b", counts_of), ("c", curve)))
        table = NoisedTable(questions=asked)
        row = {"c": grid.low, "a": real, "b": label}
        cell = table.encode(table.domain.clean([row]).values, KeyedRandomness.seeded(1), first_row=0)
        case = {"protocol": table.document(), "value": row, "bytes": {}, "blocks": {}, "messages": [int(cell[0])]}
        cases.append(case)
    for j in range(200):
        base = int(random.integers(2, 40))
        rates = tuple(float(2 ** random.uniform(-8, 2)) for _ in range(int(random.integers(1, 6))))
        low = float(random.normal(scale=10.0 ** random.integers(-30, 30)))
        high = low + abs(low) * float(random.uniform(0.01, 3))
        sums = DigitSums(randomizer=Digits(base=base, dummies=rates), low=low, high=high)
        cases.append(sent(sums, (low, high, float(random.uniform(low, high)))[j % 3], RecordingWords(j, {}, {})))
    done = node("test/randomize.js", given="\n".join(map(json.dumps, cases)))
    assert done.returncode == 0, done.stderr
    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        case["messages"] if "messages" in case else [case["symbol"], case["message"]] for case in cases
    ]


def test_a_thousand_reports_are_accepted_released_and_opened(tmp_path: Path) -> None:
    """Some of them in bundles, with dummies, for another task."""
    task, chatty = (Task(plan=one, window=3600, max_age=7200, **PARTIES) for one in (EXACT, AMONG_DUMMIES))
    values = [LABELS[j * j % 10 % 4] for j in range(REPORTS)]
    prepared(tmp_path, task, SHUFFLER)
    (tmp_path / "chatty.json").write_text(json.dumps(chatty.document()))
    line = f"shuffler serve task.json chatty.json --store store.db --keys shuffler.key {TOKENS}"
    with running(tmp_path, line=line) as server:
        analyzer = ANALYZER.public().document()
        options = {"url": server.url, "taskId": task.id, "analyzer": analyzer, "values": values}
        sent = node("test/many.js", given=json.dumps(options))
        assert json.loads(sent.stdout or "null") == {"fresh": REPORTS, "earlier": 0}, sent.stderr
        sent = node("test/many.js", given=json.dumps(options | {"taskId": chatty.id, "values": values[:100]}))
        assert json.loads(sent.stdout or "null") == {"fresh": 100, "earlier": 0}, sent.stderr
        close = f"/v2/tasks/{chatty.id}/batches/close"
        assert httpx.post(server.url + close, headers=server.headers("operator")).json()["reports"] == 100
        fetched = BatchFetcher(url=server.url, token=(tmp_path / "analyzer.token").read_text()).fetch(chatty)
        among = analyze(fetched, chatty, ANALYZER)
        result = analyzed(server)
    assert (among.n, among.rejected) == (100, {})
    assert round(among.estimate.value.sum()) == 100
    assert result["n"] == REPORTS
    assert result["rejected"] == {}
    assert [round(count) for count in result["estimate"]["value"]] == [values.count(label) for label in LABELS]
