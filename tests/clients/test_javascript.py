"""The JavaScript client: its own tests in node, and what it sends to a real shuffler."""

from oracles.node import CLIENT, node


def test_its_own_tests_and_the_shipped_vectors_pass_in_node() -> None:
    files = sorted((CLIENT / "test").glob("*.test.js"))
    assert files
    done = node("--test", "--test-reporter=tap", *files)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "\n# skipped 0\n" in done.stdout
    assert "\n# fail 0\n" in done.stdout
