"""Tasks, records and keys: one length, bound to the task, opened by others' software too."""

import json
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from pyhpke import AEADId, CipherSuite, KDFId, KEMId, KEMKey

from oracles.parties import PARTIES
from shuffledp import InvalidInput, KeyedRandomness, plan
from shuffledp.service.client.client import messages_of
from shuffledp.service.sealing.hpke import info, seal, seal_message, unseal
from shuffledp.service.sealing.keys import ROLES, KeyList, KeyRing, PrivateKey, PublicKey
from shuffledp.service.task import Task
from shuffledp.service.wire.record import Header, decode_message, encode_message, record_length, report_id, split

PLAN = plan("histogram", n=1000, epsilon=1.0, delta=1e-6, labels=[f"answer {j}" for j in range(16)])
TASK = Task(plan=PLAN, window=60, max_age=3600, **PARTIES)
SHUFFLER, ANALYZER = KeyRing.fresh("shuffler"), KeyRing.fresh("analyzer")
VECTORS = json.loads((Path(__file__).parents[1] / "golden" / "hpke.json").read_text())


def opened(sealed: bytes, task: Task = TASK) -> bytes | str:
    inner = unseal(sealed, SHUFFLER, task.id)
    return unseal(inner, ANALYZER, task.id) if isinstance(inner, bytes) and len(inner) > 30 else inner


def test_round_trip() -> None:
    sealed = seal_message(11, TASK, ANALYZER.public(), [SHUFFLER.public()])
    payload = opened(sealed)
    assert isinstance(payload, bytes)
    assert decode_message(payload, 16) == 11
    assert len(sealed) == record_length(2) == 126
    assert record_length(1) == 71


def test_roles_and_hops_cannot_be_exchanged() -> None:
    key = PrivateKey(key_id=0, state="ACTIVE", private=X25519PrivateKey.generate())
    rings = [KeyRing(role=role, keys=(key,)) for role in ROLES]
    record = seal(encode_message(1), key.public(), "shuffler", TASK.id)
    assert isinstance(unseal(record, rings[0], TASK.id), bytes)
    assert unseal(record, rings[1], TASK.id) == "decrypt_error"
    assert unseal(record, rings[0], TASK.id, hop=2) == "decrypt_error"
    two = replace(TASK, shufflers=("Alpha", "Gamma"))
    outer = KeyRing.fresh("shuffler")
    sealed = seal_message(5, two, ANALYZER.public(), [SHUFFLER.public(), outer.public()])
    assert len(sealed) == record_length(3)
    middle = unseal(sealed, outer, two.id, hop=2)
    assert isinstance(middle, bytes)
    inner = unseal(middle, SHUFFLER, two.id)
    assert isinstance(inner, bytes)
    payload = unseal(inner, ANALYZER, two.id)
    assert isinstance(payload, bytes)
    assert decode_message(payload, 16) == 5
    with pytest.raises(InvalidInput, match="2 shufflers"):
        seal_message(5, two, ANALYZER.public(), [SHUFFLER.public()])


def test_any_flipped_bit_is_refused() -> None:
    sealed = seal_message(3, TASK, ANALYZER.public(), [SHUFFLER.public()])
    for bit in range(8 * len(sealed)):
        broken = bytearray(sealed)
        broken[bit // 8] ^= 1 << bit % 8
        assert unseal(bytes(broken), SHUFFLER, TASK.id) in ("decrypt_error", "invalid_message", "outdated_config")


# Interoperability


def suite() -> CipherSuite:
    return CipherSuite.new(KEMId.DHKEM_X25519_HKDF_SHA256, KDFId.HKDF_SHA256, AEADId.AES128_GCM)


def test_a22_the_other_library_passes_the_vector_of_rfc_9180() -> None:
    vector = {name: bytes.fromhex(value) for name, value in VECTORS["rfc9180_a1"].items()}
    key = KEMKey.from_pyca_cryptography_key(X25519PrivateKey.from_private_bytes(vector["skRm"]))
    context = suite().create_recipient_context(vector["enc"], key, info=vector["info"])
    assert context.open(vector["ct"], aad=vector["aad"]) == vector["pt"]


def test_a22_both_libraries_open_each_others_records() -> None:
    private = SHUFFLER.keys[0].private
    record = seal(b"sixteen bytes ok", SHUFFLER.public().active, "shuffler", TASK.id)
    key = KEMKey.from_pyca_cryptography_key(private)
    context = suite().create_recipient_context(
        record[7:39], key, info=info("shuffler", 1, record[:7], TASK.id, SHUFFLER.keys[0].point)
    )
    assert context.open(record[39:]) == b"sixteen bytes ok"
    header = Header(0).encode()
    public = KEMKey.from_pyca_cryptography_key(X25519PublicKey.from_public_bytes(SHUFFLER.public().active.public))
    encapsulated, sender = suite().create_sender_context(
        public, info=info("shuffler", 1, header, TASK.id, SHUFFLER.keys[0].point)
    )
    theirs = header + encapsulated + sender.seal(b"another 16 bytes")
    assert unseal(theirs, SHUFFLER, TASK.id) == b"another 16 bytes"


@pytest.mark.parametrize("vector", VECTORS["records"], ids=lambda v: v["name"])
def test_a22_frozen_records_still_open(vector: dict[str, Any]) -> None:
    """Records sealed by the first version of this format: they must open, or fail in the same way, for ever."""
    ring = KeyRing(
        role=vector["role"],
        keys=(
            PrivateKey(
                key_id=vector["key_id"],
                state="ACTIVE",
                private=X25519PrivateKey.from_private_bytes(bytes.fromhex(vector["private"])),
            ),
        ),
    )
    found = unseal(bytes.fromhex(vector["record"]), ring, vector["task_id"], hop=vector["hop"])
    assert (found.hex() if isinstance(found, bytes) else found) == vector["plaintext"]


# Tasks


def test_a_task_survives_its_file_and_two_parties_agree_on_its_name() -> None:
    again = Task.from_document(json.loads(json.dumps(TASK.document())))
    assert again == TASK
    assert again.id == TASK.id
    assert len(TASK.id) == 64


@pytest.mark.parametrize(
    "wrong",
    [
        {"window": 0}, {"window": "60"}, {"window": 4000}, {"max_age": 10**9}, {"shufflers": ()}, {"shufflers": "Alpha"},
        {"shufflers": ("Alpha", "alpha")},
        {"honest_fraction": 0.0}, {"honest_fraction": 0.99}, {"honest_fraction": "1"}, {"release_margin": -1},
        {"on_expiry": "keep"},
        {"shufflers": ("beta ",)}, {"shufflers": ("",)}, {"analyzer": 5}, {"allow_same_operator": 1},
    ],
)  # fmt: skip
def test_bad_terms(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        replace(TASK, **wrong)


@pytest.mark.parametrize("wrong", [{"version": 1}, {"extra": 1}, {"plan": {}}, {"window": None}])
def test_bad_documents(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        Task.from_document(TASK.document() | wrong)
    with pytest.raises(InvalidInput):
        Task.from_document({k: v for k, v in TASK.document().items() if k not in wrong} if "extra" not in wrong else [])


def test_trust_is_stated() -> None:
    assert "Alpha runs the shuffler and Beta the analyzer" in TASK.trust
    same = replace(TASK, analyzer="Alpha", allow_same_operator=True)
    assert "only each report's own randomization protects (epsilon0 = " in same.trust
    two = replace(TASK, shufflers=("Alpha", "Gamma"))
    assert "if the first shuffler follows the protocol" in two.trust
    assert "1,000 of any 1,000 reports (100 %)" in TASK.trust


# Keys


def test_rotation() -> None:
    ring = KeyRing.fresh("shuffler").introduced()
    assert [key.state for key in ring.keys] == ["ACTIVE", "PENDING"]
    early = seal(bytes(16), ring.public().keys[1], "shuffler", TASK.id)
    assert unseal(early, ring, TASK.id) == "outdated_config"
    before = seal(bytes(16), ring.public().active, "shuffler", TASK.id)
    ring = ring.rotated()
    assert [key.state for key in ring.keys] == ["EXPIRED", "ACTIVE"]
    assert ring.public().active.key_id == 1
    assert unseal(before, ring, TASK.id) == bytes(16)
    assert unseal(early, ring, TASK.id) == bytes(16)
    with pytest.raises(InvalidInput, match="not an expired key"):
        ring.destroyed(1)
    ring = ring.destroyed(0)
    assert unseal(before, ring, TASK.id) == "outdated_config"
    for _ in range(300):
        ring = ring.rotated()
        ring = ring.destroyed(ring.keys[0].key_id)
    assert len(ring.keys) == 1


def test_key_files(tmp_path: Path) -> None:
    path = tmp_path / "shuffler.key"
    SHUFFLER.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert KeyRing.load(path).public() == SHUFFLER.public()
    assert KeyList.from_document(json.loads(json.dumps(SHUFFLER.public().document()))) == SHUFFLER.public()
    path.chmod(0o644)
    with pytest.raises(InvalidInput, match="others can read"):
        KeyRing.load(path)
    path.write_text('{"role": "shuffler", "keys": [{"key_id": 0, "state": "ACTIVE", "private": "c2VjcmV0"}]}')
    path.chmod(0o600)
    with pytest.raises(InvalidInput, match="not a key file") as refused:
        KeyRing.load(path)
    assert "c2VjcmV0" not in str(refused.value)
    with pytest.raises(InvalidInput, match="cannot read"):
        KeyRing.load(tmp_path / "nowhere.key")
    with pytest.raises(InvalidInput, match="cannot write"):
        SHUFFLER.save(tmp_path / "nowhere" / "x.key")


@pytest.mark.parametrize(
    "document",
    [{}, [], None, {"role": "shuffler"}, {"role": "pirate", "keys": []}, {"role": "shuffler", "keys": [{"key_id": 300}]},
     {"role": "shuffler", "keys": [{"key_id": 0, "state": "ACTIVE", "public": "AA=="}]},
     {"role": "shuffler", "keys": [{"key_id": 0, "state": "BROKEN", "public": "AA=="}]}],
)  # fmt: skip
def test_bad_key_lists(document: Any) -> None:
    with pytest.raises(InvalidInput):
        KeyList.from_document(document)


def test_a_private_key_is_never_shown() -> None:
    secret = SHUFFLER.keys[0].private.private_bytes_raw()
    assert secret.hex() not in repr(SHUFFLER)
    assert "private=" not in repr(SHUFFLER.keys[0])
    assert PublicKey(key_id=1, state="EXPIRED", public=bytes(32)) not in SHUFFLER.public().keys
    with pytest.raises(InvalidInput, match="no active key"):
        KeyList(role="shuffler", keys=()).active  # noqa: B018


# Clients' messages


def test_messages_are_randomized_values_of_the_plan() -> None:
    messages = [messages_of(TASK, "answer 3")[0] for _ in range(300)]
    assert set(messages) <= set(range(16))
    assert messages.count(3) > 150
    assert messages_of(TASK, "answer 3", KeyedRandomness.seeded(1)) == messages_of(
        TASK, "answer 3", KeyedRandomness.seeded(1)
    )
    with pytest.raises(InvalidInput) as refused:
        messages_of(TASK, "s3cr3t")
    assert "s3cr3t" not in str(refused.value)
    mean = Task(plan=plan("mean", n=1000, epsilon=1.0, delta=1e-6, high=10.0), window=60, max_age=60, **PARTIES)
    assert 0 <= messages_of(mean, 7.5)[0] < mean.plan.protocol.alphabet


def test_report_ids_name_the_inner_record() -> None:
    assert len(report_id(b"x")) == 16
    assert report_id(b"x") != report_id(b"y")
    assert split(b"", 126) is None
    assert split(bytes(127), 126) is None
    assert split(bytes(252), 126) == [bytes(126)] * 2
