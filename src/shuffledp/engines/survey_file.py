"""Files that list the questions of a survey."""

import tomllib
from pathlib import Path
from typing import Any

from shuffledp.errors import InvalidInput


def read_survey(path: Path) -> list[dict[str, Any]]:
    """The [[question]] tables of a TOML file, in their order."""
    try:
        with path.open("rb") as file:
            found = tomllib.load(file)
    except OSError as error:
        raise InvalidInput(f"cannot read {path}: {error.strerror}. Give a TOML file of questions.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} is not a TOML file: {error}. Fix it.") from None
    unknown = sorted(found.keys() - {"question"})
    if unknown:
        raise InvalidInput(f"{path} has no use for {unknown[0]!r}. Write each question as a table [[question]].")
    questions = found.get("question")
    if not isinstance(questions, list) or not all(isinstance(one, dict) for one in questions):
        raise InvalidInput(f"{path} lists no questions. Write each as a table [[question]].")
    return questions
