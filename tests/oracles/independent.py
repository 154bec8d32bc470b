"""A client and an opener written from docs/wire.md alone: nothing here is imported from the package that it checks."""

import base64
import hashlib
import json
import math
import secrets
import struct
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import Any, Protocol

import httpx
from pyhpke import AEADId, CipherSuite, KDFId, KEMId, KEMKeyPair, PyHPKEError

SUITE = CipherSuite.new(KEMId.DHKEM_X25519_HKDF_SHA256, KDFId.HKDF_SHA256, AEADId.AES128_GCM)
TASK = {
    "version", "plan", "window", "max_age", "on_expiry", "release_margin", "honest_fraction", "shufflers", "analyzer",
    "allow_same_operator",
}  # fmt: skip
HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Categories of characters that end a line, steer what shows it, or are not seen; no name here has a joiner."""
PLAN = {"version", "protocol", "guarantee", "min_batch", "sha256"}


class Refused(Exception):  # noqa: N818 - reads as what it is
    """What must not be used."""


# Canonical form


def canonical(value: Any) -> bytes:
    """RFC 8785."""
    try:
        return _text(value).encode("utf-8")
    except UnicodeError:
        raise Refused("not valid Unicode") from None


def _text(value: Any) -> str:
    if value is None or isinstance(value, bool | str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int):
        if abs(value) >= 2**53:
            raise Refused("too large for a JSON number")
        return str(value)
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, list):
        return "[" + ",".join(map(_text, value)) + "]"
    members = sorted(value.items(), key=lambda member: member[0].encode("utf-16-be"))
    return "{" + ",".join(f"{_text(name)}:{_text(member)}" for name, member in members) + "}"


def _number(value: float) -> str:
    """A double as ECMAScript prints it."""
    if not math.isfinite(value):
        raise Refused("not a number")
    if value == 0:
        return "0"
    sign, places, exponent = Decimal(repr(value)).normalize().as_tuple()
    digits, count, minus = "".join(map(str, places)), len(places), "-" if sign else ""
    point = count + int(exponent)
    if count <= point <= 21:
        return minus + digits + "0" * (point - count)
    if 0 < point <= 21:
        return f"{minus}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{minus}0.{'0' * -point}{digits}"
    return f"{minus}{digits[0]}{'.' if count > 1 else ''}{digits[1:]}e{'+' if point > 0 else '-'}{abs(point - 1)}"


def digest(document: Any) -> bytes:
    """What names tasks, plans and keys."""
    return hashlib.sha256(canonical(document)).digest()


# Tasks and keys


def checked(task: dict[str, Any], task_id: str) -> dict[str, Any]:
    """The protocol of a task that is the one agreed to."""
    plan = task.get("plan", {})
    fields = TASK | {"top_up"} if task.get("on_expiry") == "top-up" else TASK
    if set(task) != fields or set(plan) != PLAN or task["version"] != 2 or plan["version"] != 3:
        raise Refused("another version, or other fields")
    if any(
        unicodedata.category(letter) in HIDDEN for name in (*task["shufflers"], task["analyzer"]) for letter in name
    ):
        raise Refused("a name that is not one line")
    body = {name: value for name, value in plan.items() if name != "sha256"}
    if digest(task).hex() != task_id or digest(body).hex() != plan["sha256"]:
        raise Refused("another task")
    protocol: dict[str, Any] = plan["protocol"]
    kinds = {"histogram": "response", "summation": "response", "frequencies": "design", "text-frequencies": "design"}
    if kinds.get(protocol["kind"]) != protocol["randomizer"]["kind"]:
        raise Refused("another protocol")
    return protocol


def messages(protocol: Mapping[str, Any]) -> int:
    """How many messages there are."""
    structure = protocol["randomizer"].get("structure", protocol["randomizer"])
    if protocol["kind"] == "digit-sums":
        return int(structure["base"] * len(structure["dummies"]))
    return int(structure["prime"] * directions(protocol) if "prime" in structure else structure["size"])


def directions(protocol: Mapping[str, Any]) -> int:
    """How many lines or planes go through a point."""
    structure = protocol["randomizer"]["structure"]
    return int(sum(structure["prime"] ** power for power in range(structure["dimension"])))


def fingerprint(role: str, key_id: int, public: str) -> bytes:
    """What names a key; `public` is base64."""
    return digest({"role": role, "key_id": key_id, "public": public})


# Records


def header(key_id: int) -> bytes:
    """Seven bytes."""
    return struct.pack(">BHHH", key_id, 0x0020, 0x0001, 0x0001)


def info(hop: int, key_id: int, task_id: str, public: str) -> bytes:
    """What a sealing is bound to; hop 0 is the analyzer."""
    role = "shuffler" if hop else "analyzer"
    label = role + (str(hop) if hop > 1 else "")
    start = b"shuffledp/2 " + label.encode() + b"\0" + header(key_id)
    return start + bytes.fromhex(task_id) + fingerprint(role, key_id, public)


def seal(
    plaintext: bytes, hop: int, key_id: int, task_id: str, public: str, ephemeral: KEMKeyPair | None = None
) -> bytes:
    """One layer."""
    recipient = SUITE.kem.deserialize_public_key(base64.b64decode(public))
    bound = info(hop, key_id, task_id, public)
    enc, context = SUITE.create_sender_context(recipient, info=bound, eks=ephemeral)
    return header(key_id) + enc + context.seal(plaintext)


def unseal(record: bytes, hop: int, task_id: str, keys: Mapping[int, tuple[bytes, str]]) -> bytes | str:
    """The inside, or why there is none; `keys` are private bytes and public base64 by number."""
    if len(record) < 55 or record[1:7] != header(0)[1:]:
        return "invalid_message"
    if record[0] not in keys:
        return "outdated_config"
    private, public = keys[record[0]]
    bound = info(hop, record[0], task_id, public)
    try:
        context = SUITE.create_recipient_context(record[7:39], SUITE.kem.deserialize_private_key(private), info=bound)
        return context.open(record[39:])
    except PyHPKEError:
        return "decrypt_error"


def bundle(records: Sequence[bytes], slots: int, salt: bytes) -> bytes:
    """The sealed messages of one report."""
    return b"".join(records) + bytes(71 * (slots - len(records))) + (salt if slots > 1 else b"")


def taken_apart(inside: bytes, slots: int) -> list[bytes] | None:
    """The records of a bundle; None if it must be refused."""
    length = 71 * slots + 16 * (slots > 1)
    parts = [inside[start : start + 71] for start in range(0, 71 * slots, 71)]
    used = [part for part in parts if any(part)]
    good = len(inside) == length and used and parts[: len(used)] == used and len({*used}) == len(used)
    return (
        used
        if good and len({part[0] for part in used}) == 1 and {part[1:7] for part in used} == {header(0)[1:]}
        else None
    )


def report_id(record: bytes) -> bytes:
    """How a shuffler knows a report again."""
    return hashlib.sha256(record).digest()[:16]


# Randomization


class Words(Protocol):
    """Random words; lane 0 and draws 0, 1, ... are the response's, lane 1 and draw 2^32 the rounding's.

    Lane 2 and draws 2^33, 2^33 + 1, ... are those of the choice.
    """

    def byte(self, lane: int) -> int:
        """A byte."""
        ...

    def word(self, lane: int) -> int:
        """32 bits."""
        ...

    def block(self, draw: int) -> tuple[int, int]:
        """Two words of 64 bits."""
        ...


class SystemRandomness:
    """Fresh ones."""

    def byte(self, lane: int) -> int:
        """A byte."""
        return secrets.randbits(8)

    def word(self, lane: int) -> int:
        """32 bits."""
        return secrets.randbits(32)

    def block(self, draw: int) -> tuple[int, int]:
        """Two words of 64 bits."""
        return secrets.randbits(64), secrets.randbits(64)


def symbol(protocol: Mapping[str, Any], value: Any, randomness: Words) -> int:
    """What a value stands for."""
    domain = protocol["domain"]
    if domain["kind"] == "labels":
        if not isinstance(value, str) or value not in domain["labels"]:
            raise Refused("not a label")
        return int(domain["labels"].index(value))
    if domain["kind"] == "texts":
        return _point(protocol, value)
    if domain["kind"] == "whole-numbers":
        if type(value) is not int or not 0 <= value < domain["size"]:
            raise Refused("not a bin")
        return value
    low, high = domain["low"], domain["high"]
    if type(value) not in (int, float) or not low <= value <= high:
        raise Refused("not in the range")
    place = _bin if domain["kind"] == "intervals" else _grid_point
    size = domain["size"] if domain["kind"] == "intervals" else messages(protocol)
    if protocol["kind"] == "digit-sums":
        size = protocol["randomizer"]["base"] ** len(protocol["randomizer"]["dummies"])
    return place(size, float(value), float(low), float(high), randomness)


def _point(protocol: Mapping[str, Any], value: Any) -> int:
    try:
        text = value.encode()
    except (AttributeError, UnicodeError):
        raise Refused("not a text") from None
    key, structure = bytes.fromhex(protocol["domain"]["key"]), protocol["randomizer"]["structure"]
    found = hashlib.sha256(b"shuffledp text 1" + key + bytes(4) + text).digest()
    return int(int.from_bytes(found[:8], "big") % structure["prime"] ** structure["dimension"])


def _bin(size: int, value: float, low: float, high: float, _: Words) -> int:
    def edge(j: int) -> float:
        return low if j == 0 else high if j == size else (low * (size - j) + high * j) / size

    found = int(min((value - low) / (high - low) * size, size - 1))
    found -= value < edge(found)
    return found + (found < size - 1 and value >= edge(found + 1))


def _grid_point(size: int, value: float, low: float, high: float, randomness: Words) -> int:
    precision = size - 1
    scaled = (value - low) / (high - low) * precision
    floor = min(math.floor(scaled), precision - 1)
    bits = (scaled - floor) * 256
    first, byte = int(bits), randomness.byte(1)
    if byte != first:
        return floor + (byte < first)
    rest = (bits - first) * 2.0**64
    whole = math.floor(rest)
    return floor + (randomness.block(2**32) < (whole, math.floor((rest - whole) * 2.0**64)))


def truth(protocol: Mapping[str, Any], place: int, randomness: Words) -> int:
    """A true message: the symbol itself, or a line or plane through the point."""
    if "prime" not in protocol["randomizer"].get("structure", {}):
        return place
    many, x, draw = directions(protocol), randomness.word(2), 2**33
    while x * many % 2**32 < 2**32 % many:
        x, draw = randomness.block(draw)[1] % 2**32, draw + 1
    d, q = x * many >> 32, protocol["randomizer"]["structure"]["prime"]
    rest, w = divmod(place, q)
    if protocol["randomizer"]["structure"]["dimension"] == 2:
        return int(q * d + ((w - d * rest) % q if d < q else rest))
    u, v = divmod(rest, q)
    d1, d2 = divmod(d, q)
    if d < q * q:
        return int(q * d + (w - d1 * u - d2 * v) % q)
    return int(q * d + ((v - (d - q * q) * u) % q if d < q * q + q else u))


def thresholds(mean: float) -> list[int]:
    """t(0), ..., t(c - 1) of a number of dummies."""
    with localcontext(prec=1200):
        chance, found = (-Decimal(mean)).exp(), list[int]()
        below = chance
        while 1 - below >= Decimal(2) ** -120:
            found.append(int(below * 2**128))
            chance *= Decimal(mean) / len(found)
            below += chance
    return found


def sent(protocol: Mapping[str, Any], value: Any, randomness: Words) -> list[int]:
    """The messages of a user who sends dummies."""
    beside = _dummies(protocol["randomizer"]["dummies"], messages(protocol), randomness)
    return sorted([truth(protocol, symbol(protocol, value, randomness), randomness), *beside])


def digits_sent(protocol: Mapping[str, Any], value: Any, randomness: Words) -> list[int]:
    """The messages of a user who sends the digits of a number, the least significant first, each among dummies."""
    base, rest, found = protocol["randomizer"]["base"], symbol(protocol, value, randomness), list[int]()
    for j, dummies in enumerate(protocol["randomizer"]["dummies"]):
        rest, digit = divmod(rest, base)
        found += [j * base + message for message in (digit, *_dummies(dummies, base, randomness, j))]
    return sorted(found)


def truth_sent(protocol: Mapping[str, Any], value: Any, randomness: Words) -> int:
    """The message of a user whom dummies of the shuffler hide: the symbol, of a survey the cell of the table of all questions."""
    if "questions" not in protocol:
        return symbol(protocol, value, randomness)
    cell = 0
    for name, question in zip(protocol["names"], protocol["questions"], strict=True):
        cell = cell * int(question["randomizer"]["size"]) + symbol(question, value[name], randomness)
    return cell


def _dummies(mean: float, size: int, randomness: Words, place: int = 0) -> list[int]:
    """Lane 4 and draws from 2^35 are those of the dummies; each of several messages has lanes and draws of its own."""
    byte, steps, first_draw = randomness.byte(4 + 8 * place), thresholds(mean), place * 2**40 + 2**35
    number = 0
    if byte >= steps[0] >> 120:
        first, second = randomness.block(first_draw)
        x = byte << 120 | first >> 8 << 64 | second
        number = sum(step <= x for step in steps)
    return [_below(size, randomness, first_draw + j * 2**20) for j in range(1, number + 1)]


def _below(size: int, randomness: Words, draw: int) -> int:
    while (product := randomness.block(draw)[1] % 2**32 * size) % 2**32 < 2**32 % size:
        draw += 1
    return product >> 32


def response(protocol: Mapping[str, Any], symbol: int, randomness: Words) -> int:
    """The message for a symbol."""
    size, said = messages(protocol), truth(protocol, symbol, randomness)
    top, rest = divmod(int(protocol["randomizer"]["threshold"]), 2**56)
    byte = randomness.byte(0)
    if byte > top:
        return said
    first, second = randomness.block(0)
    if byte == top and first >> 8 >= rest:
        return said
    draw = 0
    while (product := (second % 2**32) * size) % 2**32 < 2**32 % size:
        draw += 1
        _, second = randomness.block(draw)
    return product >> 32


# A client


@dataclass
class Report:
    """What a client writes down before it sends."""

    message: int
    window: int
    inner: bytes
    sealed: bytes


class Client:
    """A person who trusts a task id and fingerprints of the analyzer's keys, for tasks of one shuffler."""

    def __init__(
        self, web: httpx.Client, task_id: str, fingerprints: Sequence[str], randomness: Words | None = None
    ) -> None:
        self.web, self.task_id, self.fingerprints = web, task_id, fingerprints
        self.randomness = randomness or SystemRandomness()
        self.description: dict[str, Any] = {}
        self.protocol: dict[str, Any] = {}

    def describe(self) -> None:
        """Hear what the shuffler announces, and check it."""
        answer = self.web.get(f"/v2/tasks/{self.task_id}")
        answer.raise_for_status()
        self.description = answer.json()
        self.protocol = checked(self.description["task"], self.task_id)

    @property
    def announced(self) -> tuple[int, str]:
        """The analyzer's key of this window, if the analyzer vouches for it."""
        listed, key_id = self.description["next_keys"], self.description["key_id"]
        found = [key["public"] for key in listed["keys"] if key["key_id"] == key_id]
        if listed["role"] != "analyzer" or len(found) != 1:
            raise Refused("no key is announced")
        if fingerprint("analyzer", key_id, found[0]).hex() not in self.fingerprints:
            raise Refused("a key that the analyzer does not vouch for")
        return key_id, found[0]

    def report(self, value: Any) -> Report:
        """Randomize once, and seal."""
        key_id, public = self.announced
        message = response(self.protocol, symbol(self.protocol, value, self.randomness), self.randomness)
        inner = seal(struct.pack(">QQ", message, 0), 0, key_id, self.task_id, public)
        mine = [key for key in self.description["keys"]["keys"] if key["state"] == "ACTIVE"][-1]
        sealed = seal(inner, 1, mine["key_id"], self.task_id, mine["public"])
        return Report(message, self.description["window"], inner, sealed)

    def upload(self, reports: Sequence[Report]) -> list[str]:
        """Send reports of one window together: what became of each."""
        answer = self.web.post(
            f"/v2/tasks/{self.task_id}/reports?window={reports[0].window}",
            content=b"".join(report.sealed for report in reports),
            headers={"Content-Type": "application/octet-stream"},
        )
        answer.raise_for_status()
        outcomes: list[str] = answer.json()["outcomes"]
        return outcomes


# An opener


def fetch(web: httpx.Client, task_id: str) -> bytes:
    """The latest released batch, its hash checked."""
    listed = web.get(f"/v2/tasks/{task_id}/batches").raise_for_status().json()["batches"][-1]
    answer = web.get(f"/v2/batches/{listed['batch']}").raise_for_status()
    found = hashlib.sha256(answer.content).digest()
    stated = f"sha-256=:{base64.b64encode(found).decode()}:"
    if found.hex() != listed["sha256"] or answer.headers["Repr-Digest"] != stated:
        raise Refused("other bytes than announced")
    if len(answer.content) != 71 * listed["reports"]:
        raise Refused("another number of reports")
    return answer.content


def opened(data: bytes, task_id: str, keys: Mapping[int, tuple[bytes, str]], size: int) -> Counter[int | str]:
    """How often each message is in a batch, and each reason why there is none."""
    records = [data[start : start + 71] for start in range(0, len(data), 71)]
    if len({record[0] for record in records if record[1:7] == header(0)[1:]}) > 1:
        raise Refused("the batch mixes keys")
    found: Counter[int | str] = Counter()
    for record in dict.fromkeys(records):
        inside = unseal(record, 0, task_id, keys)
        if isinstance(inside, bytes):
            message, zero = struct.unpack(">QQ", inside) if len(inside) == 16 else (size, 0)
            found[message if message < size and zero == 0 else "out_of_domain"] += 1
        else:
            found[inside] += 1
    return found
