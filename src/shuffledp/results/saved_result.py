"""An answer that was read from a file: it prints, plots and composes as it did, and knows no counts of messages."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.account import bound_named
from shuffledp.certificates.certificate import Certificate
from shuffledp.core.document import Document, members, number, several, text, whole
from shuffledp.core.estimate import Entry, Estimate, Threshold
from shuffledp.core.files import read_json
from shuffledp.core.guarantee import Guarantee
from shuffledp.core.parsing import plain
from shuffledp.errors import InvalidInput
from shuffledp.planning.release_cost import Spend
from shuffledp.results.answer import Answer

_EDITED = "It was edited: use the file as it was written."


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SavedEstimate(Estimate):
    """The numbers of a file, whose intervals are those that were written.

    Attributes:
        low: lower limits.
        high: upper limits.
        confidence: of the intervals.
        simultaneous: whether they hold together.
        reasons: why some entries have no number.
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    confidence: float
    simultaneous: bool
    reasons: dict[str, str]

    def interval(
        self, confidence: float | None = None, *, simultaneous: bool | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The limits in the file; others are refused, because it takes the counts of messages to find them."""
        if confidence not in (None, self.confidence) or simultaneous not in (None, self.simultaneous):
            how = "that hold together" if self.simultaneous else "that hold each by itself"
            raise InvalidInput(
                f"this answer was saved with {100 * self.confidence:g} % intervals {how}, and others cannot be computed from it. "
                "Ask the answer that run gave."
            )
        return self.low, self.high

    def entries(self, confidence: float | None = None, *, simultaneous: bool | None = None) -> list[Entry]:
        """All entries with the limits in the file."""
        low, high = self.interval(confidence, simultaneous=simultaneous)
        columns = (self.value, self.standard_error, low, high)
        return [Entry(*row) for row in zip(self.names, *(column.tolist() for column in columns), strict=True)]

    @property
    def refused(self) -> dict[str, str]:
        """Entries without a number, and why there is none."""
        return dict(self.reasons)


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedResult(Answer):
    """An answer read from a file. `verify` proves what it promises.

    Attributes:
        estimate: with named entries.
        guarantee: what is promised; None if nothing.
        unit: what one person may change; None if nothing is promised.
        truth: the exact answer, if it was asked for. Not private.
        certificate: the claim, for `verify`; None if there is none for it alone.
    """

    estimate: SavedEstimate
    guarantee: Guarantee | None
    unit: str | None
    truth: NDArray[np.float64] | None = field(repr=False)
    certificate: Certificate | None
    _spend: Spend | None
    _document: Document = field(repr=False)

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Read an answer from a file."""
        return cls.from_document(read_json(path, "an answer", "Write one with save(path) or shuffledp run -o."))

    @classmethod
    def from_document(cls, document: Any) -> Self:
        """Read an answer; one whose guarantee is not what its certificate is about is refused."""
        answer = plain(document)
        if isinstance(answer, dict) and not {"estimate", "guarantee"} <= answer.keys():
            what = next((name for mark, name in _OTHERS.items() if mark in answer), None)
            if what is not None:
                raise InvalidInput(f"this is {what}, and an answer is needed. Give what save(path) of an answer wrote.")
        try:
            return cls._read(answer)
        except InvalidInput:
            raise
        except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError, IndexError):
            pass
        raise InvalidInput("this is not an answer. Write one with save(path) or shuffledp run -o.")

    @classmethod
    def _read(cls, document: Document) -> Self:
        estimate, certificate = document["estimate"], document["certificate"]
        certificate = None if certificate is None else Certificate.from_document(certificate)
        spend = None if document["spend"] is None else Spend.from_document(document["spend"])
        guarantee = _guarantee(document["guarantee"], certificate, spend)
        names = several(text)(estimate["names"])
        for name, read in (("question", text), ("received", whole), ("notes", several(text))):
            read(document[name])
        numbers = {name: _column(estimate[name], len(names)) for name in ("value", "standard_error")}
        low, high = (
            _column([None if limits is None else limits[end] for limits in estimate["interval"]], len(names))
            for end in (0, 1)
        )
        threshold = estimate["threshold"]
        answer = cls(
            estimate=SavedEstimate(
                **numbers, n=whole(document["n"]), guarantee=guarantee, names=names, low=low, high=high,
                threshold=None if threshold is None else Threshold(
                    **members(threshold, "a threshold", estimate=number, false_positives=number)
                ),
                confidence=number(estimate["confidence"]), simultaneous=bool(estimate["simultaneous"]),
                reasons={text(name): text(why) for name, why in estimate["refused"].items()},
            ),
            guarantee=guarantee, unit=None if guarantee is None else text(document["guarantee"]["unit"]),
            truth=None if document["truth"] is None else _column(document["truth"], len(names)),
            certificate=certificate, _spend=spend, _document=document,
        )  # fmt: skip
        str(answer)  # whatever is missing or of another kind shows now, and not when somebody prints it
        return answer

    @property
    def question(self) -> str:
        return str(self._document["question"])

    @property
    def received(self) -> int:
        """Rows or reports, valid or not."""
        return int(self._document["received"])

    @property
    def notes(self) -> Sequence[str]:
        """What a reader should know."""
        return tuple(self._document["notes"])

    @property
    def spend(self) -> Spend | None:
        """What the answer costs, for the accountant; None if it promises something else than its plan."""
        return self._spend

    def whole(self) -> Document:
        return dict(self._document)

    def document(self) -> Document:
        """The file's document: for `verify`."""
        return self.whole()

    def __repr__(self) -> str:
        return Answer.__repr__(self)


_OTHERS = {"protocol": "a plan", "shufflers": "a task", "claim": "a certificate", "inputs": "what account found"}
"""Other documents, by a field that each has."""


def _guarantee(document: Any, certificate: Certificate | None, spend: Spend | None) -> Guarantee | None:
    """What is promised, which must be what the certificate is about and what is booked."""
    if certificate is not None:
        about = Spend(randomizer=certificate.randomizer, n=certificate.honest, bound=certificate.bound)
        promised = document is not None and [document[name] for name in ("epsilon", "delta", "n", "bound")]
        if spend != about or promised != [
            certificate.epsilon,
            certificate.delta,
            certificate.honest,
            certificate.bound,
        ]:
            raise InvalidInput(f"the guarantee of this answer is not what its certificate is about. {_EDITED}")
    elif spend is not None:
        raise InvalidInput(f"something is booked for this answer, and it has no certificate. {_EDITED}")
    if document is None:
        return None
    bound = text(document["bound"])
    return Guarantee(
        epsilon=number(document["epsilon"]), delta=number(document["delta"]), n=whole(document["n"]), bound=bound,
        reference=bound_named(bound.partition(",")[0]).reference, adjacency=text(document["adjacency"]),
        caveat=None if certificate is None or not certificate.assumes else certificate.assumes[0],
    )  # fmt: skip


def _column(values: Any, size: int) -> NDArray[np.float64]:
    """Numbers; those that there are not are NaN."""
    if not isinstance(values, list) or len(values) != size:
        raise ValueError("a number for each name")
    return np.array([math.nan if value is None else number(value) for value in values])
