"""Who may report: a credential in front of each report, spent once. Which report it was sent with is not kept.

Without admission anybody can fill a batch with reports of their own and leave a victim with epsilon0 alone. The one-time tokens
here are the reference; anything with this interface can take their place, blind ones (Privacy Pass) included.
"""

import hashlib
import hmac
import os
from typing import Final, Protocol

_NONCE: Final = 16
_LABEL: Final = b"shuffledp/2 admission\0"


class Admission(Protocol):
    """Decides which credentials are valid, and under which name each is spent."""

    @property
    def length(self) -> int:
        """Bytes of a credential."""
        ...

    def spent_as(self, credential: bytes, task_id: str) -> bytes | None:
        """The name under which a valid credential is spent, once in the life of the task; None if it is not valid."""
        ...


class OneTimeTokens:
    """Tokens that the holder of a secret key issues for a task: 16 random bytes and 16 of their HMAC-SHA256."""

    length: Final = 2 * _NONCE

    def __init__(self, key: bytes) -> None:
        self._key = key

    def issue(self, task_id: str) -> bytes:
        """A new token for one report of this task."""
        nonce = os.urandom(_NONCE)
        return nonce + self._code(nonce, task_id)

    def spent_as(self, credential: bytes, task_id: str) -> bytes | None:
        """A hash of the token, if it was issued for this task."""
        nonce, code = credential[:_NONCE], credential[_NONCE:]
        if len(credential) != self.length or not hmac.compare_digest(code, self._code(nonce, task_id)):
            return None
        return hashlib.sha256(_LABEL + credential).digest()[:_NONCE]

    def _code(self, nonce: bytes, task_id: str) -> bytes:
        return hmac.digest(self._key, _LABEL + bytes.fromhex(task_id) + nonce, "sha256")[:_NONCE]
