"""The examples behave as they say."""

from __future__ import annotations

import subprocess
import sys

from server import REPOSITORY, Server


def output(example: str, server: Server) -> list[str]:
    script = REPOSITORY / "clients/python/examples" / example
    environment = {"PYTHONPATH": str(REPOSITORY / "clients/python")}
    done = subprocess.run([sys.executable, str(script), server.url], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_budget_is_a_hard_ceiling(server: Server) -> None:
    assert output("llm_budget.py", server) == [
        "hello -> cost 2900",
        "tell me more -> cost 3180",
        "and then? -> denied: balance",
        "left: 1920 of ucent, held: 0",
    ]


def test_two_accounts_pay_or_none(server: Server) -> None:
    assert output("two_accounts.py", server) == [
        "2 pages -> 2 requests, 20 cents",
        "5 pages -> 3 requests, 30 cents",
        "4 pages -> denied: balance of provider",
        "caller: 50 of cent left, held: 0",
        "provider: 3 of request left, held: 0",
    ]
