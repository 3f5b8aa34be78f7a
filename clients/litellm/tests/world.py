"""The processes of the real proxy's tests: a Scurry, a provider without a model, LiteLLM's proxy, and callers."""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Self

import aiohttp
import yaml

HERE = Path(__file__).resolve().parent
PLUGIN = HERE.parent
PYTHON = PLUGIN.parent / "python"
sys.path[:0] = [str(PLUGIN), str(PYTHON), str(PYTHON / "tests")]

PATIENCE = 300.0
"""Seconds until an expected event must have happened; generous, because a busy host may stall."""
MASTER = f"sk-{secrets.token_hex(24)}"
# In micro-cents per token; the proxy's config.yaml has them in dollars.
INPUT, OUTPUT = 100, 200


class Process:
    """A program that ends with the test."""

    def __init__(self, directory: Path, name: str) -> None:
        self.directory = directory
        self.name = name
        self.process: subprocess.Popen[str] | None = None
        self.port = 0
        self.environment: dict[str, str] = {}

    @property
    def log(self) -> Path:
        return self.directory / f"{self.name}.log"

    def run(self, *words: str, stdout: int | IO[str] | None = None) -> subprocess.Popen[str]:
        environment = self.environment | {
            "PYTHONPATH": f"{PLUGIN}{os.pathsep}{PYTHON}",
            "PYTHONDONTWRITEBYTECODE": "1",
            "LITELLM_MASTER_KEY": MASTER,
            # Use the prices in the package, without fetching newer ones.
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        }
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                words,
                cwd=self.directory,
                env=os.environ | environment,
                stdin=subprocess.DEVNULL,
                stdout=stdout or log,
                stderr=log,
                text=True,
            )
        return self.process

    def kill(self) -> None:
        """Kills this process alone with SIGKILL; it has no children."""
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait(PATIENCE)
            if self.process.stdout is not None:
                self.process.stdout.close()
            self.process = None

    def __exit__(self, *_: object) -> None:
        self.kill()


class Provider(Process):
    def __init__(self, directory: Path, latency: float) -> None:
        super().__init__(directory, "provider")
        self.latency = latency

    def __enter__(self) -> Self:
        process = self.run(sys.executable, str(HERE / "provider.py"), str(self.latency), stdout=subprocess.PIPE)
        assert process.stdout is not None
        self.port = int(process.stdout.readline())
        return self

    async def served(self) -> list[dict[str, Any]]:
        async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{self.port}/served") as answer:
            found: list[dict[str, Any]] = await answer.json()
            return found

    async def go_on(self) -> None:
        """Lets waiting calls continue."""
        async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{self.port}/go") as answer:
            assert answer.status == 200


class Proxy(Process):
    """LiteLLM's own program, with its own config.yaml."""

    def __init__(self, directory: Path, config: dict[str, Any]) -> None:
        super().__init__(directory, "proxy")
        self.config = config
        (directory / "config.yaml").write_text(yaml.safe_dump(config))
        (directory / "keys.py").write_text((HERE / "keys.py").read_text())

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def start(self) -> Self:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            # LiteLLM takes a port number, not a socket: another process may take the port first, so other ports are
            # tried.
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                self.port = free.getsockname()[1]
            litellm = str(Path(sys.executable).with_name("litellm"))
            words = ("--config", "config.yaml", "--host", "127.0.0.1", "--port", str(self.port))
            # Started with this Python, even if the environment was moved.
            process = self.run(sys.executable, litellm, *words)
            if await self._is_up(process, end):
                return self
        raise AssertionError(f"the proxy did not start: {self.log.read_text()[-4000:]}")

    async def _is_up(self, process: subprocess.Popen[str], end: float) -> bool:
        async with aiohttp.ClientSession() as session:
            while time.monotonic() < end and process.poll() is None:
                try:
                    async with session.get(f"{self.url}/health/liveliness") as answer:
                        if answer.status == 200:
                            return True
                except aiohttp.ClientError:
                    await asyncio.sleep(0.1)
        return False

    def __enter__(self) -> Self:
        return self


def config_of(provider: Provider, **more: Any) -> dict[str, Any]:
    """Returns a config.yaml with one model, which has the prices `INPUT` and `OUTPUT`."""
    model = {
        "model": "openai/fake",
        "api_base": f"http://127.0.0.1:{provider.port}/v1",
        "api_key": "none",
        "input_cost_per_token": INPUT / 1e8,
        "output_cost_per_token": OUTPUT / 1e8,
        "max_retries": 0,
    }
    made: dict[str, Any] = {
        "model_list": [{"model_name": "fake", "litellm_params": model}],
        "litellm_settings": {"num_retries": 0},
        "general_settings": {"master_key": "os.environ/LITELLM_MASTER_KEY", "custom_auth": "keys.known"},
    }
    for name, value in more.items():
        made[name] = made.get(name, {}) | value
    return made


def price(record: dict[str, Any]) -> int:
    """Returns how much the provider bills for a call, in micro-cents."""
    return int(record["prompt"]) * INPUT + int(record["completion"]) * OUTPUT


@dataclass
class Callers:
    """Sends calls at the same time, and records how each of them ended."""

    url: str
    bearer: str | None = None
    """The key of all calls; `sk-` and the call's name unless given."""
    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    """Number of calls by key and status; 0 is a connection that broke."""
    seconds: list[float] = field(default_factory=list)
    """Durations of the calls that were answered with 200."""
    refusals: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    """Responses received instead of an answer."""
    answered: set[str] = field(default_factory=set)
    """Numbers of the calls that received their complete answer."""

    async def call(self, session: aiohttp.ClientSession, key: str, prompt: str, **body: Any) -> int:
        wanted = {"model": "fake", "messages": [{"role": "user", "content": f"key={key} {prompt}"}]} | body
        began = time.monotonic()
        try:
            async with session.post(
                f"{self.url}/v1/chat/completions",
                json=wanted,
                headers={"Authorization": f"Bearer {self.bearer or f'sk-{key}'}"},
            ) as answer:
                said = await answer.read()
                status = int(answer.status)
        except (aiohttp.ClientError, ConnectionError):
            status, said = 0, b""
        if status == 200:
            self.seconds.append(time.monotonic() - began)
            self.answered |= set(re.findall(r"call=(\S+)", prompt))
        else:
            self.said.append(said.decode())
        if status == 429:
            self.refusals.append(said.decode())
        self.statuses[key, status] += 1
        return status

    async def leave(self, session: aiohttp.ClientSession, key: str, prompt: str, **body: Any) -> None:
        """Starts a stream and leaves after its first piece."""
        said = [{"role": "user", "content": f"key={key} {prompt}"}]
        wanted = {"model": "fake", "messages": said, "stream": True} | body
        async with session.post(
            f"{self.url}/v1/chat/completions", json=wanted, headers={"Authorization": f"Bearer sk-{key}"}
        ) as answer:
            await answer.content.readline()
            answer.close()

    def count(self, status: int, key: str | None = None) -> int:
        return sum(n for (whose, one), n in self.statuses.items() if one == status and key in (None, whose))


def session() -> aiohttp.ClientSession:
    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), timeout=aiohttp.ClientTimeout(total=PATIENCE))


async def until(is_so: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end, f"it does not come to it: {what}"
        await asyncio.sleep(0.1)
