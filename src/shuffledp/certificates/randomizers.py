"""From a randomizer's document to its law, read afresh: no code is shared with the randomizers that run."""

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import permutations, product
from math import prod
from typing import Any, Final

from flint import arb, fmpq, fmpz

from shuffledp.certificates.additive_noise import gaussian, laplace
from shuffledp.certificates.law import Law, Pair, exact_pair
from shuffledp.certificates.unverifiable import Unverifiable
from shuffledp.core.canonical import digest
from shuffledp.errors import InvalidInput

_WORD: Final = 2**64
_DIGITS: Final = re.compile("0|[1-9][0-9]{0,19}")
_TAIL, _UNIT = fmpq(1, 2**120), fmpq(1, 2**128)
_SMALLEST: Final = 1e-300
"""Of a channel's entries above 0."""
_ROUNDED: Final = fmpq(1, 10**9)
"""By how much the sum of a channel's row may miss 1, as decimal text does."""
_LARGEST_DOUBLE: Final = sys.float_info.max
_LONGEST: Final = 50
"""Characters of a kind that are shown."""
_MOST_PAIRS: Final = 4096
_MOST_CELLS: Final = 300_000
"""Of a channel: pairs of inputs, times messages."""
_MOST_MIXED: Final = 1_000_000
"""Of a mixture, likewise."""
_LARGEST: Final = 2**32
"""Sizes, and messages: what fits a report."""
_MOST_PARTS: Final = 2**16
_HIGHEST_PEAK: Final = 2**20
"""Dummies of one message, most likely."""
NOISE: Final = (
    "relies on dummies that the shuffler adds, and on no crowd: it holds against the analyzer and all who see the answer, but "
    "not against a shuffler who sees it"
)
_MOST_DIGITS, _MOST_LEVELS = 30, 2**30
"""A number that is sent digit by digit has no more digits, and no more levels."""
_QUESTIONS: Final = ("response", "design", "lattice")
"""What can be one of several questions: what runs, with one message of finitely many."""
_MOST_INPUTS: Final = 8
"""Of a channel whose mixed crowds are looked at."""
Cell = tuple[fmpq, fmpq, fmpq]


def law_of(document: object) -> Law:
    """The law that a document describes; what is not understood to the last field is refused."""
    if not isinstance(document, dict):
        raise _wrong()
    names, reader = READERS[_known(document.get("kind"))]
    members = _fields(document, names)
    return reader(*members)


def _known(kind: object) -> str:
    """A kind that has a reader here: what is proved of others is proved by nobody but those who claim it."""
    if not isinstance(kind, str):
        raise _wrong()
    if kind not in READERS:
        raise InvalidInput(
            f"there is no independent proof for randomizers of kind {kind[:_LONGEST]!r} here, so nothing about them is "
            f"confirmed. Use a version that has such a proof, or a randomizer of kind {', '.join(READERS)}."
        )
    return kind


def _fields(document: dict[str, Any], names: tuple[str, ...]) -> list[Any]:
    if document.keys() != {"kind", *names}:
        raise InvalidInput("the certificate's randomizer has missing or unknown fields. It was edited.")
    return [document[name] for name in names]


def _wrong() -> InvalidInput:
    return InvalidInput("the certificate's randomizer has a value that it cannot have. It was edited.")


def _whole(value: Any, low: int, high: int) -> int:
    if type(value) is not int or not low <= value <= high:
        raise _wrong()
    return value


def _real(value: Any, low: float, high: float) -> float:
    if type(value) not in (int, float) or not low <= value <= high:
        raise _wrong()
    return float(value)


def _word(value: Any, low: int = 1) -> int:
    """A whole number of 2^-64, as decimal text."""
    if not (isinstance(value, str) and _DIGITS.fullmatch(value)):
        raise _wrong()
    return _whole(int(value), low, _WORD)


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list) or not value:
        raise _wrong()
    return value


def _response(size: Any, threshold: Any) -> Law:
    """With probability gamma = threshold / 2^64 a uniform one of k messages, else the true one. All pairs are alike."""
    k, gamma = _whole(size, 2, _LARGEST), fmpq(_word(threshold), _WORD)
    cell = gamma / k
    most = 1 - gamma + cell
    others = [((k - 2) * cell, (k - 2) * cell, (k - 2) * cell)] if k > 2 else []
    pair = exact_pair([(most, cell, cell), (cell, most, cell), *others])
    return Law(pairs=[[pair]], coins=(most, cell) if k == 2 else None, messages=k)


def _design(structure: Any, threshold: Any) -> Law:
    """A uniform one of the messages that belong to the value (share s of all), or of all with probability gamma.

    Any two values share o of all messages: docs/maths/design.md.
    """
    gamma = fmpq(_word(threshold), _WORD)
    s, o, messages = _structure(structure)
    cells: list[Cell] = [
        (gamma * part + (1 - gamma) * x * part / s, gamma * part + (1 - gamma) * z * part / s, gamma * part)
        for part, x, z in ((s - o, 1, 0), (s - o, 0, 1), (o, 1, 1), (1 - 2 * s + o, 0, 0))
        if part
    ]
    return Law(pairs=[[exact_pair(cells)]], messages=messages)


def _codebook(dimension: Any, size: Any, repeats: Any, threshold: Any) -> Law:
    """A design of share 1/size of whose overlaps nothing is said; more messages are as many releases: docs/maths/vectors.md."""
    gamma, m = fmpq(_word(threshold), _WORD), _whole(size, 2, 2**14)
    _whole(dimension, 1, 2**20)  # nothing that is proved depends on it
    cell = gamma / m
    most = 1 - gamma + cell
    others = [((m - 2) * cell, (m - 2) * cell, (m - 2) * cell)] if m > 2 else []
    one = Law(pairs=[[exact_pair([(most, cell, cell), (cell, most, cell), *others])]], messages=m)
    times = _whole(repeats, 1, 2**10)
    return one if times == 1 else Law(parts=[(one, times)], messages=m)


def _structure(document: Any) -> tuple[fmpq, fmpq, int]:
    """The shares of messages that belong to a value, and to two values; how many messages there are."""
    share, overlap, messages = _shape(document)
    if messages > _LARGEST:
        raise _wrong()
    return share, overlap, messages


def _shape(document: Any) -> tuple[fmpq, fmpq, int]:
    kind = document.get("kind") if isinstance(document, dict) else None
    if kind == "affine":
        prime, dimension = _fields(document, ("prime", "dimension"))
        q, d = _prime(prime, 65521), _whole(dimension, 2, 3)
        # a point is on (q^d - 1) / (q - 1) hyperplanes of q times as many, two points on (q^(d-1) - 1) / (q - 1)
        return fmpq(1, q), fmpq(q ** (d - 1) - 1, q * (q**d - 1)), q * (q**d - 1) // (q - 1)
    if kind == "hadamard":
        (order,) = _fields(document, ("order",))
        if _whole(order, 4, _LARGEST) & (order - 1):
            raise _wrong()
        return fmpq(1, 2), fmpq(1, 4), order
    if kind == "local-hashing":
        prime, values = _fields(document, ("prime", "range"))
        p = _prime(prime, 2**31)
        h = _whole(values, 2, p)
        # (a x + b, a x' + b) is every pair of different residues once; alike = residues that leave one remainder
        alike = [p // h + (1 if j < p % h else 0) for j in (0, h - 1)]
        pairs = (p % h) * (p // h + 1) * (p // h) + (h - p % h) * alike[1] * (alike[1] - 1)
        return fmpq(1, h), fmpq(pairs, p * (p - 1) * h), p * (p - 1) * h
    if kind == "identity":
        (size,) = _fields(document, ("size",))
        return fmpq(1, _whole(size, 2, _LARGEST)), fmpq(0), size
    raise InvalidInput("the certificate is about a structure that is not known. Use a newer version.")


def _prime(value: Any, high: int) -> int:
    if not fmpz(_whole(value, 2, high)).is_prime():
        raise _wrong()
    return int(value)


def _dummies(structure: Any, dummies: Any) -> Law:
    """The true message and a Poisson number of uniform ones: docs/maths/dummies.md."""
    s, o, _ = _structure(structure)
    rate = _fraction(_real(dummies, 1e-9, 1000.0))
    cells = [((s - o) / s, fmpq(0), s - o), (fmpq(0), (s - o) / s, s - o), (o / s, o / s, o)]
    # what is drawn is capped where the tail is below 2^-120, and each of its thresholds is less than 2^-128 off
    mean, chance, below, values = arb(rate), (-arb(rate)).exp(), arb(0), 0
    while not 1 - below < arb(_TAIL):
        below += chance
        values += 1
        chance *= mean / values
    return Law(
        pairs=[[exact_pair(cell for cell in cells if cell[2])]],
        dummies=rate,
        distance=arb(_TAIL + (values + 1) * _UNIT),
    )


def _shuffler_noise(size: Any, noise: Any) -> Law:
    """The true message, and dummies of every one from the shuffler: docs/maths/shuffler-noise.md.

    All that is seen of a user are two counts. Their outcomes are (u, v): how likely they are with either value.
    """
    _whole(size, 2, _LARGEST)
    kind = noise.get("kind") if isinstance(noise, dict) else None
    if kind == "two-sided-geometric":
        outcomes = _two_sided(*_fields(noise, ("ratio", "peak")))
    elif kind == "thinned-geometric":
        outcomes = _thinned(*_fields(noise, ("kept", "ratio")))
    else:
        raise InvalidInput("the certificate is about noise that is not known. Use a newer version.")
    cells = [(u / v, arb(1), v) if u < v else (arb(1), v / u, u) for u, v in outcomes if u > 0 and v > 0]
    bare = [(u, v) for u, v in outcomes if not (u > 0 and v > 0)]
    return Law(pairs=[[Pair(cells, bare)]], crowd_free=True, caveat=NOISE)


def _two_sided(ratio: Any, peak: Any) -> list[tuple[arb, arb]]:
    """Weights q^|k - peak|, summed up one by one to the peak: a count has one more, or the other one has."""
    q, top = arb(fmpq(_word(ratio), _WORD)), _whole(peak, 0, _HIGHEST_PEAK)
    if not q < 1:
        raise _wrong()
    at, below = arb(1), arb(0)  # the weight of k = top, and of all of 1 ... top
    for _ in range(top):
        below += at
        at *= q
    first, above = at, q / (1 - q)
    whole = first + below + above
    zero, low, high = first / whole, below / whole, above / whole
    low_with, high_with = q * low, high / q
    same = low_with * low + high_with * high
    return [
        (zero, arb(0)), (arb(0), zero), (same, same), (high_with * low, high * low_with), (low_with * high, low * high_with),
    ]  # fmt: skip


def _thinned(kept: Any, ratio: Any) -> list[tuple[arb, arb]]:
    """Nobody else holds either value, and a report is kept with probability b: which of the two counts are 0."""
    b, q = arb(fmpq(_word(kept), _WORD)), arb(fmpq(_word(ratio), _WORD))
    if not (b < 1 and q < 1):
        raise _wrong()
    empty, empty_with = 1 - q, (1 - q) * (1 - b)
    same = empty * empty_with + (1 - empty) * (1 - empty_with)
    return [
        (same, same), (empty_with * (1 - empty), empty * (1 - empty_with)), ((1 - empty_with) * empty, (1 - empty) * empty_with),
    ]  # fmt: skip


def _digits(base: Any, groups: Any, dummies: Any) -> Law:
    """A message for each digit, and a group in each: as many releases of dummies with messages of their own."""
    rates = _list(dummies)
    size = _whole(base, 2, _LARGEST) * _whole(groups, 1, _LARGEST)
    if len(rates) > _MOST_DIGITS or base ** len(rates) > _MOST_LEVELS or len(rates) * size > _LARGEST:
        raise _wrong()
    laws = [_dummies({"kind": "identity", "size": size}, rate) for rate in rates]
    return laws[0] if len(laws) == 1 else Law(parts=[(law, 1) for law in laws], messages=len(laws) * size)


def _channel(matrix: Any) -> Law:
    """Rows of probabilities, each divided by its exact sum."""
    rows = [[_probability(entry) for entry in _list(row)] for row in _list(matrix)]
    sums = [sum(row, fmpq(0)) for row in rows]
    if len(rows[0]) < 2 or any(abs(total - 1) > _ROUNDED for total in sums):
        raise _wrong()
    return _table([[entry / total for entry in row] for row, total in zip(rows, sums, strict=True)])


def _probability(value: Any) -> fmpq:
    """A number that is 0 or not too small to be told from it, exactly."""
    probability = _real(value, 0.0, 1.0 + 1e-9)
    if 0 < probability < _SMALLEST:
        raise _wrong()
    return _fraction(probability)


def _lattice(counts: Any, inputs: Any, outputs: Any, label: Any) -> Law:
    """Rows of whole numbers of 2^-64."""
    rows = [[fmpq(_word(count, low=0), _WORD) for count in _list(row)] for row in _list(counts)]
    named = len(_numbers(inputs)) == len(rows) and len(_numbers(outputs)) == len(rows[0]) and isinstance(label, str)
    if not named or any(sum(row, fmpq(0)) != 1 for row in rows):
        raise _wrong()
    return replace(_table(rows), messages=len(rows[0]))


def _numbers(value: Any) -> list[float]:
    """What inputs or messages stand for; nothing that is proved depends on it."""
    return [_real(number, -_LARGEST_DOUBLE, _LARGEST_DOUBLE) for number in _list(value)]


def _table(rows: list[list[fmpq]]) -> Law:
    if len(rows) < 2 or any(len(row) != len(rows[0]) for row in rows):
        raise _wrong()
    columns = [column for column in zip(*rows, strict=True) if max(column) > 0]
    floor = [min(column) for column in columns]
    kept = list(dict.fromkeys(zip(*columns, strict=True)))
    if len(kept) * len(kept) * len(columns) > _MOST_CELLS:
        raise Unverifiable(f"channels with more than {_MOST_CELLS:,} messages in all pairs of inputs")
    pairs = {tuple(sorted(zip(x, z, floor, strict=True))): None for x, z in permutations(kept, 2)}
    alike = [exact_pair(zip(x, x, floor, strict=True)) for x in kept]
    coins = (max(columns[1]), min(columns[1])) if len(columns) == 2 and min(floor) > 0 else None
    choices = [[exact_pair(cells)] for cells in pairs] or [[alike[0]]]
    crowd = kept if 2 <= len(kept) <= _MOST_INPUTS and min(floor) > 0 else []
    return Law(pairs=choices, agreements=alike, coins=coins, rows=crowd)


def _generic(epsilon0: Any) -> Law:
    """The pair that is largest in convex order among all of all epsilon0-LDP randomizers: docs/maths/generic.md."""
    local = arb(_real(epsilon0, 0.0, 700.0))
    p, mass = local.exp(), 1 / (local.exp() + 1)
    return Law(pairs=[[Pair([(p, arb(1), mass), (arb(1), p, mass)])]], epsilon0=local)


def _mixture(weights: Any, parts: Any) -> Law:
    """One of several questions: laws side by side, masses times weights; inputs may agree in some of them."""
    drawn = [_whole(weight, 1, _LARGEST) for weight in _list(weights)]
    laws = [_part(part, _QUESTIONS) for part in _list(parts)]
    if len(laws) != len(drawn) or sum(drawn) > _LARGEST:
        raise _wrong()
    choices = [[options[0] for options in law.pairs] + list(law.agreements) for law in laws]
    if prod(len(found) for found in choices) > _MOST_PAIRS:
        raise Unverifiable(f"a mixture with more than {_MOST_PAIRS:,} combinations of pairs")
    cells = sum(max(len(pair.cells) + len(pair.bare) for pair in found) for found in choices)
    if cells * prod(len(found) for found in choices) > _MOST_MIXED:
        raise Unverifiable(f"a mixture with more than {_MOST_MIXED:,} messages in all combinations of pairs")
    shares = [arb(fmpq(weight, sum(drawn))) for weight in drawn]
    found = [
        [Pair.beside(pair.times(share) for pair, share in zip(chosen, shares, strict=True))]
        for chosen in product(*choices)
    ]
    return Law(pairs=found, messages=_messages(laws))


def _together(parts: Any) -> Law:
    """All of several questions, each shuffled apart: as many releases. Parts that are alike are one, several times."""
    often = Counter(digest(part) for part in _list(parts))
    if often.total() > _MOST_PARTS:
        raise _wrong()
    different = {digest(part): part for part in parts}
    laws = [(_part(part, (*_QUESTIONS, "mixture")), often[name]) for name, part in different.items()]
    return Law(parts=laws, messages=_messages([law for law, times in laws for _ in range(times)]))


def _part(document: Any, kinds: tuple[str, ...]) -> Law:
    """One of several questions.

    Two people who differ in another question may agree in this one. Where that is not covered by some pair that differs, it
    is among the law's agreements; the continuous laws and `generic` say nothing of it, and so are no questions.
    """
    if not isinstance(document, dict) or _known(document.get("kind")) not in kinds:
        raise InvalidInput(
            "the certificate has several questions, and one of them is not a randomizer that runs. It was edited."
        )
    return law_of(document)


def _messages(laws: Iterable[Law]) -> int:
    """How many messages all parts have together."""
    messages = sum(law.messages for law in laws)
    if messages > _LARGEST:
        raise _wrong()
    return messages


def _fraction(value: float) -> fmpq:
    return fmpq(*value.as_integer_ratio())


READERS: Final[dict[str, tuple[tuple[str, ...], Callable[..., Law]]]] = {
    "response": (("size", "threshold"), _response),
    "design": (("structure", "threshold"), _design),
    "codebook": (("dimension", "size", "repeats", "threshold"), _codebook),
    "dummies": (("structure", "dummies"), _dummies),
    "shuffler-noise": (("size", "noise"), _shuffler_noise),
    "channel": (("matrix",), _channel),
    "lattice": (("counts", "inputs", "outputs", "label"), _lattice),
    "generic": (("epsilon0",), _generic),
    "laplace": (("epsilon0",), lambda epsilon0: laplace(_real(epsilon0, 1e-9, 700.0))),
    "gaussian": (("sigma",), lambda sigma: gaussian(_real(sigma, 0.1, 1e6))),
    "mixture": (("weights", "parts"), _mixture),
    "together": (("parts",), _together),
    "digits": (("base", "groups", "dummies"), _digits),
}
"""The fields of every kind of randomizer that can be verified, and who reads them: a registry of its own. What is added to
`randomizers.registry` is not verified until somebody writes a second reader of its law here, from its document alone."""
