"""Which epsilon is claimed for what is audited, and by whom."""

from typing import Any

from shuffledp.accounting.account import DEFAULT_BOUND, bound_named
from shuffledp.accounting.solve import Problem, solve
from shuffledp.auditing.attacker_view import accounted, is_protocol, quoted
from shuffledp.auditing.subject import Claimed, View
from shuffledp.core.digits import counted
from shuffledp.errors import InvalidInput, NoClaim
from shuffledp.planning.plan import Plan


def claim_of(thing: Any, *, view: View, n: int, delta: float, epsilon: float | None) -> Claimed:
    """The claim that the user states, or else the one that is proved: of a plan, a randomizer that runs, or a protocol."""
    if epsilon is not None:
        return Claimed(epsilon=epsilon, delta=delta, by="as stated")
    protocol: Any = thing.protocol if isinstance(thing, Plan) else thing
    if view == "local":
        if protocol.epsilon0 is None:
            raise InvalidInput("there is no local guarantee to audit: only shuffled messages are private here.")
        return Claimed(epsilon=protocol.epsilon0, delta=delta, by="its local epsilon0")
    if isinstance(thing, Plan) and (n, delta) == (thing.guarantee.n, thing.guarantee.delta):
        return Claimed(epsilon=thing.guarantee.epsilon, delta=delta, by="the plan")
    made_for = quoted(protocol, n) if is_protocol(protocol) else None
    if made_for is not None:
        return Claimed(epsilon=made_for[0], delta=max(delta, made_for[1]), by="what the protocol was made for")
    blanket = accounted(protocol) if is_protocol(protocol) else protocol.blanket()
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
