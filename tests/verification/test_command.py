"""`shuffledp verify` on the command line: what it prints is what was proved, whatever a document says."""

import json
from pathlib import Path
from typing import Any

import pytest

from oracles.forgery import resealed
from oracles.process import called
from shuffledp import plan, run, verify

MADE = plan("histogram", n=60, labels=["a", "b"], epsilon=2.0, delta=1e-2).worded(title="Letters")
RESULT = json.loads(json.dumps(run(MADE, ["a", "b"] * 40).document()))
ESCAPES = "\x1b[2K\rproved: (0.01, 1e-12)-differentially private\x9b\u202e\u2028\nplan.json: confirmed"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "plan.json").write_text(json.dumps(MADE.document()))
    (tmp_path / "result.json").write_text(json.dumps(RESULT))
    return tmp_path


def test_what_was_proved_is_printed_and_what_was_not(place: Path) -> None:
    shown = called("verify plan.json result.json", cwd=place)
    assert shown.returncode == 0, shown.stdout
    documents = [json.loads((place / name).read_text()) for name in ("plan.json", "result.json")]
    expected = []
    for name, document in zip(("plan.json", "result.json"), documents, strict=True):
        found = verify(document, beside=documents)
        expected += [f"{name}: confirmed: {found.reason}"]
        expected += [f"  proved: {one}" for one in found.proved]
        assert found.certificate is not None
        expected += [f"  randomizer: {json.dumps(found.certificate.randomizer)}"]
        expected += [f"  not proved: {one}" for one in found.unproved]
        assert found.proved
        assert found.unproved
    assert shown.stdout.splitlines() == expected
    told = json.loads(called("verify plan.json result.json --json", cwd=place).stdout)["results"]
    assert [f"  proved: {line}" for one in told for line in one["proved"]] == [
        line for line in expected if line.startswith("  proved")
    ]
    assert [f"  not proved: {line}" for one in told for line in one["not_proved"]] == [
        line for line in expected if line.startswith("  not proved")
    ]
    alone = called("verify result.json", cwd=place)
    assert "give the plan as well" in alone.stdout
    assert "give the plan as well" not in shown.stdout


def test_a_claim_that_is_not_proved_is_not_printed_as_one(place: Path) -> None:
    edited = json.loads(json.dumps(RESULT))
    edited["guarantee"]["realised_epsilon"] *= 0.5
    (place / "result.json").write_text(json.dumps(edited))
    shown = called("verify result.json --json", cwd=place)
    told = json.loads(shown.stdout)["results"][0]
    assert (shown.returncode, told["verdict"]) == (3, "refused")
    false = told["claims"][1]
    assert false in told["not_proved"]
    assert false not in told["proved"]
    lines = called("verify result.json", cwd=place).stdout.splitlines()
    assert f"  not proved: {false}" in lines
    bound = next(line for line in lines if "delta <=" in line).split("<= ")[1]
    assert float(bound) >= told["delta_proved"]  # rounded up


def edits() -> dict[str, Any]:
    """Documents with escape sequences in every text, sealed again."""
    honest = json.loads(json.dumps(MADE.document()))

    def worded(document: Any, place: str) -> Any:
        copied = json.loads(json.dumps(document))
        *path, last = place.split(".")
        inside = copied
        for name in path:
            inside = inside[name]
        inside[last] = [ESCAPES] if isinstance(inside[last], list) else ESCAPES
        return resealed(copied)

    of_result = (
        "question measure notes plan trust task wording.title guarantee.unit guarantee.bound guarantee.adjacency"
    )
    of_plan = "wording.title guarantee.adjacency guarantee.bound protocol.kind"
    of_certificate = "statement bound claim.assumes made_with.shuffledp claim.adjacency"
    documents = {of_result: RESULT, of_plan: honest, of_certificate: honest["certificate"]}
    found = {place: worded(document, place) for places, document in documents.items() for place in places.split()}
    found["field"] = RESULT | {ESCAPES: 1}
    found["reason"] = RESULT | {"rejected": {ESCAPES: 0}}
    return found


def test_nothing_that_a_document_says_steers_the_terminal(place: Path) -> None:
    for what, document in edits().items():
        (place / "edited.json").write_text(json.dumps(document))
        for command in ("verify edited.json", "verify edited.json plan.json"):
            shown = called(command, cwd=place)
            assert shown.returncode in (0, 3), (what, shown.stderr)
            for text in (shown.stdout, shown.stderr):
                assert all(letter.isprintable() or letter == "\n" for letter in text), (what, text)
            lines = shown.stdout.splitlines()
            assert not any(line.lstrip().startswith("proved: (0.01,") for line in lines), what
            assert sum(line.startswith("plan.json:") for line in lines) == command.count("plan.json"), what


def test_a_name_of_a_file_does_not_either(place: Path) -> None:
    name = "x\x1b[2K\nplan.json: confirmed"
    (place / name).write_text("{}")
    shown = called(["verify", name], cwd=place)
    assert (shown.returncode, "\x1b" in shown.stdout, len(shown.stdout.splitlines())) == (3, False, 1)
