"""A distribution through the service: clients draw their grids, the analyzer reads quantiles off the curve."""

import json
from collections.abc import Callable
from pathlib import Path

from oracles.parties import SHUFFLER, prepared
from oracles.process import assert_refused, called
from oracles.server import running
from shuffledp.service.task import Task


def test_a_distribution_is_collected_and_read_off(tmp_path: Path, shuffledp: Callable[[str], str]) -> None:
    shown = shuffledp(
        "plan distribution --low 0 --high 10 --resolution 1024 --n 60 --epsilon 2 --delta 1e-2 -o plan.json"
    )
    assert "each user draws one of 3 grids" in shown
    shuffledp(
        "task new plan.json --window 3600 --max-age 7200 --shuffler Alpha --analyzer Beta --honest-fraction 1 "
        "--release-margin 0 -o task.json"
    )
    prepared(tmp_path, Task.from_document(json.loads((tmp_path / "task.json").read_text())), SHUFFLER)
    (tmp_path / "people.csv").write_text("hours\n" + "".join(f"{j / 10}\n" for j in range(80)) + "NA\n12\nNA\n")
    with running(tmp_path, "--processes 1") as server:
        to = f"--url {server.url} --analyzer-keys analyzer.pub.json"
        early = called(f"shuffler close task.json --url {server.url} --token operator.token", cwd=tmp_path)
        assert_refused(early, "so it stays open). Wait for more reports, or for the window to end.")
        simulate = f"simulate-clients task.json people.csv --column hours --outside clamp {to}"
        refused = called(simulate, cwd=tmp_path)
        assert_refused(refused, "in data row 81 the value is missing. Use --missing skip or --missing-as VALUE.")
        sent = json.loads(shuffledp(f"{simulate} --missing skip --json"))
        assert sent == {"outcomes": {"accepted": 81}, "rejected": {"missing": 2}, "adjusted": {"clamped": 1}}
        shuffledp(f"shuffler close task.json --url {server.url} --token operator.token")
        run = f"analyzer run task.json --url {server.url} --token analyzer.token --keys analyzer.key"
        text = shuffledp(f"{run} --report page.html -o result.json")
    result = json.loads((tmp_path / "result.json").read_text())
    quantiles = result["derived"]["quantiles"]
    assert [one["share"] for one in quantiles] == [0.25, 0.5, 0.75]
    assert all(0 <= one["interval"][0] <= one["value"] <= one["interval"][1] <= 10 for one in quantiles)
    assert result["n"] == 81
    assert len(result["estimate"]["value"]) == 1023
    assert text.startswith("quantile  estimate")
    assert "<th" in (page := (tmp_path / "page.html").read_text())
    assert "The share of users below each number." in page
