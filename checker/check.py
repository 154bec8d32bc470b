"""Check a certificate of shuffledp with nothing but whole numbers: `python3 check.py certificate.json`.

Standard library only, and nothing of shuffledp. README.md, beside this file, has the two theorems and why every rounding is safe.
A *measure* is a list of whole numbers: masses on the points of a lattice, in units of 2^-BITS.
"""

import hashlib
import json
import sys
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import permutations
from typing import Any

BITS = 192
UNIT = 1 << BITS
WORD = 1 << 64
POINTS = (1000, 4000)
"""So many points of a lattice at most; more are tighter and slower."""
MOST_REPORTS_OF_COINS = 200_000
FEWEST_CELLS = 16


class Refused(Exception):
    """The certificate is not what it claims to be, or its claim is not proved."""


class Beyond(Exception):
    """There is no method for the claim here."""


# --- whole numbers ---------------------------------------------------------------------------------------------------


def up(value: Fraction) -> int:
    """In units, rounded up."""
    return -(-value.numerator * UNIT // value.denominator)


def down(value: Fraction) -> int:
    """In units, rounded down."""
    return value.numerator * UNIT // value.denominator


def exp_below(exponent: Fraction) -> Fraction:
    """A number below e^exponent, for exponent >= 0: the exponential series, cut off, every term rounded down."""
    scaled, term, total, k = down(exponent), UNIT, UNIT, 0
    while term:
        k += 1
        term = term * scaled // (UNIT * k)
        total += term
    return Fraction(total, UNIT)


def product(first: list[int], second: list[int]) -> list[int]:
    """The product of two polynomials with coefficients >= 0, as one product of two huge numbers (Kronecker)."""
    most = max(first, default=0) * max(second, default=0) * min(len(first), len(second))
    width = most.bit_length() // 8 + 1
    a, b = (int.from_bytes(b"".join(c.to_bytes(width, "little") for c in poly), "little") for poly in (first, second))
    count = len(first) + len(second) - 1
    packed = (a * b).to_bytes(width * count + width, "little")
    return [int.from_bytes(packed[k * width : (k + 1) * width], "little") for k in range(count)]


# --- sums on a lattice: the blanket ------------------------------------------------------------------------------------


@dataclass
class Sum:
    """A measure above the law of a sum S, in increasing convex order, but for what was dropped.

    masses[k] is on the point (first + k) * step; `lost` is above what was dropped, `whole` above all mass, dropped or not.
    """

    step: Fraction
    first: int
    masses: list[int]
    lost: int
    whole: int

    def times(self, other: "Sum") -> "Sum":
        """The sum of independent ones, on the coarser of their lattices."""
        a, b = self, other
        while a.step < b.step:
            a = a.coarser()
        while b.step < a.step:
            b = b.coarser()
        masses = [-(-mass // UNIT) for mass in product(a.masses, b.masses)]
        lost = -(-(a.lost * b.whole + b.lost * a.whole) // UNIT)
        return Sum(a.step, a.first + b.first, masses, lost, -(-a.whole * b.whole // UNIT) + len(masses))

    def coarser(self) -> "Sum":
        """On every other point: a point between two gives half of its mass to each, so that the mean stays."""
        shift = self.first % 2
        masses = [0] * ((len(self.masses) + shift) // 2 + 1)
        for k, mass in enumerate(self.masses, start=shift):
            if k % 2:
                masses[k // 2] += -(-mass // 2)
                masses[k // 2 + 1] += -(-mass // 2)
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

    def positive_part(self, largest: Fraction) -> Fraction:
        """Above E[S_+], if no S is above `largest`."""
        kept = sum((self.first + k) * mass for k, mass in enumerate(self.masses) if self.first + k > 0)
        return (kept * self.step + self.lost * largest) / UNIT


def spread(atoms: list[tuple[Fraction, Fraction]], points: int) -> Sum:
    """The law of one l on a lattice: a value between two points is split between them, so that the mean stays."""
    largest = max(value for value, _ in atoms)
    span = largest - min(Fraction(0), *(value for value, _ in atoms))

    def cost(parts: int) -> Fraction:
        step = largest / parts
        gaps = ((value / step) % 1 for value, _ in atoms)
        return step**2 * sum((gap * (1 - gap) * mass for gap, (_, mass) in zip(gaps, atoms, strict=True)), Fraction(0))

    some = max(2, points * largest // (4 * span))
    step = largest / min(range(some, 2 * some, max(1, some // 60)), key=cost)
    masses: dict[int, int] = {0: up(1 - sum((mass for _, mass in atoms), Fraction(0)))}
    for value, mass in atoms:
        low = value // step
        share = value / step - low
        masses[low] = masses.get(low, 0) + up(mass * (1 - share))
        masses[low + 1] = masses.get(low + 1, 0) + up(mass * share)
    first = min(masses)
    listed = [masses.get(k, 0) for k in range(first, max(masses) + 1)]
    return Sum(step, first, listed, 0, sum(listed))


def expectation(atoms: list[tuple[Fraction, Fraction]], n: int, target: Fraction, points: int) -> Fraction:
    """Above E[(l_1 + ... + l_n)_+], l having these (value, mass), and 0 with the mass that is left."""
    largest = max(value for value, _ in atoms)
    if largest <= 0:
        return Fraction(0)
    # all that is ever dropped, n times over, costs less than a ten thousandth of the target
    least = max(1, down(target / (10**4 * 100 * n * n * largest)))
    one = spread(atoms, points)
    total = one
    for bit in bin(n)[3:]:
        total = total.times(total).trimmed(least, points)
        if bit == "1":
            while one.step < total.step:
                one = one.coarser()
            total = total.times(one).trimmed(least, points)
    return total.positive_part(n * largest)


def blanket(rows: list[list[Fraction]], n: int, growth: Fraction, delta: Fraction) -> None:
    """Theorem 1 for every ordered pair of rows."""
    columns = list(zip(*rows, strict=True))
    seen = set()
    for x, z in permutations(rows, 2):
        atoms: dict[Fraction, Fraction] = {}
        bare = Fraction(0)
        for u, v, column in zip(x, z, columns, strict=True):
            eta = min(column)
            if eta > 0:
                value = (u - growth * v) / eta
                atoms[value] = atoms.get(value, Fraction(0)) + eta
            else:
                bare += max(u - growth * v, Fraction(0))
        alone = sum((value * mass for value, mass in atoms.items() if value > 0), bare)
        key = (bare, tuple(sorted(atoms.items())))
        if alone <= delta or key in seen:
            continue
        seen.add(key)
        law = list(atoms.items())
        if not law or not any(expectation(law, n, delta * n, points) / n + bare <= delta for points in POINTS):
            raise Refused("the blanket does not give a delta that small")


# --- two messages, all datasets ------------------------------------------------------------------------------------------


@dataclass
class Count:
    """The number of ones among independent coins: its law from below and from above, and what was dropped of the latter."""

    first: int
    below: list[int]
    above: list[int]
    lost: int

    def times(self, other: "Count") -> "Count":
        """Of both together."""
        below = [mass // UNIT for mass in product(self.below, other.below)]
        above = [-(-mass // UNIT) for mass in product(self.above, other.above)]
        found = Count(self.first + other.first, below, above, 2 * (self.lost + other.lost))
        least, low, high = UNIT >> 110, 0, len(above)
        while above[low] <= least and low < high - 1:
            found.lost += above[low]
            low += 1
        while above[high - 1] <= least and low < high - 1:
            high -= 1
            found.lost += above[high]
        return Count(found.first + low, below[low:high], above[low:high], found.lost)


def coins(chance: Fraction, count: int) -> Count:
    """So many coins that show 1 with this chance."""
    total = Count(0, [UNIT], [UNIT], 0)
    one = Count(0, [down(1 - chance), down(chance)], [up(1 - chance), up(chance)], 0)
    for bit in bin(count)[2:]:
        total = total.times(total)
        if bit == "1":
            total = total.times(one)
    return total


def divergence(q: Fraction, r: Fraction, ones: int, zeros: int, growth: Fraction) -> Fraction:
    """Above D of the dataset whose others hold so many of either value."""
    others = coins(q, ones).times(coins(r, zeros))
    above, below = [0, *others.above, 0], [0, *others.below, 0]
    up_q, up_not_q, down_r, down_not_r = up(q), up(1 - q), down(r), down(1 - r)
    numerator, denominator = growth.numerator, growth.denominator
    total = 0
    for j in range(1, len(above)):
        gap = (up_q * above[j - 1] + up_not_q * above[j]) * denominator
        gap -= numerator * (down_r * below[j - 1] + down_not_r * below[j])
        total += max(gap, 0)
    return Fraction(total, UNIT * UNIT * denominator) + Fraction(others.lost, UNIT)


def cover(rows: list[list[Fraction]], n: int, growth: Fraction, delta: Fraction) -> None:
    """Theorem 2: cells of datasets that are halved until each is below delta."""
    if n > MOST_REPORTS_OF_COINS:
        raise Beyond(f"two messages of more than {MOST_REPORTS_OF_COINS:,} users")
    chances = [row[1] for row in rows]
    q, r = max(chances), min(chances)
    for more, less in {(q, r), (1 - r, 1 - q)}:
        width = -(-n // FEWEST_CELLS)
        cells = [(low, min(low + width, n) - 1) for low in range(0, n, width)]
        while cells:
            low, high = cells.pop()
            if divergence(more, less, low, n - 1 - high, growth) <= delta:
                continue
            if low == high:
                raise Refused("some dataset has a larger delta")
            middle = (low + high) // 2
            cells += [(low, middle), (middle + 1, high)]


# --- the certificate -------------------------------------------------------------------------------------------------------


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


def number(value: float) -> str:
    """The shortest digits that give the double back, as JavaScript writes them."""
    if value == int(value) and abs(value) < 1e21:
        return str(int(value))
    negative, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    sign, plain, power = "-" * negative, "".join(map(str, digits)), len(digits) + int(exponent)
    if 0 < power <= 21:
        return sign + (plain[:power] + "." + plain[power:] if power < len(plain) else plain.ljust(power, "0"))
    if -6 < power <= 0:
        return f"{sign}0.{'0' * -power}{plain}"
    tail = f".{plain[1:]}" if len(plain) > 1 else ""
    return f"{sign}{plain[0]}{tail}e{'+' if power > 0 else '-'}{abs(power - 1)}"


def law(document: dict[str, Any]) -> list[list[Fraction]]:
    """The rows of probabilities of a finite randomizer with rational ones."""
    kind = document["kind"]
    if kind == "response":
        size, gamma = document["size"], Fraction(int(document["threshold"]), WORD)
        if not (type(size) is int and size >= 2 and 0 < gamma <= 1):
            raise Refused("there is no such randomized response")
        # three values are as good as all: the others are one more message, whoever holds what
        return [
            [1 - gamma + gamma / size, gamma / size, gamma * (size - 2) / size][: min(size, 3)],
            [gamma / size, 1 - gamma + gamma / size, gamma * (size - 2) / size][: min(size, 3)],
        ]
    if kind == "lattice":
        rows = [[Fraction(int(count), WORD) for count in row] for row in document["counts"]]
    elif kind == "channel":
        rows = [[Fraction(entry) for entry in row] for row in document["matrix"]]
        rows = [[entry / sum(row) for entry in row] for row in rows]
    else:
        raise Beyond(f"randomizers of kind {kind!r}, whose probabilities are not finitely many fractions here")
    if len(rows) < 2 or any(sum(row) != 1 or min(row) < 0 or len(row) != len(rows[0]) for row in rows):
        raise Refused("the rows of the channel are no probabilities")
    keep = [k for k in range(len(rows[0])) if max(row[k] for row in rows) > 0]
    return [[row[k] for k in keep] for row in rows]


def check(document: dict[str, Any]) -> str:
    """Prove the claim, or say why not."""
    body = {name: value for name, value in document.items() if name != "sha256"}
    if document.get("kind") != "shuffledp certificate" or document.get("format") != 1:
        raise Refused("this is no certificate of format 1")
    if hashlib.sha256(canonical(body).encode()).hexdigest() != document["sha256"]:
        raise Refused("it does not match its SHA-256")
    claim = document["claim"]
    if claim["rounds"] != "1":
        raise Beyond("several rounds")
    epsilon, delta = (Fraction(float.fromhex(claim[name])) for name in ("epsilon", "delta"))
    n = int(claim["honest"])
    if not (epsilon >= 0 and 0 <= delta <= 1 and 1 <= n <= int(claim["reports"])):
        raise Refused("its numbers are out of range")
    rows, growth = law(claim["randomizer"]), exp_below(epsilon)
    if len(rows[0]) == 2 and min(map(min, rows)) > 0:
        cover(rows, n, growth, delta)
        return "all datasets of two messages are covered"
    blanket(rows, n, growth, delta)
    return "the privacy blanket gives it, for every pair of values"


def main() -> int:
    """Say what becomes of each file."""
    worst = 0
    for name in sys.argv[1:]:
        try:
            with open(name, encoding="utf-8") as file:
                document = json.load(file)
            print(f"{name}: confirmed: {check(document)}")
        except Beyond as reason:
            print(f"{name}: cannot be checked here: {reason}")
            worst = max(worst, 3)
        except Refused as reason:
            print(f"{name}: refused: {reason}")
            worst = max(worst, 3)
        except (OSError, KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError):
            print(f"{name}: refused: it cannot be read as a certificate")
            worst = 2
    if not sys.argv[1:]:
        print("usage: python3 check.py certificate.json ...")
        return 2
    return worst


if __name__ == "__main__":
    sys.exit(main())
