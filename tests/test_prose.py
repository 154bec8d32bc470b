"""Pages are set for reading: short lines and paragraphs, headings, no phrases that make a native reader stop, words explained.

These are the rules a machine can check.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
README = DOCS.parent / "README.md"
BESIDE = (
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CODE_OF_CONDUCT.md",
    "clients/js/README.md",
    "examples/plugin/README.md",
    "checker/README.md",
)
PAGES = [README, *(DOCS.parent / name for name in BESIDE), *sorted(DOCS.rglob("*.md"))]

MOST_LETTERS, MOST_LINES, MOST_WORDS = 120, 5, 25
"""In a line; in a paragraph; in an entry of the glossary."""

STUMBLES = {
    r"of (yours|ours|theirs)\b": "your file, our claim",
    r"\bthat (is|are|was|were) there\b": "existing, present, or nothing",
    r"\b(by|in) (itself|themselves)\b": "alone, on its own",
    r"\bmend(s|ed|ing)?\b": "fix",
    r"\bby adding up\b": "by basic composition",
    r"\b(a|one|two) (answer|message|number|question|report|row|token|value)s? an? (group|person|user|row)\b": "per person",
    r"\bthe (data|epsilon|keys|numbers|reports) that (came|come)\b": "received",
    r"\bof (before|now|old)\b": "previous, current, earlier",
    r"\bsuch a one\b": "one like this",
    r"\bwhoever must tell\b": "someone who has narrowed it down",
    r"\bfrom \S+ \S+ on\b": "once ... arrive",
    r"\bsay(s|ing)? how (good|much it|far off)\b": "state, show",
    r"\bless than all\b": "list what there is",
    r"\bis no (bug|certificate|column|file|plan|result|store|table|task)\b": "is not a",
    r"\bpeople in (three|eleven|a hundred)\b": "a probability or a percentage",
    r"\bin \d+ of 100 cases\b": "a percentage",
    r"\bon the machine of\b": "whose machine, first",
    r"\bbe it\b": "whether",
    r"\bnot among all\b": "not part of [all]",
    r"\b(bought|heard|listed|solved|told) of\b": "name the role",
    r"\bwhat (is|it is) (good|worth)\b": "how useful, how accurate",
}
"""Patterns, and what to write in their place."""

EXPLAINED = {
    "analyzer": "analyzer",
    "blanket": "blanket",
    "crowd": "crowd",
    "curator": "curator",
    "dummy": r"dumm(?:y|ies)",
    "epsilon0": "epsilon0",
    "randomizer": "randomizer",
    "report": "report",
    "shuffle-index": "shuffle index",
    "shuffle-model": "shuffle model",
}
"""Entries of the glossary to which the first use of a word on any page leads."""

FENCED = re.compile(r"^ *(```|:::).*?^ *\1$", re.MULTILINE | re.DOTALL)
DIRECTIVE = re.compile(r"^ *(?:```|:::+)\{.*|^\.\. \w+::.*", re.MULTILINE)
"""What only the site understands; elsewhere readers would see it as it is, unless it stands in a comment."""
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
LONE = re.compile(r"\s*(?:[-*] |\[\w+\]: ?)?(?:!?\[[^\]]*\]\(\S+\)|https?://\S+|`[^`]+`)[.,:;]?")
"""A line that is one link or one command, and so cannot be broken."""
NEW_SENTENCE = re.compile(r"(?<!\bal)(?<!\b[A-Z])[.!?][)\"”*]* +[\"“(*\[]*[A-Z]")


def shown(text: str) -> list[str]:
    """The lines of prose; blocks of code, tables and formulas (indented by four after a blank line) leave a blank."""
    lines, formula = list[str](), False
    for line in FENCED.sub("\n", text).splitlines():
        starts = line.startswith("    ") and (not lines or not lines[-1])
        formula = line.startswith("    ") and (formula or starts)
        lines.append("" if formula or line.startswith("|") else line.rstrip())
    return lines


def paragraphs(text: str) -> Iterator[list[str]]:
    """Lines that are set together: a paragraph, or an item of a list."""
    collected = list[str]()
    for line in [*shown(text), ""]:
        item = re.match(r"\s*(?:[-*]|\d+\.) ", line)
        if collected and (not line or item or line.startswith("#")):
            yield collected
            collected = []
        if line and not line.startswith("#"):
            collected.append(line)


def faults(text: str) -> list[str]:
    """What a reader would stumble over."""
    text = COMMENT.sub("", text)
    found = [f"a directive: {line}" for line in DIRECTIVE.findall(text)]
    found += [f"longer than {MOST_LETTERS}: {line}" for line in shown(text) if too_long(line)]
    for paragraph in paragraphs(text):
        whole = re.sub(r"`[^`]*`", "`code`", " ".join(line.strip() for line in paragraph))
        if len(paragraph) > MOST_LINES:
            found.append(f"more than {MOST_LINES} lines: {paragraph[0]}")
        if re.match(r"\*\*[^*]+\*\*", whole):
            found.append(f"a heading in bold: {paragraph[0]}")
        found += [f"broken inside a sentence: {line}" for line in paragraph[:-1] if badly_broken(line)]
        found += [
            f"{hit[0]!r} (better: {better}): {paragraph[0]}"
            for phrase, better in STUMBLES.items()
            if (hit := re.search(phrase, whole, re.IGNORECASE))
        ]
    return found


def too_long(line: str) -> bool:
    return len(line) > MOST_LETTERS and not LONE.fullmatch(line)


def badly_broken(line: str) -> bool:
    """A sentence that starts within a line and goes on in the next should have begun there."""
    line = re.sub(r"^\s*\d+\. ", "", line)
    return NEW_SENTENCE.search(line) is not None and re.search(r"[.!?:][)\"”*]*$", line) is None


def unexplained(text: str) -> list[str]:
    """Words of the glossary whose first use leads elsewhere; other links are not looked at."""
    prose = re.sub(r"`[^`]*`", "", "\n".join(line for line in shown(text) if not line.startswith("#")))
    entries = re.compile(r"\[([^\]]*)\]\((?:\.\./)*glossary\.md#([\w-]+)\)")
    linked = entries.sub(lambda link: f"<{link[2]}>", prose)
    bare = re.sub(r"!?\[[^\]]*\]\([^)]*\)", "", linked)
    missing = []
    for entry, word in EXPLAINED.items():
        first = re.search(rf"(<{entry}>)|(?<!\^)\b{word}s?\b(?![>-])", bare, re.IGNORECASE)  # not in e^epsilon0
        if first and not first[1]:
            missing.append(entry)
    return missing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS.parent)))
def test_a_page_is_set_for_reading(page: Path) -> None:
    assert faults(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS.parent)))
def test_words_of_the_trade_are_explained_where_they_are_first_used(page: Path) -> None:
    if DOCS in page.parents and page.name != "glossary.md":
        assert unexplained(page.read_text(encoding="utf-8")) == []


def test_the_glossary_is_short_sorted_and_complete() -> None:
    text = (DOCS / "glossary.md").read_text(encoding="utf-8")
    entries = re.findall(r"^## (.*)\n\n((?:.+\n)+)", text, re.MULTILINE)
    words = [word for word, _ in entries]
    assert words == sorted(words, key=str.lower)
    assert set(EXPLAINED) <= {word.lower().replace(" ", "-") for word in words}
    bare = {word: re.sub(r"\]\([^)]*\)", "]", meaning) for word, meaning in entries}
    assert {word: meaning for word, meaning in bare.items() if len(meaning.split()) > MOST_WORDS} == {}


@pytest.mark.parametrize(
    "text",
    [
        "word " * 30,
        "one.\ntwo.\nthree.\nfour.\nfive.\nsix.",
        "**When.** In the morning.",
        "One sentence. Another\nthat goes on.",
        "A file of yours.",
        "There is one row a person.",
        "It stays private\nby adding up.",
        "```{toctree}\nrun\n```",
    ],
)  # fmt: skip
def test_a_fault_is_noticed(text: str) -> None:
    assert len(faults(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "```text\n" + "word " * 30 + "\n```",
        "| " + "word " * 30 + " |",
        "![" + "word " * 30 + "](images/picture.png)",
        "- `shuffledp " + "--option " * 20 + "`",
        "1. One sentence\n   of two lines.",
        "1. one.\n2. two.\n3. three.\n4. four.\n5. five.\n6. six.",
        "- **word**: what it means.",
        "One sentence.\nAnother by Erlingsson et al. (2019),\nwhich is long.",
        "See `of yours`.",
        "<!--\n```{toctree}\nrun\n```\n-->",
        "Then:\n\n    x = y that is there\n    " + "z" * 130,
    ],
)  # fmt: skip
def test_what_is_none_is_not(text: str) -> None:
    assert faults(text) == []


def test_a_word_without_its_link_is_noticed() -> None:
    assert unexplained("The crowd is large.") == ["crowd"]
    assert unexplained("The [crowd](glossary.md#crowd) is large. No crowd is too large.") == []
    assert unexplained("A [small crowd](run.md), a crowd.") == ["crowd"]
    assert unexplained("As likely as e^epsilon0.") == []
    assert unexplained("The `--epsilon0` of # a crowdless\n\n# Crowd\n\n| a crowd |") == []
