"""The sentences in which a result states its guarantee: the same on the command line, on pages and in pictures.

They are made of the result's JSON data alone, so that a page can be made from a file.
"""

from typing import NamedTuple

from shuffledp.core.digits import counted, rounded_up
from shuffledp.core.document import Document
from shuffledp.core.guarantee import claim


class Stated(NamedTuple):
    """One epsilon, rounded up, at one delta.

    Attributes:
        when: on which condition it holds.
        epsilon: in digits.
        delta: in digits.
    """

    when: str
    epsilon: str
    delta: str


def promise(result: Document) -> str:
    """The claim in words, or that there is none."""
    guarantee = result["guarantee"]
    return "simulation, no guarantee" if guarantee is None else claim(guarantee["epsilon"], guarantee["delta"])


def with_reports_received(result: Document) -> list[str]:
    """What the rows of a file give, where they are more than the promise was proved for."""
    certificate, reports = result["certificate"], counted(result["n"], "report")
    if certificate is None or result["n"] <= int(certificate["claim"]["reports"]):
        return []
    return [f"with the {reports} received, epsilon is {rounded_up(result['guarantee']['realised_epsilon'])}"]


def stated(result: Document) -> list[Stated]:
    """Everything that is claimed: what was promised, what the reports received give, and what is left without a shuffler."""
    guarantee = result["guarantee"]
    if guarantee is None:
        return []
    delta, honest, served = rounded_up(guarantee["delta"]), guarantee["realised_honest"], result["task"] is not None
    # a row of a file may be rejected though its person is honest; a report of the service may not
    among, which = (result["received"], "reports received") if served else (result["n"], "valid reports")
    arrive = "arrives" if guarantee["n"] == 1 else "arrive"
    alone = guarantee["epsilon_if_shuffler_and_analyzer_collude"]
    return [
        Stated(
            f"once {counted(guarantee['n'], 'honest report')} {arrive}",
            rounded_up(guarantee["epsilon"]),
            delta,
        ),
        Stated(
            f"if at least {honest:,} of the {among:,} {which} ({rounded_up(100 * honest / among, 3)} %) are from honest users",
            rounded_up(guarantee["realised_epsilon"]),
            delta,
        ),
        Stated(
            "if shuffler and analyzer collude" if served else "if messages are seen before they are shuffled",
            "infinite" if alone is None else rounded_up(alone),
            "0",
        ),
    ]


def shift(result: Document) -> str:
    """What one liar can do."""
    return f"one false report can shift an estimate by at most {rounded_up(result['max_shift_per_false_report'])}"


def selection(result: Document) -> str | None:
    """Why these entries and no others, if that was found out from the reports."""
    threshold = result["estimate"]["threshold"]
    if threshold is None:
        return None
    least, false = rounded_up(threshold["estimate"]), rounded_up(threshold["false_positives"], 3)
    found = counted(len(result["estimate"]["names"]), "text")
    return f"found: {found} with estimates of at least {least}; on average {false} texts among them are held by nobody"
