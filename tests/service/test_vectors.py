"""The vectors that are shipped for clients in other languages, reproduced by this package."""

import base64
import json
from collections.abc import Mapping
from importlib import resources
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from shuffledp import InvalidInput
from shuffledp.core.canonical import canonical
from shuffledp.core.randomness import Bytes, Lane, Words
from shuffledp.protocols import registry
from shuffledp.protocols.deployable import Deployable
from shuffledp.protocols.one_message import OneMessage
from shuffledp.randomizers.poisson import capped_poisson
from shuffledp.service.sealing.hpke import info, unseal
from shuffledp.service.sealing.keys import KeyRing, PrivateKey, fingerprint
from shuffledp.service.task import Task
from shuffledp.service.wire.bundle import bundled, is_bundle
from shuffledp.service.wire.record import decode_message, record_length, report_id

VECTORS = json.loads(resources.files("shuffledp.service.wire").joinpath("vectors.json").read_text(encoding="utf-8"))


class RecordedWords:
    """The words of a vector, and no others."""

    private = False

    def __init__(self, vector: Mapping[str, Any]) -> None:
        self._lanes, self._draws = dict(vector["bytes"]), dict(vector["blocks"])
        self._words = dict(vector.get("words", {}))

    def reserve(self) -> None:
        """They are not for releases."""

    def stream(self, first_row: int, count: int, lane: Lane) -> Bytes:
        if count == 4:
            return np.frombuffer(bytes.fromhex(self._words.pop(str(lane)))[::-1], dtype=np.uint8)
        return np.array([self._lanes.pop(str(lane))], dtype=np.uint8)

    def blocks(self, rows: Words, draw: int) -> Words:
        randomness = [[int(word, 16) for word in self._draws.pop(str(draw))] for _ in rows]
        return np.array(randomness, dtype="<u8").reshape(-1, 2)

    @property
    def used_up(self) -> bool:
        return not self._lanes and not self._draws and not self._words


def protocol_of(document: Mapping[str, Any]) -> OneMessage:
    found = registry.from_document(document)
    assert isinstance(found, OneMessage)
    return found


def test_canonical_forms() -> None:
    for case in VECTORS["canonical"]:
        if case["canonical"] is None:
            with pytest.raises(InvalidInput):
                canonical(json.loads(case["json"]))
        else:
            assert canonical(json.loads(case["json"])).decode() == case["canonical"]


def test_task_ids() -> None:
    for case in VECTORS["tasks"]:
        assert Task.from_document(case["document"]).id == case["id"]


def test_fingerprints() -> None:
    for key in VECTORS["keys"]:
        point = X25519PrivateKey.from_private_bytes(bytes.fromhex(key["private"])).public_key().public_bytes_raw()
        assert base64.b64encode(point).decode() == key["public"]
        assert fingerprint(key["role"], key["key_id"], point).hex() == key["fingerprint"]


def test_randomization_from_recorded_words() -> None:
    assert len(VECTORS["randomization"]) >= 60
    for case in VECTORS["randomization"]:
        randomness, protocol = RecordedWords(case), protocol_of(case["protocol"])
        symbols = protocol.encode(protocol.domain.clean([case["value"]]).values, randomness, first_row=0)
        message = protocol.randomizer.randomize(symbols, randomness, first_row=0)
        assert (symbols.tolist(), message.tolist()) == ([case["symbol"]], [case["message"]])
        assert randomness.used_up


def test_values_outside_the_domain_are_refused() -> None:
    for case in VECTORS["refused"]:
        with pytest.raises(InvalidInput):
            protocol_of(case["protocol"]).domain.clean([case["value"]])


def test_every_layer_opens_to_the_one_inside() -> None:
    hops = set()
    for case in VECTORS["sealing"]:
        hops.add(len(case["layers"]) - 1)
        for layer in case["layers"]:
            record = bytes.fromhex(layer["record"])
            private = X25519PrivateKey.from_private_bytes(bytes.fromhex(layer["private"]))
            key = PrivateKey(key_id=layer["key_id"], state="ACTIVE", private=private)
            ring = KeyRing(role=layer["role"], keys=(key,))
            assert info(layer["role"], layer["hop"], record[:7], case["task_id"], key.point).hex() == layer["info"]
            assert unseal(record, ring, case["task_id"], hop=layer["hop"]) == bytes.fromhex(layer["plaintext"])
            assert report_id(record).hex() == layer["report_id"]
        assert decode_message(bytes.fromhex(case["layers"][0]["plaintext"]), 2**32) == case["message"]
    assert hops == {1, 2, 3}


def test_dummies_from_recorded_words() -> None:
    for case in (*VECTORS["dummies"], *VECTORS["digits"]):
        protocol, randomness = registry.from_document(case["protocol"]), RecordedWords(case)
        assert isinstance(protocol, Deployable)
        values = protocol.domain.clean([case["value"]]).values
        assert protocol.of_user(protocol.randomize(values, randomness, first_row=0)) == case["messages"]
        assert randomness.used_up
    for law in VECTORS["poisson"]:
        assert [f"{step:032x}" for step in capped_poisson(law["dummies"]).thresholds] == law["thresholds"]


def test_true_messages_without_any_words() -> None:
    for case in VECTORS["truths"]:
        protocol = registry.from_document(case["protocol"])
        assert isinstance(protocol, Deployable)
        values = protocol.domain.clean([case["value"]]).values
        sent = protocol.of_user(protocol.randomize(values, RecordedWords({"bytes": {}, "blocks": {}}), first_row=0))
        assert sent == [case["message"]]


def test_rows_from_recorded_words() -> None:
    for case in VECTORS["rows"]:
        protocol, randomness = registry.from_document(case["protocol"]), RecordedWords(case)
        assert isinstance(protocol, Deployable)
        values = protocol.domain.clean([case["value"]]).values
        sent = protocol.of_user(protocol.randomize(values, randomness, first_row=0))
        assert [str(message) for message in sent] == case["messages"]
        assert randomness.used_up


def test_bundles_are_taken_or_refused() -> None:
    for case in VECTORS["bundles"]:
        bundle = bytes.fromhex(case["bundle"])
        records = [bytes.fromhex(part["record"]) for part in case["sealed"]]
        assert bundle == bundled(records, case["slots"], bytes.fromhex(case["salt"]))
        assert is_bundle(bundle)
        assert len(bundle) == record_length(1, case["slots"])
        assert report_id(bundle).hex() == case["report_id"]
        assert case["messages"] == sorted(case["messages"])
        for part, message in zip((*case["sealed"], case["layer"]), (*case["messages"], None), strict=True):
            private = X25519PrivateKey.from_private_bytes(bytes.fromhex(part["private"]))
            ring = KeyRing(
                role=part["role"], keys=(PrivateKey(key_id=part["key_id"], state="ACTIVE", private=private),)
            )
            inside = unseal(bytes.fromhex(part["record"]), ring, case["task_id"], hop=part["hop"])
            assert inside == bytes.fromhex(part["plaintext"])
            assert inside == bundle if message is None else decode_message(inside, 2**32) == message
    for case in VECTORS["refused_bundles"]:
        bundle = bytes.fromhex(case["bundle"])
        assert len(bundle) != record_length(1, case["slots"]) or not is_bundle(bundle), case["why"]
