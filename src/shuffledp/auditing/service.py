"""A running service: clients, sealing, shuffler, released batch, and an analyzer who looks at all that it gets.

Every trial is a batch: the clients randomize and seal, one of them sends its report twice, as after a lost answer, the shuffler
opens, deduplicates, keeps, closes and releases, and the analyzer opens what is released. It sees the messages, their order,
and the key that each was sealed to. Beside the likelihood ratio of the counts it tries what would give a user away if something
were wrong: the message at each of several places, and the message under a key of its own.
"""

import math
import tempfile
import weakref
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shuffledp.auditing.deployment import Deployment
from shuffledp.auditing.event import Atoms, most_telling
from shuffledp.auditing.inputs import of_protocol
from shuffledp.auditing.neighbours import Neighbours, promising
from shuffledp.auditing.subject import Claimed, Subject
from shuffledp.core.randomness import RandomSource, SystemRandomness
from shuffledp.errors import InvalidInput
from shuffledp.service.client.client import Announcement, Client, messages_of
from shuffledp.service.sealing.unsealing import unseal_here
from shuffledp.service.wire.record import decode_message

Reals = NDArray[np.float64]
_PLACES: Final = 8
"""At the beginning of a batch, and as many at its end, whose message is looked at."""
_FEWEST: Final = 30
"""Trials from which to learn what to look at."""


class Seen(NamedTuple):
    """What the analyzer sees of a batch, record by record in the order of the release."""

    messages: NDArray[np.int64]
    keys: NDArray[np.int64]


class Service(Subject):
    """A deployment, of which every trial is a batch. Override what a user does to audit other clients."""

    def __init__(self, deployment: Deployment, *, claimed: Claimed, randomness: RandomSource | None = None) -> None:
        """`randomness` must be new at every call, as the system's are: users are not told apart by rows here."""
        self.deployment, self.task = deployment, deployment.task
        protocol = self.task.plan.protocol
        self.name, self.view, self.claimed = f"the service of {protocol.kind}", "shuffled", claimed
        self.n, self.learned = self.task.release_size, True
        self.randomness = randomness or SystemRandomness()
        inputs = of_protocol(protocol)
        if inputs.laws is None or inputs.view.messages is None:
            raise InvalidInput(
                "the distributions of this plan's messages have no known closed form. Audit another plan as a service."
            )
        self._pair = x, z, w = promising(list(inputs.laws), self.n, 1)[0]
        self._labels, self._values = inputs.labels, protocol.domain.samples()
        others = inputs.laws[w]
        if inputs.view.dummies:
            others = (self.n - 1) * others + self.n * inputs.view.dummies_of_each()
        self._counts = Neighbours(inputs.laws[x], inputs.laws[z], others, inputs.question)
        self._single = Neighbours(inputs.laws[x], inputs.laws[z], (inputs.laws[x] + inputs.laws[z]) / 2)
        if inputs.view.told is not None and protocol.most_messages > 1:
            raise InvalidInput("which of a user's messages is which cannot be told in a batch. Audit the plan itself.")
        self._look, self._size, self._told = 0, protocol.alphabet, inputs.view.told
        folder = tempfile.TemporaryDirectory(prefix="shuffledp-audit-")
        self._folder = Path(folder.name)
        weakref.finalize(self, folder.cleanup)

    @property
    def worlds(self) -> str:
        """Who holds what, and what gave most away."""
        x, z, w = (self._labels[j] for j in self._pair)
        looked = self._looks()[self._look]
        return f"one user holds {x} or {z}, {self.n - 1:,} others hold {w}; the attacker looks at {looked}"

    # What users do

    def sent_by_user(self, value: Any, announced: Announcement, folder: Path) -> Sequence[bytes]:
        """What the one user sends: its report, and the same again, because the first answer was lost."""
        client = Client(
            task=self.task, analyzer=self.deployment.ring.public(), folder=folder, randomness=self.randomness
        )
        first = client.report(value, announced)
        return [upload for upload in (first, client.report(value, announced)) if upload is not None]

    def sent_by_another(self, value: Any, announced: Announcement) -> bytes:
        """What one of the others sends, whose disk is not of interest."""
        messages = messages_of(self.task, value, self.randomness)
        return announced.wrapped(announced.sealed(messages, self.task, [self.deployment.ring.public()]), self.task)

    # What the attacker sees

    def learn(self, trials: int, *, seconds: float = math.inf) -> int:  # noqa: ARG002
        """Which look shows most."""
        some = max(_FEWEST, trials)
        first, second = self._watched(0, some)
        looks = [Atoms.of_samples(a, b) for a, b in zip(first.T, second.T, strict=True)]
        self._look = most_telling(looks, 10 * some, delta=self.claimed.delta, confidence=0.9)
        return some

    def foreseen(self) -> Atoms | None:
        """If counts are all that there is to see, and every user sends one message."""
        if self._look or self.task.plan.protocol.most_messages > 1:
            return None
        return self._counts.foreseen(self.n, np.random.default_rng(1), 10_000_000, 100_000)

    def singled_out(self) -> Atoms | None:
        """If every user sends one message."""
        if self.task.plan.protocol.most_messages > 1:
            return None
        return self._single.foreseen(1, np.random.default_rng(1), 0, 0)

    def scores(self, first: int, trials: int) -> tuple[Reals, Reals]:
        """Of the look that was learned."""
        one, other = self._watched(first, trials)
        return one[:, self._look], other[:, self._look]

    def _watched(self, first: int, trials: int) -> tuple[Reals, Reals]:
        """What every look scores in each trial, in both worlds."""
        x, z, w = (self._values[j] for j in self._pair)
        found = [
            [
                self._scored(self._seen(value, w, self._folder / f"{trial}-{world}"))
                for world, value in enumerate((x, z))
            ]
            for trial in range(first, first + trials)
        ]
        return np.stack([one for one, _ in found]), np.stack([other for _, other in found])

    def _seen(self, value: Any, others: Any, folder: Path) -> Seen:
        """One batch, from the reports to what the analyzer sees. The user reports first."""
        said = self.deployment.announced()
        own = [[upload] for upload in self.sent_by_user(value, said, folder)]
        crowd = [self.sent_by_another(others, said) for _ in range(self.n - 1)]
        released = self.deployment.collected([*own, crowd])
        records = released.reports(self.task.plan.protocol.most_messages).messages
        opened = unseal_here([record.tobytes() for record in records], self.deployment.ring, self.task.id, 1)
        plain = [decode_message(one, self._size) if isinstance(one, bytes) else None for one in opened]
        messages = np.array([-1 if message is None else message for message in plain], dtype=np.int64)
        if self._told is not None:
            messages[messages >= 0] = self._told(messages[messages >= 0].astype(np.uint64))
        return Seen(
            messages,
            records[:, 0].astype(np.int64),
        )

    def _looks(self) -> list[str]:
        return [
            "the counts",
            *(f"the message at place {j + 1}" for j in range(_PLACES)),
            *(f"the message at place {j + 1} from the end" for j in range(_PLACES)),
            "the messages under the rarest key",
        ]

    def _scored(self, seen: Seen) -> Reals:
        """What each look says: counts; places; the rarest key, if there are several."""
        good = seen.messages >= 0
        messages = seen.messages[good]
        looks = [messages, *(messages[j : j + 1] for j in range(_PLACES))]
        looks += [messages[len(messages) - 1 - j :][:1] for j in range(_PLACES)]
        often = Counter(seen.keys[good].tolist())
        rarest = min(often, key=lambda key: often[key]) if len(often) > 1 else None
        looks.append(messages[seen.keys[good] == rarest])
        laws = [self._counts, *(self._single,) * (len(looks) - 1)]
        return np.array(
            [
                law.scores(law.counts(look, np.zeros(len(look), dtype=np.int64), 1))[0] if len(look) else 0.0
                for law, look in zip(laws, looks, strict=True)
            ]
        )
