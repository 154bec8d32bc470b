"""The proofs in proofs/ are complete, and say what their README quotes. In `make test-all` and `make proof` Coq checks them."""

import math
import os
import re
import shutil
from pathlib import Path

import pytest

import proofs
from oracles.scale import full
from shuffledp import RandomizedResponse
from shuffledp.accounting.account import bound_named

README = (proofs.SOURCE / "README.md").read_text(encoding="utf-8")
TEXTS = {path.stem: path.read_text(encoding="utf-8") for path in sorted(proofs.SOURCE.glob("*.v"))}
NAMED = r"^(?:Theorem|Lemma) (\w+)"
ASKED = full(0, 1) or "SHUFFLEDP_PROVE" in os.environ
with_coq = pytest.mark.skipif(not ASKED, reason="a minute of Coq: in make test-all, make soundness and make proof")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("coq") / "proofs"
    proofs.checked(folder)
    return folder


def test_every_file_is_checked() -> None:
    assert set(proofs.FILES) == set(TEXTS)


@pytest.mark.parametrize("file", TEXTS)
def test_nothing_is_assumed_or_left_out(file: str) -> None:
    assert not re.search(r"\b(?:Admitted|admit|give_up|Axiom|Parameter|Conjecture|Admit|bypass_check)\b", TEXTS[file])


def test_what_is_quoted_is_there() -> None:
    (theorem,) = re.findall(r"```coq\n(.*?)```", README, re.DOTALL)
    assert theorem in TEXTS["Blanket"]


def test_what_is_named_is_proved_and_asked_what_it_rests_on() -> None:
    rows = re.findall(r"^\| (`.*?) \| (\w+)\.v \|", README, re.MULTILINE)
    assert len(rows) > 5
    for names, file in rows:
        for name in re.findall(r"`(\w+)`", names):
            assert name in re.findall(NAMED, TEXTS[file], re.MULTILINE)
            assert f"Print Assumptions {name}." in TEXTS["Theorems"]


def test_the_certificate_computed_by_coq_is_what_numeric_says() -> None:
    """Theorem response_100: at epsilon = log 3, in (0.0186, 0.0187]."""
    claim = bound_named("numeric").claim(RandomizedResponse(size=2, gamma=0.1).blanket(), n=100, epsilon=math.log(3))
    assert 0.0186 < math.exp(claim.log_delta.upper) <= 0.0187


@with_coq
def test_every_theorem_is_proved_from_no_axiom(tmp_path: Path) -> None:
    assert proofs.NO_AXIOM in proofs.checked(tmp_path / "proofs")


@with_coq
@pytest.mark.parametrize("variant", proofs.VARIANTS, ids=lambda variant: variant.false)
def test_a_false_variant_is_refused_inside_a_proof(variant: proofs.Variant, built: Path) -> None:
    assert proofs.refused(variant, built) in TEXTS[variant.file]


@with_coq
@pytest.mark.parametrize(
    ("true", "false", "said"),
    [
        ("The privacy blanket lemma", "The lemma", "and yet was proved"),
        ("n%:R + 2", "n%:R", "does not say"),
        ("(forall x b, 0 < R x b) ->", "(forall x b, 0 < R x) ->", "what fails is no proof"),
    ],
)
def test_a_variant_that_is_true_absent_or_no_statement_is_noticed(
    built: Path, true: str, false: str, said: str
) -> None:
    with pytest.raises(SystemExit, match=said):
        proofs.refused(proofs.Variant("Blanket", true, false, ""), built)


@with_coq
def test_a_proof_that_is_missing_is_noticed(tmp_path: Path) -> None:
    source = shutil.copytree(proofs.SOURCE, tmp_path / "source")
    text = TEXTS["Refuted"].replace("Proof. exact: no_smaller_factor. Qed.", "Admitted.")
    (source / "Refuted.v").write_text(text, encoding="utf-8")
    with pytest.raises(SystemExit, match="rests on an axiom"):
        proofs.checked(tmp_path / "proofs", source)
