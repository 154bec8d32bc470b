"""Which kinds of stores there are, by the scheme of their URLs.

A new kind is one module that implements `Store`, and one line here; tests/conformance/test_stores.py judges it.
"""

from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from shuffledp.core.files import place_of
from shuffledp.core.installed import not_installed
from shuffledp.core.plugins import Registry
from shuffledp.errors import InvalidInput
from shuffledp.service.stores.crash_points import Reached, pass_by
from shuffledp.service.stores.sqlite.store import SQLiteStore
from shuffledp.service.stores.sqlite.store import restore as restore_sqlite
from shuffledp.service.stores.store import Ends, Store
from shuffledp.service.stores.witness_file import Witness


class Open(Protocol):
    """Opens a store. `place` is what a kind makes of its URL."""

    def __call__(self, place: str, /, *, read_only: bool, create: bool, reached: Reached) -> Store:
        """A store whose schema this version reads; any other is refused and left as it is."""
        ...


class Restore(Protocol):
    """Makes a store from what `Store.backup` wrote, which is the same for all kinds."""

    def __call__(self, copy: Path, place: str, *, nothing_released_since: bool, ends: Ends) -> None:
        """Unless nothing was released since, open batches are destroyed, and tasks that `ends`; an existing store is refused."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """One kind of store.

    Attributes:
        begins: how its URLs begin.
        place: what to open, from what follows `scheme://` in a URL.
        shown: a URL as it may be printed, without a password.
    """

    begins: str
    open: Open
    restore: Restore
    place: Callable[[str], str]
    shown: Callable[[str], str]


def _file(rest: str) -> str:
    if not rest.startswith("/") or len(rest) < 2:
        raise InvalidInput("a store's URL is sqlite:/// and its path. Give e.g. sqlite:///store.db.")
    return rest[1:]


def _postgres() -> Any:
    """The module, whose driver not everybody needs."""
    try:
        from shuffledp.service.stores.postgres import store
    except ImportError:
        raise not_installed("a store in PostgreSQL needs psycopg", "postgres") from None
    return store


def _by_scheme(thing: Any) -> tuple[str, Backend] | None:
    return (thing.begins.partition("://")[0], thing) if isinstance(thing, Backend) else None


BACKENDS: Final = Registry[Backend](
    "a kind of store",
    "shuffledp.stores",
    {
        "postgresql": Backend(
            begins="postgresql://",
            open=lambda place, /, **how: _postgres().PostgresStore(place, **how),
            restore=lambda copy, place, **how: _postgres().restore(copy, place, **how),
            place=lambda rest: f"postgresql://{rest}",
            shown=lambda url: _postgres().shown(url),
        ),
        "sqlite": Backend(
            begins="sqlite:///", open=SQLiteStore, restore=restore_sqlite, place=_file, shown=lambda url: url
        ),
    },
    _by_scheme,
)
"""Every kind of store by the scheme of its URLs. A new one of our own goes here; tests/conformance/test_stores.py judges it."""


def register(backend: Backend) -> None:
    """Make a kind of store known by the scheme of its URLs.

    An installed package does the same without a call, by an entry point with the scheme as its name in the group
    `shuffledp.stores`.
    """
    BACKENDS.add(backend)


def unregister(backend: Backend) -> None:
    """Forget a kind of store that was registered."""
    BACKENDS.remove(backend)


def open_store(url: Path | str, *, read_only: bool = False, create: bool = True, reached: Reached = pass_by) -> Store:
    """The store at a URL.

    Args:
        url: `sqlite:///store.db`, or `sqlite:////var/lib/store.db` for an absolute path, or `postgresql://user@host/database`
            as libpq understands it. A bare path is an SQLite file.
        read_only: change nothing.
        create: make the store if there is none.
        reached: called at each named point; tests pass their own.
    """
    backend, place = _found(url)
    return backend.open(place, read_only=read_only, create=create, reached=reached)


def restore_store(
    copy: Path | str,
    url: Path | str,
    *,
    nothing_released_since: bool,
    ends: Ends = lambda _document, _hop: False,
    witness: Witness | None = None,
) -> None:
    """Make the store at a URL, which must not exist yet, from a backup of any kind of store.

    If something may have been released since the backup, tasks are retired whose document and hop `ends` says true of.

    A witness that knows of batches which ended since refuses to believe that nothing was released, and does not let the store
    that was backed up be served again beside a new one that has its open batches.
    """
    copy = place_of(copy)
    backend, place = _found(url)
    with ExitStack() as moving:
        if witness is not None and nothing_released_since:
            with closing(SQLiteStore(copy, read_only=True, create=False)) as source:
                moving.enter_context(witness.moving(source.instance(), shown(url)))
        backend.restore(copy, place, nothing_released_since=nothing_released_since, ends=ends)


def shown(url: Path | str) -> str:
    """A store's URL as it may be printed: without a password."""
    return _found(url)[0].shown(str(url))


def _found(url: Path | str) -> tuple[Backend, str]:
    url = str(url)
    scheme, separator, rest = url.partition("://")
    if not separator:
        scheme, rest = "sqlite", f"/{url}"
    if scheme not in BACKENDS:
        known = " or ".join(BACKENDS[name].begins for name in sorted(BACKENDS))
        raise InvalidInput(f"there is no store of the kind {scheme}://. Use a path, or a URL that begins with {known}.")
    return BACKENDS[scheme], BACKENDS[scheme].place(rest)
