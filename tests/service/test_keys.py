"""Keys through their whole life: numbers that are not given again, files that change, lists in which nothing is said twice."""

import base64
import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oracles.scale import full
from shuffledp import InvalidInput
from shuffledp.service.sealing.keys import KeyFile, KeyList, KeyRing


def changed(ring: KeyRing, generator: random.Random) -> KeyRing:
    """Introduced, rotated, or without one of its expired keys."""
    expired = [key.key_id for key in ring.keys if key.state == "EXPIRED"]
    kind = generator.choice(["introduce", "rotate", "rotate", "destroy", "destroy"])
    if kind == "destroy" and expired:
        return ring.destroyed(generator.choice(expired))
    return ring.introduced() if kind == "introduce" else ring.rotated()


@pytest.mark.parametrize("seed", range(full(2, 20)))
def test_the_number_of_a_destroyed_key_is_not_given_again(tmp_path: Path, seed: int) -> None:
    """Reports to the former key may still be on their way. Not until all others were given, also by whoever reads the file."""
    generator, ring = random.Random(seed), KeyRing.fresh("analyzer")
    given, path = [0], tmp_path / "ring.key"
    for turn in range(200):
        before = {key.key_id: key for key in ring.keys}
        if turn % 5 == 0:
            ring.save(path)
            ring = KeyRing.load(path)
        ring = changed(ring, generator)
        new = [key for key in ring.keys if key.key_id not in before]
        assert len(new) <= 1
        given += [key.key_id for key in new]
        ids = [key.key_id for key in ring.keys]
        assert len(set(ids)) == len(ids)
        assert ids == [key_id for key_id in given if key_id in ids]  # the oldest first
        for key in ring.keys:
            steps = ["PENDING", "ACTIVE", "EXPIRED"]
            was = before.get(key.key_id)
            if was is not None:
                assert key.point == was.point
                assert steps.index(key.state) - steps.index(was.state) in (0, 1)
        assert {"ACTIVE"} <= {key.state for key in ring.keys}
        assert ring.public().active.key_id == [key.key_id for key in ring.keys if key.state == "ACTIVE"][-1]
    assert len(given) > 60
    assert len(set(given)) == len(given)


def test_numbers_begin_again_only_after_the_last_and_leave_out_those_in_use() -> None:
    """Not after the largest: that may be an old one that is still there."""
    ring, given = KeyRing.fresh("shuffler").introduced().rotated(), list[int]()
    for _ in range(460):
        ring = ring.introduced()
        given.append(ring.keys[-1].key_id)
        ring = ring.rotated()
        if ring.keys[-2].key_id != 200:
            ring = ring.destroyed(ring.keys[-2].key_id)
        assert ring.keys[0].key_id == 0
    assert given == [*range(2, 256), *range(1, 200), *range(201, 208)]  # 0 and 200 are still there


def test_only_an_expired_key_can_be_destroyed() -> None:
    ring = KeyRing.fresh("shuffler").rotated().introduced()
    assert [key.state for key in ring.keys] == ["EXPIRED", "ACTIVE", "PENDING"]
    for key_id in (1, 2, 3, 255):
        with pytest.raises(InvalidInput, match="not an expired key"):
            ring.destroyed(key_id)
    assert [key.key_id for key in ring.destroyed(0).keys] == [1, 2]


def test_rotation_without_a_pending_key_makes_one_and_with_several_the_newest_is_sealed_to() -> None:
    ring = KeyRing.fresh("shuffler").rotated()
    assert [key.state for key in ring.keys] == ["EXPIRED", "ACTIVE"]
    ring = ring.introduced().introduced().rotated()
    assert [key.state for key in ring.keys] == ["EXPIRED", "EXPIRED", "ACTIVE", "ACTIVE"]
    assert ring.public().active.key_id == 3


def test_a_key_is_named_by_its_party_its_number_and_its_bytes() -> None:
    """Whichever of these differs, the fingerprint does."""
    shuffler, analyzer = KeyRing.fresh("shuffler").rotated().public(), KeyRing.fresh("analyzer").public()
    first, second = shuffler.keys
    names = {
        keys.fingerprint(type(first)(key_id=key_id, state="ACTIVE", public=key.public))
        for keys in (shuffler, analyzer)
        for key in (first, second)
        for key_id in (0, 1, 255)
    }
    assert len(names) == 12
    expired = type(first)(key_id=0, state="EXPIRED", public=first.public)
    assert shuffler.fingerprint(expired) == shuffler.fingerprint(first)  # the same key, whatever becomes of it


Document = dict[str, Any]


def listed() -> Document:
    return KeyRing.fresh("shuffler").rotated().public().document()


@pytest.mark.parametrize(
    "wrong",
    [
        lambda found: found["keys"][1].update(key_id=0),
        lambda found: found["keys"].append(found["keys"][0]),
        lambda found: found["keys"][0].update(key_id=True),
        lambda found: found["keys"][0].update(key_id=-1),
        lambda found: found["keys"][0].update(key_id=256),
        lambda found: found["keys"][0].update(key_id="0"),
        lambda found: found["keys"][0].update(state="active"),
        lambda found: found["keys"][0].update(public=base64.b64encode(bytes(32)).decode()),
        lambda found: found["keys"][0].update(public=base64.b64encode(b"\1" + bytes(31)).decode()),
        lambda found: found["keys"][0].update(public=base64.b64encode(bytes(31)).decode()),
        lambda found: found["keys"][0].update(public=found["keys"][0]["public"] + "\n*"),
        lambda found: found.update(role="Shuffler"),
        lambda found: found.update(role=None),
    ],
)
def test_a_list_says_everything_once_and_holds_keys_that_can_be_sealed_to(wrong: Callable[[Document], None]) -> None:
    found = listed()
    assert KeyList.from_document(found).document() == found
    wrong(found)
    with pytest.raises(InvalidInput, match="not a list of keys"):
        KeyList.from_document(found)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda found: found["keys"][1].update(key_id=0),
        lambda found: found["keys"][0].update(key_id=256),
        lambda found: found["keys"][0].update(state="BROKEN"),
        lambda found: found["keys"][0].update(private=base64.b64encode(bytes(31)).decode()),
        lambda found: found.update(role="pirate"),
    ],
)
def test_a_ring_that_is_none_is_refused(tmp_path: Path, wrong: Callable[[Document], None]) -> None:
    path = tmp_path / "ring.key"
    KeyRing.fresh("shuffler").rotated().save(path)
    found = json.loads(path.read_text())
    wrong(found)
    path.write_text(json.dumps(found))
    with pytest.raises(InvalidInput, match="not a key file"):
        KeyRing.load(path)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o622])
def test_keys_that_anybody_else_may_read_or_change_are_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "ring.key"
    KeyRing.fresh("shuffler").save(path)
    KeyRing.load(path)
    path.chmod(mode)
    with pytest.raises(InvalidInput, match="others can read the keys"):
        KeyRing.load(path)


def test_a_file_of_keys_is_read_again_whenever_it_changes(tmp_path: Path) -> None:
    """Also by one of the same length and time; one of another party is refused."""
    path, first, second = tmp_path / "ring.key", KeyRing.fresh("shuffler"), KeyRing.fresh("shuffler")
    first.save(path)
    file = KeyFile(path, "shuffler", KeyRing.load)
    assert file.current() is file.current()
    assert file.current().public() == first.public()
    times = path.stat()
    second.save(path)  # another file of the same name
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert file.current().public() == second.public()
    rewritten = path.read_text().replace("ACTIVE", "EXPIRED"[:6])
    path.write_text(rewritten)  # the same file
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns + 1))
    with pytest.raises(InvalidInput, match="not a key file"):
        file.current()
    path.unlink()
    KeyRing.fresh("analyzer").save(path)
    with pytest.raises(InvalidInput, match="these keys belong to the analyzer"):
        file.current()
    first.save(path)
    assert file.current().public() == first.public()


def test_a_public_list_and_a_private_ring_given_for_each_other_are_refused_with_what_to_give(tmp_path: Path) -> None:
    """And not with the advice to hide and rotate keys, which a public list does not need."""
    ring, published = tmp_path / "analyzer.key", tmp_path / "analyzer.pub.json"
    KeyRing.fresh("analyzer").save(ring)
    published.write_text(json.dumps(KeyRing.load(ring).public().document()))
    for mode in (0o644, 0o600):
        published.chmod(mode)
        with pytest.raises(
            InvalidInput, match=r"is the public list of keys.* Give the private key file.*analyzer\.key"
        ):
            KeyRing.load(published)
    with pytest.raises(
        InvalidInput, match=r"private key file.* Give the public list of keys.*analyzer\.pub\.json"
    ) as refused:
        KeyList.load(ring)
    assert json.loads(ring.read_text())["keys"][0]["private"] not in str(refused.value)
    assert KeyList.load(published) == KeyRing.load(ring).public()
