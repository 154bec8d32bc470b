"""What other people and programs call our options and randomizers."""

from collections.abc import Iterable
from typing import Final

from shuffledp.errors import folded, hint

_OTHER_NAMES: Final = {
    "epsilon": "eps e",
    "epsilon0": "eps0 epsilon-0 local-epsilon",
    "delta": "d",
    "n": "users people population count num number participants",
    "low": "min minimum lower lo start bounds",
    "high": "max maximum upper hi end",
    "size": "bins buckets k",
    "labels": "label values categories classes levels options choices answers names",
    "by": "group groups group-by groupby",
    "rmse": "error accuracy mse",
    "dropout": "nonresponse drop-out",
    "honest-fraction": "honest trusted",
    "column": "col columns field variable",
    "separator": "sep delimiter delim",
    "user": "person uid user-id",
    "query": "where filter expression sql",
    "quantile": "quantiles percentile median",
    "confidence": "level alpha ci",
    "missing": "na null",
    "out": "output file save",
    "plot": "figure picture image chart",
    "report": "html page",
    "rounds": "periods weeks days times repeats",
    "rr": "randomized-response krr k-rr grr warner",
    "gaussian": "gauss normal",
    "local-hashing": "olh",
    "channel": "matrix",
}
_OURS: Final = {other: ours for ours, others in _OTHER_NAMES.items() for other in others.split()}


def misnamed(name: str, known: Iterable[str]) -> str:
    """A question, if a name of ours was probably meant; a space after it.

    >>> misnamed("--eps", ["--epsilon", "--delta"])
    "Did you mean '--epsilon'? "
    """
    known = list(known)
    ours = _OURS.get(folded(name), "")
    return hint(ours if ours in map(folded, known) else name, known)
