"""Bytes on the wire: every report of a task has one length, whatever its value.

A record is a 7-byte header (RFC 9458: key id, KEM, KDF, AEAD), the encapsulated key (32 bytes) and the ciphertext with its
tag. The innermost plaintext is 16 bytes: the message as an 8-byte big-endian number and 8 zero bytes. Each message of a report is
sealed to the analyzer by itself; `bundle` puts them side by side.
"""

import hashlib
import struct
from dataclasses import dataclass
from typing import Final

from shuffledp.errors import InvalidInput

HEADER: Final = struct.Struct(">BHHH")
SUITE: Final = (0x0020, 0x0001, 0x0001)
"""X25519, HKDF-SHA256, AES-128-GCM (RFC 9180)."""
_SUITE_BYTES: Final = HEADER.pack(0, *SUITE)[1:]
PAYLOAD: Final = 16
LAYER: Final = HEADER.size + 32 + 16
"""Bytes that one layer of encryption adds."""
SEALED: Final = PAYLOAD + LAYER
"""Bytes of a message that is sealed to the analyzer."""
SALT: Final = 16
"""Bytes behind the messages of a report of several."""
ID: Final = 16


@dataclass(frozen=True, slots=True)
class Header:
    """Which key a record is for, and with which algorithms."""

    key_id: int

    def __post_init__(self) -> None:
        if not 0 <= self.key_id <= 255:
            raise InvalidInput(f"a key id is from 0 to 255; got {self.key_id}.")

    def encode(self) -> bytes:
        """The header as seven bytes."""
        return HEADER.pack(self.key_id, *SUITE)


def key_id_of(record: bytes) -> int | None:
    """Which key a record names; None if it is too short or of another suite."""
    return record[0] if record[1 : HEADER.size] == _SUITE_BYTES else None


def record_length(layers: int, slots: int = 1) -> int:
    """Bytes of a report with this number of layers, the analyzer's included, and room for so many messages."""
    return slots * SEALED + (SALT if slots > 1 else 0) + (layers - 1) * LAYER


def encode_message(message: int) -> bytes:
    """A message as the innermost plaintext of a record."""
    return message.to_bytes(8, "big") + bytes(8)


def decode_message(payload: bytes, size: int) -> int | None:
    """The message, or None if it is not one of `size`."""
    if len(payload) != PAYLOAD or payload[8:] != bytes(8):
        return None
    message = int.from_bytes(payload[:8], "big")
    return message if message < size else None


def report_id(inner: bytes) -> bytes:
    """The id of a report: computed from what the shuffler passes on, never sent."""
    return hashlib.sha256(inner).digest()[:ID]


def split(body: bytes, length: int) -> list[bytes] | None:
    """The records of an upload, or None if it is not a whole number of them."""
    if not body or len(body) % length:
        return None
    return [body[start : start + length] for start in range(0, len(body), length)]
