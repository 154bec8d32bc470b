"""Every randomizer by the kind that its documents name."""

from typing import Final

from shuffledp.core.plugins import Registry, class_by_kind
from shuffledp.core.randomizer import LocalRandomizer
from shuffledp.errors import InvalidInput
from shuffledp.randomizers.channel import Channel
from shuffledp.randomizers.codebook_response import CodebookResponse
from shuffledp.randomizers.design_response import DesignResponse
from shuffledp.randomizers.digit_by_digit import Digits
from shuffledp.randomizers.dummies import Dummies
from shuffledp.randomizers.gaussian import Gaussian
from shuffledp.randomizers.generic import Generic
from shuffledp.randomizers.laplace import Laplace
from shuffledp.randomizers.lattice import LatticeChannel
from shuffledp.randomizers.mixture import Mixture
from shuffledp.randomizers.response import RandomizedResponse
from shuffledp.randomizers.shuffler_noise import ShufflerNoise
from shuffledp.randomizers.together import Together

RANDOMIZERS: Final = Registry[type[LocalRandomizer]](
    "a class of randomizers",
    "shuffledp.randomizers",
    {
        RandomizedResponse.kind: RandomizedResponse,
        Laplace.kind: Laplace,
        Gaussian.kind: Gaussian,
        Channel.kind: Channel,
        LatticeChannel.kind: LatticeChannel,
        Generic.kind: Generic,
        DesignResponse.kind: DesignResponse,
        CodebookResponse.kind: CodebookResponse,
        Mixture.kind: Mixture,
        Dummies.kind: Dummies,
        Together.kind: Together,
        ShufflerNoise.kind: ShufflerNoise,
        Digits.kind: Digits,
    },
    class_by_kind("from_document", "document", "blanket"),
)
"""Every class by its kind. A new one of our own goes here; tests/conformance/test_randomizers.py judges it."""


def register(randomizer: type[LocalRandomizer]) -> None:
    """Make a class of randomizers known by its `kind`: documents that name it can be read from then on.

    An installed package does the same without a call, by an entry point of that name in the group `shuffledp.randomizers`.
    """
    RANDOMIZERS.add(randomizer)


def unregister(randomizer: type[LocalRandomizer]) -> None:
    """Forget a class that was registered."""
    RANDOMIZERS.remove(randomizer)


def from_document(document: object) -> LocalRandomizer:
    """The randomizer that a document describes; an unknown kind or field, or a wrong type, is refused.

    >>> from_document({"kind": "laplace", "epsilon0": 2.0})
    Laplace(epsilon0=2.0)
    """
    kind = document.get("kind") if isinstance(document, dict) else None
    if not isinstance(kind, str) or kind not in RANDOMIZERS:
        raise InvalidInput(f"there is no such kind of randomizer. Use one of {', '.join(RANDOMIZERS)}.")
    return RANDOMIZERS[kind].from_document(document)
