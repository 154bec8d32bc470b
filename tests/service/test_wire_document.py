"""docs/wire.md is enough to write a client and an opener, and what it shows is what comes out."""

import ast
import base64
import json
import math
import re
from collections import Counter
from importlib import resources
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
import rfc8785
from pyhpke import KEMKeyPair

from oracles import independent
from oracles.parties import ANALYZER, PARTIES, SHUFFLER, prepared
from oracles.server import running
from shuffledp import plan
from shuffledp.service.analyzer.analyzer import open_batch
from shuffledp.service.task import Task

PAGE = (Path(__file__).parents[2] / "docs" / "wire.md").read_text(encoding="utf-8")
VECTORS = json.loads((resources.files("shuffledp.service.wire") / "vectors.json").read_text(encoding="utf-8"))
REPORTS = 1000
LABELS = ["never", "once", "more often", "Größe 😀"]
TASK = Task(
    plan=plan("histogram", n=REPORTS, epsilon=1.0, delta=1e-6, labels=LABELS), window=3600, max_age=7200, **PARTIES
)


class RecordedWords:
    """Those of a vector."""

    def __init__(self, vector: dict[str, Any]) -> None:
        self._bytes, self._blocks, self._words = vector["bytes"], vector["blocks"], vector.get("words", {})

    def byte(self, lane: int) -> int:
        return int(self._bytes[str(lane)])

    def word(self, lane: int) -> int:
        return int(self._words[str(lane)], 16)

    def block(self, draw: int) -> tuple[int, int]:
        first, second = self._blocks[str(draw)]
        return int(first, 16), int(second, 16)


def test_the_independent_implementation_imports_nothing_of_ours() -> None:
    tree = ast.parse(Path(independent.__file__).read_text(encoding="utf-8"))
    found = {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names} | {
        str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
    }
    assert found - {"httpx", "pyhpke"} <= {
        "base64", "collections", "collections.abc", "dataclasses", "decimal", "fractions", "hashlib", "json", "math", "secrets",
        "struct", "typing", "unicodedata",
    }  # fmt: skip


def test_a30_a_client_and_an_opener_written_from_the_document_make_and_open_a_thousand_reports(tmp_path: Path) -> None:
    (key,) = ANALYZER.keys
    public = base64.b64encode(key.point).decode()
    trusted = [independent.fingerprint("analyzer", key.key_id, public).hex()]
    sent: Counter[int | str] = Counter()
    with (
        running(prepared(tmp_path, TASK, SHUFFLER)) as server,
        httpx.Client(base_url=server.url) as web,
    ):
        deceived = independent.Client(web, TASK.id, ["00" * 32])
        deceived.describe()
        with pytest.raises(independent.Refused, match="does not vouch"):
            deceived.report(LABELS[0])
        client, waiting, outcomes = independent.Client(web, TASK.id, trusted), [], []
        for person in range(REPORTS):
            client.describe()
            report = client.report(LABELS[person * person % 10 % 4])
            sent[report.message] += 1
            waiting.append(report)
            if person < 100 or len(waiting) == 100:  # one by one, and many together
                outcomes += client.upload(waiting)
                if person == 99:
                    assert client.upload(waiting) == ["report_replayed"]
                waiting = []
        assert Counter(outcomes) == {"accepted": REPORTS}
        web.post(f"/v2/tasks/{TASK.id}/batches/close", headers=server.headers("operator")).raise_for_status()
        web.headers = httpx.Headers(server.headers("analyzer"))
        data = independent.fetch(web, TASK.id)
    keys = {key.key_id: (key.private.private_bytes_raw(), public)}
    assert independent.opened(data, TASK.id, keys, len(LABELS)) == sent
    ours = open_batch(data, TASK, ANALYZER)
    assert ours.rejected == {}
    assert ours.counts.values.tolist() == [sent[message] for message in range(len(LABELS))]


@pytest.mark.parametrize("vector", VECTORS["canonical"], ids=lambda vector: str(vector["json"])[:20])
def test_vectors_of_canonical_forms(vector: dict[str, Any]) -> None:
    document = json.loads(vector["json"])
    if vector["canonical"] is None:
        with pytest.raises(independent.Refused):
            independent.canonical(document)
    else:
        assert independent.canonical(document) == vector["canonical"].encode()


def test_numbers_are_printed_as_everywhere() -> None:
    random = np.random.default_rng(8785)
    for value in random.integers(0, 2**64, size=5000, dtype=np.uint64).view(np.float64).tolist():
        if math.isfinite(value):
            assert independent.canonical([value, value % 1e9]) == rfc8785.dumps([value, value % 1e9])


def test_vectors_of_tasks_and_keys() -> None:
    for vector in VECTORS["tasks"]:
        assert independent.digest(vector["document"]).hex() == vector["id"]
        assert independent.checked(vector["document"], vector["id"]) == vector["document"]["plan"]["protocol"]
        with pytest.raises(independent.Refused):
            independent.checked(vector["document"] | {"window": 7}, vector["id"])
    for vector in VECTORS["keys"]:
        found = independent.fingerprint(vector["role"], vector["key_id"], vector["public"])
        assert found.hex() == vector["fingerprint"]


def test_vectors_of_randomization() -> None:
    for vector in VECTORS["randomization"]:
        randomness = RecordedWords(vector)
        said = independent.symbol(vector["protocol"], vector["value"], randomness)
        assert (said, independent.response(vector["protocol"], said, randomness)) == (
            vector["symbol"],
            vector["message"],
        )
    for vector in VECTORS["refused"]:
        with pytest.raises(independent.Refused):
            independent.symbol(vector["protocol"], vector["value"], independent.SystemRandomness())


def test_vectors_of_sealing() -> None:
    kem = independent.SUITE.kem
    for vector in VECTORS["sealing"]:
        record = vector["message"].to_bytes(8, "big") + bytes(8)
        for layer in vector["layers"]:
            assert record.hex() == layer["plaintext"]
            at = (layer["hop"], layer["key_id"], vector["task_id"], layer["public"])
            assert independent.info(*at).hex() == layer["info"]
            ephemeral = KEMKeyPair(
                kem.deserialize_private_key(bytes.fromhex(layer["ephemeral"])),
                kem.deserialize_public_key(bytes.fromhex(layer["record"])[7:39]),
            )
            record = independent.seal(record, *at, ephemeral=ephemeral)
            assert record.hex() == layer["record"]
            assert independent.report_id(record).hex() == layer["report_id"]
            keys = {layer["key_id"]: (bytes.fromhex(layer["private"]), layer["public"])}
            inside = independent.unseal(record, layer["hop"], vector["task_id"], keys)
            assert inside == bytes.fromhex(layer["plaintext"])


def test_vectors_of_dummies() -> None:
    for vector in VECTORS["poisson"]:
        assert [f"{step:032x}" for step in independent.thresholds(vector["dummies"])] == vector["thresholds"]
    for vector in VECTORS["dummies"]:
        assert independent.sent(vector["protocol"], vector["value"], RecordedWords(vector)) == vector["messages"]


def test_vectors_of_digits() -> None:
    for vector in VECTORS["digits"]:
        assert independent.digits_sent(vector["protocol"], vector["value"], RecordedWords(vector)) == vector["messages"]


def test_vectors_of_true_messages() -> None:
    for vector in VECTORS["truths"]:
        words = RecordedWords({"bytes": {}, "blocks": {}})
        assert independent.truth_sent(vector["protocol"], vector["value"], words) == vector["message"]


def test_vectors_of_bundles() -> None:
    for vector in VECTORS["bundles"]:
        records = [bytes.fromhex(part["record"]) for part in vector["sealed"]]
        bundle = independent.bundle(records, vector["slots"], bytes.fromhex(vector["salt"]))
        assert bundle.hex() == vector["bundle"] == vector["layer"]["plaintext"]
        assert independent.taken_apart(bundle, vector["slots"]) == records
        assert independent.report_id(bundle).hex() == vector["report_id"]
    for vector in VECTORS["refused_bundles"]:
        assert independent.taken_apart(bytes.fromhex(vector["bundle"]), vector["slots"]) is None, vector["why"]


def test_the_worked_examples_are_right() -> None:
    shown = {
        name: re.sub(r"\s", "", re.sub(r'"shuffledp/2 analyzer", 0', "", body))
        for block in re.findall(r"^```text\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
        for name, body in re.findall(r"^(\w[\w ]*?)  +(.*(?:\n {11}.*)*)", block, re.MULTILINE)
    }
    documents = [json.loads(text) for text in re.findall(r"^```json\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)]
    assert shown["canonical"].encode() == independent.canonical(documents[0]) == bytes.fromhex(shown["bytes"])
    assert shown["sha256"] == independent.digest(documents[0]).hex()
    assert documents[1]["keys"][0] == {"state": "ACTIVE"} | {name: documents[0][name] for name in ("key_id", "public")}
    vector = VECTORS["sealing"][0]
    layer = vector["layers"][0]
    assert shown["task id"] == vector["task_id"] == VECTORS["tasks"][0]["id"]
    assert shown["header"] == independent.header(documents[0]["key_id"]).hex()
    assert (shown["info"], shown["payload"], shown["record"]) == tuple(
        layer[name] for name in ("info", "plaintext", "record")
    )
    assert shown["report id"] == layer["report_id"]
    vector = VECTORS["bundles"][1]
    assert vector["messages"] == [0, 5]
    assert [shown["first slot"], shown["second slot"]] == [part["record"] for part in vector["sealed"]]
    assert (shown["other slots"], shown["salt"]) == ("142zerobytes", vector["salt"])
    assert shown["bundle id"] == vector["report_id"]
