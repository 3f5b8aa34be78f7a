"""What a call may cost at most, by LiteLLM's own prices."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import litellm

from ._money import Estimate
from ._settings import Settings

CHAT = {"completion", "acompletion", "text_completion", "atext_completion", "anthropic_messages"}
RESPONSES = {"responses", "aresponses"}
EMBEDDINGS = {"embeddings", "embedding", "aembedding"}
# Beyond this many characters a prompt is counted in a thread.
SHORT = 20_000
_KEPT_SECONDS = 60.0
_KEPT_MAX = 1000
_kept: dict[str, tuple[float, tuple[float, float, int] | None]] = {}


class Unpriced(Exception):
    """Nobody knows what the call may cost."""


async def estimate(data: dict[str, Any], call_type: str, settings: Settings) -> Estimate:
    """The dearest that the call can become. Sets a bound of output where the settings have one and it has none."""
    model = str(data.get("model") or "")
    prices = prices_of(model) if call_type in CHAT | RESPONSES | EMBEDDINGS and model else None
    if prices is None:
        if settings.default_estimate is None:
            raise Unpriced(
                f"{model or call_type} has no price by tokens: give its deployment input_cost_per_token and"
                " output_cost_per_token, or set default_estimate of scurry"
            )
        return Estimate(settings.default_estimate)
    input_token, output_token, most = prices
    prompt = await input_tokens_of(model, data) * input_token * settings.margin
    if call_type in EMBEDDINGS:
        return Estimate(prompt)
    return Estimate(prompt, output_token, _output_tokens(data, call_type, settings, most) * _answers(data))


def prices_of(model: str) -> tuple[float, float, int] | None:
    """Dollars for a token of input and of output, and how many of output there are at most; the dearest deployment."""
    now = time.monotonic()
    kept = _kept.get(model)
    if kept is not None and now - kept[0] < _KEPT_SECONDS:
        return kept[1]
    found = _prices_of(model)
    if len(_kept) >= _KEPT_MAX:
        _kept.clear()
    _kept[model] = (now, found)
    return found


def _prices_of(model: str) -> tuple[float, float, int] | None:
    info: Any = None
    try:
        from litellm.proxy.proxy_server import llm_router

        if llm_router is not None and (group := llm_router.get_model_group_info(model)) is not None:
            info = group.model_dump()
    except ImportError:
        pass
    if not info or info.get("input_cost_per_token") is None:
        try:
            info = litellm.get_model_info(model)
        except Exception:
            return None
    input_token = info.get("input_cost_per_token")
    if input_token is None:
        return None
    return float(input_token), float(info.get("output_cost_per_token") or 0), int(info.get("max_output_tokens") or 0)


async def input_tokens_of(model: str, data: dict[str, Any]) -> int:
    messages = data.get("messages")
    if not isinstance(messages, list):
        messages = None
    text = None if messages is not None else _text(data.get("input") or data.get("prompt") or "")
    if data.get("system") or data.get("instructions"):
        text = (text or "") + _text(data.get("system") or data["instructions"])
    length = len(repr(messages)) + len(text or "")
    if length <= SHORT:
        return _count(model, messages, text, data)
    return await asyncio.to_thread(_count, model, messages, text, data)


def _count(model: str, messages: Any, text: str | None, data: dict[str, Any]) -> int:
    try:
        tokens = 0
        if messages is not None:
            tokens += litellm.token_counter(model=model, messages=messages, tools=data.get("tools"))
        if text:
            tokens += litellm.token_counter(model=model, text=text)
        return int(tokens)
    except Exception:
        # No tokenizer makes more tokens than there are bytes.
        return len(repr(data.get("messages") or "").encode()) + len((text or "").encode())


def _text(found: Any) -> str:
    return found if isinstance(found, str) else repr(found)


def _output_tokens(data: dict[str, Any], call_type: str, settings: Settings, most: int) -> int:
    names = ("max_output_tokens",) if call_type in RESPONSES else ("max_completion_tokens", "max_tokens")
    given: list[int] = [
        data[name] for name in names if isinstance(data.get(name), int) and not isinstance(data[name], bool)
    ]
    if given and min(given) > 0:
        # A provider says no more than its model can, whatever it was asked for.
        return min(max(given), most) if most else max(given)
    if settings.default_max_tokens is not None:
        data[names[-1]] = settings.default_max_tokens
        return settings.default_max_tokens
    if not most:
        raise Unpriced("nobody says how long the answer may be: give max_tokens, or set default_max_tokens of scurry")
    return most


def _answers(data: dict[str, Any]) -> int:
    """How many answers are asked for; each is paid."""
    counts = [data[name] for name in ("n", "best_of") if isinstance(data.get(name), int)]
    return int(max([1, *counts]))


def output_tokens_of(text: str) -> int:
    try:
        return int(litellm.token_counter(model="", text=text))
    except Exception:
        return len(text.encode())
