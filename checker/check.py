"""Check a certificate of shuffledp with nothing but whole numbers: `python3 -I check.py certificate.json`.

Standard library only, and nothing of shuffledp. README.md, beside this file, has the two theorems and why every rounding is safe.
Probabilities and masses are whole numbers of 2^-BITS ("units"). A *measure* is a list of masses on the points of a lattice.
"""

import hashlib
import json
import math
import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from itertools import permutations
from typing import Any

BITS = 192
UNIT = 1 << BITS
WORD = 1 << 64
POINTS = (1000, 4000)
"""So many points of a lattice at most; more are tighter and slower."""
FEWEST_CELLS = 16
MOST_WORK = 1_000_000_000
"""About five minutes; the certificates in this folder take a hundredth of it."""
MOST_BYTES = 8_000_000
MOST_REPORTS = 10**18
MOST_REPORTS_OF_COINS = 200_000
MOST_CELLS = 300_000
"""Messages of a channel, in all pairs of its rows together."""
STEEPEST = 700
SUBNORMAL = 2**1074
SMALLEST, ROUNDED = Fraction(1, 10**300), Fraction(1, 10**9)
"""Of the probabilities of a channel above 0; by how much a row may miss 1, before it is divided by its sum."""


class NoCertificate(Exception):
    """The file is not a certificate, as far as can be read."""


class Refused(Exception):
    """The certificate is not what it must be, or its claim is not proved."""


class Beyond(Exception):
    """There is no method for the claim here."""


# --- whole numbers ---------------------------------------------------------------------------------------------------


class Work:
    """What may still be computed. It is spent before anything long is, so that every file is settled in bounded time."""

    def __init__(self) -> None:
        self.left = MOST_WORK

    def spend(self, amount: int) -> None:
        """One is about a quarter of a microsecond."""
        self.left -= amount
        if self.left < 0:
            raise Beyond("a claim whose proof takes so long")


def quotient_up(value: int, divisor: int) -> int:
    """Rounded up."""
    return -(-value // divisor)


def exp_below(exponent: Fraction) -> int:
    """Units below e^exponent, for exponent >= 0: the exponential series, cut off, every term rounded down."""
    scaled, term, total, k = exponent.numerator * UNIT // exponent.denominator, UNIT, UNIT, 0
    while term:
        k += 1
        term = term * scaled // (UNIT * k)
        total += term
    return total


def product(first: list[int], second: list[int], work: Work) -> list[int]:
    """The product of two polynomials with coefficients >= 0, as one product of two huge numbers (Kronecker)."""
    count = len(first) + len(second) - 1
    work.spend(count * math.isqrt(count))
    most = max(first) * max(second) * min(len(first), len(second))
    width = most.bit_length() // 8 + 1
    a, b = (int.from_bytes(b"".join(c.to_bytes(width, "little") for c in poly), "little") for poly in (first, second))
    packed = (a * b).to_bytes(width * count + width, "little")
    return [int.from_bytes(packed[k * width : (k + 1) * width], "little") for k in range(count)]


# --- what the randomizer does ------------------------------------------------------------------------------------------


@dataclass
class Table:
    """Row by row, one for each value that a user can have: the chances of all messages, rounded down and rounded up."""

    low: list[list[int]]
    high: list[list[int]]

    @classmethod
    def of(cls, rows: list[list[int]]) -> "Table":
        """Of rows of whole numbers in proportion to the chances. Equal rows are one; what nobody sends is left out."""
        columns = [column for column in zip(*rows, strict=True) if any(column)]
        kept = [(row, sum(row)) for row in dict.fromkeys(zip(*columns, strict=True))]
        if len(kept) ** 2 * len(columns) > MOST_CELLS:
            raise Beyond(f"channels with more than {MOST_CELLS:,} messages in all pairs of rows")
        return cls(
            [[entry * UNIT // total for entry in row] for row, total in kept],
            [[quotient_up(entry * UNIT, total) for entry in row] for row, total in kept],
        )

    def floor(self) -> list[int]:
        """Below the chance of each message, whatever the value."""
        return [min(column) for column in zip(*self.low, strict=True)]

    def pairs(self) -> Iterator[tuple[list[int], list[int]]]:
        """All (mu_x rounded up, mu_x' rounded down)."""
        return ((self.high[x], self.low[z]) for x, z in permutations(range(len(self.low)), 2))


def excess(u: int, v: int, growth: int) -> int:
    """The difference u - a v, in units of units."""
    return u * UNIT - growth * v


def alone(table: Table, growth: int, delta: Fraction) -> bool:
    """Whether what one user sends is that private by itself, whatever the others do."""
    gaps = (sum(max(0, excess(u, v, growth)) for u, v in zip(*pair, strict=True)) for pair in table.pairs())
    return all(gap <= delta * UNIT**2 for gap in gaps)


# --- sums on a lattice: the blanket ------------------------------------------------------------------------------------


@dataclass
class Sum:
    """A measure above the law of a sum S, in increasing convex order, but for what was dropped.

    masses[k] is on the point (first + k) * step; `lost` is above what was dropped, `whole` above all mass, dropped or not.
    """

    step: int
    first: int
    masses: list[int]
    lost: int
    whole: int

    def times(self, other: "Sum", work: Work) -> "Sum":
        """The sum of independent ones, on the coarser of their lattices."""
        a, b = self, other
        while a.step < b.step:
            a = a.coarser()
        while b.step < a.step:
            b = b.coarser()
        masses = [quotient_up(mass, UNIT) for mass in product(a.masses, b.masses, work)]
        lost = quotient_up(a.lost * b.whole + b.lost * a.whole, UNIT)
        return Sum(a.step, a.first + b.first, masses, lost, quotient_up(a.whole * b.whole, UNIT) + len(masses))

    def coarser(self) -> "Sum":
        """On every other point: a point between two gives half of its mass to each, so that the mean stays."""
        shift = self.first % 2
        masses = [0] * ((len(self.masses) + shift) // 2 + 1)
        for k, mass in enumerate(self.masses, start=shift):
            if k % 2:
                masses[k // 2] += quotient_up(mass, 2)
                masses[k // 2 + 1] += quotient_up(mass, 2)
            else:
                masses[k // 2] += mass
        return Sum(2 * self.step, self.first // 2, masses, self.lost, self.whole + len(self.masses))

    def trimmed(self, least: int, most: int) -> "Sum":
        """Without the tails that have less than `least`: the lower one moves up, the upper one is lost."""
        low, below = 0, 0
        while low < len(self.masses) - 1 and below + self.masses[low] <= least:
            below += self.masses[low]
            low += 1
        high, above = len(self.masses), 0
        while high > low + 1 and above + self.masses[high - 1] <= least:
            high -= 1
            above += self.masses[high]
        kept = self.masses[low:high]
        kept[0] += below
        found = Sum(self.step, self.first + low, kept, self.lost + above, self.whole)
        while len(found.masses) > most:
            found = found.coarser()
        return found

    def positive_part(self, largest: int) -> int:
        """Above E[S_+], in units of units, if no S is above `largest`."""
        kept = sum((self.first + k) * mass for k, mass in enumerate(self.masses) if self.first + k > 0)
        return kept * self.step + self.lost * largest


def spread(atoms: dict[int, int], points: int, work: Work) -> Sum:
    """The law of one l on a lattice: a value between two points is split between them, so that the mean stays."""
    work.spend(120 * len(atoms))
    largest, smallest = max(atoms), min(0, *atoms)
    some = max(2, points * largest // (4 * (largest - smallest)))

    def cost(step: int) -> int:
        return sum(value % step * (step - value % step) * mass for value, mass in atoms.items())

    step = min((quotient_up(largest, parts) for parts in range(some, 2 * some, max(1, some // 60))), key=cost)
    masses: dict[int, int] = {0: UNIT - sum(atoms.values())}
    for value, mass in atoms.items():
        low, gap = divmod(max(value, -points * step), step)  # what is far below moves up
        masses[low] = masses.get(low, 0) + quotient_up(mass * (step - gap), step)
        masses[low + 1] = masses.get(low + 1, 0) + quotient_up(mass * gap, step)
    first = min(masses)
    listed = [masses.get(k, 0) for k in range(first, max(masses) + 1)]
    return Sum(step, first, listed, 0, sum(listed))


def expectation(atoms: dict[int, int], n: int, target: int, points: int, work: Work) -> int:
    """Above E[(l_1 + ... + l_n)_+], in units of units, l having these values and masses, and 0 with the mass that is left."""
    largest = max(atoms)
    if largest <= 0:
        return 0
    # all that is ever dropped, n times over, costs less than a ten thousandth of the target
    least = max(1, target // (10**4 * 100 * n * n * largest))
    one = spread(atoms, points, work)
    total = one
    for bit in bin(n)[3:]:
        total = total.times(total, work).trimmed(least, points)
        if bit == "1":
            while one.step < total.step:
                one = one.coarser()
            total = total.times(one, work).trimmed(least, points)
    return total.positive_part(n * largest)


def blanket(table: Table, n: int, growth: int, delta: Fraction, work: Work) -> None:
    """Theorem 1 for every ordered pair of rows."""
    floor, target = table.floor(), math.floor(n * delta * UNIT**2)
    seen = set()
    for pair in table.pairs():
        atoms: dict[int, int] = {}
        bare = 0
        for u, v, eta in zip(*pair, floor, strict=True):
            if eta > 0:
                value = quotient_up(excess(u, v, growth), eta)
                atoms[value] = atoms.get(value, 0) + eta
            else:
                bare += n * max(0, excess(u, v, growth))
        key = (bare, tuple(sorted(atoms.items())))
        if key in seen:
            continue
        seen.add(key)
        enough = bare <= target and atoms
        if not enough or not any(expectation(atoms, n, target, points, work) + bare <= target for points in POINTS):
            raise Refused("its delta is not proved: the privacy blanket does not give one that small")


# --- two messages, all datasets ------------------------------------------------------------------------------------------


@dataclass
class Count:
    """The number of ones among independent coins: its law from below and from above, and what was dropped of the latter."""

    first: int
    below: list[int]
    above: list[int]
    lost: int

    def times(self, other: "Count", work: Work) -> "Count":
        """Of both together."""
        below = [mass // UNIT for mass in product(self.below, other.below, work)]
        above = [quotient_up(mass, UNIT) for mass in product(self.above, other.above, work)]
        found = Count(self.first + other.first, below, above, 2 * (self.lost + other.lost))
        least, low, high = UNIT >> 110, 0, len(above)
        while above[low] <= least and low < high - 1:
            found.lost += above[low]
            low += 1
        while above[high - 1] <= least and low < high - 1:
            high -= 1
            found.lost += above[high]
        return Count(found.first + low, below[low:high], above[low:high], found.lost)


def coins(chance: int, count: int, work: Work) -> Count:
    """So many coins that show 1 with this chance."""
    total = Count(0, [UNIT], [UNIT], 0)
    one = Count(0, [UNIT - chance, chance], [UNIT - chance, chance], 0)
    for bit in bin(count)[2:]:
        total = total.times(total, work)
        if bit == "1":
            total = total.times(one, work)
    return total


def divergence(q: int, r: int, ones: int, zeros: int, growth: int, work: Work) -> int:
    """Above D of the dataset whose others hold so many of either value, in units of units of units."""
    others = coins(q, ones, work).times(coins(r, zeros, work), work)
    above, below = [0, *others.above, 0], [0, *others.below, 0]
    total = 0
    for j in range(1, len(above)):
        first = q * above[j - 1] + (UNIT - q) * above[j]
        second = r * below[j - 1] + (UNIT - r) * below[j]
        total += max(0, excess(first, second, growth))
    return total + others.lost * UNIT**2


def cover(table: Table, n: int, growth: int, delta: Fraction, work: Work) -> None:
    """Theorem 2: cells of datasets that are halved until each is below delta."""
    if n > MOST_REPORTS_OF_COINS:
        raise Beyond(f"two messages of more than {MOST_REPORTS_OF_COINS:,} users")
    q, r = max(row[1] for row in table.high), min(row[1] for row in table.low)
    for more, less in {(q, r), (UNIT - r, UNIT - q)}:
        width = quotient_up(n, FEWEST_CELLS)
        cells = [(low, min(low + width, n) - 1) for low in range(0, n, width)]
        while cells:
            low, high = cells.pop()
            if divergence(more, less, low, n - 1 - high, growth, work) <= delta * UNIT**3:
                continue
            if low == high:
                raise Refused("its delta is not proved: some dataset has a larger one")
            middle = (low + high) // 2
            cells += [(low, middle), (middle + 1, high)]


# --- the file ------------------------------------------------------------------------------------------------------------


def read(name: str) -> Any:
    """The JSON document in a file. Whole numbers are ints and all others floats, as doubles have them: 1.0 is 1."""
    if not os.path.isfile(name):
        raise NoCertificate("there is no such file")
    with open(name, "rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise NoCertificate("it is too large for a certificate")
    return json.loads(
        content.decode(), object_pairs_hook=named_once, parse_int=double, parse_float=double, parse_constant=double
    )


def named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise NoCertificate("a name occurs twice in it")
    return found


def double(text: str) -> int | float:
    """A number of JSON."""
    value = float(text)
    if not math.isfinite(value):
        raise NoCertificate("a number in it is too large or is none")
    return int(value) if value == int(value) and abs(value) < 2**53 else value


def canonical(value: object) -> str:
    """RFC 8785."""
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(f"{canonical(name)}:{canonical(value[name])}" for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, float):
        return number(value)
    return json.dumps(value, ensure_ascii=False)


def sha256(value: object) -> str:
    """Of the canonical form."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def number(value: float) -> str:
    """The shortest digits that give the double back, as JavaScript writes them."""
    negative, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    sign, plain, power = "-" * negative, "".join(map(str, digits)), len(digits) + int(exponent)
    if 0 < power <= 21:
        return sign + (plain[:power] + "." + plain[power:] if power < len(plain) else plain.ljust(power, "0"))
    if -6 < power <= 0:
        return f"{sign}0.{'0' * -power}{plain}"
    tail = f".{plain[1:]}" if len(plain) > 1 else ""
    return f"{sign}{plain[0]}{tail}e{'+' if power > 0 else '-'}{abs(power - 1)}"


# --- the certificate -----------------------------------------------------------------------------------------------------


def fields(value: Any, *names: str) -> list[Any]:
    """Of an object that has these fields and no others."""
    if not isinstance(value, dict) or value.keys() != set(names):
        raise Refused("it has missing or unknown fields")
    return [value[name] for name in names]


def text(value: Any, form: str) -> str:
    """One that has a form, and no other spelling."""
    if not isinstance(value, str) or not re.fullmatch(form, value):
        raise Refused("it has a value that is not written as it must be")
    return value


def whole(value: Any, least: int, most: int) -> int:
    """A whole number in decimal digits."""
    found = int(text(value, "0|[1-9][0-9]{0,19}"))
    if not least <= found <= most:
        raise Refused("one of its numbers is too small or too large")
    return found


def real(value: Any, most: int) -> Fraction:
    """A double from 0 on in hexadecimal, as Python writes it."""
    found = float.fromhex(text(value, r"0x(0\.0p\+0|[01]\.[0-9a-f]{13}p(\+[0-9]|-[0-9]{1,4}))"))
    if found > most or found.hex() != value:
        raise Refused("one of its numbers is too large, or not written as it must be")
    return Fraction(found)


def listed(value: Any) -> list[Any]:
    """A list that is not empty."""
    if not isinstance(value, list) or not value:
        raise Refused("it has something else in place of a list")
    return value


def finite(value: Any) -> Fraction:
    """A number of JSON, exactly."""
    if type(value) not in (int, float):
        raise Refused("it has something else in place of a number")
    return Fraction(value)


def probability(value: Any) -> int:
    """An entry of a channel, in 2^-1074: every double is a whole number of these."""
    found = finite(value)
    if not (found == 0 or SMALLEST <= found <= 1 + ROUNDED):
        raise Refused("it has something else in place of a probability")
    return int(found * SUBNORMAL)


def matrix(value: Any, entry: Callable[[Any], int]) -> list[list[int]]:
    """Rows of one length."""
    rows = [listed(row) for row in listed(value)]
    if len(rows) < 2 or any(len(row) != len(rows[0]) for row in rows):
        raise Refused("the rows of its channel are too few, or of different lengths")
    if len(rows) * len(rows[0]) > MOST_CELLS:
        raise Beyond(f"channels with more than {MOST_CELLS:,} entries")
    return [[entry(one) for one in row] for row in rows]


def randomizer(document: Any) -> Table:
    """What it does; what is not understood to the last field is refused."""
    kind = document.get("kind") if isinstance(document, dict) else None
    if kind == "response":
        _, size, digits = fields(document, "kind", "size", "threshold")
        threshold = whole(digits, 1, WORD)
        if type(size) is not int or not 2 <= size <= 2**32:
            raise Refused("there is no randomized response on so many values")
        # two values are as good as all, and what others than these two would say is one message
        same, other, rest = size * (WORD - threshold) + threshold, threshold, threshold * (size - 2)
        return Table.of([[same, other, rest], [other, same, rest]])
    if kind == "channel":
        _, entries = fields(document, "kind", "matrix")
        rows = matrix(entries, probability)
        if any(abs(Fraction(sum(row), SUBNORMAL) - 1) > ROUNDED for row in rows):
            raise Refused("a row of its channel does not sum to 1")
        return Table.of(rows)
    if kind == "lattice":
        _, counts, inputs, outputs, label = fields(document, "kind", "counts", "inputs", "outputs", "label")
        rows = matrix(counts, lambda count: whole(count, 0, WORD))
        named = [len([finite(name) for name in listed(names)]) for names in (inputs, outputs)]
        if named != [len(rows), len(rows[0])] or not isinstance(label, str):
            raise Refused("its channel has other inputs or messages than it names")
        if any(sum(row) != WORD for row in rows):
            raise Refused("a row of its channel does not sum to 2^64")
        return Table.of(rows)
    raise Beyond("randomizers other than randomized response, channels and lattice channels")


def rounded_up(value: Fraction) -> str:
    """Seven digits."""
    return f"{Decimal(float(value)).normalize(Context(prec=7, rounding=ROUND_CEILING)):g}"


def proof(table: Table, n: int, epsilon: Fraction, delta: Fraction) -> str:
    """By which theorem the claim is true; raises what is wrong with it otherwise."""
    growth, work = exp_below(epsilon), Work()
    if alone(table, growth, delta):
        return "what one user sends is that private by itself"
    if len(table.high[0]) == 2 and all(map(all, table.high)):
        cover(table, n, growth, delta, work)
        return "all datasets of two messages are covered"
    blanket(table, n, growth, delta, work)
    return "the privacy blanket gives it, for every pair of values"


def check(document: Any) -> list[str]:
    """What is proved, how, about which randomizer, and what is not looked at; raises why it is not confirmed."""
    if not isinstance(document, dict) or document.get("kind") != "shuffledp certificate":
        raise NoCertificate("it is something else")
    _, version, claim, statement, bound, made_with, seal = fields(
        document, "kind", "format", "claim", "statement", "bound", "made_with", "sha256"
    )
    if type(version) is not int or version != 1:
        raise Refused("it is not of format 1")
    body = {name: value for name, value in document.items() if name != "sha256"}
    if sha256(body) != seal:
        raise Refused("it does not match its SHA-256")
    device, reports, honest, rounds, epsilon, delta, adjacency, view, assumes = fields(
        claim, "randomizer", "reports", "honest", "rounds", "epsilon", "delta", "adjacency", "view", "assumes"
    )
    users, n = whole(reports, 1, MOST_REPORTS), whole(honest, 1, MOST_REPORTS)
    if n > users:
        raise Refused("it relies on more honest reports than there are")
    if whole(rounds, 1, MOST_REPORTS) > 1:
        raise Beyond("several rounds")
    steepness, slack = real(epsilon, STEEPEST), real(delta, 1)
    text(bound, "[a-z][a-z0-9 ,-]{0,63}")
    (software,) = fields(made_with, "shuffledp")
    text(software, "[0-9A-Za-z][0-9A-Za-z.+!_-]{0,63}")
    table = randomizer(device)
    among = "" if n == users else f" among {users:,} or more"
    derived = (
        f"({rounded_up(steepness)}, {rounded_up(slack)})-differentially private after shuffling {n:,} honest reports{among} "
        "(replace-one neighbours, number of users public)"
    )
    for name, said, true in (
        ("adjacency", adjacency, "replace-one"),
        ("view", view, "shuffled messages, number of users public"),
        ("assumes", assumes, []),
        ("statement", statement, derived),
    ):
        if said != true:
            raise Refused(f"its {name} is not what its numbers say")
    short = device["kind"] != "lattice" and len(canonical(device)) <= 200
    return [
        proof(table, n, steepness, slack),
        f"proved: {derived}",
        f"randomizer: {canonical(device) if short else 'the one with SHA-256 ' + sha256(device)}",
        "not proved: which bound it comes from, which version made it, and what its inputs and messages are called",
    ]


def main(names: list[str]) -> int:
    """Say what becomes of each file."""
    worst = 0 if names else 2
    if not names:
        print("usage: python3 -I check.py certificate.json ...")
    for name in names:
        try:
            verdict, code = "confirmed: " + "\n  ".join(check(read(name))), 0
        except Beyond as reason:
            verdict, code = f"cannot be checked here: there is no method for {reason}", 3
        except Refused as reason:
            verdict, code = f"refused: {reason}", 3
        except NoCertificate as reason:
            verdict, code = f"refused: it cannot be read as a certificate: {reason}", 2
        except (OSError, ValueError, RecursionError, MemoryError):
            verdict, code = "refused: it cannot be read as a certificate", 2
        print(f"{name.encode('unicode_escape').decode()}: {verdict}")
        worst = max(worst, code)
    return worst


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
