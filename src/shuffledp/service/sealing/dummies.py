"""Noise of a batch, sealed: dummies that cannot be told from reports, and the same ones whenever they are made again.

Everything comes from the batch's secret: how many dummies there are, which reports are kept, and the ephemeral keys under which
dummies are sealed. A crash half-way therefore changes nothing. Whoever has the secret knows which records are dummies, so it is
forgotten with the release, as before (docs/maths/shuffler-noise.md).
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand
from numpy.typing import NDArray

from shuffledp.core.randomness import KeyedRandomness
from shuffledp.randomizers.geometric_noise import GeometricNoise
from shuffledp.service.sealing.hpke import seal_again
from shuffledp.service.sealing.keys import PublicKey
from shuffledp.service.wire.record import SEALED, encode_message

_LABEL: Final = b"shuffledp dummies"
_EPHEMERAL: Final = 32
"""Bytes of an ephemeral private key: any will do (RFC 7748)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dummies:
    """What a shuffler adds to the batches of a task.

    Attributes:
        noise: how many dummies of each message.
        alphabet: how many messages there are.
        task: id of the task, which every record is bound to.
        key: the only key that records of the batch are sealed to.
    """

    noise: GeometricNoise
    alphabet: int
    task: str
    key: PublicKey

    def kept(self, reports: int, secret: bytes) -> NDArray[np.bool_]:
        """Which reports leave the shuffler, by their places in the order of their ids."""
        return self.noise.kept_of(reports, _drawing(secret))

    def records(self, secret: bytes) -> NDArray[np.uint8]:
        """The sealed dummies, one row for each."""
        often = self.noise.draw(self.alphabet, _drawing(secret))
        keystream = Cipher(algorithms.AES256(_key(secret, b"sealing")), modes.CTR(bytes(16))).encryptor()
        sealed = bytearray()
        for message, count in enumerate(often.tolist()):
            plaintext = encode_message(message)
            for _ in range(count):
                ephemeral = keystream.update(bytes(_EPHEMERAL))
                sealed += seal_again(plaintext, self.key, "analyzer", self.task, ephemeral=ephemeral)
        return np.frombuffer(sealed, dtype=np.uint8).reshape(-1, SEALED)


def _drawing(secret: bytes) -> KeyedRandomness:
    return KeyedRandomness(_key(secret, b"drawing"), private=True)


def _key(secret: bytes, purpose: bytes) -> bytes:
    """Keys for each purpose: none is that of the permutation, and none tells another."""
    return HKDFExpand(algorithm=SHA256(), length=32, info=_LABEL + b"\0" + purpose).derive(secret)
