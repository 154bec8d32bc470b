"""The JavaScript client: its own tests in node, and what it sends to a real shuffler."""

import json
from pathlib import Path

from oracles.node import CLIENT, node
from oracles.parties import ANALYZER, PARTIES, SHUFFLER, prepared
from oracles.result import analyzed
from oracles.server import running
from shuffledp import plan
from shuffledp.esa.task import Task

REPORTS = 1000
LABELS = ["no", "yes", "don't know", "Größe 😀"]
# so little blanket that every answer is the truth, but for one run in a hundred thousand
EXACT = plan("histogram", n=REPORTS, epsilon=20.0, delta=1e-6, labels=LABELS)


def test_its_own_tests_and_the_shipped_vectors_pass_in_node() -> None:
    files = sorted((CLIENT / "test").glob("*.test.js"))
    assert files
    done = node("--test", "--test-reporter=tap", *files)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "\n# fail 0\n" in done.stdout
    assert "\n# skipped 0\n" in done.stdout


def test_a_thousand_reports_are_accepted_released_and_opened(tmp_path: Path) -> None:
    task = Task(plan=EXACT, window=3600, max_age=7200, **PARTIES)
    values = [LABELS[j * j % 10 % 4] for j in range(REPORTS)]
    with running(prepared(tmp_path, task, SHUFFLER)) as server:
        analyzer = ANALYZER.public().document()
        options = {"url": server.url, "taskId": task.id, "analyzer": analyzer, "values": values}
        sent = node("test/many.js", given=json.dumps(options))
        assert json.loads(sent.stdout or "null") == {"fresh": REPORTS, "earlier": 0}, sent.stderr
        result = analyzed(server)
    assert result["n"] == REPORTS
    assert result["rejected"] == {}
    assert [round(count) for count in result["estimate"]["value"]] == [values.count(label) for label in LABELS]
