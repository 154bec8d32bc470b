"""A claim with all that is needed to prove it again, as one JSON document of exact numbers: docs/certificates.md."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from pathlib import Path
from typing import Any, Final, Protocol, Self

from shuffledp.core.canonical import digest
from shuffledp.core.files import read_json, save_json
from shuffledp.core.parsing import plain
from shuffledp.core.scalars import real, settle, whole
from shuffledp.errors import InvalidInput
from shuffledp.version import VERSION

KIND: Final = "shuffledp certificate"
FORMAT: Final = 1
ADJACENCY: Final = "replace-one"
VIEW: Final = "shuffled messages, number of users public"
_MOST: Final = 10**18
_STEEPEST: Final = 700.0
_REAL = re.compile(r"0x(0\.0p\+0|[01]\.[0-9a-f]{13}p[+-][0-9]{1,4})")
_WHOLE = re.compile(r"[1-9][0-9]{0,18}")
_BOUND = re.compile(r"[a-z][a-z0-9 ,-]{0,63}")
_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+!_-]{0,63}")
_LONGEST: Final = 200
"""Characters in an assumption."""
_FIELDS: Final = {"kind", "format", "claim", "statement", "bound", "made_with", "sha256"}
_CLAIM: Final = {
    "randomizer", "reports", "honest", "rounds", "epsilon", "delta", "adjacency", "view", "assumes",
}  # fmt: skip


class _Documented(Protocol):
    """A randomizer: what is said of it here."""

    def document(self) -> dict[str, Any]: ...

    def blanket(self) -> Any: ...


class _Promise(Protocol):
    """A guarantee: what is said of it here."""

    @property
    def epsilon(self) -> float: ...
    @property
    def delta(self) -> float: ...
    @property
    def n(self) -> int: ...
    @property
    def bound(self) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """That n users are (epsilon, delta)-differentially private, all of whom run one randomizer.

    Attributes:
        randomizer: the document of the randomizer that runs.
        reports: whose messages are shuffled together, at least.
        honest: how many of them follow the protocol, at least; the claim is about these.
        rounds: in which the same users report, with fresh coins.
        epsilon: the claim.
        delta: the claim.
        assumes: what is not proved completely, in words.
        bound: the name of the bound that the claim comes from; nothing depends on it.
        made_with: the version of shuffledp.
    """

    randomizer: dict[str, Any]
    honest: int
    epsilon: float
    delta: float
    reports: int
    rounds: int = 1
    assumes: Sequence[str] = ()
    bound: str = "best"
    made_with: str = VERSION

    def __post_init__(self) -> None:
        counts = {name: whole(getattr(self, name), name, "Give e.g. 1000.") for name in ("honest", "reports", "rounds")}
        settle(self, **counts, epsilon=real(self.epsilon, "epsilon", "up"), delta=real(self.delta, "delta", "up"))

    @classmethod
    def of(cls, randomizer: _Documented, guarantee: _Promise, *, reports: int | None = None, rounds: int = 1) -> Self:
        """A guarantee of the randomizer as it runs: of `reports` reports in all, the guarantee's n are honest."""
        for thing, methods, name, what in (
            (randomizer, ("blanket", "document"), "randomizer", "a randomizer"),
            (guarantee, ("epsilon", "delta", "n", "bound"), "guarantee", "a guarantee, as account gives it"),
        ):
            if isinstance(thing, type) or not all(hasattr(thing, method) for method in methods):
                raise InvalidInput(f"`{name}` must be {what}; got a {type(thing).__name__}. Give one.")
        caveat = randomizer.blanket().caveat
        return cls(
            randomizer=randomizer.document(),
            honest=guarantee.n,
            reports=guarantee.n if reports is None else reports,
            epsilon=guarantee.epsilon,
            delta=guarantee.delta,
            rounds=rounds,
            assumes=() if caveat is None else (caveat,),
            bound=guarantee.bound,
        )

    def document(self) -> dict[str, Any]:
        """As JSON data, with the SHA-256 of everything else in it."""
        body = {
            "kind": KIND,
            "format": FORMAT,
            "claim": {
                "randomizer": self.randomizer,
                "reports": str(self.reports),
                "honest": str(self.honest),
                "rounds": str(self.rounds),
                "epsilon": self.epsilon.hex(),
                "delta": self.delta.hex(),
                "adjacency": ADJACENCY,
                "view": VIEW,
                "assumes": list(self.assumes),
            },
            "statement": self.statement,
            "bound": self.bound,
            "made_with": {"shuffledp": self.made_with},
        }
        return body | {"sha256": digest(body)}

    @classmethod
    def from_document(cls, document: object) -> Self:
        """Read a certificate; one that was edited, or is anything else, is refused."""
        document = plain(document)
        if not isinstance(document, dict) or document.get("kind") != KIND:
            raise InvalidInput("this is not a certificate. Make one with shuffledp account --certificate.")
        if document.get("format") != FORMAT or type(document["format"]) is not int:
            raise InvalidInput(
                f"this certificate is not of format {FORMAT}, the one this software reads. Use one that is."
            )
        body = {name: value for name, value in document.items() if name != "sha256"}
        if document.keys() != _FIELDS or document["sha256"] != digest(body):
            raise InvalidInput(
                "the certificate does not match its SHA-256: it was edited or damaged. Ask for it again."
            )
        claim = document["claim"]
        if not isinstance(claim, dict) or claim.keys() != _CLAIM or not isinstance(claim["randomizer"], dict):
            raise _malformed("claim")
        versions = document["made_with"]
        if not isinstance(versions, dict) or versions.keys() != {"shuffledp"}:
            raise _malformed("made_with")
        certificate = cls(
            randomizer=claim["randomizer"],
            reports=_whole(claim, "reports"),
            honest=_whole(claim, "honest"),
            rounds=_whole(claim, "rounds"),
            epsilon=_real(claim, "epsilon", _STEEPEST),
            delta=_real(claim, "delta", 1.0),
            assumes=_assumptions(claim["assumes"]),
            bound=_name(document["bound"], "bound", _BOUND),
            made_with=_name(versions["shuffledp"], "made_with", _VERSION),
        )
        if certificate.honest > certificate.reports:
            raise InvalidInput("the certificate relies on more honest reports than there are. It was edited.")
        if certificate.document() != document:
            raise InvalidInput("the certificate's words and numbers say different things. It was edited.")
        return certificate

    def save(self, path: Path | str) -> None:
        """Write the certificate to a file, whole or not at all; `Certificate.load` reads it."""
        save_json(path, self.document())

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Read a certificate from a file. What it claims is not proved by that: `verify` does it."""
        return cls.from_document(read_json(path, "a certificate", "Make one with shuffledp account --certificate."))

    def __str__(self) -> str:
        return self.statement

    @property
    def statement(self) -> str:
        """The claim in words, its numbers rounded up."""
        whom = f"{self.honest:,} honest reports" + (
            "" if self.honest == self.reports else f" among {self.reports:,} or more"
        )
        often = "" if self.rounds == 1 else f", over {self.rounds:,} rounds"
        given = "".join(f"; {assumption}" for assumption in self.assumes)
        return (
            f"({rounded_up(self.epsilon)}, {rounded_up(self.delta)})-differentially private after shuffling {whom}{often} "
            f"({ADJACENCY} neighbours, number of users public{given})"
        )


def rounded_up(value: float) -> str:
    """Seven digits, rounded up."""
    return f"{Decimal(value).normalize(Context(prec=7, rounding=ROUND_CEILING)):g}"


def _malformed(name: str) -> InvalidInput:
    return InvalidInput(f"the certificate's field {name!r} has a value that it cannot have. It was edited.")


def _name(value: object, field: str, form: re.Pattern[str]) -> str:
    if not isinstance(value, str) or not form.fullmatch(value):
        raise _malformed(field)
    return value


def _assumptions(value: object) -> tuple[str, ...]:
    """Lines that can be shown; which of them belong to the claim is known once its randomizer is."""
    if not isinstance(value, list) or not all(
        isinstance(entry, str) and entry.isprintable() and len(entry) <= _LONGEST for entry in value
    ):
        raise _malformed("assumes")
    return tuple(value)


def _whole(claim: dict[str, Any], name: str) -> int:
    text = claim[name]
    if not isinstance(text, str) or not _WHOLE.fullmatch(text) or int(text) > _MOST:
        raise _malformed(name)
    return int(text)


def _real(claim: dict[str, Any], name: str, most: float) -> float:
    """A double that is at least 0, in hexadecimal."""
    text = claim[name]
    if not isinstance(text, str) or not _REAL.fullmatch(text):
        raise _malformed(name)
    try:
        value = float.fromhex(text)
    except OverflowError:
        raise _malformed(name) from None
    if not 0 <= value <= most or value.hex() != text:
        raise _malformed(name)
    return value
