"""Title, question and unit: said once in the plan, read wherever its answer is."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from oracles.node import node
from oracles.page import Page
from oracles.parties import PARTIES
from oracles.process import called
from shuffledp import InvalidInput, KeyedRandomness, Plan, plan, run
from shuffledp.core.canonical import digest
from shuffledp.figures.result_page import page
from shuffledp.figures.result_picture import picture
from shuffledp.service.task import Task

TITLE, QUESTION, UNIT = "Getting to work", "How long did you travel today, & why <so>?", "minutes"
NUMBERS = [float(j % 90) for j in range(4000)]


@pytest.fixture(scope="module")
def worded() -> Plan:
    return plan("mean", n=3000, epsilon=1.0, delta=1e-6, high=90).worded(title=TITLE, question=QUESTION, unit=UNIT)


def texts(drawing: bytes) -> str:
    return "\n".join(one.text or "" for one in ET.fromstring(drawing).iter("{http://www.w3.org/2000/svg}text"))


def test_the_picture_and_the_page_say_it(worded: Plan) -> None:
    result = run(worded, NUMBERS, randomness=KeyedRandomness.seeded(1)).document()
    drawn, shown = texts(picture(result, "svg")), Page(page(result))
    for text in (TITLE, QUESTION, "Mean of the users' values (minutes), each from 0 to 90"):
        assert text in drawn
        assert text in shown.text
    assert "<so>" not in page(result)


def test_without_it_nothing_is_said() -> None:
    plain = plan("mean", n=3000, epsilon=1.0, delta=1e-6, high=90)
    assert "wording" not in plain.document()
    assert run(plain, NUMBERS, randomness=KeyedRandomness.seeded(1)).document()["wording"] == dict.fromkeys(
        ("title", "question", "unit")
    )


def test_bins_have_the_unit_and_a_scale_keeps_its_order() -> None:
    """Up to seven names may be a scale; of more, the largest come first. Numbers always keep their order."""
    scale = ["never", "rarely", "sometimes", "often", "always"]
    for labels, largest_first in (
        (scale, False),
        ([f"town {j}" for j in range(9)], True),
        ([*map(str, range(11, 20))], False),
    ):
        asked = plan("histogram", labels=labels, n=3000, epsilon=1.0, delta=1e-6).worded(unit="times a week")
        values = [label for j, label in enumerate(labels) for _ in range(400 + 300 * j)]
        drawn = texts(picture(run(asked, values, randomness=KeyedRandomness.seeded(1)).document(), "svg")).splitlines()
        order = [text for text in drawn if text in labels]
        assert order[: len(labels)] == (labels[::-1] if largest_first else labels)
        assert "times a week" in drawn


def test_commands_carry_it_from_the_plan_to_the_answer(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("x\n" + "\n".join(f"{x}" for x in NUMBERS) + "\n")
    asked = ["plan", "mean", "--high", "90", "--n", "3000", "--epsilon", "1", "--delta", "1e-6"]
    said = ["--title", TITLE, "--question", QUESTION, "--unit", UNIT]
    planned = called([*asked, *said, "-o", "plan.json"], cwd=tmp_path)
    assert planned.stdout.splitlines()[:2] == [TITLE, QUESTION]
    answered = called(["run", "plan.json", "people.csv", "--column", "x"], cwd=tmp_path)
    assert answered.stdout.splitlines()[:3] == [TITLE, QUESTION, ""]
    rounds = called([*asked, "--rounds", "2", "--title", TITLE, "--json"], cwd=tmp_path)
    assert json.loads(rounds.stdout)["wording"] == {"title": TITLE}


@pytest.mark.parametrize("bad", ["two\nlines", "x" * 301, " around ", "\x1b[31m", 7])
def test_what_is_no_line_of_text_is_refused(worded: Plan, bad: Any) -> None:
    with pytest.raises(InvalidInput, match="one line of at most 300 characters"):
        worded.worded(title=bad)


@pytest.mark.parametrize("wording", [{}, {"title": ""}, {"colour": "red"}, {"title": 1}, "title", None])
def test_a_plan_with_another_wording_is_refused(worded: Plan, wording: Any) -> None:
    document = worded.promise() | {"wording": wording}
    document["sha256"] = digest({key: value for key, value in document.items() if key != "sha256"})
    with pytest.raises(InvalidInput):
        Plan.from_document(document)


def test_it_is_part_of_what_parties_agree_on(worded: Plan) -> None:
    """Both clients read the same task; with another question it is another task."""
    assert Plan.from_document(worded.document()) == worded
    assert worded.worded(question="What do you earn?").sha256 != worded.sha256
    task = Task(plan=worded, window=60, max_age=60, **PARTIES)
    script = """
      import { verifyTask } from "./src/task.js";
      let text = ""; for await (const part of process.stdin) text += part;
      const { id, documents } = JSON.parse(text);
      for (const document of documents) {
        const { taskId } = await import("./src/task.js");
        await verifyTask(document, id ?? await taskId(document)).then(() => console.log("taken"), (e) => console.log(e.message));
      }
    """
    good = task.document()
    bad = [good | {"plan": good["plan"] | {"wording": wording}} for wording in ({}, {"colour": "red"}, {"title": 1}, 5)]
    answer = node("--input-type=module", "-e", script, given=json.dumps({"documents": [good, *bad]}))
    lines = answer.stdout.splitlines()
    assert lines[0] == "taken", answer.stderr
    assert all(line.startswith("this is not a task") for line in lines[1:])
    assert len(lines) == 5
