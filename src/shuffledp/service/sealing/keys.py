"""Keys: a private ring for each role, and the public list that is the same for all clients.

A key is PENDING (published, not used yet), ACTIVE (clients seal to it) or EXPIRED (still opens, until it is destroyed).
Rotation never changes a task. A key is known by its fingerprint, which people compare and every sealing binds. The
fingerprint is of the key, not of the list: lists that differ only in keys not in use must not tell their holders apart.
"""

import base64
import contextlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Generic, Literal, Self, TypeVar, get_args

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from shuffledp.core.canonical import digest
from shuffledp.core.files import others_can_read, place_of, read_json, write_private
from shuffledp.core.parsing import plain
from shuffledp.errors import InvalidInput

Role = Literal["shuffler", "analyzer"]
State = Literal["PENDING", "ACTIVE", "EXPIRED"]
ROLES: Final[tuple[Role, ...]] = get_args(Role)
_MOST_KEYS: Final = 256
"""Of one list: no number is in it twice."""
K = TypeVar("K", "KeyRing", "KeyList")


@lru_cache(maxsize=1024)
def fingerprint(role: Role, key_id: int, public: bytes) -> bytes:
    """SHA-256 of the canonical form of {role, key_id, public}: 32 bytes, shown in hexadecimal."""
    return bytes.fromhex(digest({"role": role, "key_id": key_id, "public": _text(public)}))


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicKey:
    """A key as clients see it."""

    key_id: int
    state: State
    public: bytes

    def loaded(self) -> X25519PublicKey:
        """The key as the cipher needs it."""
        return X25519PublicKey.from_public_bytes(self.public)


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateKey:
    """A key as its owner keeps it; never shown."""

    key_id: int
    state: State
    private: X25519PrivateKey = field(repr=False)
    point: bytes = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "point", self.private.public_key().public_bytes_raw())

    def public(self) -> PublicKey:
        """The public part, which may be shown to anybody."""
        return PublicKey(key_id=self.key_id, state=self.state, public=self.point)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRing:
    """The private keys of one role, the oldest first."""

    role: Role
    keys: tuple[PrivateKey, ...]

    @classmethod
    def fresh(cls, role: Role) -> Self:
        """One new active key."""
        if role not in ROLES:
            raise InvalidInput(f"there is no role {role!r}. Use shuffler or analyzer.")
        return cls(role=role, keys=(PrivateKey(key_id=0, state="ACTIVE", private=X25519PrivateKey.generate()),))

    def find(self, key_id: int) -> PrivateKey | None:
        """The key of that id that may open, if there is one."""
        return next((key for key in self.keys if key.key_id == key_id), None)

    def introduced(self) -> Self:
        """The ring with a new pending key, which clients learn before it is used."""
        taken = {key.key_id for key in self.keys}
        last = self.keys[-1].key_id if self.keys else -1
        free = next((j % 256 for j in range(last + 1, last + 257) if j % 256 not in taken), None)
        if free is None:
            raise InvalidInput("all 256 key ids are in use. Destroy expired keys first.")
        new = PrivateKey(key_id=free, state="PENDING", private=X25519PrivateKey.generate())
        return replace(self, keys=(*self.keys, new))

    def rotated(self) -> Self:
        """Pending keys become active and active ones expire; without a pending key a new one is made."""
        ring = self if any(key.state == "PENDING" for key in self.keys) else self.introduced()
        following: dict[State, State] = {"PENDING": "ACTIVE", "ACTIVE": "EXPIRED", "EXPIRED": "EXPIRED"}
        return replace(ring, keys=tuple(replace(key, state=following[key.state]) for key in ring.keys))

    def destroyed(self, key_id: int) -> Self:
        """The ring without an expired key: what was sealed to it can never be opened again."""
        found = self.find(key_id)
        if found is None or found.state != "EXPIRED":
            raise InvalidInput(f"key {key_id} is not an expired key. Only those can be destroyed.")
        return replace(self, keys=tuple(key for key in self.keys if key.key_id != key_id))

    def public(self) -> "KeyList":
        """The public part, which may be shown to anybody."""
        return KeyList(role=self.role, keys=tuple(key.public() for key in self.keys))

    def save(self, path: Path | str) -> None:
        """Write the ring so that only its owner can read it, whole or not at all."""
        document = {
            "role": self.role,
            "keys": [
                {"key_id": key.key_id, "state": key.state, "private": _text(key.private.private_bytes_raw())} for key in self.keys
            ],
        }  # fmt: skip
        place = place_of(path)
        try:
            write_private(place, json.dumps(document, indent=2))
        except OSError as error:
            raise InvalidInput(f"cannot write {place}: {error.strerror}. Choose another place.") from None

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Read a ring; one that others can read is refused."""
        document = read_json(path, "a key file", "Make one with shuffledp keygen.")
        if _has_keys_with(document, "public"):
            raise InvalidInput(
                f"{path} is the public list of keys, which opens nothing. Give the private key file, e.g. "
                f"{_role_of(document)}.key."
            )
        if others_can_read(place_of(path)):
            raise InvalidInput(f"others can read the keys {path}. Set its permissions to 600, and rotate the keys.")
        keys = None
        try:
            keys = tuple(
                PrivateKey(
                    key_id=_byte(key["key_id"]), state=_state(key["state"]),
                    private=X25519PrivateKey.from_private_bytes(base64.b64decode(key["private"], validate=True)),
                )
                for key in document["keys"]
            )  # fmt: skip
            role = document["role"]
        except (AttributeError, KeyError, TypeError, ValueError):
            keys = None  # the error could quote a key
        if keys is None or role not in ROLES or len({key.key_id for key in keys}) != len(keys):
            raise InvalidInput(f"{path} is not a key file. Make one with shuffledp keygen.")
        return cls(role=role, keys=keys)


class KeyFile(Generic[K]):
    """A file of keys, private or published, that may change while it is in use.

    >>> KeyFile(Path("shuffler.key"), "shuffler", KeyRing.load).current()
    Traceback (most recent call last):
    ...
    shuffledp.errors.InvalidInput: cannot read shuffler.key: No such file or directory. Make one with shuffledp keygen.
    """

    def __init__(self, path: Path | str, role: Role, load: Callable[[Path], K]) -> None:
        self._path, self._role = place_of(path), role
        self._load: Callable[[Path], K] = load
        self._kept: K | None = None
        self._seen: tuple[int, ...] = ()

    def current(self) -> K:
        """The keys in the file: the same object as before unless it has changed. A damaged file is refused once."""
        seen: tuple[int, ...] = ()
        with contextlib.suppress(OSError):
            found = self._path.stat()
            seen = (found.st_mtime_ns, found.st_size, found.st_ino, found.st_mode)
        if self._kept is None or seen != self._seen:
            self._seen = seen
            kept = self._load(self._path)
            if kept.role != self._role:
                raise InvalidInput(f"these keys belong to the {kept.role}. Give the {self._role}'s.")
            self._kept = kept
        return self._kept


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyList:
    """The public keys of one role, the same for everybody."""

    role: Role
    keys: tuple[PublicKey, ...]

    @property
    def active(self) -> PublicKey:
        """The key to seal to: the newest active one."""
        found = [key for key in self.keys if key.state == "ACTIVE"]
        if not found:
            raise InvalidInput(f"the {self.role} has no active key. Ask for a new list of keys.")
        return found[-1]

    def find(self, key_id: int) -> PublicKey | None:
        """The key of that id, if it is listed."""
        return next((key for key in self.keys if key.key_id == key_id), None)

    def fingerprint(self, key: PublicKey) -> str:
        """What people compare: the key's fingerprint in hexadecimal."""
        return fingerprint(self.role, key.key_id, key.public).hex()

    def document(self) -> dict[str, Any]:
        """The list as JSON data."""
        return {
            "role": self.role,
            "keys": [{"key_id": key.key_id, "state": key.state, "public": _text(key.public)} for key in self.keys],
        }

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Read a published list from its file."""
        return cls.from_document(read_json(path, "a list of keys", "Ask its owner for one."))

    @classmethod
    def from_document(cls, document: Any) -> Self:
        """Read a published list."""
        if _has_keys_with(document, "private"):
            raise InvalidInput(
                "this is a private key file, which only its owner may read. Give the public list of keys, e.g. "
                f"{_role_of(document)}.pub.json."
            )
        try:
            if len(document["keys"]) > _MOST_KEYS:  # before any is looked at: checking a key takes a while
                raise ValueError
            keys = tuple(
                PublicKey(
                    key_id=_byte(key["key_id"]), state=_state(key["state"]),
                    public=_point(base64.b64decode(key["public"], validate=True)),
                )
                for key in plain(document)["keys"]
            )  # fmt: skip
            role = document["role"]
        except (AttributeError, KeyError, TypeError, ValueError):
            raise InvalidInput("this is not a list of keys. Ask the operator for one.") from None
        if role not in ROLES or len({key.key_id for key in keys}) != len(keys):
            raise InvalidInput("this is not a list of keys. Ask the operator for one.")
        return cls(role=role, keys=keys)


def _has_keys_with(document: Any, part: str) -> bool:
    """Whether this looks like keys of which that part is written down: private rings and public lists are confused easily."""
    keys = document.get("keys") if isinstance(document, dict) else None
    return isinstance(keys, list) and any(isinstance(key, dict) and part in key for key in keys[:_MOST_KEYS])


def _role_of(document: Any) -> str:
    """Whose keys a document says they are; nothing else of it is repeated."""
    return next((role for role in ROLES if role == document.get("role")), ROLES[-1])


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _byte(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= 255:
        raise ValueError
    return value


def _state(value: Any) -> State:
    if value not in get_args(State):
        raise ValueError
    return value  # type: ignore[no-any-return]


def _point(data: bytes) -> bytes:
    """A point that can be sealed to: an exchange with one of small order is refused (RFC 9180, 7.1.4)."""
    X25519PrivateKey.generate().exchange(X25519PublicKey.from_public_bytes(data))
    return data
