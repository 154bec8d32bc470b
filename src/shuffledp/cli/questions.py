"""Questions on the command line: their names and options are those of the registered families."""

from pathlib import Path
from typing import Any, Final

import click

from shuffledp.cli.command import Command
from shuffledp.cli.keyword import Choice
from shuffledp.cli.numbers import Real, Whole
from shuffledp.cli.option_names import as_flags
from shuffledp.cli.output import print_error
from shuffledp.core.captions import spoken
from shuffledp.errors import InvalidInput
from shuffledp.planning import registry
from shuffledp.planning.option_text import blanks_after_commas, groups, several
from shuffledp.planning.synonyms import no_question
from shuffledp.sources.candidates_file import read_candidates
from shuffledp.sources.survey_file import read_survey

_FILE: Final = click.Path(dir_okay=False, path_type=Path)


class _Question(click.ParamType):  # type: ignore[type-arg]
    """The name of a question that some family answers."""

    name = "question"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:  # noqa: ARG002
        return f"{{{'|'.join(registry.questions())}}}"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Refuse a question that no family answers."""
        if value not in registry.questions():
            self.fail(as_flags(str(no_question(str(value), registry.questions()))), param, ctx)
        return str(value)

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None) -> str:  # noqa: ARG002
        """What there is to choose from."""
        return f"Use one of {', '.join(registry.questions())}."

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:  # noqa: ARG002
        from click.shell_completion import CompletionItem

        return [CompletionItem(name) for name in registry.questions() if name.startswith(incomplete)]


class _Named(click.Argument):
    """Called QUESTION where something is wrong with it, and all that it can be where it is explained."""

    def get_error_hint(self, ctx: click.Context | None) -> str:  # noqa: ARG002
        return "'QUESTION'"


QUESTION: Final = click.argument("question", type=_Question(), cls=_Named)


class QuestionCommand(Command):
    """A command that also has the options of all questions, before its own that concern the output."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The registry is read each time, so that a family registered later counts."""
        own = super().get_params(ctx)
        place = next((j for j, param in enumerate(own) if param.name == "delta"), len(own) - 1) + 1
        return [*own[:place], *_options(), *own[place:]]


def _options() -> list[click.Parameter]:
    parameters: list[click.Parameter] = []
    for option in registry.options():
        flag = f"--{option.name.replace('_', '-')}"
        if option.values == "several":
            parameters.append(click.Option([flag], metavar="A,B,...", help=option.help))
            parameters.append(click.Option([f"{flag}-file"], type=_FILE, help="The same from a file, one per line."))
        elif option.values == "questions":
            parameters.append(click.Argument([option.name], type=_FILE, required=False, metavar="[FILE]"))
        elif option.values == "groups":
            parameters.append(click.Option([flag], metavar="COLUMN=A,B,...", multiple=True, help=option.help))
        elif option.values == "lines":
            parameters.append(click.Option([flag], type=_FILE, help=option.help))
        elif option.choices:
            parameters.append(click.Option([flag], type=Choice(option.words), help=option.help))
        else:
            kinds = {"whole": Whole(), "real": Real(), "text": click.STRING}
            parameters.append(click.Option([flag], type=kinds[option.values], help=option.help))
    return parameters


def given_options(question: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """What was given, with texts read and split."""
    given = {name: value for name, value in arguments.items() if value not in (None, ())}
    own = {option.name for option in registry.options_of(question)}
    for option in registry.options():  # first: what stands there is often a part of something else
        if option.values == "questions" and option.name in given and option.name not in own:
            raise InvalidInput(
                f"{spoken(question)} takes no file of questions, and got {str(given[option.name])!r}. Leave it out. Perhaps "
                "there is a blank after a comma, or a text of several words without quotation marks."
            )
    for option in registry.options():
        if option.values == "lines" and option.name in given:
            given[option.name] = read_candidates(given[option.name])
        if option.values == "questions" and option.name in given:
            given[option.name] = read_survey(given[option.name])
        if option.values == "groups" and option.name in given:
            for text in given[option.name]:
                _warn_of_blanks(text, option.name, "")
            given[option.name] = groups(given[option.name], option.name)
        if option.values != "several":
            continue
        file = given.pop(f"{option.name}_file", None)
        if file is not None and option.name in given:
            raise InvalidInput(f"--{option.name} and --{option.name}-file say the same thing. Give one of them.")
        if file is not None:
            given[option.name] = _lines(file, option.name)
        elif option.name in given:
            _warn_of_blanks(given[option.name], option.name, f", or use --{option.name}-file")
            given[option.name] = several(given[option.name], option.name)
    return given


def _warn_of_blanks(text: str, what: str, instead: str) -> None:
    """Commas inside a text look like those between texts, and it would fall apart."""
    if blanks_after_commas(text):
        print_error(
            f"warning: in --{what} a comma with a blank behind it separates two texts, as any other. If it belongs to a text, "
            f"put that text in quotation marks: '\"one, with a comma\",another'{instead}."
        )


def _lines(file: Path, what: str) -> list[str]:
    try:
        lines = file.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError):
        raise InvalidInput(f"cannot read {what} from {file}. Give a text file with one per line.") from None
    if not all(lines):
        raise InvalidInput(f"line {lines.index('') + 1:,} of {file} is empty. Remove it, or write a text there.")
    if not lines:
        raise InvalidInput(f"{file} is empty. Give a text file with one of the {what} per line.")
    return lines
