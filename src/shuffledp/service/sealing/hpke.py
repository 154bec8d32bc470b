"""Sealing: HPKE (RFC 9180, base mode) with the role, the header, the task and the key's fingerprint bound into `info`."""

import hmac
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from shuffledp.core.report_outcome import Outcome
from shuffledp.errors import InvalidInput
from shuffledp.service.sealing.keys import KeyList, KeyRing, PublicKey, Role, fingerprint
from shuffledp.service.wire.bundle import bundled
from shuffledp.service.wire.record import LAYER, SUITE, Header, encode_message, key_id_of

if TYPE_CHECKING:  # a process that only opens records needs no plans
    from shuffledp.service.task import Task

_SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_128_GCM)
_KEM, _HPKE = b"KEM" + SUITE[0].to_bytes(2, "big"), b"HPKE" + b"".join(part.to_bytes(2, "big") for part in SUITE)
"""The names of the suite in labels."""


@lru_cache(maxsize=256)  # the same for all records of a task and key
def info(role: Role, hop: int, header: bytes, task_id: str, key: bytes) -> bytes:
    """What both sides must agree on for a record to open; shufflers further out have higher hops, `key` is the public key."""
    label = role if hop <= 1 else f"{role}{hop}"
    return (
        b"shuffledp/2 " + label.encode() + b"\0" + header + bytes.fromhex(task_id) + fingerprint(role, header[0], key)
    )


def seal(plaintext: bytes, key: PublicKey, role: Role, task_id: str, *, hop: int = 1) -> bytes:
    """Seal one layer to a key."""
    header = Header(key.key_id).encode()
    return header + _SUITE.encrypt(plaintext, key.loaded(), info=info(role, hop, header, task_id, key.public))


def seal_again(plaintext: bytes, key: PublicKey, role: Role, task_id: str, *, ephemeral: bytes, hop: int = 1) -> bytes:
    """Seal one layer as `seal` does, with an ephemeral key that is given: the same bytes, whenever it is done.

    The 32 bytes must be as good as random, secret, and used for nothing else. Reference: RFC 9180, sections 4.1, 5.1 and 5.2.
    """
    header, own = Header(key.key_id).encode(), X25519PrivateKey.from_private_bytes(ephemeral)
    encapsulated = own.public_key().public_bytes_raw()
    derived = _extract(_KEM, b"", b"eae_prk", own.exchange(key.loaded()))
    shared = _expand(_KEM, derived, b"shared_secret", encapsulated + key.public, 32)
    about = info(role, hop, header, task_id, key.public)
    context = b"\0" + _extract(_HPKE, b"", b"psk_id_hash", b"") + _extract(_HPKE, b"", b"info_hash", about)
    secret = _extract(_HPKE, shared, b"secret", b"")
    cipher, nonce = (
        _expand(_HPKE, secret, label, context, length) for label, length in ((b"key", 16), (b"base_nonce", 12))
    )
    return header + encapsulated + AESGCM(cipher).encrypt(nonce, plaintext, b"")


def _extract(suite: bytes, salt: bytes, label: bytes, material: bytes) -> bytes:
    return hmac.digest(salt or bytes(32), b"HPKE-v1" + suite + label + material, "sha256")


def _expand(suite: bytes, key: bytes, label: bytes, about: bytes, length: int) -> bytes:
    """One block of SHA-256 is enough for every length here."""
    labelled = length.to_bytes(2, "big") + b"HPKE-v1" + suite + label + about
    return hmac.digest(key, labelled + b"\x01", "sha256")[:length]


def unseal(record: bytes, ring: KeyRing, task_id: str, *, hop: int = 1) -> bytes | Outcome:
    """The plaintext of a layer, or why there is none."""
    named = key_id_of(record)
    if named is None or len(record) < LAYER:
        return Outcome.INVALID_MESSAGE
    key = ring.find(named)
    if key is None or key.state == "PENDING":
        return Outcome.OUTDATED_CONFIG
    try:
        return _SUITE.decrypt(record[7:], key.private, info=info(ring.role, hop, record[:7], task_id, key.point))
    except (InvalidTag, ValueError):
        return Outcome.DECRYPT_ERROR


def seal_message(message: int, task: "Task", analyzer: KeyList, shufflers: Sequence[KeyList]) -> bytes:
    """A message sealed to the analyzer, then to each shuffler from the innermost out."""
    return wrap(seal_inner(message, task, analyzer), task, shufflers)


def seal_inner(message: int, task: "Task", analyzer: KeyList, key: PublicKey | None = None) -> bytes:
    """What the analyzer opens, sealed to its active key by default."""
    _check(analyzer, "analyzer")
    return seal(encode_message(message), key or analyzer.active, "analyzer", task.id)


def wrap(inner: bytes, task: "Task", shufflers: Sequence[KeyList]) -> bytes:
    """The layers that shufflers take off. Wrapping again does not make another report."""
    if len(shufflers) != task.hops:
        raise InvalidInput(f"this task has {task.hops} shufflers; got the keys of {len(shufflers)}.")
    return _layers(inner, task, shufflers)


def seal_bundle(messages: Sequence[int], task: "Task", analyzer: KeyList, key: PublicKey | None = None) -> bytes:
    """What the innermost shuffler takes apart: each message of a report as the analyzer opens it, in increasing order."""
    sealed = [seal_inner(message, task, analyzer, key) for message in sorted(messages)]
    return bundled(sealed, task.plan.protocol.most_messages)


def seal_below(messages: Sequence[int], task: "Task", lists: Sequence[KeyList], last: PublicKey) -> bytes:
    """What the outermost shuffler opens: sealed to the analyzer and the inner shufflers, whose keys are `lists`.

    All layers are for the active keys, except the outermost of them: that is for `last`, a key of the last list.
    """
    bundle = seal_bundle(messages, task, lists[0], last if len(lists) == 1 else None)
    return _layers(bundle, task, lists[1:], last)


def _layers(record: bytes, task: "Task", shufflers: Sequence[KeyList], last: PublicKey | None = None) -> bytes:
    for hop, keys in enumerate(shufflers, start=1):
        record = wrap_once(record, task, keys, hop, last if hop == len(shufflers) else None)
    return record


def wrap_once(record: bytes, task: "Task", keys: KeyList, hop: int, key: PublicKey | None = None) -> bytes:
    """The layer that one shuffler takes off, sealed to its active key by default."""
    _check(keys, "shuffler")
    return seal(record, key or keys.active, "shuffler", task.id, hop=hop)


def _check(keys: KeyList, role: Role) -> None:
    """What is sealed to the wrong party could be read by it."""
    if keys.role != role:
        raise InvalidInput(f"these keys belong to the {keys.role}. Give the {role}'s.")
