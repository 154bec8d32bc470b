"""The only way from raw values to messages: clean, encode, randomize."""

import contextlib
from dataclasses import replace
from typing import Any, NamedTuple

from numpy.typing import NDArray

from shuffledp.core.randomness import RandomSource
from shuffledp.core.ranged import Ranged
from shuffledp.domains.domain import NO_ANSWER, STRICT, Clean, Policy
from shuffledp.errors import InvalidInput
from shuffledp.protocols.protocol import ShuffleProtocol


class Randomized(NamedTuple):
    """Clean values, and the message or messages of each, one row per user."""

    clean: Clean
    messages: Any


def randomized(
    protocol: ShuffleProtocol,
    raw: Any,
    randomness: RandomSource,
    policy: Policy = STRICT,
    *,
    first_row: int = 0,
    in_file: bool = False,
) -> Randomized:
    """What people with these raw values send, each with the words of their row; with `in_file`, errors name rows."""
    clean = _cleaned(protocol, raw, policy, first_row if in_file else None)
    values = clean.values if clean.within is None else Ranged.of(clean.values, *clean.within)
    return Randomized(clean, protocol.randomize(values, randomness, first_row=first_row))


def _cleaned(protocol: ShuffleProtocol, raw: Any, policy: Policy, first_row: int | None) -> Clean:
    """Errors about answers to a query are all alike, unless the policy explains them."""
    if policy.explain_errors is not False:
        return protocol.domain.clean(raw, policy, first_row)
    with contextlib.suppress(InvalidInput):
        return protocol.domain.clean(raw, policy)
    protocol.domain.clean(raw[:0], policy)  # refused for its type, which depends on no row
    raise InvalidInput(NO_ANSWER)


def fits(protocol: ShuffleProtocol, value: Any) -> bool:
    """Whether this is a value that a user may report."""
    with contextlib.suppress(InvalidInput):
        protocol.domain.clean([value])
        return True
    return False


def without_value(protocol: ShuffleProtocol, raw: Any, policy: Policy) -> int:
    """How many people would be left out if those without a value were."""
    return protocol.domain.clean(raw, protocol.domain.lenient(replace(policy, missing="skip"))).rejected.total()


def clean_samples(protocol: ShuffleProtocol) -> tuple[NDArray[Any], list[str]]:
    """A few clean values of a protocol's domain, and what they are called: nobody's."""
    samples = protocol.domain.samples()
    return protocol.domain.clean(samples).values, [str(sample) for sample in samples]
