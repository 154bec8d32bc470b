"""The checker: against enumerations, on certificates that shuffledp writes, on better ones, and on hostile files."""

import ast
import copy
import json
import random
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from functools import cache, partial
from itertools import islice, product
from math import exp, floor, prod
from pathlib import Path
from tempfile import NamedTemporaryFile
from time import process_time
from typing import Any
from unittest.mock import patch

import check
import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.forgery import forged, resealed
from oracles.scale import full
from oracles.statements import restated, statement_of
from shuffledp import Certificate, Channel, LatticeChannel, RandomizedResponse, account, verify
from shuffledp.certificates import prove_certificate
from shuffledp.certificates.effort import Effort
from shuffledp.core.guarantee import Guarantee
from shuffledp.core.parsing import Unreadable, parse_json
from shuffledp.errors import InvalidInput

HERE = Path(__file__).parent
FROZEN = HERE.parent / "tests" / "frozen"
CERTIFICATES = [*sorted((HERE / "certificates").glob("*.json")), *sorted(FROZEN.glob("*/certificate-response.json"))]


def changed(document: dict[str, Any], **claim: Any) -> dict[str, Any]:
    """With another claim, in honest words and with an honest hash."""
    made = copy.deepcopy(document)
    made["claim"] |= claim
    return resealed(restated(made) or made)


def read(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("file", CERTIFICATES, ids=lambda file: file.stem)
def test_certificates_are_confirmed_word_for_word_and_better_ones_refused(file: Path) -> None:
    document = read(file)
    method, proved, *others = check.check(document)
    assert method in (
        "all datasets of two messages are covered",
        "the privacy blanket gives it, for every pair of values",
    )
    assert proved == f"proved: {statement_of(document)}" == f"proved: {document['statement']}"
    assert len(others) == 2
    epsilon = float.fromhex(document["claim"]["epsilon"])
    with pytest.raises(check.Refused, match="delta is not proved"):
        check.check(changed(document, epsilon=(epsilon * 0.998).hex()))


def test_a_certificate_is_confirmed_however_its_numbers_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1.0 and 1 are one number of JSON, and so are 0.5 and 5e-1."""
    monkeypatch.setattr(check, "POINTS", ROUGH)
    file = tmp_path / "rewritten.json"
    for name in HONEST:
        document = honest(name)
        expected = check.check(document)
        text = json.dumps(document).replace('"format": 1', '"format": 1.0').replace('"size": 5', '"size": 50e-1')
        text = text.replace("0.25", "25e-2").replace('"inputs": [0.0, 1.0]', '"inputs": [-0, 1]')
        assert (
            text.count("e-") - json.dumps(document).count("e-")
            == {"response": 1, "coin": 0, "channel": 3, "lattice": 0}[name]
        )
        for content in (text.encode(), rfc8785.dumps(document)):
            file.write_bytes(content)
            assert check.check(check.read(str(file))) == expected


def test_what_one_user_sends_may_be_enough() -> None:
    document = honest("response")
    method, proved, *_ = check.check(changed(document, epsilon=(1.6).hex(), delta=(0.0).hex(), honest="1"))
    assert method == "what one user sends is that private by itself"
    assert proved.startswith(
        "proved: (1.600001, 0)-differentially private after shuffling 1 honest reports among 80 or more"
    )
    with pytest.raises(check.Refused, match="delta is not proved"):
        check.check(changed(document, epsilon=(1.4).hex(), delta=(0.0).hex(), honest="1"))


@pytest.mark.parametrize(
    ("field", "value"), [("delta", "0x1.0000000000000p-30"), ("honest", "300"), ("epsilon", "0x1.0000000000000p-7")]
)
def test_an_edited_claim_is_refused(field: str, value: str) -> None:
    document = read(HERE / "certificates" / "response.json")
    edited = copy.deepcopy(document)
    edited["claim"][field] = value
    with pytest.raises(check.Refused, match="SHA-256"):
        check.check(edited)
    with pytest.raises(check.Refused, match="its statement is not what its numbers say"):
        check.check(resealed(edited))
    with pytest.raises(check.Refused, match="its delta is not proved"):
        check.check(changed(document, **{field: value}))


def test_it_imports_the_standard_library_only() -> None:
    tree = ast.parse((HERE / "check.py").read_text(encoding="utf-8"))
    names = [a.name for node in ast.walk(tree) if isinstance(node, ast.Import) for a in node.names]
    names += [str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert {name.split(".")[0] for name in names} <= sys.stdlib_module_names


def units(value: Fraction) -> int:
    return floor(value * check.UNIT)


@pytest.mark.parametrize("far", [Fraction(-5, 2), Fraction(-5000)])
def test_the_expectation_is_above_the_enumerated_one_and_close(far: Fraction) -> None:
    """Also where a value so far below that no lattice has a point there moves up."""
    atoms = [(Fraction(7, 3), Fraction(1, 5)), (far, Fraction(1, 3)), (Fraction(-1, 7), Fraction(1, 4))]
    listed = [*atoms, (Fraction(0), 1 - sum(mass for _, mass in atoms))]
    for n in (1, 2, 5, 6):
        exact = sum(
            (
                max(sum(v for v, _ in chosen), Fraction(0)) * prod((m for _, m in chosen), start=Fraction(1))
                for chosen in product(listed, repeat=n)
            ),
            Fraction(0),
        )
        measure = {units(value): units(mass) for value, mass in atoms}
        target = floor(Fraction(1, 10**6) * check.UNIT**2)
        found = Fraction(check.expectation(measure, n, target, 3000, check.Work()), check.UNIT**2)
        assert exact - Fraction(1, 10**40) <= found <= exact * (1 + Fraction(1, 500 if far > -3 else 20))


def test_the_divergence_of_coins_is_above_the_enumerated_one_and_close() -> None:
    q, r, growth = Fraction(4, 5), Fraction(1, 3), Fraction(5, 4)
    for ones, zeros in ((0, 3), (2, 2), (4, 1)):
        chances = [q] * ones + [r] * zeros

        def views(last: Fraction, chances: list[Fraction] = chances) -> list[Fraction]:
            found = [Fraction(0)] * (len(chances) + 2)
            for outcome in product((0, 1), repeat=len(chances) + 1):
                parts = (c if o else 1 - c for c, o in zip([*chances, last], outcome, strict=True))
                found[sum(outcome)] += prod(parts, start=Fraction(1))
            return found

        exact = sum(max(u - growth * v, Fraction(0)) for u, v in zip(views(q), views(r), strict=True))
        found = check.divergence(units(q), units(r), ones, zeros, units(growth), check.Work())
        assert exact - Fraction(1, 10**40) <= Fraction(found, check.UNIT**3) <= exact + Fraction(1, 10**25)


def test_probabilities_are_enclosed() -> None:
    """Thirds are between their roundings, equal rows are one, and what nobody sends is left out."""
    table = check.Table.of([[1, 0, 2], [2, 0, 1], [1, 0, 2]])
    assert len(table.low) == len(table.high) == 2
    for low, high, true in zip(table.low[0], table.high[0], (Fraction(1, 3), Fraction(2, 3)), strict=True):
        assert low < true * check.UNIT < high == low + 1
    assert table.floor() == [min(table.low[0][0], table.low[1][0])] * 2


def test_work_is_refused_before_it_is_done() -> None:
    work = check.Work()
    work.left = 10
    for act in (
        lambda: check.product([1] * 100, [1] * 100, work),
        lambda: check.spread({5: 1, -3: 1}, 1000, work),
        lambda: check.coins(check.UNIT // 3, 1000, work),
    ):
        work.left = 10
        with pytest.raises(check.Beyond, match="takes so long"):
            act()


def test_a_tail_that_is_dropped_is_counted() -> None:
    """Dropping far too much must show in the result: `lost` pays for it."""
    whole = check.Sum(1, -2, [check.UNIT // 4] * 4, 0, check.UNIT)
    cut = whole.trimmed(check.UNIT // 3, 100)
    assert cut.lost == check.UNIT // 4
    assert cut.positive_part(3) >= whole.positive_part(3)


def test_the_exponential_is_below_and_close() -> None:
    for exponent in (0.0, 1e-9, 0.3, 1.0, 20.0):
        found = Fraction(check.exp_below(Fraction(exponent)), check.UNIT)
        assert found <= Fraction(exp(exponent)) * (1 + Fraction(1, 10**15))
        assert found >= Fraction(exp(exponent)) * (1 - Fraction(1, 10**14))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1e-6, "0.000001"), (1e-7, "1e-7"), (1.5e-10, "1.5e-10"), (0.25, "0.25"), (1.0, "1"), (123456.75, "123456.75"),
        (1e21, "1e+21"), (1.25e30, "1.25e+30"), (1e20, "100000000000000000000"), (-0.5, "-0.5"), (2.0**60, "1152921504606847000"),
    ],
)  # fmt: skip
def test_numbers_are_written_as_rfc_8785_says(value: float, text: str) -> None:
    assert check.number(value) == text == rfc8785.dumps(value).decode()


def test_the_command(tmp_path: Path) -> None:
    good = HERE / "certificates" / "response.json"
    other, bad, strange = (tmp_path / name for name in ("other.json", "bad.json", "\x1b[2Kgo\u00f6d\n.json"))
    other.write_text(json.dumps(changed(read(good), randomizer={"kind": "laplace", "epsilon0": 1.0})))
    bad.write_text("[]")

    def run(*files: Path) -> tuple[int, str]:
        command = [sys.executable, "-I", str(HERE / "check.py"), *map(str, files)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    statement = read(good)["statement"]
    assert run(good) == (
        0,
        f"{good}: confirmed: the privacy blanket gives it, for every pair of values\n  proved: {statement}\n"
        '  randomizer: {"kind":"response","size":10,"threshold":"11255525615604647905"}\n'
        "  not proved: which bound it comes from, which version made it, and what its inputs and messages are called\n",
    )
    assert run(good)[1].replace(str(good), "certificates/response.json") in (HERE / "README.md").read_text(
        encoding="utf-8"
    )
    code, words = run(good, other, bad)
    assert code == 3
    assert "cannot be checked here" in words
    assert run(bad) == (2, f"{bad}: refused: it cannot be read as a certificate: it is something else\n")
    assert run(tmp_path) == (2, f"{tmp_path}: refused: it cannot be read as a certificate: there is no such file\n")
    assert run(strange)[1].startswith(f"{tmp_path}/\\x1b[2Kgo\\xf6d\\n.json: refused: ")
    assert run()[0] == 2


# --- hostile files -------------------------------------------------------------------------------------------------------

N = 40
HONEST: dict[str, Any] = {
    "response": RandomizedResponse(size=5, epsilon0=1.5).as_run(),
    "coin": RandomizedResponse(size=2, epsilon0=1.0).as_run(),
    "channel": Channel([[0.625, 0.25, 0.125], [0.25, 0.25, 0.5]]),
    "lattice": LatticeChannel.of(Channel([[0.6, 0.3, 0.1], [0.2, 0.3, 0.5]])),
}
HARMLESS = {"bound", "made_with", "label", "inputs", "outputs", "threshold", "size"}
"""What may be edited so that every word is still true: another name, or another randomizer of which the claim holds."""
ROUGH = (100, 400)
"""Points of lattices that are enough for so few people."""
DOUBLES: list[Any] = [
    "inf", "-inf", "nan", "0x1p+9999", "0x1.0000000000000p+9999", "0x1.0000000000000p-9999", "0x1p+40",
    "0x1.0000000000000p+40", "0x1.0000000000000p+1023", "-0x1.0000000000000p+0", "0x0.0p+0", "-0x0.0p+0", "0x1p-1", "0x1.8p-1",
    "0X1.0000000000000P-1", "0x1.0000000000000p-01", "0x1.0000000000000p-1 ", " 0x1.0000000000000p-1", "0x1.0000000000000p-1\n",
    "+0x1.0000000000000p-1", "0x1.000000000000_0p-1", "0x1.0000000000000p\u0661", "1", "1.0", "5_0.0", "", "0x", 0.5, 1, True,
    None, ["0x1.0000000000000p-1"], {}, "0x1." + "0" * 10**6 + "p-1",
]  # fmt: skip
WHOLES: list[Any] = [
    "0", "-1", "+5", " 5", "5 ", "5\n", "5_00", "0500", "0x10", "1e3", "500.0", "\u0665\u0660\u0660", "\uff15",
    "1000000000000000001", "18446744073709551617", "9" * 10**6, "", 500, 500.5, True, None, [], {}, ["500"],
]  # fmt: skip
NUMBERS: list[Any] = ["0.5", "1/2", "", True, False, None, [], {}, -0.25, 1.5, 1e300, 1e-320, "nan", "5_00", ["0.5"]]
SIZES: list[Any] = [0, 1, -5, 5.5, "5", True, None, [], 2**32 + 1, 2**52, 1e300]
Hostile = tuple[str, bytes]


@cache
def honest(name: str) -> dict[str, Any]:
    randomizer = HONEST[name]
    found = account(randomizer, n=N, delta=1e-3)
    guarantee = Guarantee(epsilon=found.epsilon * 1.02, delta=1e-3, n=N, bound="best", reference="")
    document = Certificate.of(randomizer, guarantee, reports=2 * N).document()
    made: dict[str, Any] = json.loads(json.dumps(document))
    return made


def sealed(document: dict[str, Any]) -> bytes:
    """As a file, with an honest hash and honest words where there are any."""
    words = restated(document)
    try:
        return json.dumps(resealed(document if words is None else words)).encode()
    except InvalidInput:
        return json.dumps(document).encode()


def replaced(document: dict[str, Any], at: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    made = copy.deepcopy(document)
    inside: Any = made
    for name in at[:-1]:
        inside = inside[name]
    inside[at[-1]] = value
    return made


def spelled() -> Iterator[Hostile]:
    """Numbers that are written otherwise, or are none."""
    device = ("claim", "randomizer")
    places: list[tuple[str, tuple[str | int, ...], list[Any]]] = [
        *(("response", ("claim", name), DOUBLES) for name in ("epsilon", "delta")),
        *(("response", ("claim", name), WHOLES) for name in ("reports", "honest", "rounds")),
        ("response", (*device, "threshold"), WHOLES),
        ("response", (*device, "size"), SIZES),
        ("channel", (*device, "matrix", 0, 1), NUMBERS),
        ("lattice", (*device, "counts", 1, 2), WHOLES),
        ("lattice", (*device, "inputs", 0), [value for value in NUMBERS if type(value) is not float]),
        ("response", ("format",), [True, "1", 2, 0, 1.5, None, [1]]),
    ]
    for name, at, values in places:
        for k, value in enumerate(values):
            # an epsilon of 0.5 and a delta of 0 are as well written as any; the claim is false then
            yield f"{name}: {'.'.join(map(str, at))}, {k}", sealed(replaced(honest(name), at, value))


def edited() -> Iterator[Hostile]:
    """Every field edited, removed and doubled, with an honest hash: the words are not those of the numbers."""
    for name in HONEST:
        for k, (at, made) in enumerate(forged(honest(name))):
            if not HARMLESS & set(at):
                yield f"{name}, edited: {'.'.join(map(str, at))}, {k}", json.dumps(made).encode()


def worded() -> Iterator[Hostile]:
    """Words over true numbers, and tables that are none."""
    good = honest("response")
    first = "(0.0001, 1e-12)-differentially private"
    for at, value in [
        (("statement",), first),
        (("statement",), good["statement"] + " "),
        (("statement",), good["statement"].replace("80", "40")),
        (("claim", "adjacency"), "add-remove"),
        (("claim", "adjacency"), "replace-one\n"),
        (("claim", "view"), "everything"),
        (("claim", "assumes"), ["nothing"]),
        (("claim", "assumes"), [""]),
        (("bound",), "best: epsilon = 0.0001"),
        (("bound",), "\x1b[2Kconfirmed"),
        (("made_with",), {"shuffledp": "0.1.0\n"}),
        (("made_with",), {"shuffledp": "0.1.0", "epsilon": "0.1"}),
        (("made_with",), {}),
        (("proved",), first),
        (("claim", "proved"), first),
        (("claim", "randomizer", "proved"), first),
        (("sha256",), "0" * 64),
        (("sha256",), None),
    ]:  # fmt: skip
        made = replaced(good, at, value)
        yield f"words: {'.'.join(at)}, {value}", json.dumps(made if at[0] == "sha256" else resealed(made)).encode()
    rows: list[Any] = [
        [[0.5, 0.3, 0.1], [0.25, 0.25, 0.5]], [[0.625, 0.25, 0.125001], [0.25, 0.25, 0.5]], [[5, 2, 1], [1, 2, 5]],
        [["0.5", "0.25", "0.25"], ["0.25", "0.25", "0.5"]], [[1.25, -0.25], [0.5, 0.5]], [[0.5, 0.5]], [[0.5, 0.5], [1]],
        [[], []], [], None, "01", [[0, 0], [0, 0]], [[True, False], [False, True]], [0.5, 0.5], [[[0.5]], [[0.5]]], {"0": [1.0]},
    ]  # fmt: skip
    for k, matrix in enumerate(rows):
        yield f"rows: {k}", sealed(replaced(honest("channel"), ("claim", "randomizer", "matrix"), matrix))
    half, whole = str(1 << 63), str(1 << 64)
    tables: list[Any] = [
        [[half, half, half], [half, "0", half]], [[whole, whole, "0"], ["0", "0", whole]], [[half], [half]], [], None, "1",
        [[half, half, "0"]], [[0.5, 0.5, 0.0], [0.2, 0.3, 0.5]], [["-1", whole, "1"], [half, half, "0"]],
    ]  # fmt: skip
    for k, counts in enumerate(tables):
        yield f"counts: {k}", sealed(replaced(honest("lattice"), ("claim", "randomizer", "counts"), counts))
    devices: list[Any] = [
        None, [], {}, "response", {"kind": 7}, {"kind": ["response"]}, {"kind": "laplace", "epsilon0": 8.0}, {"kind": "response"},
        {"kind": "generic", "epsilon0": 8.0}, {"kind": "mixture", "weights": [1], "parts": [[[]]]},
    ]  # fmt: skip
    for k, device in enumerate(devices):
        yield f"randomizer: {k}", sealed(replaced(good, ("claim", "randomizer"), device))


def unreadable() -> Iterator[Hostile]:
    """What is no JSON, or such as others read otherwise."""
    good = json.dumps(honest("response"))
    for name in ("kind", "claim", "epsilon", "honest", "size", "shuffledp", "sha256"):
        start = good.index(f'"{name}": ')
        yield f"twice: {name}", (good[:start] + f'"{name}": "0x1.0000000000000p+3", ' + good[start:]).encode()
    for old, new in [
        ('"format": 1', '"format": NaN'), ('"format": 1', '"format": Infinity'), ('"format": 1', '"format": 1e999'),
        ('"format": 1', '"format": 01'), ('"format": 1', '"format": ' + "1" * 10**6), ('"format": 1', '"format": 1_0'),
        ('"format": 1', '"format": \u0661'), ('"format": 1', '"format": 0x1'), ('"bound": "best"', '"bound": "\\ud800"'),
        ('"bound": "best"', '"\\ud800": "best"'), ('"bound": "best"', '"bound": "a\nb"'), ('"bound": "best"', "'bound': 'best'"),
        ('"bound": "best",', '"bound": "best",,'), ('"bound": "best"', '"bound": "best" // fine'),
    ]:  # fmt: skip
        assert old in good
        yield f"text: {new[:40]!r}", good.replace(old, new).encode()
    yield from [
        ("nothing", b""), ("blank", b" \n"), ("null", b"null"), ("number", b"7"), ("text", b'"shuffledp certificate"'),
        ("list", f"[{good}]".encode()), ("two", (good + good).encode()), ("half", good[: len(good) // 2].encode()),
        ("byte order", b"\xef\xbb\xbf" + good.encode()), ("two bytes", good.encode("utf-16")), ("latin", b'{"kind": "\xe9"}'),
        ("zeros", b"\0" * 1000), ("lists", b"[" * 10**6), ("objects", b'{"a":' * 10**6), ("long", b" " * (check.MOST_BYTES + 1)),
        ("closed lists", b"[" * 50_000 + b"]" * 50_000), ("many", b"[" + b"{}," * 10**6 + b"{}]"),
        ("digits", b"[0." + b"1" * 10**6 + b"]"),
        ("deep", good.replace('"size": 5', '"size": ' + "[" * 800 + "]" * 800).encode()),
        ("other", b'{"kind": "shuffledp plan"}'), ("only its kind", b'{"kind": "shuffledp certificate"}'),
    ]  # fmt: skip


def huge() -> Iterator[Hostile]:
    """Claims that are false, or whose proof would take too long."""

    def claim(device: dict[str, Any], n: int, epsilon: float, delta: float) -> bytes:
        made = replaced(honest("response"), ("claim", "randomizer"), device)
        made["claim"] |= {"reports": str(n), "honest": str(n), "epsilon": epsilon.hex(), "delta": delta.hex()}
        return sealed(made)

    def response(size: int, threshold: int) -> dict[str, Any]:
        return {"kind": "response", "size": size, "threshold": str(threshold)}

    def channel(rows: int, columns: int) -> dict[str, Any]:
        rng = random.Random(rows * columns)
        table = [[rng.uniform(0.05, 1) for _ in range(columns)] for _ in range(rows)]
        return {"kind": "channel", "matrix": [[entry / sum(row) for entry in row] for row in table]}

    def matrix(*rows: list[float]) -> dict[str, Any]:
        return {"kind": "channel", "matrix": list(rows)}

    yield "a quintillion", claim(response(3, 1 << 63), 10**18, 1e-12, 1e-10)
    yield "a quintillion who tell the truth", claim(response(3, 1), 10**18, 1.0, 1e-300)
    yield "everybody tells one of many truths", claim(response(1 << 32, 1), 10**18, 20.0, 1e-300)
    yield "no epsilon", claim(response(3, 1 << 63), 10**18, 5e-324, 0.0)
    yield "coins of a quintillion", claim(response(2, 1 << 62), 10**18, 1e-12, 1e-15)
    yield "coins without delta", claim(response(2, 1 << 62), 200_000, 1e-3, 0.0)
    yield "coins with the smallest delta", claim(response(2, 1 << 62), 200_000, 0.1, 5e-324)
    yield "coins of very different kinds", claim(matrix([0.5, 0.5], [1 - 1e-15, 1e-15]), 200_000, 1e-6, 1e-9)
    yield "nearly impossible messages", claim(matrix([1 - 1e-300, 1e-300, 0.0], [0.3, 0.3, 0.4]), 10**6, 5.0, 1e-6)
    yield "a steep claim", claim(matrix([0.5, 0.5, 0.0], [0.3, 0.3, 0.4]), 10**6, 700.0, 1e-6)
    yield "a low end far below", claim(matrix([0.5, 0.3, 0.2], [0.5 - 1e-9, 0.5, 1e-9]), 10**6, 1.0, 1e-12)
    yield "many inputs", claim(channel(100, 100), 10**6, 1e-3, 1e-6)
    yield "more pairs than anybody can look at", claim(channel(30, 4), 10**18, 1e-9, 1e-12)
    yield "many messages", claim(channel(3, 5000), 10**4, 0.01, 1e-9)


def hostile() -> Iterator[Hostile]:
    """All of them, each with a name."""
    for group in (spelled, edited, worded, unreadable, huge):
        yield from group()


def said(path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    capsys.readouterr()
    code = check.main([str(path)])
    return code, capsys.readouterr().out


def test_no_hostile_file_is_confirmed_or_takes_long(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the checker as it is, but for the work that it may do: less is enough to see that there is an end."""
    monkeypatch.setattr(check, "MOST_WORK", check.MOST_WORK // 100)
    file, names = tmp_path / "hostile.json", list[str]()
    for name, content in islice(hostile(), 0, None, full(3, 1)):
        file.write_bytes(content)
        start = process_time()
        code, words = said(file, capsys)
        assert code in (2, 3), (name, words)
        assert ": refused: " in words or ": cannot be checked here: " in words, (name, words)
        assert words.count("\n") == 1, (name, words)
        assert words.isascii(), name
        assert process_time() - start < 120, name
        names.append(name)
    assert len(names) >= full(160, 500)
    assert len(set(names)) == len(names)


def test_verify_confirms_no_hostile_file_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prove_certificate, "Effort", partial(Effort, most=3_000_000))
    read_at_all = 0
    for name, content in islice(hostile(), 1, None, full(3, 1)):
        try:
            document = parse_json(content)
        except Unreadable:
            continue
        read_at_all += 1
        assert verify(document).verdict in ("refused", "cannot be verified"), name
    assert read_at_all >= full(130, 400)


def test_what_is_confirmed_of_forgeries_is_true_and_said_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every field edited, with honest words and hash: `verify`, which shares no code, must confirm what is confirmed here."""
    monkeypatch.setattr(check, "POINTS", ROUGH)
    confirmed, tried = list[str](), 0
    for name in HONEST:
        for at, made in forged(honest(name)):
            words = restated(made)
            for document in (made, *([] if words is None else [resealed(words)])):
                tried += 1
                try:
                    method, *lines = check.check(json.loads(json.dumps(document)))
                except (check.Refused, check.Beyond, check.NoCertificate):
                    continue
                assert method
                assert lines[0] == f"proved: {statement_of(document)}" == f"proved: {document['statement']}"
                assert verify(document).confirmed, (name, at)
                confirmed.append(".".join(map(str, at)))
    assert tried >= 400
    assert {"bound", "claim.epsilon", "claim.delta", "claim.honest", "claim.reports", "claim.randomizer.label"} <= {
        *confirmed
    }


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats() | st.text(max_size=20)
    | st.sampled_from(["1", "0x1.0000000000000p+0", "replace-one", "response", "channel", "lattice"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)  # fmt: skip


@settings(max_examples=full(60, 1000), deadline=None)
@given(data=st.data())
def test_random_edits_are_refused_or_true(data: st.DataObject) -> None:
    document = honest(data.draw(st.sampled_from(sorted(HONEST))))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.sampled_from([at for at, _ in places(document) if at[0] != "sha256"]))
        document = replaced(document, at, data.draw(values))
    content = sealed(document)
    with patch.object(check, "POINTS", ROUGH), patch.object(check, "MOST_WORK", 10**7), NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        try:
            lines = check.check(check.read(file.name))
        except (check.Refused, check.Beyond, check.NoCertificate, ValueError):
            return
    found = json.loads(content)
    assert lines[1] == f"proved: {statement_of(found)}" == f"proved: {found['statement']}"
    assert verify(found).confirmed


def places(value: Any, at: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    if at:
        yield at, value
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, one in inner:
        yield from places(one, (*at, name))
