"""Who may report to a running shuffler, how often, and with which keys: tokens, rotation, windows."""

import subprocess
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from oracles.parties import ANALYZER, SHUFFLER, sealed
from oracles.parties import SIXTEEN as TASK
from oracles.process import assert_refused, command
from oracles.process import called as run
from oracles.scale import full
from oracles.server import Place, in_open_batches, inner_records, running, stored
from shuffledp import InvalidInput
from shuffledp.cli.tokens import read_tokens
from shuffledp.core.report_outcome import Outcome
from shuffledp.service.analyzer.batch_fetcher import BatchFetcher
from shuffledp.service.client.client import Client
from shuffledp.service.client.sender import Sender, Submitted, submit
from shuffledp.service.sealing.hpke import seal_inner, wrap
from shuffledp.service.sealing.keys import KeyFile, KeyRing
from shuffledp.service.shuffler.admission import OneTimeTokens
from shuffledp.service.shuffler.http import OCTETS

# Admission


def test_a15_a_token_admits_one_report(folder: Path) -> None:
    """Without a token nobody reports, and with one once: also after a restart, and however often the same bytes are sent."""
    assert run("tokens key -o admission.key", cwd=folder).returncode == 0
    issued = run("tokens issue task.json --key admission.key --count 120 -o tokens.txt", cwd=folder)
    assert issued.stdout == "issued 120 tokens\n", issued.stderr
    tokens = read_tokens(folder / "tokens.txt")
    assert len(set(tokens)) == 120
    assert (folder / "tokens.txt").stat().st_mode & 0o077 == 0
    key = (folder / "admission.key").read_text().strip().encode()
    other_task, forger = OneTimeTokens(key).issue("00" * 32), OneTimeTokens(b"guess" * 8)
    sent = [token + sealed(j % 16, TASK) for j, token in enumerate(tokens)]
    with running(folder, "--admission-key admission.key") as server:
        sender = Sender(url=server.url, attempts=2, pause=0.01)
        with pytest.raises(InvalidInput, match="status 400"):
            sender.send(TASK, [sealed(1, TASK)])
        assert sender.send(TASK, [forger.issue(TASK.id) + sealed(1, TASK)]) == ["not_admitted"]
        assert sender.send(TASK, [other_task + sealed(1, TASK)]) == ["not_admitted"]
        assert sender.send(TASK, sent[:100]) == ["accepted"] * 100
        assert sender.send(TASK, sent[:100]) == ["report_replayed"] * 100  # answers were lost
        flood = [token + sealed(3, TASK) for token in tokens[:100]]
        assert sender.send(TASK, flood) == ["not_admitted"] * 100
        twice = [tokens[100] + sealed(1, TASK), tokens[100] + sealed(2, TASK)]  # in one upload
        assert sorted(sender.send(TASK, twice)) == ["accepted", "not_admitted"]
        described = httpx.get(f"{server.url}/v2/tasks/{TASK.id}").json()
        assert described["credential"] == 32
    with running(folder, "--admission-key admission.key") as server:
        sender = Sender(url=server.url, attempts=2, pause=0.01)
        assert sender.send(TASK, flood[:5]) == ["not_admitted"] * 5
        # a report that is refused leaves nothing behind, and a bad report does not use its token up
        assert sender.send(TASK, [tokens[101] + b"x" * 126, tokens[101] + sealed(1, TASK)]) == [
            "invalid_message",
            "accepted",
        ]
        (folder / "mine.txt").write_text((folder / "tokens.txt").read_text().splitlines()[102] + "\n")
        line = (
            f"client submit task.json --url {server.url} --analyzer-keys analyzer.pub.json --state me --token mine.txt"
        )
        for _ in range(2):  # the second time the same bytes are sent
            done = subprocess.run(
                [command(), *line.split()], input="5\n", capture_output=True, text=True, cwd=folder, check=False
            )
            assert "arrived" in done.stdout, done.stderr
    assert stored(folder, "SELECT count(*) FROM sealed") == 103
    assert stored(folder, "SELECT count FROM batch") == 103
    assert stored(folder, "SELECT count(*) FROM spending") == 103


def test_tokens_badly_asked_for(folder: Path) -> None:
    assert run("tokens key -o admission.key", cwd=folder).returncode == 0
    before = (folder / "admission.key").read_bytes()
    (folder / "given.txt").write_text("tokens\n")
    for line, why in (
        ("tokens key -o admission.key", "exists"),
        ("tokens key -o no/such/folder.key", "cannot write"),
        ("tokens issue task.json --key admission.key --count 0 -o t.txt", "'--count': 0 is too small"),
        ("tokens issue task.json --key none.key --count 1 -o t.txt", "cannot read"),
        ("tokens issue task.json --key admission.key --count 1 -o task.json", "cannot write task.json"),
        ("tokens issue task.json --key admission.key --count 1 -o given.txt", "may have been given out"),
    ):
        done = run(line, cwd=folder)
        assert_refused(done, why)
    assert (folder / "admission.key").read_bytes() == before
    assert not (folder / "t.txt").exists()
    (folder / "bad.txt").write_text("not a token!\n")
    with pytest.raises(InvalidInput, match="not a file of tokens"):
        read_tokens(folder / "bad.txt")


# Keys that change


def test_a12_rotations_under_load_lose_no_report(folder: Path, scheme: str, place: Place) -> None:
    """Clients keep sending while keys are introduced, rotated and destroyed: outdated reports arrive rewrapped, once each."""
    rotations, ring = full(3 if scheme == "sqlite" else 1, 10), SHUFFLER
    done = threading.Event()
    outcomes: Counter[str] = Counter()
    first_tries: Counter[str] = Counter()

    def client(number: int) -> int:
        made, keys = 0, sender.described(TASK).keys
        while not done.is_set() or made == 0:
            inner = seal_inner((number + made) % 16, TASK, ANALYZER.public())
            (outcome,) = sender.send(TASK, [wrap(inner, TASK, [keys])])
            first_tries[outcome] += 1
            while outcome == "outdated_config":  # learn the current keys, wrap the same inside again
                keys = sender.described(TASK).keys
                (outcome,) = sender.send(TASK, [wrap(inner, TASK, [keys])])
            outcomes[outcome] += 1
            made += 1
        return made

    store = place(folder / "store.db")
    with running(folder, store=store) as server:
        sender = Sender(url=server.url)
        with ThreadPoolExecutor(4) as pool:
            jobs = [pool.submit(client, number) for number in range(4)]
            for _ in range(rotations):
                for change in (KeyRing.introduced, KeyRing.rotated, without_the_oldest):
                    ring = change(ring)
                    ring.save(folder / "shuffler.key")
                    wanted = ring.public().document()
                    for _ in range(100):
                        if httpx.get(f"{server.url}/v2/tasks/{TASK.id}").json()["keys"] == wanted:
                            break
                        time.sleep(0.05)
                    else:
                        raise AssertionError("the service did not take the new keys")
            done.set()
            made = sum(job.result() for job in jobs)
        # a damaged file leaves the keys of before in use
        (folder / "shuffler.key").write_text("{}")
        while 'kind="bad_key_file"} 1.0' not in server.metrics():
            time.sleep(0.05)
        assert httpx.get(f"{server.url}/v2/tasks/{TASK.id}").json()["keys"] == ring.public().document()
        output = server.stop()[1]
        assert "still using the previous keys" in output
    assert outcomes == {"accepted": made}
    assert first_tries["outdated_config"] >= rotations  # the test did exercise it
    assert in_open_batches(store) == inner_records(store) == made


def without_the_oldest(ring: KeyRing) -> KeyRing:
    return ring.destroyed(ring.keys[0].key_id)


def test_a12_the_client_library_rewraps_by_itself(folder: Path, tmp_path: Path, place: Place) -> None:
    """A report that was wrapped for keys that are gone since arrives all the same."""
    with running(folder, store=place(folder / "store.db")) as server:
        sender = Sender(url=server.url)
        client = Client(task=TASK, analyzer=ANALYZER.public(), folder=tmp_path / "state")
        assert client.report(3, sender.described(TASK)) is not None  # and then the network is gone for a while
        SHUFFLER.rotated().destroyed(SHUFFLER.keys[0].key_id).save(folder / "shuffler.key")
        while len(sender.described(TASK).keys.keys) != 1:
            time.sleep(0.05)
        assert submit(client, 3, sender=sender) == Submitted(outcome=Outcome.ACCEPTED, earlier=True)
        assert client.waiting == []


def test_nobody_is_twice_in_a_batch(folder: Path, tmp_path: Path) -> None:
    """A client reports once in each of the shuffler's windows; a report that is late for one goes to the next, once."""
    with running(folder) as server:
        sender, operator = (
            Sender(url=server.url),
            BatchFetcher(url=server.url, token=(folder / "operator.token").read_text()),
        )
        now = [0.0]

        def client(name: str) -> Client:
            return Client(task=TASK, analyzer=ANALYZER.public(), folder=tmp_path / name, clock=lambda: now[0])

        me, late, both = client("me"), client("late"), client("both")
        first = sender.described(TASK)
        assert submit(me, 3, sender=sender).outcome == "accepted"
        assert submit(me, 5, sender=sender).earlier  # a second value in the same window is not randomized
        made = late.report(3, first)  # and then the network is gone for a while
        both.report(1, first)
        assert made is not None
        assert set(sender.send(TASK, [sealed(j % 16, TASK) for j in range(120)], window=first.window)) == {"accepted"}
        operator.close(TASK)
        second = sender.described(TASK)
        assert second.window > first.window
        assert sender.send(TASK, [made], window=first.window) == ["batch_collected"]
        assert submit(late, 3, sender=sender) == Submitted(outcome=Outcome.ACCEPTED, earlier=True)
        assert (late.reports, late.waiting) == (1, [])
        # the same randomization, in the other window
        assert sender.send(TASK, [made], window=second.window) == ["report_replayed"]
        assert submit(late, 3, sender=sender).outcome == "report_replayed"
        with pytest.raises(InvalidInput, match="one report every 3,600 seconds"):  # the operator closed early
            submit(me, 3, sender=sender)
        now[0] += 3600
        assert submit(me, 3, sender=sender) == Submitted(outcome=Outcome.ACCEPTED, earlier=False)
        assert me.reports == 2
        # two unsent reports, and the window of the older one is over: the newer one stands
        newer = both.report(2, second)
        assert newer is not None
        assert submit(both, 1, sender=sender) == Submitted(outcome=Outcome.ACCEPTED, earlier=True)
        assert both.waiting == []
        assert sender.send(TASK, [newer], window=second.window) == ["report_replayed"]
        wrong = httpx.post(
            f"{server.url}/v2/tasks/{TASK.id}/reports?window=x", content=made, headers={"Content-Type": OCTETS}
        )
        assert wrong.status_code == 400
        with pytest.raises(InvalidInput, match="no report that could move"):
            me.moved(replace(second, window=99), window=98)


def test_key_files_of_the_wrong_role_or_none(tmp_path: Path) -> None:
    ANALYZER.save(tmp_path / "a.key")
    with pytest.raises(InvalidInput, match="keys belong to the analyzer"):
        KeyFile(tmp_path / "a.key", "shuffler", KeyRing.load).current()
    with pytest.raises(InvalidInput, match="cannot read"):
        KeyFile(tmp_path / "none.key", "shuffler", KeyRing.load).current()
