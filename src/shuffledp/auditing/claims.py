"""Which epsilon is claimed for what is audited, and by whom."""

from typing import Any, Protocol, runtime_checkable

from shuffledp.accounting.account import DEFAULT_BOUND, bound_named
from shuffledp.accounting.solve import Problem, solve
from shuffledp.auditing.subject import Claimed, View
from shuffledp.core.blanket import Blanket, HasBlanket, HasMessageBlanket
from shuffledp.core.digits import counted
from shuffledp.errors import InvalidInput, NoClaim
from shuffledp.planning.plan import Plan
from shuffledp.randomizers.generic import Generic


@runtime_checkable
class Quoted(Protocol):
    """A protocol whose privacy is quoted from elsewhere, for the number of users that it was made for."""

    def quoted(self, n: int) -> tuple[float, float]:
        """Epsilon and delta; refused for another number of users."""
        ...


def claim_of(thing: Any, *, view: View, n: int, delta: float, epsilon: float | None) -> Claimed:
    """The claim that the user states, or else the one that is proved: of a plan, a randomizer that runs, or a protocol."""
    if epsilon is not None:
        return Claimed(epsilon=epsilon, delta=delta, by="as stated")
    protocol: Any = thing.protocol if isinstance(thing, Plan) else thing
    if view == "local":
        if protocol.epsilon0 is None:
            raise InvalidInput("there is no local guarantee to audit, because only shuffled messages are private here.")
        return Claimed(epsilon=protocol.epsilon0, delta=delta, by="its local epsilon0")
    if isinstance(thing, Plan) and (n, delta) == (thing.guarantee.n, thing.guarantee.delta):
        return Claimed(epsilon=thing.guarantee.epsilon, delta=delta, by="the plan")
    if isinstance(protocol, Quoted):
        quoted_epsilon, quoted_delta = protocol.quoted(n)
        return Claimed(epsilon=quoted_epsilon, delta=max(delta, quoted_delta), by="what the protocol was designed for")
    blanket = _blanket(protocol)
    solution = solve(
        bound_named(DEFAULT_BOUND),
        Problem(randomizer=blanket, n=n, delta=delta),
        safe_end_only=bool(blanket.releases()),
    )
    if solution.value is None:
        raise NoClaim(solution.regime or "no epsilon is proved for this. State one with epsilon.")
    lower = None if solution.lower is None else float(solution.lower)
    return Claimed(
        epsilon=float(solution.value),
        delta=delta,
        by=f"proved by the {DEFAULT_BOUND} bound for {counted(n, 'user')}",
        lower=lower,
    )


def _blanket(thing: Any) -> Blanket:
    """What the accountant knows of a randomizer, or of a protocol's messages, shuffled; at worst that they are epsilon0-LDP."""
    if isinstance(thing, HasMessageBlanket):
        return thing.message_blanket()
    if isinstance(thing, HasBlanket):
        return thing.blanket()
    if thing.epsilon0 is None:
        raise InvalidInput("nothing is proved about this protocol here. State its epsilon.")
    return Generic(epsilon0=thing.epsilon0).blanket()
