"""The tests of `in_flower`, in Flower's own environment."""

from pathlib import Path

from oracles.flower import run_tests


def test_the_adapter_on_real_objects_of_flower(tmp_path: Path) -> None:
    shown = run_tests(Path(__file__).parent / "in_flower", tmp_path)
    passed = int(shown.rsplit(" passed", 1)[0].rsplit(maxsplit=1)[-1])
    assert passed >= 24
    assert "skipped" not in shown
