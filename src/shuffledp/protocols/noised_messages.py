"""What protocols have in common whose users send the truth: one symbol each, among which the shuffler puts dummies of its own."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import checks
from shuffledp.core.attacker_view import AttackerView
from shuffledp.core.counts import Counts
from shuffledp.core.population import Population
from shuffledp.core.randomness import EncodingRandomness, NoWords, RandomSource
from shuffledp.errors import InvalidInput
from shuffledp.protocols.estimator import Reals
from shuffledp.protocols.one_message import OneSymbol
from shuffledp.randomizers.geometric_noise import GeometricNoise
from shuffledp.randomizers.shuffler_noise import ShufflerNoise

NOISE_NOTE: Final = (
    "A shuffler that sees this answer knows the exact counts, because it knows how many dummies it added; not whose "
    "they are. Shuffler and analyzer together know what everybody reported."
)
_UNLIKELY: Final = 1e-12


class NoisedMessages(OneSymbol):
    """Records of each symbol are counted, and users apart: nobody can tell reports from dummies."""

    __slots__ = ()
    randomizer: ShufflerNoise

    @property
    def noise(self) -> GeometricNoise:
        """What the shuffler adds."""
        return self.randomizer.noise

    @property
    def shuffler_noise(self) -> GeometricNoise:
        return self.noise

    # What a user sends, and the shuffler

    @property
    def bits(self) -> int:
        return (self.alphabet - 1).bit_length()

    def randomize(self, values: NDArray[Any], randomness: RandomSource, *, first_row: int) -> NDArray[Any]:
        """The symbol of each user; the encoder has words of its own."""
        symbols = self.encode(values, EncodingRandomness(randomness), first_row=first_row)
        return self.randomizer.randomize(symbols, randomness, first_row=first_row)

    def attacker_view(self) -> AttackerView:
        """The law of the message: its sender's symbol."""
        return AttackerView(
            messages=self.alphabet,
            law=lambda value: self._held(self.encode(value, NoWords(), first_row=0), 1).astype(float),
        )

    def of_user(self, messages: NDArray[Any]) -> list[int]:
        return [int(messages[0])]

    def shuffled(self, counts: Counts, randomness: RandomSource) -> Counts:
        """With dummies of every symbol, whether anybody holds it or not; the number of users stays."""
        often = self.noise.noised(counts.values[:-1], randomness)
        return self._counts(often, self.reports(counts.values))

    @property
    def states_reports(self) -> bool:
        """Nobody can count the reports among dummies."""
        return True

    def fewest_records(self, reports: int, honest: int) -> int:  # noqa: ARG002
        """The reports, unless some are dropped, and the fewest dummies."""
        return self.noise.fewest(self.alphabet, _UNLIKELY) + (reports if self.noise.share_kept == 1 else 0)

    def most_records(self, reports: int) -> int:
        """The reports and the most dummies, but for a chance of 1e-12."""
        return reports + self.noise.most(self.alphabet, _UNLIKELY)

    # What they add up to

    @property
    def counters(self) -> int:
        """One for each symbol, and one for the users."""
        return self.alphabet + 1

    def count(self, messages: NDArray[Any]) -> Counts:
        """How many users hold each symbol, and how many users there are."""
        return self._counts(Counts.of(messages, self.alphabet).values, len(messages))

    def add(self, counts: NDArray[np.int64], messages: NDArray[Any]) -> None:
        """In place where messages are fewer than counters."""
        if len(messages) < self.alphabet:
            np.add.at(counts, checks.symbols(messages, self.alphabet).astype(np.intp), 1)
            counts[-1] += len(messages)
        else:
            counts += self.count(messages).values

    def tallied(self, often: NDArray[np.int64], users: int) -> Counts:
        """Any number of records: how many of them are dummies is up to chance."""
        counts = Counts(often)
        if counts.size != self.alphabet or users < 0:
            raise InvalidInput("these are not the records of this protocol. They belong to another one.")
        return self._counts(often, users)

    def reports(self, counts: NDArray[np.int64]) -> int:
        return int(counts[-1])

    def simulate(self, population: Population, generator: np.random.Generator, runs: int) -> Reals:
        symbols = self.encode(population.values, NoWords(), first_row=0)
        held = np.tile(self._held(symbols, population.users), (runs, 1))
        kept = generator.binomial(held, self.noise.share_kept) if self.noise.share_kept < 1 else held
        drawn = kept + self.noise.simulated(generator, held.shape)
        return self.debias(np.concatenate([drawn, np.full((runs, 1), population.n)], axis=1), population.n)

    @property
    def cells_per_run(self) -> int:
        """A number for each symbol."""
        return self.alphabet

    def _held(self, symbols: NDArray[Any], users: Any) -> NDArray[np.int64]:
        held = np.zeros(self.alphabet, dtype=np.int64)
        np.add.at(held, symbols.astype(np.intp), users)
        return held

    def _counts(self, often: NDArray[np.int64], users: int) -> Counts:
        return Counts(np.append(often, np.int64(users)))
