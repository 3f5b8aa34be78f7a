"""The maximum cost of a call, from LiteLLM's own prices."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import litellm

from ._money import Estimate
from ._request import Prompt, answers, output_bound, prompt_of, reach_of
from ._settings import Settings

CHAT = {"completion", "acompletion", "text_completion", "atext_completion", "anthropic_messages"}
RESPONSES = {"responses", "aresponses"}
EMBEDDINGS = {"embeddings", "embedding", "aembedding"}
# A prompt with more characters than this is counted in a thread.
SHORT = 20_000
# From this many tokens some providers charge another price, as for requests with priority or with caching.
LONG = 100_000
_KEPT_SECONDS = 60.0
_KEPT_MAX = 1000
_kept: dict[str, tuple[float, Prices | None]] = {}


class Unpriced(Exception):
    """The maximum cost of the call is unknown."""


@dataclass(frozen=True, slots=True)
class Prices:
    """The prices of all deployments of a model: dollars per token, by the names of LiteLLM's table, and the maximum
    numbers of tokens (0: unknown)."""

    input: tuple[tuple[str, float], ...]
    output: tuple[tuple[str, float], ...]
    output_most: int
    input_most: int


# Conditions that make a token more expensive, by a part of the name of its price.
_WHERE = {"above_": "long", "priority": "first", "cache_creation": "kept", "audio": "audio"}


def dearest(prices: tuple[tuple[str, float], ...], is_so: set[str]) -> float:
    """Returns the highest price that may apply to a token under these conditions."""
    return max([0.0, *(price for name, price in prices if _needs(name) <= is_so)])


def _needs(name: str) -> set[str]:
    # A cache entry kept for an hour instead of five minutes does not mean a long prompt.
    name = name.replace("above_1hr", "")
    return {what for part, what in _WHERE.items() if part in name}


async def estimate(data: dict[str, Any], call_type: str, settings: Settings) -> Estimate:
    """Returns the highest possible cost of the call. Adds the settings' output limit to a request without one."""
    if call_type not in CHAT | RESPONSES | EMBEDDINGS:
        return _unpriced(str(data.get("model") or call_type), settings)
    reach = reach_of(data, *_router_chains())
    prompts = [(body, prompt_of(body)) for body in reach.bodies]
    own = ("max_output_tokens",) if call_type in RESPONSES else ("max_completion_tokens", "max_tokens")
    found: list[Estimate] = []
    for model in reach.models:
        prices = prices_of(model)
        if prices is None:
            found.append(_unpriced(model, settings))
            continue
        for body, prompt in prompts:
            tokens = await input_tokens_of(model, prompt, prices, settings)
            if tokens is None:
                found.append(_unbounded(model, settings))
                continue
            found.append(_priced(body, own, call_type, prompt, tokens, prices, settings))
    if settings.default_max_tokens is not None and call_type not in EMBEDDINGS:
        _bound(data, own, settings.default_max_tokens)
    return max(found, key=lambda one: one.hold)


def _priced(
    body: Mapping[str, Any],
    own: tuple[str, ...],
    call_type: str,
    prompt: Prompt,
    tokens: int,
    prices: Prices,
    settings: Settings,
) -> Estimate:
    is_so = {
        "long": tokens >= LONG,
        "first": body.get("service_tier") not in (None, "default", "flex"),
        "kept": prompt.is_cached,
        "audio": prompt.has_audio,
    }
    such = {name for name, holds in is_so.items() if holds}
    input_token, output_token = dearest(prices.input, such), dearest(prices.output, such)
    paid = tokens * input_token * settings.margin
    if call_type in EMBEDDINGS:
        return Estimate(paid)
    bound = output_bound(body, own, settings.default_max_tokens, prices.output_most)
    if bound is None:
        raise Unpriced("nobody says how long the answer may be: give max_tokens, or set default_max_tokens of scurry")
    return Estimate(paid, output_token, bound * answers(body))


def _bound(data: dict[str, Any], own: tuple[str, ...], most: int) -> None:
    extra = data.get("extra_body") or {}
    if all(data.get(name) is None and extra.get(name) is None for name in own):
        data[own[-1]] = most


def _unpriced(what: str, settings: Settings) -> Estimate:
    why = f"{what} has no price by tokens: give its deployment input_cost_per_token and output_cost_per_token"
    return _by_default(why, settings)


def _unbounded(model: str, settings: Settings) -> Estimate:
    why = f"nobody says how long the input of {model} may be: give its deployment max_input_tokens, or set file_tokens"
    return _by_default(why, settings)


def _by_default(why: str, settings: Settings) -> Estimate:
    if settings.default_estimate is None:
        raise Unpriced(f"{why}, or set default_estimate of scurry")
    return Estimate(settings.default_estimate)


def _router_chains() -> tuple[list[Any], Mapping[str, Any]]:
    """Returns the fallbacks of the configuration, and its aliases of models."""
    found: list[Any] = [litellm.model_fallbacks]
    router = _router()
    if router is None:
        return found, {}
    found += [router.fallbacks, router.context_window_fallbacks, router.content_policy_fallbacks]
    return found, router.model_group_alias or {}


def _router() -> Any:
    try:
        from litellm.proxy.proxy_server import llm_router
    except ImportError:
        return None
    return llm_router


def prices_of(model: str) -> Prices | None:
    now = time.monotonic()
    kept = _kept.get(model)
    if kept is not None and now - kept[0] < _KEPT_SECONDS:
        return kept[1]
    found = _prices_of(model)
    if len(_kept) >= _KEPT_MAX:
        _kept.clear()
    _kept[model] = (now, found)
    return found


def _prices_of(model: str) -> Prices | None:
    info: Any = None
    deployments: list[Any] = []
    if (router := _router()) is not None:
        if (group := router.get_model_group_info(model)) is not None:
            info = group.model_dump()
        for one in router.get_model_list(model_name=model) or ():
            id, name = one.get("model_info", {}).get("id"), one.get("litellm_params", {}).get("model")
            if id and name and (known := router.get_deployment_model_info(model_id=id, model_name=name)):
                deployments.append(known)
    if not info or info.get("input_cost_per_token") is None:
        try:
            info = litellm.get_model_info(model)
        except Exception:
            return None
    if info.get("input_cost_per_token") is None:
        return None
    known = [info, *deployments]
    return Prices(
        input=_named(known, "input_cost_per_token", "input_cost_per_audio_token", "cache_creation_input_token_cost"),
        output=_named(known, "output_cost_per_token", "output_cost_per_audio_token", "output_cost_per_reasoning_token"),
        output_most=int(info.get("max_output_tokens") or 0),
        input_most=int(max([one.get("max_input_tokens") or 0 for one in known])),
    )


def _named(known: list[Any], *beginnings: str) -> tuple[tuple[str, float], ...]:
    return tuple(
        (name, float(value))
        for one in known
        for name, value in one.items()
        if name.startswith(beginnings) and isinstance(value, (int, float)) and not isinstance(value, bool)
    )


async def input_tokens_of(model: str, prompt: Prompt, prices: Prices, settings: Settings) -> int | None:
    """Returns the maximum number of input tokens, or None when it cannot be known."""
    count = _count(model, prompt) if prompt.length <= SHORT else await asyncio.to_thread(_count, model, prompt)
    shown = prompt.images * settings.image_tokens
    is_open = prompt.is_more_elsewhere
    if settings.file_tokens is not None:
        shown += prompt.files * settings.file_tokens
    else:
        is_open = is_open or prompt.files > 0
    if is_open:
        return max(count, prices.input_most) if prices.input_most else None
    # Pictures cannot bring the input above the number of tokens that the model reads.
    return max(count, min(count + shown, prices.input_most)) if prices.input_most else count + shown


def _count(model: str, prompt: Prompt) -> int:
    try:
        tokens = 0
        if prompt.messages is not None:
            known = litellm.token_counter(model=model, messages=prompt.messages)
            tokens += max(known, litellm.token_counter(model=model, text=prompt.words) if prompt.words else 0)
        if prompt.tools:
            tools = litellm.token_counter(model=model, messages=[], tools=prompt.tools)
            tokens += max(tools, litellm.token_counter(model=model, text=json.dumps(prompt.tools)))
        if prompt.text:
            tokens += litellm.token_counter(model=model, text=prompt.text)
        return int(tokens)
    except Exception:
        # No tokenizer produces more tokens than there are bytes.
        return sum(len(repr(part).encode()) for part in (prompt.messages or "", prompt.tools or "", prompt.text))


def output_tokens_of(text: str) -> int:
    try:
        return int(litellm.token_counter(model="", text=text))
    except Exception:
        return len(text.encode())
