"""Shuffle-model differential privacy: account, plan, run.

Names are loaded on first use, so `import shuffledp` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from shuffledp.core.display import Artist, draw_with
from shuffledp.version import VERSION

if TYPE_CHECKING:
    from shuffledp.accounting.account import account, bounds, calibrate
    from shuffledp.accounting.composition import Collection, to_pld
    from shuffledp.accounting.error_floor import summation_error_floor
    from shuffledp.accounting.shuffle_index import ShuffleIndex, shuffle_index
    from shuffledp.accounting.solve import Solution
    from shuffledp.auditing.audit import audit, audit_command, audit_service
    from shuffledp.auditing.finding import Finding
    from shuffledp.baselines.compare import Comparison, compare
    from shuffledp.certificates.certificate import Certificate
    from shuffledp.core.guarantee import Guarantee
    from shuffledp.core.randomness import KeyedRandomness, SystemRandomness
    from shuffledp.domains.domain import Policy
    from shuffledp.engines.budget_session import Session
    from shuffledp.engines.export import export, read_export
    from shuffledp.engines.run import run, run_file
    from shuffledp.errors import (
        Contradiction,
        DataWarning,
        InvalidInput,
        NoClaim,
        NotDefined,
        PlanWarning,
        ShuffledpError,
    )
    from shuffledp.planning.error_targets import epsilon_possible, users_needed
    from shuffledp.planning.plan import Plan
    from shuffledp.planning.planner import plan
    from shuffledp.protocols.histogram import Histogram
    from shuffledp.protocols.statistics import Statistics
    from shuffledp.protocols.summation import Summation
    from shuffledp.randomizers.channel import Channel
    from shuffledp.randomizers.gaussian import Gaussian
    from shuffledp.randomizers.generic import Generic
    from shuffledp.randomizers.laplace import Laplace
    from shuffledp.randomizers.lattice import LatticeChannel
    from shuffledp.randomizers.response import RandomizedResponse
    from shuffledp.results.compose import compose
    from shuffledp.results.result import Result
    from shuffledp.results.saved_result import SavedResult
    from shuffledp.sources.example_people import example_people
    from shuffledp.verification.verify import Verification, verify

__version__ = VERSION

_HOME = {
    "Certificate": "certificates.certificate",
    "Channel": "randomizers.channel",
    "Collection": "accounting.composition",
    "Comparison": "baselines.compare",
    "Contradiction": "errors",
    "DataWarning": "errors",
    "Finding": "auditing.finding",
    "Gaussian": "randomizers.gaussian",
    "Generic": "randomizers.generic",
    "Guarantee": "core.guarantee",
    "Histogram": "protocols.histogram",
    "InvalidInput": "errors",
    "KeyedRandomness": "core.randomness",
    "Laplace": "randomizers.laplace",
    "LatticeChannel": "randomizers.lattice",
    "NoClaim": "errors",
    "NotDefined": "errors",
    "Plan": "planning.plan",
    "PlanWarning": "errors",
    "Policy": "domains.domain",
    "RandomizedResponse": "randomizers.response",
    "Result": "results.result",
    "SavedResult": "results.saved_result",
    "Session": "engines.budget_session",
    "ShuffleIndex": "accounting.shuffle_index",
    "ShuffledpError": "errors",
    "Solution": "accounting.solve",
    "Statistics": "protocols.statistics",
    "Summation": "protocols.summation",
    "SystemRandomness": "core.randomness",
    "Verification": "verification.verify",
    "account": "accounting.account",
    "audit": "auditing.audit",
    "audit_command": "auditing.audit",
    "audit_service": "auditing.audit",
    "bounds": "accounting.account",
    "calibrate": "accounting.account",
    "compare": "baselines.compare",
    "compose": "results.compose",
    "epsilon_possible": "planning.error_targets",
    "example_people": "sources.example_people",
    "export": "engines.export",
    "plan": "planning.planner",
    "read_export": "engines.export",
    "run": "engines.run",
    "run_file": "engines.run",
    "shuffle_index": "accounting.shuffle_index",
    "summation_error_floor": "accounting.error_floor",
    "to_pld": "accounting.composition",
    "users_needed": "planning.error_targets",
    "verify": "verification.verify",
}

__all__ = [
    "Certificate",
    "Channel",
    "Collection",
    "Comparison",
    "Contradiction",
    "DataWarning",
    "Finding",
    "Gaussian",
    "Generic",
    "Guarantee",
    "Histogram",
    "InvalidInput",
    "KeyedRandomness",
    "Laplace",
    "LatticeChannel",
    "NoClaim",
    "NotDefined",
    "Plan",
    "PlanWarning",
    "Policy",
    "RandomizedResponse",
    "Result",
    "SavedResult",
    "Session",
    "ShuffleIndex",
    "ShuffledpError",
    "Solution",
    "Statistics",
    "Summation",
    "SystemRandomness",
    "Verification",
    "account",
    "audit",
    "audit_command",
    "audit_service",
    "bounds",
    "calibrate",
    "compare",
    "compose",
    "epsilon_possible",
    "example_people",
    "export",
    "plan",
    "read_export",
    "run",
    "run_file",
    "shuffle_index",
    "summation_error_floor",
    "to_pld",
    "users_needed",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'shuffledp' has no attribute {name!r}")
    value = getattr(import_module(f"shuffledp.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__doc__", "__version__"]


def _figure(thing: Any) -> Any:
    from shuffledp.figures.plot import plot

    return plot(thing)


def _page(thing: Any) -> str:
    from shuffledp.figures.notebook import page

    return page(thing)


draw_with(Artist(figure=_figure, page=_page))
