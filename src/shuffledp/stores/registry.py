"""Which kinds of stores there are, by the scheme of their URLs.

A new kind is one module that implements `Store`, and one line here; tests/conformance/test_stores.py judges it.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from shuffledp.errors import InvalidInput
from shuffledp.stores.checkpoints import Reached, pass_by
from shuffledp.stores.sqlite.store import SQLiteStore
from shuffledp.stores.sqlite.store import restore as restore_sqlite
from shuffledp.stores.store import Store


class Open(Protocol):
    """Opens a store. `place` is what follows `scheme:///` in its URL."""

    def __call__(self, place: str, /, *, read_only: bool, create: bool, reached: Reached) -> Store:
        """A store whose schema this version reads; any other is refused and left as it is."""
        ...


class Restore(Protocol):
    """Makes a store from what `Store.backup` wrote."""

    def __call__(self, copy: Path, place: str, *, nothing_released_since: bool) -> None:
        """Batches that were open are destroyed, unless nothing was released since; an existing store is refused."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """One kind of store."""

    open: Open
    restore: Restore


BACKENDS: Final[dict[str, Backend]] = {"sqlite": Backend(open=SQLiteStore, restore=restore_sqlite)}


def open_store(url: str, *, read_only: bool = False, create: bool = True, reached: Reached = pass_by) -> Store:
    """The store at a URL.

    Args:
        url: `sqlite:///store.db`, or `sqlite:////var/lib/store.db` for an absolute path. A bare path is an SQLite file.
        read_only: change nothing.
        create: make the store if there is none.
        reached: called at each named point; tests pass their own.
    """
    backend, place = _found(url)
    return backend.open(place, read_only=read_only, create=create, reached=reached)


def restore_store(copy: Path, url: str, *, nothing_released_since: bool) -> None:
    """Make the store at a URL, which must not exist yet, from a backup."""
    backend, place = _found(url)
    backend.restore(copy, place, nothing_released_since=nothing_released_since)


def _found(url: str) -> tuple[Backend, str]:
    scheme, separator, place = url.partition("://")
    if not separator:
        scheme, place = "sqlite", f"/{url}"
    if scheme not in BACKENDS:
        known = ", ".join(f"{name}:///" for name in sorted(BACKENDS))
        raise InvalidInput(f"there is no store of the kind {scheme}://. Use a path, or a URL that begins with {known}.")
    if not place.startswith("/") or len(place) < 2:
        raise InvalidInput(f"a store's URL is {scheme}:/// and its path. Give e.g. {scheme}:///store.db.")
    return BACKENDS[scheme], place[1:]
