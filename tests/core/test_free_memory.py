"""What does not fit in memory is refused before it is allocated, with what to do."""

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from oracles.parties import ANALYZER, PARTIES
from shuffledp import InvalidInput, Plan, plan, run
from shuffledp.core import free_memory
from shuffledp.domains.whole_numbers import WholeNumbers
from shuffledp.planning.choose import certified
from shuffledp.planning.question import Terms
from shuffledp.protocols.frequencies import Frequencies
from shuffledp.randomizers.design_response import DesignResponse
from shuffledp.randomizers.structures import AffineSpace
from shuffledp.service.analyzer.analyzer import analyze
from shuffledp.service.task import Task

TOO_MUCH = r"counting the 4,293,066,962 different messages of this plan takes 319.9 GiB of memory, and this machine has"


@pytest.fixture(scope="module")
def huge() -> Plan:
    """The largest plane there is."""
    randomizer = DesignResponse.private(AffineSpace(prime=65521), gamma=0.9)
    protocol = Frequencies(randomizer=randomizer, domain=WholeNumbers(1000))
    return certified(Terms(n=100, epsilon=20.0, delta=1e-2), protocol)


def test_a_plan_that_does_not_fit_is_neither_run_nor_analyzed(huge: Plan) -> None:
    tracemalloc.start()
    with pytest.raises(InvalidInput, match=TOO_MUCH) as refused:
        run(huge, np.zeros(100, dtype=np.int64))
    assert "Use a machine with more" in str(refused.value)
    task = Task(plan=huge, window=60, max_age=600, **PARTIES)
    with pytest.raises(InvalidInput, match=TOO_MUCH):
        analyze(b"", task, ANALYZER)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 1 << 24


def test_the_planner_proposes_nothing_that_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(free_memory, "available_memory", lambda: 1 << 20)
    with pytest.raises(InvalidInput, match="this machine has 1 MiB free"):
        plan("texts", n=1000, epsilon=1.0, delta=1e-6)
    assert plan("histogram", n=1000, epsilon=1.0, delta=1e-6, size=4)


def test_a_limit_of_the_process_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "meminfo").write_text("MemTotal: 9000 kB\nMemAvailable:    5000 kB\n")
    monkeypatch.setattr(free_memory, "_MEMORY", tmp_path / "meminfo")
    monkeypatch.setattr(free_memory, "_GROUP", tmp_path)
    assert free_memory.available_memory() == 5000 * 1024
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("1000\n")
    assert free_memory.available_memory() == 5000 * 1024
    (tmp_path / "memory.max").write_text("3000\n")
    assert free_memory.available_memory() == 2000
    (tmp_path / "meminfo").unlink()
    (tmp_path / "memory.max").unlink()
    assert (free_memory.available_memory() or 0) > 1 << 20  # all that the machine has
