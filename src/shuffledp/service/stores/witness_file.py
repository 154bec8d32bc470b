"""What is remembered outside a store of how far it had come, so that an earlier state of it is not served.

A snapshot of a disk, or a file that was copied over its original, brings batches back open that were released: released again,
with a few people more, they would show these people. The store itself cannot tell. A witness is a small file elsewhere, on disk
before anything of a batch is released.
"""

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Self

from shuffledp.core.files import alone, place_of, read_json, sync_folder, write_private
from shuffledp.errors import InvalidInput
from shuffledp.service.stores.store import Instance, Store, StoreUnavailable

VERSION: Final = 1


class SetBack(StoreUnavailable):
    """The store is an earlier state of itself, or was moved: nothing may be collected in it or released from it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a witness knows of a store.

    Attributes:
        generation: how far it had come.
        moved_to: the store that was made of a backup of it, with its open batches; None if it is still the one to serve.
    """

    generation: int = -1
    moved_to: str | None = None

    @property
    def known(self) -> bool:
        """Whether it has seen it at all."""
        return self.generation >= 0

    @classmethod
    def read(cls, path: Path) -> Self:
        """From a file; what is there if there is none is that nothing is known."""
        if not os.path.exists(path):  # noqa: PTH110 - nor if nobody may look, and then nothing can be written
            return cls()
        remedy = "Restore it from a copy, or make a new store of a backup."
        found = read_json(path, "the record of a store's witness", remedy)
        try:
            version, generation, moved_to = found["version"], found["generation"], found["moved_to"]
        except (TypeError, KeyError):
            version = generation = moved_to = None
        if version != VERSION or type(generation) is not int or not isinstance(moved_to, str | None):
            raise InvalidInput(f"{path} is not the record of a store's witness. {remedy}")
        return cls(generation=generation, moved_to=moved_to)


class Witness:
    """A folder with a file for each store, better on another disk than these."""

    def __init__(self, folder: Path | str) -> None:
        self._folder = place_of(folder)

    def knows(self, instance: Instance) -> bool:
        """Whether it has seen this store before."""
        return Seen.read(self._file(instance)).known

    def follow(self, store: Store) -> None:
        """Remember how far a store has come.

        Raises:
            SetBack: it had come further, or was moved.
            StoreUnavailable: this cannot be remembered, or read.
        """
        try:
            seen = Seen.read(self._file(store.instance()))
            instance = store.instance()  # asked again: another shuffler may have taken both further meanwhile
            _check_not_moved(seen)
            if seen.generation > instance.generation:
                raise SetBack(
                    f"this store was set back to an earlier state: {self._folder} remembers batches that were closed since, and "
                    "may be open in it again. Make a store of it with shuffledp shuffler restore."
                )
            if instance.generation > seen.generation:
                with self._alone(instance):
                    seen = Seen.read(self._file(instance))
                    _check_not_moved(seen)  # others may have waited for their turn too
                    self._write(instance, Seen(generation=max(seen.generation, instance.generation)))
        except InvalidInput as error:
            raise StoreUnavailable(str(error)) from None

    @contextmanager
    def moving(self, instance: Instance, to: str) -> Iterator[None]:
        """While a store is made of a backup with all that is open in it: from now on only that one is to be served."""
        with self._alone(instance):
            seen, remedy = Seen.read(self._file(instance)), "Leave out --nothing-released-since"
            if seen.generation > instance.generation:
                raise InvalidInput(
                    f"batches of this store were closed or destroyed after the backup was made. {remedy}: what is open in it may "
                    "have been released."
                )
            if seen.moved_to not in (None, to):
                raise InvalidInput(
                    f"what is open in this backup was moved to {seen.moved_to} before. {remedy}: it may have been released there."
                )
            self._write(instance, Seen(generation=instance.generation, moved_to=to))
            try:
                yield
            except BaseException:
                self._write(instance, seen if seen.known else Seen(generation=instance.generation))
                raise

    def _file(self, instance: Instance) -> Path:
        return self._folder / f"{instance.id}.json"

    @contextmanager
    def _alone(self, instance: Instance) -> Iterator[None]:
        with ExitStack() as turn:
            try:
                self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                turn.enter_context(alone(self._folder / f"{instance.id}.lock"))
            except OSError as error:
                raise self._unusable(error) from None
            yield

    def _write(self, instance: Instance, seen: Seen) -> None:
        try:
            write_private(self._file(instance), json.dumps({"version": VERSION, **asdict(seen)}))
            sync_folder(self._folder)
        except OSError as error:
            raise self._unusable(error) from None

    def _unusable(self, error: OSError) -> InvalidInput:
        return InvalidInput(
            f"cannot remember in {self._folder} how far a store has come: {error.strerror}. Choose another folder with --witness."
        )


def _check_not_moved(seen: Seen) -> None:
    if seen.moved_to is not None:
        raise SetBack(
            f"this store was moved to {seen.moved_to}, with all that was open in it. Serve that one, or make a store of this one "
            "with shuffledp shuffler restore."
        )
