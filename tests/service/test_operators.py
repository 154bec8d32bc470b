# ruff: noqa: RUF001 - names that look like others are what this is about
"""Names of operators: which are refused, which are pointed out, and which are nobody's business."""

import pytest

from shuffledp import InvalidInput
from shuffledp.service.operators import cautions, checked_operator, comparable

ORDINARY = [
    "Alpha", "Beta Statistics Office", "Statistik Österreich", "Росстат", "Ελληνική Στατιστική Αρχή",
    "総務省統計局 Lab", "통계청", "東京大学ー医", "مرکز آمار ایران", "می\u200cدانم", "क्\u200dष",
    "Müller & Söhne (GmbH), 2. Abt.", "O'Neill-Lab", "Hawaiʻi", "INSEE\xa0(Paris)", "ÇSB № 7", "µ-Lab",
]  # fmt: skip
"""Also with spaces that do not break, and with joiners, which some languages are written with."""


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_names_of_many_languages_are_taken_as_they_are(name: str) -> None:
    assert checked_operator("analyzer", name) == name
    assert cautions([name, "Xyz"]) == []


def test_no_two_ordinary_names_are_said_to_look_alike() -> None:
    assert cautions(ORDINARY) == []


@pytest.mark.parametrize(
    "letter", [chr(j) for j in (*range(32), *range(127, 160), 0x2028, 0x2029, 0x202E, 0x2067, 0x200E, 0xE0041)]
)
def test_a_letter_that_steers_reorders_or_hides_is_refused(letter: str) -> None:
    for name in (f"Be{letter}ta", f"{letter}Beta", f"Beta{letter}"):
        with pytest.raises(InvalidInput, match=r"^the name of who runs the shuffler has line breaks") as refused:
            checked_operator("shuffler", name)
        assert str(refused.value).isprintable()


@pytest.mark.parametrize("name", ["", " ", "\u200c", "\u3164", "\ufe0f\u2800", "x" * 201, 5, None])
def test_a_name_is_there_and_not_too_long(name: object) -> None:
    with pytest.raises(InvalidInput, match="Use up to 200 characters"):
        checked_operator("analyzer", name)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Beta", "Вета"), ("Alpha", "\u0391lpha"), ("Росс", "Pocc"), ("ΑΒΕ", "ABE"), ("Sun", "Ѕun"), ("Bill", "BiII"),
        ("Alpha", "A1pha"), ("Omega", "0mega"), ("modern", "modem"), ("Walter", "VValter"), ("Müller", "Muller"),
        ("Acme Inc.", "Acme, Inc"), ("Beta-Lab", "BetaLab"),
    ],
)  # fmt: skip
def test_names_that_look_alike_are_pointed_out(one: str, other: str) -> None:
    assert comparable(one) != comparable(other)
    (*_, said) = cautions([one, "Third", other])
    assert said.startswith(f"The names {one} and {other} look alike")
    assert ascii(other) in said


def test_a_word_of_several_alphabets_is_pointed_out_and_a_name_of_several_words_is_not() -> None:
    (said,) = cautions(["Алphа", "Third"])
    assert said.startswith("The name Алphа mixes alphabets within a word")
    assert cautions(["Росстат Moscow", "Third"]) == []


def test_a_name_that_is_there_twice_is_nobodys_double() -> None:
    assert cautions(["Alpha", "alpha ", "ＡＬＰＨＡ"]) == []
