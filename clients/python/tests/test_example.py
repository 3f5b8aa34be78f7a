"""The example behaves as it says."""

from __future__ import annotations

import subprocess
import sys

from server import REPOSITORY, Server


def test_the_budget_is_a_hard_ceiling(server: Server) -> None:
    script = REPOSITORY / "clients/python/examples/llm_budget.py"
    environment = {"PYTHONPATH": str(REPOSITORY / "clients/python")}
    done = subprocess.run([sys.executable, str(script), server.url], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "hello -> cost 2900",
        "tell me more -> cost 3180",
        "and then? -> denied: balance",
        "left: 1920 of ucent, held: 0",
    ]
