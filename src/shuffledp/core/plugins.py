"""What others may add: things by name, from the same process or from packages that are installed.

A package says in its metadata what it brings, under the group of the kind of thing:

    [project.entry-points."shuffledp.randomizers"]
    clock = "shuffledp_clock:Clock"

The metadata is read when something is asked for that is not known otherwise, and a plug-in is imported when it is asked for.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from shuffledp.core.argument import kind_of
from shuffledp.core.visible import visible
from shuffledp.errors import InvalidInput

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")
Accept = Callable[[Any], tuple[str, T] | None]
"""The name of a thing and the thing, from whatever is given for it; None if that is none."""
_LONGEST: Final = 200
"""Characters of an error that are shown."""


class Plugins(Generic[T]):
    """What installed packages bring of one kind.

    Attributes:
        group: of their entry points.
        noun: what each must be, in words.
    """

    def __init__(self, group: str, noun: str, accept: Accept[T]) -> None:
        self.group, self.noun, self._accept = group, noun, accept
        self._loaded: dict[str, T] = {}

    @cached_property
    def _found(self) -> dict[str, "EntryPoint"]:
        """By name; two packages that bring the same are refused."""
        from importlib.metadata import entry_points

        entries: dict[str, EntryPoint] = {}
        for entry in entry_points(group=self.group):
            other = entries.setdefault(entry.name, entry)
            if other.value != entry.value:
                raise InvalidInput(
                    f"the packages {_package(other)} and {_package(entry)} both provide {self.noun} {visible(entry.name)!r}. "
                    "Uninstall one of them."
                )
        return entries

    def names(self) -> tuple[str, ...]:
        """What installed packages bring, by name; none is imported for that."""
        return tuple(self._found)

    def package(self, name: str) -> str:
        """Which package brings it."""
        return _package(self._found[name])

    def load(self, name: str) -> T:
        """The thing of this name; refused, with the package's name, if it cannot be imported or is of another kind."""
        if name not in self._loaded:
            entry = self._found[name]
            try:
                thing = entry.load()
            except (Exception, SystemExit) as error:
                raise InvalidInput(
                    f"the package {_package(entry)} provides {self.noun} {visible(name)!r}, which cannot be loaded: "
                    f"{_in_short(error)}. Repair or uninstall that package."
                ) from None
            accepted = self._accept(thing)
            if accepted is None or accepted[0] != name:
                what = "has another name" if accepted else f"is not {self.noun}"
                raise InvalidInput(
                    f"the package {_package(entry)} provides {self.noun} {visible(name)!r}, and what it points to {what}. "
                    "Repair or uninstall that package."
                )
            self._loaded[name] = accepted[1]
        return self._loaded[name]


class Registry(Mapping[str, T]):
    """Things of one kind by name: our own, those that were registered, and those that installed packages bring.

    >>> bells = Registry("a bell", "shuffledp.bells", {"small": "ding"}, lambda bell: ("large", bell))
    >>> bells.add("dong")
    >>> list(bells), bells["large"]
    (['small', 'large'], 'dong')
    """

    def __init__(self, noun: str, group: str, own: Mapping[str, T], accept: Accept[T]) -> None:
        self._noun, self._own, self._accept = noun, dict(own), accept
        self._added: dict[str, T] = {}
        self._plugins = Plugins(group, noun, accept)

    def add(self, thing: Any) -> None:
        """Register one. What was registered before by this name is replaced; what shuffledp itself has is not."""
        accepted = self._accept(thing)
        if accepted is None:
            raise InvalidInput(f"what is registered must be {self._noun}; got a {kind_of(thing)}. Give one.")
        name, thing = accepted
        if name in self._own:
            raise InvalidInput(f"shuffledp already has {self._noun} {visible(name)!r}. Choose another name.")
        self._added[name] = thing

    def remove(self, thing: Any) -> None:
        """Forget one that was registered."""
        accepted = self._accept(thing)
        if accepted is not None:
            self._added.pop(accepted[0], None)

    def of_others(self) -> tuple[str, ...]:
        """Names of those that shuffledp does not have itself; none is imported for that."""
        return tuple(name for name in self if name not in self._own)

    def __getitem__(self, name: str) -> T:
        for known in (self._own, self._added):
            if name in known:
                return known[name]
        if name in self._plugins.names():
            return self._plugins.load(name)
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        return name in self._own or name in self._added or name in self._plugins.names()

    def __iter__(self) -> Iterator[str]:
        brought = self._plugins.names()
        for name in self._own.keys() & set(brought):
            raise InvalidInput(
                f"the package {self._plugins.package(name)} provides {self._noun} {visible(name)!r}, and shuffledp already has "
                "one of that name. Uninstall that package."
            )
        return iter(dict.fromkeys((*self._own, *self._added, *brought)))

    def __len__(self) -> int:
        return len(list(iter(self)))


def class_by_kind(*methods: str) -> Accept[Any]:
    """Takes classes that say of which `kind` they are and have these methods; subclasses say their own."""

    def accept(thing: Any) -> tuple[str, Any] | None:
        kind = vars(thing).get("kind") if isinstance(thing, type) else None
        able = all(callable(getattr(thing, method, None)) for method in methods)
        return (kind, thing) if isinstance(kind, str) and able else None

    return accept


def object_by_name(*methods: str) -> Accept[Any]:
    """Takes objects that say their `name` and have these methods, or a class that makes such a one without arguments."""

    def accept(thing: Any) -> tuple[str, Any] | None:
        if not all(callable(getattr(thing, method, None)) for method in methods):
            return None
        made = thing() if isinstance(thing, type) else thing
        return (made.name, made) if isinstance(getattr(made, "name", None), str) else None

    return accept


def _package(entry: "EntryPoint") -> str:
    """Name and version of the package that an entry point is of."""
    return "of unknown name" if entry.dist is None else visible(f"{entry.dist.name} {entry.dist.version}")


def _in_short(error: BaseException) -> str:
    """The first line of an error, without its full stop."""
    line = (str(error).splitlines() or [""])[0].strip().rstrip(".")
    return visible(f"{type(error).__name__}: {line}"[:_LONGEST] if line else type(error).__name__)
