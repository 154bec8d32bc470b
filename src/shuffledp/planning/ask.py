"""From the name of a question and its options to the question itself."""

from collections.abc import Iterable, Sequence
from typing import Any

from shuffledp.core.captions import spoken
from shuffledp.core.misnamed import misnamed
from shuffledp.errors import InvalidInput
from shuffledp.planning import registry
from shuffledp.planning.question import Given, Question, Terms


def ask(name: str, *, options: Given, **terms: Any) -> Question:
    """The question of this name, on these terms: its options are read here, once."""
    if not isinstance(name, str):
        raise InvalidInput(
            f"the question must be a string, such as 'histogram'; got a {type(name).__name__}. Name the question first."
        )
    given = {option: value for option, value in options.items() if value is not None}
    Terms(**terms)  # numbers are refused before anything else
    kind = next((kind for kind in registry.types_of(name) if kind.fits(given)), None)
    if kind is None:
        raise InvalidInput(f"{spoken(name)} is not answered by group. Leave out `by`.")
    check_names(name, given)
    known = {option.name: option for option in kind.options}
    for option in given:
        if option not in known:
            raise _not_taken(name, option)
    return kind.read({option: known[option].read(value) for option, value in given.items()}, name=name, **terms)


def check_names(name: str, given: Iterable[str], terms: Sequence[str] = ()) -> None:
    """Refuse what is neither a term nor said of any question, with what was probably meant."""
    known = {option.name for option in registry.options()}
    for option in given:
        if option not in known and option not in terms:
            own = [one.name for one in registry.options_of(name)]
            near = misnamed(str(option), [*terms, *own])
            raise InvalidInput(
                f"{spoken(name)} has no `{option}`: no question does. {near or 'Leave it out.'}".rstrip()
            )


def _not_taken(name: str, option: str) -> InvalidInput:
    if any(option == one.name for one in registry.options_of(name)):
        return InvalidInput(f"{spoken(name)} has a `{option}` only by groups. Leave it out, or say which groups.")
    takers = [kind for kind in registry.question_types() if option in {one.name for one in kind.options}]
    others = ", ".join(sorted({other for kind in takers for other in kind.called}))
    return InvalidInput(f"{spoken(name)} has no `{option}`: it is for {others}. Leave it out.")
