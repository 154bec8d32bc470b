"""What the analyzer finds in a batch of a real shuffler."""

import json
from typing import Any

from oracles.process import called as run
from oracles.server import Server


def analyzed(server: Server) -> dict[str, Any]:
    """Release the batch of now and analyze it, as its operators do."""
    closed = run(f"shuffler close task.json --url {server.url} --token operator.token", cwd=server.folder)
    assert closed.returncode == 0, closed.stderr
    line = f"analyzer run task.json --url {server.url} --token analyzer.token --keys analyzer.key --json"
    done = run(line, cwd=server.folder)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found
