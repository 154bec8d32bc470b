"""Files of texts to ask about."""

from pathlib import Path

from shuffledp.core.files import place_of
from shuffledp.errors import InvalidInput


def read_candidates(path: Path | str) -> list[str]:
    """One text per line in UTF-8, each once; spaces count."""
    path = place_of(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"cannot read {path}: {error.strerror}. Give a file with one text per line.") from None
    return candidates_of(data, str(path))


def candidates_of(data: bytes, where: str) -> list[str]:
    """The texts in bytes that stand somewhere, one per line."""
    lines = data.removeprefix(b"\xef\xbb\xbf").removesuffix(b"\n").split(b"\n")
    if lines == [b""]:
        raise InvalidInput(f"{where} is empty. Give a file with one text per line.")
    first: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        try:
            text = line.removesuffix(b"\r").decode()
        except UnicodeDecodeError:
            raise InvalidInput(f"line {number:,} of {where} is not in UTF-8. Save the file in that encoding.") from None
        if not text:
            raise InvalidInput(f"line {number:,} of {where} is empty. Remove it.")
        if first.setdefault(text, number) != number:
            raise InvalidInput(f"lines {first[text]:,} and {number:,} of {where} are the same text. Remove one.")
    return list(first)
