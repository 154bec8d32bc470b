"""The front door of auditing: a randomizer, protocol or plan in, a finding out."""

from collections.abc import Sequence
from typing import Any

from shuffledp.auditing.added_noise import AddedNoise
from shuffledp.auditing.claims import claim_of
from shuffledp.auditing.conduct import CONFIDENCE, Watch, checked_budget, conduct
from shuffledp.auditing.crowd import Crowd
from shuffledp.auditing.deployment import Deployment, InProcess
from shuffledp.auditing.finding import Finding
from shuffledp.auditing.inputs import of_protocol, of_randomizer, runnable
from shuffledp.auditing.program import of_command
from shuffledp.auditing.service import Service
from shuffledp.auditing.subject import Claimed, View
from shuffledp.core import argument, checks
from shuffledp.core.blanket import HasBlanket
from shuffledp.core.randomizer import LocalRandomizer
from shuffledp.core.randomness import RandomSource
from shuffledp.errors import InvalidInput
from shuffledp.planning.plan import Plan
from shuffledp.protocols.protocol import ShuffleProtocol, is_protocol
from shuffledp.randomizers.geometric_noise import GeometricNoise

SECONDS = 60.0
"""That an audit takes unless something else is said."""
_TRIALS = 1_000_000
"""For which the worst datasets are looked for, if the number of trials is not known yet."""


def audit(
    subject: LocalRandomizer | ShuffleProtocol | Plan, *, n: int | None = None, delta: float | None = None,
    view: View = "shuffled", epsilon: float | None = None, known: int = 0, trials: int | None = None,
    seconds: float | None = None, confidence: float = CONFIDENCE, learned: bool = False, enough: float = 0.5,
    randomness: RandomSource | None = None, watch: Watch | None = None,
) -> Finding:  # fmt: skip
    """A lower bound on epsilon that holds with this confidence, from what the code that runs was seen to do.

    One of two neighbouring datasets is randomized and shuffled again and again, by the sampler itself, and the likelihood ratio
    of what comes out is used to guess which. The claim is the one that is proved (or the plan's), unless `epsilon` states
    another. An attacker may know the messages of some others (`known`). With `learned` the law of the
    messages is learned, not taken from the randomizer: slower, but it also finds errors that the law knows nothing of.

    >>> from shuffledp import KeyedRandomness, RandomizedResponse
    >>> coin = RandomizedResponse(size=2, epsilon0=1.0)
    >>> audit(coin, view="local", trials=20_000, randomness=KeyedRandomness.seeded(1)).verdict
    'consistent'
    """
    _check(view=view, randomness=randomness, watch=watch)
    argument.truth(learned, "learned")
    if not (isinstance(subject, Plan) or is_protocol(subject)):
        argument.with_method(subject, "blanket", "subject", "a plan, protocol or randomizer")
    seconds = SECONDS if trials is None and seconds is None else seconds
    trials, seconds, confidence = checked_budget(trials, seconds, confidence)
    if isinstance(subject, Plan):
        n, delta = subject.guarantee.n if n is None else n, _either(delta, subject.guarantee.delta, view)
    delta = 0.0 if delta is None and view == "local" else delta
    n = 1 if n is None and view == "local" else n
    if n is None or delta is None:
        raise InvalidInput("the shuffled view needs the number of users and a delta. Give n and delta.")
    n = checks.users(n)
    delta = _delta(delta, view)
    thing: Any = subject if isinstance(subject, Plan) or is_protocol(subject) else runnable(subject)
    claimed = claim_of(thing, view=view, n=n, delta=delta, epsilon=None if epsilon is None else checks.epsilon(epsilon))
    noise = _noise_of(thing)
    if noise is not None:
        added = AddedNoise(noise, claimed=claimed, randomness=randomness)
        return conduct(added, trials=trials, seconds=seconds, confidence=confidence, enough=enough, watch=watch)
    if isinstance(thing, HasBlanket) and not thing.blanket().needs_crowd:
        raise InvalidInput(
            "what hides users is added by the shuffler, not by this randomizer. Audit a plan or protocol."
        )
    if isinstance(thing, Plan):
        inputs = of_protocol(thing.protocol)
    else:
        inputs = of_protocol(thing) if is_protocol(thing) else of_randomizer(thing)
    crowd = Crowd(
        inputs, n=n, claimed=claimed, view=view, known=known, learned=learned, randomness=randomness,
        trials=trials or _TRIALS, confidence=confidence,
    )  # fmt: skip
    return conduct(crowd, trials=trials, seconds=seconds, confidence=confidence, enough=enough, watch=watch)


def audit_command(
    line: str, *, symbols: Sequence[str] = ("0", "1"), epsilon: float, delta: float = 0.0, n: int = 1,
    view: View = "local", known: int = 0, trials: int | None = None, seconds: float | None = None,
    confidence: float = CONFIDENCE, enough: float = 0.5, watch: Watch | None = None,
) -> Finding:  # fmt: skip
    """Audit any program that reads values and writes messages, line by line (`auditing.command`).

    Its claim is `epsilon` at `delta`. What it does is learned from examples; of several values the worst two are audited.
    """
    _check(view=view, watch=watch)
    line = argument.text(line, "line", "python randomizer.py")
    symbols = argument.texts(symbols, "symbols", "['0', '1']")
    seconds = SECONDS if trials is None and seconds is None else seconds
    trials, seconds, confidence = checked_budget(trials, seconds, confidence)
    claimed = Claimed(epsilon=checks.epsilon(epsilon, side="up"), delta=_delta(delta, view), by="as stated")
    n = checks.users(n)
    if view == "shuffled" and n < 2:
        raise InvalidInput("the shuffled view needs more than one user. Give n, or use the local view.")
    crowd = Crowd(of_command(line, symbols, view), n=n, claimed=claimed, view=view, known=known)
    return conduct(crowd, trials=trials, seconds=seconds, confidence=confidence, enough=enough, watch=watch)


def audit_service(
    service: Plan | Deployment, *, trials: int | None = None, seconds: float | None = None, confidence: float = CONFIDENCE,
    enough: float = 0.5, watch: Watch | None = None,
) -> Finding:  # fmt: skip
    """Audit a service, with one batch per trial, from the clients to what the analyzer sees.

    A plan is carried out in this process. `OverHttp` (`auditing.deployment`) is a shuffler that runs at an address.
    A trial seals and opens every report, so plans for few users are audited best.
    """
    seconds = SECONDS if trials is None and seconds is None else seconds
    trials, seconds, confidence = checked_budget(trials, seconds, confidence)
    _check(watch=watch)
    if isinstance(service, type) or not (isinstance(service, Plan) or hasattr(service, "task")):
        raise argument.wrong(service, "service", "a plan, or where a shuffler runs (OverHttp)")
    deployment = InProcess(service) if isinstance(service, Plan) else service
    plan = deployment.task.plan
    if _noise_of(plan) is not None:
        raise InvalidInput(
            "an audit of a service looks at what users send, and what hides them here is what the shuffler adds. Audit the plan: "
            "that looks at the noise, drawn by the same code."
        )
    claimed = claim_of(plan, view="shuffled", n=plan.guarantee.n, delta=plan.guarantee.delta, epsilon=None)
    subject = Service(deployment, claimed=claimed)
    return conduct(subject, trials=trials, seconds=seconds, confidence=confidence, enough=enough, watch=watch)


def _noise_of(thing: Any) -> GeometricNoise | None:
    """What a shuffler adds to the messages of a plan or protocol; None if users hide each other."""
    protocol = thing.protocol if isinstance(thing, Plan) else thing
    return protocol.shuffler_noise if is_protocol(protocol) else None


def _check(*, view: object = "local", randomness: object = None, watch: object = None) -> None:
    """What is no number."""
    argument.one_of(view, "view", ("shuffled", "local"))
    if randomness is not None:
        argument.with_method(
            randomness, "reserve", "randomness", "a source of randomness, such as KeyedRandomness.fresh()"
        )
    if watch is not None:
        argument.function(watch, "watch")


def _delta(delta: float, view: View) -> float:
    """A probability; locally also none."""
    return 0.0 if checks.real(delta, "delta") == 0 and view == "local" else checks.probability(delta, "delta")


def _either(given: float | None, planned: float, view: View) -> float | None:
    """The delta that is given, or the plan's; a local guarantee needs none."""
    return given if given is not None or view == "local" else planned
