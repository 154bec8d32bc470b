"""The proofs in proofs/, checked by Coq: `make proof`.

Everything is built in build/proofs. Coq prints what the theorems rest on; then false variants of them must not build.
"""

import re
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
SOURCE: Final = ROOT / "proofs"
PLACE: Final = ROOT / "build" / "proofs"
FILES: Final = (
    "Sums", "Shuffle", "Blanket", "Refuted", "Expectation", "Overlap", "Certificate", "ShufflerNoise", "Theorems",
)  # fmt: skip
"""In the order in which they need each other; the last one prints what all of them rest on."""
NO_AXIOM: Final = "Closed under the global context"
QUIET: Final = ("-w", "-notation-overridden,-ambiguous-paths")
"""MathComp warns of itself."""


@dataclass(frozen=True)
class Variant:
    """A false statement: words of a file of proofs, and what replaces them wherever they are.

    Attributes:
        file: whose proofs are then tried, word for word.
        true: what it says.
        false: what it would say.
        reason: why that is false.
    """

    file: str
    true: str
    false: str
    reason: str


VARIANTS: Final = (
    Variant("Blanket", "1 / (g * n%:R)", "1 / (g * n.+1%:R)", "Refuted.v: for one user the lemma is exact"),
    Variant("Blanket", "'C(n, m)%:R", "'C(n.-1, m)%:R", "for one user nothing is left of the sum"),
    Variant("Blanket", "(1 - g) ^+ (n - m)", "(1 - g) ^+ n", "for one user the sum is 1 - g times what it has to be"),
    Variant(
        "Blanket",
        "forall j, j != i -> D j = D' j",
        "forall j, j == i -> D j = D' j",
        "where all others change, and user i does not, the bound would be 0 at a = 1",
    ),
    Variant(
        "Overlap", "eta' b <= eta b", "eta b <= eta' b", "the bound would grow and fall as less is taken to be common"
    ),
    Variant("ShufflerNoise", "c ^+ 2", "c", "two bins change, and each of them may by c"),
)


def compiled(file: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """What Coq says of one file; what it builds stays in the folder."""
    command = ["coqc", *QUIET, "-Q", ".", "ShuffleDP", f"{file}.v"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def checked(folder: Path = PLACE, source: Path = SOURCE) -> str:
    """Build everything from nothing; what the theorems rest on, as Coq prints it. A proof that fails is an error."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns("*.vo*", "*.glob", ".*.aux"))
    printed = ""
    for file in FILES:
        built = compiled(file, folder)
        if built.returncode:
            raise SystemExit(f"{file}.v is not proved:\n{built.stderr}")
        printed = built.stdout
    asked = (folder / f"{FILES[-1]}.v").read_text(encoding="utf-8").count("Print Assumptions")
    if printed.count(NO_AXIOM) != asked or "Axioms:" in printed:
        raise SystemExit(f"a theorem rests on an axiom:\n{printed}")
    return printed


def refused(variant: Variant, folder: Path = PLACE) -> str:
    """Where the proofs fail on a false statement, in a folder where the true ones are built. To succeed is an error."""
    text = (SOURCE / f"{variant.file}.v").read_text(encoding="utf-8")
    place = folder / "false"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(folder, place)
    (place / f"{variant.file}.v").write_text(text.replace(variant.true, variant.false), encoding="utf-8")
    if variant.true not in text:
        raise SystemExit(f"{variant.file}.v does not say {variant.true}")
    tried = compiled(variant.file, place)
    if not tried.returncode:
        raise SystemExit(f"{variant.false} in the place of {variant.true} is false, and yet was proved")
    return failed_proof(tried.stderr, text)


def failed_proof(said: str, text: str) -> str:
    """The lemma in whose proof an error is; an error elsewhere says nothing about the statement."""
    found = re.search(r"line (\d+), characters [\d-]+:\nError", said)
    lines = text.splitlines()[: int(found[1])] if found else []
    before = "\n".join(lines)
    if before.rfind("Proof.") <= before.rfind("Qed.", 0, before.rfind("\n")):
        raise SystemExit(f"what fails is no proof:\n{said}")
    return str(re.findall(r"^(?:Lemma|Theorem) (\w+)", before, re.MULTILINE)[-1])


def main() -> None:
    """Check, and say what was checked."""
    start = time.monotonic()
    print(checked())
    for variant in VARIANTS:
        print(
            f"not proved, as it should be: {variant.false} for {variant.true} (the proof of {refused(variant)} fails)"
        )
    lines = sum(len((SOURCE / f"{file}.v").read_text(encoding="utf-8").splitlines()) for file in FILES)
    print(f"{lines} lines in {len(FILES)} files of proofs/ were checked in {time.monotonic() - start:.0f} s.")


if __name__ == "__main__":
    main()
