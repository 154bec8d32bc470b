"""The questions of the registered families as fields, and what was typed into them: a new family appears by itself."""

from dataclasses import dataclass, field
from typing import Any, Final, Literal

from shuffledp.planning import registry
from shuffledp.planning.option_text import groups, several
from shuffledp.planning.options import Option
from shuffledp.sources.candidates_file import candidates_of
from shuffledp.sources.survey_file import survey_of
from shuffledp.web.form import Field, Given, Slider, Typed

_LABELS: Final = {
    "size": "Number of possible answers",
    "labels": "Their names, separated by commas",
    "by": "Groups, one column per line",
    "questions": "Questions (TOML)",
    "share": "Largest share of the people in one bin or group, from 0 to 1",
    "objective": "What to minimize",
    "way": "What each person answers",
    "noise": "Who adds the noise",
    "low": "Least value",
    "high": "Greatest value",
    "resolution": "Intervals",
    "candidates": "Texts to ask about, one per line",
}
_HELP: Final = {"by": "Their column and their names, such as region=north,south."}
_SLIDERS: Final = {
    "size": Slider(2, 1e5, logarithmic=True),
    "resolution": Slider(2, 1e4, logarithmic=True),
    "precision": Slider(1, 1000, logarithmic=True),
    "share": Slider(0.001, 1, logarithmic=True),
    "messages_per_user": Slider(1, 10, 0.25),
    "max_length": Slider(1, 12),
    "false_positives": Slider(0.01, 100, logarithmic=True),
}
_ONLY: Final = {"share": {"objective": ["", "share"]}}
"""What is asked only where another option has some value, or is left out."""
_USUAL: Final = ("", "the usual")
_KINDS: Final[dict[str, Literal["whole", "real", "text", "lines"]]] = {
    "whole": "whole",
    "real": "real",
    "text": "text",
    "several": "text",
    "lines": "lines",
    "groups": "lines",
    "questions": "lines",
}
_SURVEY: Final = """\
[[question]]
name = "smokes"
ask = "histogram"
labels = ["no", "yes"]

[[question]]
name = "age"
ask = "mean"
low = 18
high = 100
"""
STARTS: Final[dict[str, Given]] = {
    "histogram": {"size": "5", "objective": "share", "share": "1"},
    "sum": {"low": "0", "high": "1"},
    "mean": {"low": "0", "high": "1"},
    "distribution": {"low": "0", "high": "100", "resolution": "100"},
    "texts": {"candidates": "apple\nbanana\ncherry", "margin": "5"},
    "heavy-hitters": {"alphabet": "a-z", "max_length": "5", "margin": "5"},
    "vector": {"dimension": "10"},
    "moments": {"ranges": "age=0,100\nrooms=0,10"},
    "regression": {"ranges": "age=0,100\nrooms=0,10\nrent=0,3000", "target": "rent"},
    "survey": {"questions": _SURVEY},
}
"""What the fields of a question hold at first, so that there is something to change."""


def question_fields() -> list[Field]:
    """The question, and the options of all of them."""
    names = registry.questions()
    fields = [
        Field(
            name="question", label="What to ask for", kind="choice", start=names[0], section="The question",
            choices=[(name, name.replace("-", " ")) for name in names],
        )
    ]  # fmt: skip
    for option in registry.options():
        askable = [name for name in names if option in registry.options_of(name)]
        if askable:
            fields.append(_field(option, askable))
    return fields


def _field(option: Option, questions: list[str]) -> Field:
    return Field(
        name=option.name, label=_LABELS.get(option.name, option.name.replace("_", " ").capitalize()),
        kind="choice" if option.choices else _KINDS[option.values],
        help=_HELP.get(option.name, "") if option.name in _LABELS else option.help, slider=_SLIDERS.get(option.name),
        choices=[_USUAL, *option.choices] if option.choices else (),
        only={"question": questions} | _ONLY.get(option.name, {}), optional=True,
    )  # fmt: skip


@dataclass(slots=True)
class Asked:
    """A question with its options.

    Attributes:
        name: of the question.
        options: as Python takes them.
        said: the same as the command takes them.
        place: what the command takes without an option.
        files: that the command reads: name and content.
    """

    name: str
    options: dict[str, Any] = field(default_factory=dict)
    said: list[tuple[str, str]] = field(default_factory=list)
    place: str = ""
    files: dict[str, str] = field(default_factory=dict)


def read_question(typed: Typed) -> Asked:
    """The question that was asked, its options read."""
    asked = Asked(typed.choice("question"))
    known = {option.name for option in registry.options_of(asked.name)}
    for option in registry.options():
        if option.name in known and option.name in typed:
            _read(option, typed, asked)
    return asked


def _read(option: Option, typed: Typed, asked: Asked) -> None:
    name, text = option.name, typed.text(option.name)
    match option.values:
        case "whole":
            asked.options[name] = typed.whole(name)
        case "real":
            asked.options[name] = typed.real(name)
        case "several":
            asked.options[name] = several(text, name)
        case "groups":
            given = [line for line in text.splitlines() if line.strip()]
            asked.options[name] = groups(given, name)
            asked.said += [(name, line.strip()) for line in given]
            return
        case "lines":
            asked.options[name] = candidates_of(text.encode(), f"the list of {name}")
            asked.files[f"{name}.txt"] = text.rstrip("\n") + "\n"
            text = f"{name}.txt"
        case "questions":
            asked.options[name] = survey_of(text, "the list of questions")
            asked.place = f"{name}.toml"
            asked.files[asked.place] = text.rstrip("\n") + "\n"
            return
        case _:
            asked.options[name] = typed.choice(name) if option.choices else text
    asked.said.append((name, text))
