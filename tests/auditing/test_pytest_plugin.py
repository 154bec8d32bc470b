"""`assert_private` as others use it: by the entry point, in a test of their own."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from oracles import blackbox
from shuffledp import Finding, KeyedRandomness, RandomizedResponse
from shuffledp.auditing import pytest_plugin

TEST = f"""
def test_right(assert_private):
    assert assert_private("{sys.executable} {blackbox.__file__} 1 right", epsilon=1.0, trials=20000).epsilon > 0.8

def test_wrong(assert_private):
    assert_private("{sys.executable} {blackbox.__file__} 1 wrong", epsilon=1.0, trials=20000)
"""


def test_the_fixture_is_there(assert_private: Callable[..., Finding]) -> None:
    coin, randomness = RandomizedResponse(size=2, epsilon0=1.0), KeyedRandomness.seeded(1)
    found = assert_private(coin, view="local", trials=20_000, randomness=randomness)
    assert found.verdict == "consistent"
    with pytest.raises(pytest.fail.Exception, match="violated"):
        assert_private(coin, view="local", trials=20_000, randomness=randomness, epsilon=0.8)
    with pytest.raises(pytest.fail.Exception, match="under-powered"):
        pytest_plugin.assert_private(coin, view="local", trials=20, randomness=randomness)
    assert pytest_plugin.assert_private(coin, view="local", trials=20, randomness=randomness, allow_under_powered=True)


def test_it_works_in_a_project_of_somebody_else(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(TEST)
    arguments = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "test_mine.py"]
    done = subprocess.run([sys.executable, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "1 failed, 1 passed" in done.stdout, done.stdout
    assert "violated: what was seen is impossible" in done.stdout
