"""The interface of a protocol is a few small ones, and little of it is to be written."""

import pytest

from shuffledp.protocols.batched import Batched
from shuffledp.protocols.deployable import Deployable
from shuffledp.protocols.description import Described
from shuffledp.protocols.estimator import Estimator
from shuffledp.protocols.forecast import Forecaster
from shuffledp.protocols.mechanism import Mechanism
from shuffledp.protocols.one_message import OneMessage
from shuffledp.protocols.protocol import ShuffleProtocol
from shuffledp.protocols.simulated import Simulated

CLASS_VARIABLES = {"kind", "reference", "randomizer"}
"""What an abstract class cannot demand."""


def names_of(kind: type) -> set[str]:
    return {name for name in vars(kind) if not name.startswith("_")}


@pytest.mark.parametrize("role", [Mechanism, Estimator, Forecaster, Simulated, Described, Batched, Deployable])
def test_every_role_is_small(role: type) -> None:
    assert 1 <= len(names_of(role)) <= 12
    assert issubclass(OneMessage, role)


def test_a_protocol_is_its_roles() -> None:
    assert names_of(ShuffleProtocol) == {"examples", "reading"}


def test_a_protocol_of_one_message_implements_few_names() -> None:
    assert len(OneMessage.__abstractmethods__ | CLASS_VARIABLES) <= 20
