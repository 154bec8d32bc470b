"""Files that list the questions of a survey."""

from pathlib import Path
from typing import Any

from shuffledp.core.files import place_of
from shuffledp.core.parsing import Unreadable, parse_toml
from shuffledp.errors import InvalidInput


def read_survey(path: Path | str) -> list[dict[str, Any]]:
    """The [[question]] tables of a TOML file, in their order."""
    path = place_of(path)
    try:
        text = path.read_bytes().decode()
    except OSError as error:
        raise InvalidInput(f"cannot read {path}: {error.strerror}. Give a TOML file of questions.") from None
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} is not a TOML file: {error}. Fix it.") from None
    return survey_of(text, str(path))


def survey_of(text: str, where: str) -> list[dict[str, Any]]:
    """The [[question]] tables in a text that stands somewhere."""
    try:
        document = parse_toml(text)
    except Unreadable as why:
        raise InvalidInput(f"{where} is not a list of questions: {why}. Fix it.") from None
    unknown = sorted(document.keys() - {"question"})
    if unknown:
        raise InvalidInput(f"{where} has no use for {unknown[0]!r}. Write each question as a table [[question]].")
    questions = document.get("question")
    if not isinstance(questions, list) or not all(isinstance(question, dict) for question in questions):
        raise InvalidInput(f"{where} lists no questions. Write each as a table [[question]].")
    return questions
