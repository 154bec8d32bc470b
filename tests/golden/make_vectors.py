"""Write src/shuffledp/service/wire/vectors.json: what a client in any language must reproduce, byte for byte.

Run as `python tests/golden/make_vectors.py`. The same file comes out every time: words are seeded, keys are hashes, and layers
are sealed by pyhpke, which takes an ephemeral key. Randomization, names, fingerprints and `info` are this package's own.
"""

import base64
import hashlib
import json
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from pyhpke import AEADId, CipherSuite, KDFId, KEMId, KEMKey, KEMKeyPair

import shuffledp.service.wire
from shuffledp import plan
from shuffledp.core.canonical import canonical, digest
from shuffledp.core.guarantee import Guarantee
from shuffledp.core.randomness import CHOICE, DUMMY_DRAW, Bytes, KeyedRandomness, Lane, Words
from shuffledp.domains.intervals import Intervals
from shuffledp.domains.labels import Labels
from shuffledp.domains.listed import Listed
from shuffledp.domains.products import Products
from shuffledp.domains.texts import Texts
from shuffledp.domains.vectors import Ball, Box, Vectors
from shuffledp.domains.whole_numbers import WholeNumbers
from shuffledp.errors import InvalidInput
from shuffledp.planning.ask import ask
from shuffledp.planning.families.histogram import HistogramFamily
from shuffledp.planning.families.summation import SummationFamily
from shuffledp.planning.plan import Plan
from shuffledp.protocols.column_moments import ColumnMoments
from shuffledp.protocols.digit_sums import DigitSums
from shuffledp.protocols.dummies import DummyCounts
from shuffledp.protocols.frequencies import Frequencies
from shuffledp.protocols.linear_regression import Regression
from shuffledp.protocols.noised import NoisedCounts
from shuffledp.protocols.noised_distribution import NoisedDistribution
from shuffledp.protocols.noised_survey import NoisedTable
from shuffledp.protocols.one_message import OneMessage
from shuffledp.protocols.survey import Asked
from shuffledp.protocols.text_frequencies import TextFrequencies
from shuffledp.protocols.vector_mean import VectorMean
from shuffledp.randomizers.codebook_response import CodebookResponse
from shuffledp.randomizers.design_response import DesignResponse
from shuffledp.randomizers.digit_by_digit import Digits
from shuffledp.randomizers.dummies import Dummies
from shuffledp.randomizers.geometric_noise import ThinnedGeometric, TwoSidedGeometric
from shuffledp.randomizers.identity import Identity
from shuffledp.randomizers.poisson import capped_poisson
from shuffledp.randomizers.response import RandomizedResponse
from shuffledp.randomizers.shuffler_noise import ShufflerNoise
from shuffledp.randomizers.structure import Structure
from shuffledp.randomizers.structures import AffineSpace
from shuffledp.service.sealing.hpke import info
from shuffledp.service.sealing.keys import KeyList, PublicKey, Role
from shuffledp.service.task import Task
from shuffledp.service.wire.bundle import bundled
from shuffledp.service.wire.record import SALT, SEALED, Header, encode_message, report_id

PATH = Path(shuffledp.service.wire.__file__).with_name("vectors.json")
ABOUT = {
    "canonical": "the JSON text `json` has the canonical form (RFC 8785) `canonical`; null: it is refused",
    "tasks": "a task document and its id",
    "keys": "an X25519 key, its number and its role, and its fingerprint",
    "randomization": (
        "a value under a plan's protocol is encoded as `symbol` and sent as `message`, when the words are these: `bytes` has the "
        "byte of each lane (0: randomized response, 1: rounding), `blocks` the two 64-bit words of each draw, in hexadecimal; "
        "`words`, for frequencies, has the 32-bit word of lane 2 (which of the value's messages)"
    ),
    "poisson": (
        "so many `dummies` on average are at most k with a probability of `thresholds`[k] / 2^128 (in hexadecimal), and never "
        "more than there are thresholds"
    ),
    "dummies": (
        "the `messages` for a value under a protocol with dummies, in increasing order, when the words are these: as above, the "
        "byte of lane 4 and draw 2^35 for the number, draws from 2^35 + j 2^20 for dummy j = 1, 2, ..."
    ),
    "rows": (
        "the `messages` for a row of numbers under a protocol with a codebook, as decimal texts, when the words are these: draw "
        "2^33 for the seed; of message t those of lanes + 8 t and of draws + t 2^40"
    ),
    "digits": (
        "the same for digits and dummies: those of digit j = 0, 1, ... have the byte of lane 4 + 8 j and draws that are j 2^40 "
        "larger"
    ),
    "truths": "the `message` for a value under a protocol with noise from the shuffler, which takes no words",
    "refused": "a value that the protocol has no message for",
    "sealing": (
        "a message sealed for the analyzer and then for each shuffler, the layers from the analyzer out. With the ephemeral "
        "private key and the `info` of each layer the record comes out; `report_id` names the record as a shuffler passes it on"
    ),
    "bundles": (
        "the messages of one report, each sealed for the analyzer, in a bundle of `slots` slots and a salt; "
        "`report_id` names the bundle as hop 1 keeps it, and `layer` is that shuffler's layer around it"
    ),
    "refused_bundles": "what hop 1 finds under its layer and refuses as invalid_message, for the reason `why`",
}
CANONICAL = [
    "null", "true", "[]", "{}", '""',
    "[1e-6,1e-7,1e20,1e21,1E+2,0.1,-0,-0.0,0.0,1.0,-1.5,100,1e-300,5e-324,1.7976931348623157e308]",
    "[0.3333333333333333,0.30000000000000004,123456789012345680000.0,333333333.33333329,4.5,2e-3,0.000001,4503599627370497.5]",
    "[9007199254740991,-9007199254740991,1e23,9.999999999999997e22,295147905179352825856.0]",
    r'{"b":1,"a":2,"A":3,"":4,"aa":5,"1":6,"10":7,"2":8}',
    r'{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}',
    r'["\u0000\u0001\u0008\u0009\u000a\u000b\u000c\u000d\u001f\u007f\u0080\u2028\u2029\"\\\/é😀"]',
    '{"z":{"y":[{"x":1,"w":[]}],"v":null}, "t" : [ true , false ] }', '"</script>"',
]  # fmt: skip
NOT_CANONICAL = [r'"\ud800"', r'{"\udc00":1}', r'["\ude00\ud83d"]', "1e400", "[-1e999]"]


class RecordingWords:
    """Seeded words, some of them set by hand, and a record of those that were used."""

    private = False

    def __init__(self, seed: int, lanes: dict[int, int], draws: dict[int, tuple[int, int]]) -> None:
        self._seeded, self._row, self._lanes, self._draws = KeyedRandomness.seeded(1), seed, lanes, draws
        self.bytes: dict[str, int] = {}
        self.words: dict[str, str] = {}
        self.blocks_: dict[str, list[str]] = {}

    def reserve(self) -> None:
        """They are not for releases."""

    def stream(self, first_row: int, count: int, lane: Lane) -> Bytes:
        """The byte of the only row, or its four."""
        assert first_row == 0
        if lane == CHOICE:
            assert count == 4
            seeded = int.from_bytes(self._seeded.stream(4 * self._row, 4, lane).tobytes(), "little")
            word = self._lanes.get(lane, seeded)
            self.words[str(lane)] = f"{word:08x}"
            return np.frombuffer(word.to_bytes(4, "little"), dtype=np.uint8)
        assert count == 1
        byte = self._lanes.get(lane, int(self._seeded.stream(self._row, 1, lane)[0]))
        self.bytes[str(lane)] = byte
        return np.array([byte], dtype=np.uint8)

    def blocks(self, rows: Words, draw: int) -> Words:
        """The block of the only row, if it is asked for."""
        if not len(rows):
            return np.empty((0, 2), dtype="<u8")
        seeded = self._seeded.blocks(np.array([self._row], dtype=np.uint64), draw)[0]
        words = [int(word) for word in self._draws.get(draw, seeded)]
        self.blocks_[str(draw)] = [f"{word:016x}" for word in words]
        return np.array([words], dtype="<u8")


def made(question: str, size: int, gamma: float | Fraction, **shape: Any) -> Plan:
    """A plan with any blanket: its guarantee is not claimed here."""
    randomizer = RandomizedResponse.of_threshold(size=size, threshold=math.ceil(Fraction(gamma) * 2**64))
    options = shape | {"size": size} if question == "histogram" and "labels" not in shape else shape
    asked: Any = ask(question, n=10, epsilon=1.0, delta=0.1, options=options)
    family: Any = HistogramFamily() if question == "histogram" else SummationFamily()
    return Plan(
        protocol=family.build(asked, randomizer), min_batch=10,
        guarantee=Guarantee(epsilon=1.0, delta=0.1, n=10, bound="best", reference="none"),
    )  # fmt: skip


def on_plane(prime: int, dimension: int, gamma: float | Fraction, domain: Listed) -> Plan:
    """The same for frequencies."""
    threshold = math.ceil(Fraction(gamma) * 2**64)
    randomizer = DesignResponse(structure=AffineSpace(prime=prime, dimension=dimension), threshold=threshold)
    return Plan(
        protocol=Frequencies(randomizer=randomizer, domain=domain), min_batch=10,
        guarantee=Guarantee(epsilon=1.0, delta=0.1, n=10, bound="best", reference="none"),
    )  # fmt: skip


def of_texts(prime: int, dimension: int, gamma: float | Fraction) -> Plan:
    """The same for texts that nobody listed."""
    listed = on_plane(prime, dimension, gamma, WholeNumbers(2))
    frequencies: Any = listed.protocol
    texts = Texts(hashlib.sha256(b"shuffledp vectors: texts").hexdigest()[:32])
    return replace(listed, protocol=TextFrequencies(randomizer=frequencies.randomizer, domain=texts))


def randomized(plan_: Plan, value: Any, randomness: RecordingWords) -> dict[str, Any]:
    """What becomes of a value, and the words that this took."""
    protocol = plan_.protocol
    assert isinstance(protocol, OneMessage)
    symbols = protocol.encode(protocol.domain.clean([value]).values, randomness, first_row=0)
    message = int(protocol.randomizer.randomize(symbols, randomness, first_row=0)[0])
    return {
        "protocol": plan_.document()["protocol"], "value": value, "bytes": randomness.bytes, "blocks": randomness.blocks_,
        **({"words": randomness.words} if randomness.words else {}), "symbol": int(symbols[0]), "message": message,
    }  # fmt: skip


def randomization() -> list[dict[str, Any]]:
    """Every kind of protocol, every branch."""
    labels = made("histogram", 3, 0.4, labels=("no", "yes", "Größe 😀"))
    coin = made("histogram", 2, Fraction(1, 3), labels=("no", "yes"))
    sixteen = made("histogram", 16, 0.1267)
    half = made("histogram", 5, 0.5)
    thousand = made("histogram", 1000, Fraction(999, 1000))
    large = made("histogram", 2**31 + 1, 0.75)
    largest = made("histogram", 2**32, 0.9)
    least = made("histogram", 7, Fraction(1, 2**64))
    most = made("histogram", 7, Fraction(2**20 - 1, 2**20))
    bins = made("histogram", 4, 0.2, low=-1.0, high=1.0)
    edges = made("histogram", 3, 0.3, low=0.1, high=1.1)
    hundred = made("histogram", 100, 0.3, low=0.0, high=1.0)
    sums = made("sum", 11, 0.25, low=-5.0, high=5.0)
    mean = made("mean", 8, 0.1, low=0.0, high=10.0)
    third = made("mean", 4, 0.3, low=0.1, high=0.7)
    query = made("query", 2, 0.15)
    cases: list[dict[str, Any]] = []

    def add(plan_: Plan, value: Any, lanes: dict[int, int] | None = None, **draws: tuple[int, int]) -> None:
        draw = {"first": 0, "second": 1, "third": 2, "rounding": 2**32, "choice": 2**33, "again": 2**33 + 1}
        at = {draw[name]: block for name, block in draws.items()}
        cases.append(randomized(plan_, value, RecordingWords(len(cases), lanes or {}, at)))

    plain: list[tuple[Plan, list[Any]]] = [
        (labels, ["no", "yes", "Größe 😀"]), (coin, ["yes", "no"]), (sixteen, [0, 7, 15]), (half, [0, 4]),
        (thousand, [0, 500, 999]), (large, [0, 2**31]), (largest, [0, 2**32 - 1]), (least, [3]), (most, [3]),
        (bins, [-1.0, -0.5, -0.0, 0.4999, 0.5, 1.0]),
        (edges, [0.1, 0.43333333333333335, 0.4333333333333334, 0.7666666666666666, 1.1]),
        (hundred, [0.29, 0.57, 0.58, 1.0]), (sums, [-5.0, 0.3, 4.99, 5.0]), (mean, [0.0, 3.3, 7.142857142857143, 10.0]),
        (third, [0.1, 0.3, 0.5, 0.7]), (query, [0.0, 1.0, 0.5, 1e-9]),
    ]  # fmt: skip
    for plan_, values in plain:
        for value in values:
            add(plan_, value)
    # the threshold's byte settles nothing: the next 56 bits of the first word do, and its last 8 do not count
    for plan_, value in ((labels, "no"), (sixteen, 9), (half, 4), (mean, 10.0), (least, 5), (most, 5)):
        top, rest = divmod(int(plan_.protocol.randomizer.document()["threshold"]), 1 << 56)
        for near in (rest - 1, rest, rest + 1):
            if 0 <= near < 1 << 56:
                add(plan_, value, {0: top}, first=(near << 8 | 0xFF, 0x0123456789ABCDEF))
    # a draw is rejected once, twice; only the low 32 bits of the second word count
    zero, whole = 0xDEADBEEF << 32, (1 << 64) - 1
    add(labels, "yes", {0: 0}, first=(0, zero), second=(whole, whole))
    add(labels, "yes", {0: 0}, first=(0, zero), second=(0, zero), third=(0, zero | 0x80000000))
    add(large, 5, {0: 0}, first=(0, 2), second=(0, 4), third=(0, 3))
    add(thousand, 1, {0: 0}, first=(0, 0), second=(0, 4294967))
    add(sixteen, 1, {0: 0}, first=(0, 0))
    # a byte equal to the fraction's first eight bits: 128 bits more decide about rounding
    for plan_, value in ((mean, 3.3), (sums, 0.3), (query, 0.5), (query, 1e-9), (query, 1e-30), (third, 0.3)):
        summation: Any = plan_.protocol
        scaled = (value - summation.low) / (summation.high - summation.low) * summation.precision
        bits = (scaled - min(math.floor(scaled), summation.precision - 1)) * 256
        rest_ = (bits - int(bits)) * 2.0**64
        first, last = math.floor(rest_), math.floor((rest_ - math.floor(rest_)) * 2.0**64)
        for block in ((first - 1, whole), (first, last - 1), (first, last), (first + 1, 0)):
            if min(block) >= 0:
                add(plan_, value, {0: 255, 1: int(bits)}, rounding=block)
    # lines and planes through points: every kind of direction, the largest orders, a choice that is rejected once and twice
    fruit = on_plane(5, 2, 0.4, Labels(("apple", "pear", "Größe 😀")))
    parts = on_plane(31, 2, 0.2, Intervals(900, -1.0, 1.0))
    wide = on_plane(65521, 2, 0.3, WholeNumbers(65521**2))
    space = on_plane(7, 3, Fraction(1, 3), WholeNumbers(343))
    deep = on_plane(1621, 3, 0.1, WholeNumbers(1621**3))
    planes: list[tuple[Plan, list[Any]]] = [
        (fruit, ["apple", "pear", "Größe 😀"]), (parts, [-1.0, 0.3, 1.0]), (wide, [0, 65520, 65521, 65521**2 - 1]),
        (space, [0, 6, 48, 300, 342]), (deep, [0, 1621, 1621**2, 1621**3 - 1]),
    ]  # fmt: skip
    for plan_, values in planes:
        frequencies: Any = plan_.protocol
        choices = frequencies.randomizer.structure.choices
        directions = {0, 1, choices - 1, choices - 2, choices // 2}
        for value in values:
            add(plan_, value)
            for direction in sorted(directions):
                add(plan_, value, {0: 255, CHOICE: -(-(direction << 32) // choices) + 1})
    for text in ("apple", "", "Größe 😀", "e\u0301", "\u00e9", "\0", "日本語", "x" * 1000):
        for plan_ in (of_texts(13, 2, 0.2), of_texts(65521, 2, 0.5), of_texts(1621, 3, 0.01)):
            add(plan_, text)
    add(deep, 5, {0: 255, CHOICE: 0}, choice=(0, zero | 0x12345678))
    add(deep, 5, {0: 255, CHOICE: 0}, choice=(whole, zero), again=(0, whole))
    add(wide, 5, {0: 0, CHOICE: 7}, first=(0, zero), second=(0, whole))
    return cases


def sent(protocol: DummyCounts | DigitSums, value: float, randomness: RecordingWords) -> dict[str, Any]:
    """The messages for a value, true and dummies, and the words that this took."""
    values = protocol.domain.clean([value]).values
    return {
        "protocol": protocol.document(), "value": value,
        "messages": protocol.of_user(protocol.randomize(values, randomness, first_row=0)),
        "bytes": randomness.bytes, "words": randomness.words, "blocks": randomness.blocks_,
    }  # fmt: skip


def dummies() -> list[dict[str, Any]]:
    """On lists and structures; few and many of them, every branch."""
    structures = (
        Identity(size=4),
        Identity(size=3_000_000_000),
        AffineSpace(prime=5),
        AffineSpace(prime=3, dimension=3),
    )
    cases: list[dict[str, Any]] = []

    def add(structure: Structure, rate: float, lanes: dict[int, int], draws: dict[int, tuple[int, int]]) -> None:
        randomizer = Dummies(structure=structure, dummies=rate)
        protocol = DummyCounts(randomizer=randomizer, domain=WholeNumbers(min(structure.values, 1000)))
        cases.append(sent(protocol, len(cases) % protocol.domain.size, RecordingWords(len(cases), lanes, draws)))

    for structure in structures:
        for rate in (1e-9, 0.25, 1.5, 6.0):
            add(structure, rate, {}, {})
    # the first byte settles nothing: up to 120 bits more do, and the last 8 of the first word do not count
    for rate in (0.25, 6.0):
        thresholds = capped_poisson(rate).thresholds
        for threshold in (thresholds[0], thresholds[1], thresholds[3], thresholds[-1]):
            for near in (threshold - 1, threshold):
                high, low = divmod(near, 1 << 64)
                first = (high % (1 << 56)) << 8 | 0xAB
                add(structures[0], rate, {4: high >> 56}, {DUMMY_DRAW: (first, low)})
    add(structures[0], 20.0, {4: 255}, {DUMMY_DRAW: ((1 << 64) - 1, (1 << 64) - 1)})
    # a dummy is rejected
    first = DUMMY_DRAW + (1 << 20)
    add(structures[1], 6.0, {4: 10}, {first: (0, 0), first + 1: (0, 1), first + 2: (0, 2)})
    return cases


def averaging(domain: Vectors, randomizer: CodebookResponse) -> VectorMean | ColumnMoments:
    """The mean of rows, or the moments of columns, the last of three explained by the others."""
    if not isinstance(domain, Products):
        return VectorMean(randomizer=randomizer, domain=domain)
    *features, target = domain.columns
    asked = Regression(target=target, features=tuple(features), ridge=0.5) if features else None
    return ColumnMoments(randomizer=randomizer, domain=domain, regression=asked)


def rows() -> list[dict[str, Any]]:
    """Balls, boxes and products, few and many codewords, one message and several; the nearest codeword and any."""
    box = Box((0.0, -1.0), (1.0, 100.0), ("share", "change"))
    homes = Products((18.0, 0.0, 0.0), (90.0, 9.0, 3000.0), ("age", "rooms", "rent"))
    cases: list[tuple[Vectors, int, int, Any, dict[int, int]]] = [
        (Ball(3, 2.0), 8, 1, [0.5, -1.25, 0.75], {}),
        (Ball(3, 2.0), 8, 1, [0.5, -1.25, 0.75], {0: 0}),
        (Ball(1, 1.0), 2, 1, [-1.0], {}),
        (Ball(7, 1.0), 500, 1, [0.1, 0.2, -0.3, 0.4, 0.0, 0.25, -0.125], {}),
        (Ball(40, 3.0), 64, 1, [math.sin(j) / 3 for j in range(40)], {}),
        (box, 16, 1, [0.3, 57.0], {}),
        (box, 16, 1, {"change": -1.0, "share": 0.0}, {}),
        (Ball(2, 1.0, ("x", "y")), 5, 3, {"x": 0.25, "y": -0.5}, {0: 0, 8: 255, 16: 0}),
        (Products((0.0,), (9.0,), ("rooms",)), 64, 1, [2.0], {}),
        (homes, 128, 1, {"rooms": 3.0, "age": 41.5, "rent": 912.34}, {}),
        (homes, 128, 2, [90.0, 0.0, 3000.0], {8: 0}),
    ]
    found = []
    for seed, (domain, size, repeats, value, lanes) in enumerate(cases):
        randomizer = CodebookResponse.private(dimension=domain.dimension, size=size, gamma=0.2, repeats=repeats)
        protocol, randomness = averaging(domain, randomizer), RecordingWords(seed, lanes, {})
        messages = protocol.of_user(protocol.randomize(protocol.domain.clean([value]).values, randomness, first_row=0))
        found.append({
            "protocol": protocol.document(), "value": value, "messages": [str(message) for message in messages],
            "bytes": randomness.bytes, "words": randomness.words, "blocks": randomness.blocks_,
        })  # fmt: skip
    return found


def digits() -> list[dict[str, Any]]:
    """One digit, few and many, in small and large bases, with values on grid points and between them."""
    shapes: list[tuple[int, tuple[float, ...], float, float]] = [
        (12, (0.0065, 0.00054), 0.0, 1.0), (5, (1.5, 0.3), -2.0, 3.0), (2, (6.0, 3.0, 1.5, 0.75), 0.0, 1.0),
        (1000, (0.4,), 0.0, 60.0), (32768, (2.0, 1e-9), -1e6, 1e6), (2, (0.1,) * 30, 0.0, 1.0),
    ]  # fmt: skip
    cases: list[dict[str, Any]] = []
    for base, rates, low, high in shapes:
        protocol = DigitSums(randomizer=Digits(base=base, dummies=rates), low=low, high=high)
        for share in (0.0, 0.25, 0.618, 1.0):
            cases.append(sent(protocol, low + share * (high - low), RecordingWords(3000 + len(cases), {}, {})))
    # every dummy of the second digit is drawn from its own words, to the last bit of their number
    threshold = capped_poisson(0.3).thresholds[1]
    first, second = divmod(threshold, 1 << 64)
    for low_bits in (second - 1, second):
        words = RecordingWords(2000, {12: first >> 56}, {(1 << 40) + DUMMY_DRAW: (first % (1 << 56) << 8, low_bits)})
        cases.append(sent(DigitSums(randomizer=Digits(base=5, dummies=(1.5, 0.3))), 0.3, words))
    return cases


def truths() -> list[dict[str, Any]]:
    """Counts, distributions and surveys with noise from the shuffler: the message is the symbol."""
    usual, pure = TwoSidedGeometric.least(1.0, 1e-6), ThinnedGeometric.least(2.0)
    fruit, grid = Labels(("apple", "pear", "Größe 😀")), Intervals(4, 0.1, 1.1)
    asked = tuple(
        Asked(name=name, weight=weight, protocol=protocol)
        for name, weight, protocol in (
            ("fruit", 2, NoisedCounts(randomizer=ShufflerNoise(size=3, noise=usual), domain=fruit)),
            ("hours", 1, NoisedDistribution(randomizer=ShufflerNoise(size=4, noise=usual), domain=grid)),
            ("again", 1, NoisedCounts(randomizer=ShufflerNoise(size=3, noise=usual), domain=fruit)),
        )
    )
    whole = NoisedCounts(randomizer=ShufflerNoise(size=16, noise=pure), domain=WholeNumbers(16))
    cases: list[tuple[Any, list[Any]]] = [
        (whole, [0, 15]), (asked[0].protocol, ["apple", "Größe 😀"]), (asked[1].protocol, [0.1, 0.6, 1.1]),
        (NoisedTable(questions=asked), [{"again": "pear", "fruit": "Größe 😀", "hours": 0.9}]),
    ]  # fmt: skip
    return [
        {"protocol": protocol.document(), "value": value, "message": protocol.of_user(
            protocol.randomize(protocol.domain.clean([value]).values, KeyedRandomness.seeded(0), first_row=0)
        )[0]}
        for protocol, values in cases
        for value in values
    ]  # fmt: skip


def poisson() -> list[dict[str, Any]]:
    """How many dummies a user sends, for some averages."""
    laws = [capped_poisson(rate) for rate in (1e-9, 0.00682509, 0.25, 1.5, 20.0)]
    return [{"dummies": law.mean, "thresholds": [f"{t:032x}" for t in law.thresholds]} for law in laws]


def refused() -> list[dict[str, Any]]:
    """Values that are not of the domain."""
    labels = made("histogram", 3, 0.4, labels=("no", "yes", "maybe"))
    cases: list[tuple[Plan, list[Any]]] = [
        (labels, ["YES", "", " yes", 1, None, "toString", "0"]), (made("histogram", 16, 0.1), [-1, 16, 1.5, None, "x"]),
        (made("histogram", 4, 0.2, low=-1.0, high=1.0), [1.0000000000000002, -2, "x", []]),
        (of_texts(5, 2, 0.1), [[1], None, [], "\ud800"]), (on_plane(5, 2, 0.1, WholeNumbers(20)), [-1, 20, 24, 1.5, "x"]),
        (made("mean", 8, 0.1, low=0.0, high=10.0), [-1e-300, 10.000000000000002, "x", {}]),
    ]  # fmt: skip
    found = []
    for plan_, values in cases:
        for value in values:
            try:
                plan_.protocol.domain.clean([value])
            except InvalidInput:
                found.append({"protocol": plan_.document()["protocol"], "value": value})
            else:
                raise AssertionError(f"{value!r} was not refused")
    return found


def tasks() -> list[Task]:
    """With one, two and three shufflers; names need not be ASCII."""
    return [
        Task(
            plan=plan("histogram", n=50, epsilon=0.5, delta=1e-2, labels=["a", "b", "c", "é\u2028\"\\"]), window=60, max_age=600,
            shufflers=("Alpha",), analyzer="Beta", honest_fraction=1.0,
        ),
        Task(
            plan=plan("mean", n=200, epsilon=1.0, delta=1e-6, high=10.0, honest_fraction=0.9), window=3600, max_age=86400,
            shufflers=("Alpha", "Großer Mixer"), analyzer="Βήτα", honest_fraction=0.9, release_margin=20, on_expiry="destroy",
        ),
        Task(
            plan=plan("query", n=1000, epsilon=1e-1, delta=1e-9, precision=1), window=1, max_age=1,
            shufflers=("One", "Two", "One"), analyzer="Two", honest_fraction=1, allow_same_operator=True,
        ),
        Task(
            plan=plan("histogram", n=500, epsilon=1.0, delta=1e-6, labels=["no", "yes"]), window=60, max_age=600,
            shufflers=("Alpha",), analyzer="Beta", honest_fraction=1.0, on_expiry="top-up",
        ),
    ]  # fmt: skip


def secret(name: str) -> X25519PrivateKey:
    """A private key that is no secret."""
    return X25519PrivateKey.from_private_bytes(hashlib.sha256(f"shuffledp vectors: {name}".encode()).digest())


def public(private: X25519PrivateKey) -> bytes:
    """Its point."""
    return private.public_key().public_bytes_raw()


def keys() -> list[dict[str, Any]]:
    """Fingerprints cover the role, the number and the point."""
    one = secret("key")
    found = []
    for role, key_id, private in (
        ("analyzer", 0, one),
        ("shuffler", 0, one),
        ("analyzer", 255, one),
        ("analyzer", 0, secret("2")),
    ):
        key = PublicKey(key_id=key_id, state="ACTIVE", public=public(private))
        listed = KeyList(role=role, keys=(key,))  # type: ignore[arg-type]
        found.append(
            {
                "role": role, "key_id": key_id, "public": base64.b64encode(key.public).decode(),
                "private": private.private_bytes_raw().hex(), "fingerprint": listed.fingerprint(key),
            }
        )  # fmt: skip
    return found


def sealed(record: bytes, task_id: str, name: str, hop: int, key_id: int, which: str = "") -> dict[str, Any]:
    """One layer; its name decides the keys, the ephemeral one also which of several it is."""
    suite = CipherSuite.new(KEMId.DHKEM_X25519_HKDF_SHA256, KDFId.HKDF_SHA256, AEADId.AES128_GCM)
    role: Role = "shuffler" if hop else "analyzer"
    private, ephemeral = secret(f"recipient {name}"), secret(f"ephemeral {name}{which}")
    header = Header(key_id).encode()
    bound = info(role, hop, header, task_id, public(private))
    pair = KEMKeyPair(
        KEMKey.from_pyca_cryptography_key(ephemeral), KEMKey.from_pyca_cryptography_key(ephemeral.public_key())
    )
    enc, context = suite.create_sender_context(
        KEMKey.from_pyca_cryptography_key(private.public_key()), info=bound, eks=pair
    )
    outside = header + enc + context.seal(record)
    return {
        "role": role, "hop": hop, "key_id": key_id, "private": private.private_bytes_raw().hex(),
        "public": base64.b64encode(public(private)).decode(), "ephemeral": ephemeral.private_bytes_raw().hex(),
        "info": bound.hex(), "plaintext": record.hex(), "record": outside.hex(), "report_id": report_id(outside).hex(),
    }  # fmt: skip


def sealing() -> list[dict[str, Any]]:
    """Messages through one to three shufflers."""
    found = []
    for task in tasks():
        for message in (0, 1, 2**32 - 1):
            record, layers = encode_message(message), []
            for hop in range(task.hops + 1):
                layers.append(sealed(record, task.id, f"{task.id} {message} {hop}", hop, (7 * hop + message) % 256))
                record = bytes.fromhex(layers[-1]["record"])
            found.append({"task_id": task.id, "message": message, "layers": layers})
    return found


def bundles() -> list[dict[str, Any]]:
    """One to four messages in four slots, sealed to one key."""
    task_id, found = digest({"bundles": 4}), []
    for messages in ([5], [0, 5], [5, 5, 1361], [0, 1, 5, 2**32 - 1]):
        parts = [
            sealed(encode_message(message), task_id, "bundle", 0, 3, f"{messages} {place}")
            for place, message in enumerate(messages)
        ]
        salt = bytes.fromhex(digest({"salt": messages}))[:SALT]
        bundle = bundled([bytes.fromhex(part["record"]) for part in parts], 4, salt)
        found.append(
            {
                "task_id": task_id, "slots": 4, "messages": messages, "sealed": parts, "salt": salt.hex(),
                "bundle": bundle.hex(),
                "report_id": report_id(bundle).hex(), "layer": sealed(bundle, task_id, f"bundle {messages}", 1, 9),
            }
        )  # fmt: skip
    return found


def refused_bundles() -> list[dict[str, Any]]:
    """Each wrong in one way."""
    one, two, three = (bytes.fromhex(part["record"]) for part in bundles()[2]["sealed"])
    empty = bytes(SEALED)
    wrong = {
        "nothing is in it": empty * 4,
        "a slot is missing": one + two + three,
        "a slot too many": one + two + three + empty * 2,
        "an empty slot before one in use": one + empty + two + empty,
        "what is left is not zero": one + two + three + empty[:-1] + b"\1",
        "another suite": one + two[:2] + b"\x21" + two[3:] + empty * 2,
        "two keys": one + b"\4" + two[1:] + empty * 2,
        "one record twice": one + two + one + empty,
    }
    salted = {why: bundle + bytes(range(SALT)) for why, bundle in wrong.items()}
    salted["there is no salt"] = one + two + three + empty
    return [{"slots": 4, "why": why, "bundle": bundle.hex()} for why, bundle in salted.items()]


def vectors() -> dict[str, Any]:
    """All of them."""
    forms: list[dict[str, Any]] = [
        {"json": text, "canonical": canonical(json.loads(text)).decode()} for text in CANONICAL
    ]
    return {
        "version": 2,
        "about": ABOUT,
        "canonical": forms + [{"json": text, "canonical": None} for text in NOT_CANONICAL],
        "tasks": [{"document": task.document(), "id": task.id} for task in tasks()],
        "keys": keys(),
        "randomization": randomization(),
        "poisson": poisson(),
        "dummies": dummies(),
        "rows": rows(),
        "digits": digits(),
        "truths": truths(),
        "refused": refused(),
        "sealing": sealing(),
        "bundles": bundles(),
        "refused_bundles": refused_bundles(),
    }


def text() -> str:
    """One vector a line, so that a change is seen."""
    parts = []
    for name, value in vectors().items():
        if isinstance(value, list):
            lines = ",\n".join(json.dumps(item, ensure_ascii=True) for item in value)
            parts.append(f"{json.dumps(name)}: [\n{lines}\n]")
        else:
            parts.append(f"{json.dumps(name)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
