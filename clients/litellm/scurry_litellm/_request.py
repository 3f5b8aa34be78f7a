"""All variants of a request: the bodies that may be sent for it, the models they may reach, and the tokens that cost
money.

Of LiteLLM this module knows only the names of its fields.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Body = Mapping[str, Any]

TOKENS_MAX = 100_000_000
ANSWERS_MAX = 10_000
MODELS_MAX = 32
"""Maximum number of models that fallbacks may lead one call to, and of bodies; a request with more is refused."""
DEPTH_MAX = 64

CHAINS = ("fallbacks", "context_window_fallbacks", "content_policy_fallbacks", "default_fallbacks")
# Names that providers, and servers with a similar API, use for the maximum length of an answer.
_BOUNDS = frozenset(
    (
        "max_tokens",
        "max_completion_tokens",
        "max_output_tokens",
        "max_new_tokens",
        "max_tokens_to_sample",
        "max_length",
        "maxOutputTokens",
        "maxTokens",
        "maxTokenCount",
        "max_gen_len",
        "num_predict",
    )
)
_THOUGHTS = frozenset(("budget_tokens", "thinking_budget", "thinkingBudget"))
_COUNTS = frozenset(("n", "best_of", "candidate_count", "candidateCount", "num_return_sequences"))
# Content that is counted separately. It has names of its own: the property `n` of a tool is not a number of answers.
_CONTENT = frozenset(
    (
        "messages",
        "input",
        "prompt",
        "system",
        "instructions",
        "tools",
        "functions",
        "response_format",
        "text",
        "contents",
        "documents",
        "schema",
        "json_schema",
        "structured_outputs",
        "guided_json",
        "guided_decoding",
        "chat_template_kwargs",
    )
)
# Fields that LiteLLM uses itself, or that no provider counts.
_OWN = frozenset(
    (
        *CHAINS,
        "model",
        "metadata",
        "proxy_server_request",
        "secret_fields",
        "router_settings_override",
        "context_window_fallback_dict",
        "user",
        "user_config",
        "headers",
        "extra_headers",
        "extra_query",
        "provider_specific_header",
        "model_info",
        "guardrails",
        "policies",
        "tags",
        "cache",
        "api_key",
        "api_base",
        "base_url",
        "stop",
    )
)
_IMAGES = frozenset(("image_url", "input_image", "image"))
_FILES = frozenset(
    (
        "file",
        "input_file",
        "document",
        "input_audio",
        "audio",
        "audio_url",
        "video_url",
        "input_video",
        "video",
        "media",
    )
)
# Prefixes of the types of tools that the provider runs itself: their results become input.
_RUN_BY_PROVIDER = (
    "web_search",
    "web_fetch",
    "file_search",
    "code_interpreter",
    "code_execution",
    "mcp",
    "image_generation",
    "google",
    "url_context",
)
# Fields by which the provider finds input that the request does not contain.
_ELSEWHERE = (
    "previous_response_id",
    "conversation",
    "web_search_options",
    "mcp_servers",
    "container",
    "cached_content",
)


class Malformed(ValueError):
    """The request contains something that cannot be counted."""


# ---- Bodies and models -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Reach:
    """All models and bodies that one request may lead to."""

    models: list[str]
    bodies: list[dict[str, Any]]


def reach_of(data: Body, configured: Iterable[Any], aliases: Mapping[str, Any]) -> Reach:
    """Returns the models that a request may reach, its own and all that fallbacks of any kind lead to, and the bodies
    sent to them."""
    brought = list(_brought_by(data, 0))
    chains = [chain for source in (*configured, *brought) if isinstance(source, list) for chain in source]
    models = _models_of(data, chains, aliases)
    bodies = [merged(data)]
    targets = [one for source in brought for one in source if isinstance(one, Mapping)]
    targets += [one for chain in chains for one in _led_to(chain) if isinstance(one, Mapping)]
    for target in targets:
        if (name := _model_of(target)) is not None and name not in models:
            continue
        # Changes by a fallback apply to later ones too: LiteLLM continues with the same request.
        without = {key: value for key, value in target.items() if key not in CHAINS}
        changed = merged({key: value for key, value in bodies[-1].items() if key not in CHAINS} | without, target)
        if changed in bodies:
            continue
        if len(bodies) >= MODELS_MAX:
            raise Malformed(f"fallbacks: no more than {MODELS_MAX}")
        bodies.append(changed)
    return Reach(models, bodies)


def merged(data: Body, puts: Body | None = None) -> dict[str, Any]:
    """Returns the request with the fields of its `extra_body`, or of the fallback `puts`, merged into it."""
    extra = data.get("extra_body")
    kept = {key: value for key, value in data.items() if key != "extra_body"}
    if extra is not None and not isinstance(extra, Mapping):
        raise Malformed("extra_body: an object")
    for given in (extra, puts):
        if given and (unbound := sorted(name for name in given if name in _BOUNDS and given[name] is None)):
            raise Malformed(f"{unbound[0]}: a whole number from 1 to {TOKENS_MAX}")
    if not extra:
        return kept
    for name in ("model", "models", "route", "extra_body", *CHAINS):
        if name in extra:
            raise Malformed(f"extra_body: no {name} there, since the price of the call goes by it")
    # The provider chooses which of two equal fields counts, so both are kept.
    return kept | dict(extra) | {"": [{key: data[key] for key in extra if key in data}]}


def _models_of(data: Body, chains: list[Any], aliases: Mapping[str, Any]) -> list[str]:
    model = data.get("model")
    if not isinstance(model, str) or not model:
        raise Malformed("the request names no model")
    found: list[str] = []
    waiting = [model, *(name for chain in chains if (name := _model_of(chain)) is not None)]
    while waiting:
        name = waiting.pop(0)
        if name in found:
            continue
        if len(found) >= MODELS_MAX:
            raise Malformed(f"the call could come to more than {MODELS_MAX} models by its fallbacks")
        found.append(name)
        alias = aliases.get(name)
        if isinstance(alias, Mapping):
            alias = alias.get("model")
        if isinstance(alias, str):
            waiting.append(alias)
        waiting += _next_of(name, chains)
    return found


def _brought_by(data: Body, depth: int) -> Iterator[list[Any]]:
    """Yields the fallbacks in a request: its caller's, or those that LiteLLM added for the key or its team."""
    if depth > DEPTH_MAX:
        raise Malformed("the request is nested too deeply")
    override = data.get("router_settings_override")
    for source in (data, override if isinstance(override, Mapping) else {}):
        for name in CHAINS:
            given = source.get(name)
            if given is None:
                continue
            if not isinstance(given, list) or not all(isinstance(one, (str, Mapping)) for one in given):
                raise Malformed(f"{name}: a list of models")
            yield given
            for one in given:
                for target in (one, *_led_to(one)):
                    if isinstance(target, Mapping):
                        yield from _brought_by(target, depth + 1)
    given = data.get("context_window_fallback_dict")
    if given is not None:
        if not isinstance(given, Mapping):
            raise Malformed("context_window_fallback_dict: an object")
        yield list(given.values())


def _led_to(chain: Any) -> Iterator[Any]:
    """Yields the targets of `{"gpt-4o": ["gpt-4", {"model": "o1", "max_tokens": 9}]}`."""
    if isinstance(chain, Mapping):
        for value in chain.values():
            yield from value if isinstance(value, list) else ()


def _model_of(target: Any) -> str | None:
    name = target.get("model") if isinstance(target, Mapping) else target
    return name if isinstance(name, str) else None


def _next_of(model: str, chains: Iterable[Any]) -> list[str]:
    """Returns the models that the chains lead to from a model; those of `*` when it has no chain itself."""
    own: list[str] = []
    general: list[str] = []
    for chain in chains:
        if not isinstance(chain, Mapping):
            continue
        for key, targets in chain.items():
            names = [name for one in (targets if isinstance(targets, list) else [targets]) if (name := _model_of(one))]
            if key == "*":
                general += names
            elif key == model or key.endswith(f"/{model}") or model.endswith(f"/{key}"):
                own += names
    return own or general


# ---- Tokens that cost money --------------------------------------------------------------------


def output_bound(body: Body, own: tuple[str, ...], default: int | None, most: int) -> int | None:
    """Returns the maximum number of tokens in an answer, or None when no limit is known.

    `own` are the names that the endpoint knows. Another server may ignore the other names, so these can raise a limit,
    but are no limit by themselves.
    """
    bounds = {name: value for name, value in _numbers(body, _BOUNDS, TOKENS_MAX)}
    given = [value for _, value in _numbers(body, _BOUNDS, TOKENS_MAX)]
    thoughts = sum(value for _, value in _numbers(body, _THOUGHTS, TOKENS_MAX))
    if not any(name in bounds for name in own):
        if default is None and not most:
            return None
        given.append(most if default is None else default)
    return max(given) + thoughts


def answers(body: Body) -> int:
    """Returns the number of requested answers; each of them is charged."""
    return max([1, *(value for _, value in _numbers(body, _COUNTS, ANSWERS_MAX))])


def _numbers(body: Body, names: frozenset[str], most: int) -> Iterator[tuple[str, int]]:
    for name, value in _fields(body, 0):
        # Inside an unknown field, the name may be that of a property.
        is_property = isinstance(value, (Mapping, list)) and body.get(name) is not value
        if name not in names or value is None or is_property:
            continue
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
            if name in _THOUGHTS and isinstance(value, int) and value <= 0:
                continue
            raise Malformed(f"{name}: a whole number from 1 to {most}")
        yield name, value


def _fields(found: Any, depth: int) -> Iterator[tuple[str, Any]]:
    """Yields the names and values in a request at any depth, except its content and LiteLLM's own fields."""
    if depth > DEPTH_MAX:
        raise Malformed("the request is nested too deeply")
    if isinstance(found, Mapping):
        for name, value in found.items():
            if name in _CONTENT or is_own(name):
                continue
            if isinstance(name, str):
                yield name, value
            yield from _fields(value, depth + 1)
    elif isinstance(found, list):
        for one in found:
            yield from _fields(one, depth + 1)


def is_own(name: object) -> bool:
    return name in _OWN or (isinstance(name, str) and name.startswith(("litellm_", "user_api_key", "_")))


@dataclass(slots=True)
class Prompt:
    """The text of a request, without pictures and files, which are counted separately."""

    messages: list[Any] | None = None
    tools: list[Any] | None = None
    text: str = ""
    """Text outside of messages."""
    words: str = ""
    """All text in messages; a token counter skips parts that it does not know."""
    images: int = 0
    files: int = 0
    is_more_elsewhere: bool = False
    """The provider adds input that the request does not contain."""
    is_cached: bool = False
    """The request asks the provider to cache it, which costs more than reading it."""
    has_audio: bool = False

    @property
    def length(self) -> int:
        return len(self.words) + len(self.text)


def prompt_of(body: Body) -> Prompt:
    prompt = Prompt()
    messages = body.get("messages")
    if isinstance(messages, list):
        prompt.messages = _without_media(messages, prompt, 0)
        prompt.words = "\n".join(_words(prompt.messages))
    texts = [_text(messages)] if messages and prompt.messages is None else []
    if prompt.messages is None:
        texts.append(_text(_without_media(body.get("input") or body.get("prompt") or "", prompt, 0)))
    for name in ("system", "instructions"):
        if body.get(name):
            texts.append(_text(_without_media(body[name], prompt, 0)))
    tools = body.get("tools")
    if isinstance(tools, list) and tools:
        prompt.tools = tools
        kinds = [tool.get("type") for tool in tools if isinstance(tool, Mapping)]
        if any(isinstance(kind, str) and kind.startswith(_RUN_BY_PROVIDER) for kind in kinds):
            prompt.is_more_elsewhere = True
        if any(_is_googles(tool) for tool in tools):
            prompt.is_more_elsewhere = True
    if any(body.get(name) for name in _ELSEWHERE) or isinstance(body.get("prompt"), Mapping):
        prompt.is_more_elsewhere = True
    counted = {"messages", "input", "prompt", "system", "instructions", "tools"}
    for name, value in body.items():
        if name in counted or is_own(name) or not isinstance(value, (str, Mapping, list)) or not value:
            continue
        if (text := _json(_without_media(value, prompt, 0))) is not None:
            texts.append(text)
    prompt.text = "\n".join(text for text in texts if text)
    prompt.is_cached = _has_name(body.get("messages"), "cache_control") or _has_name(
        [body.get("system"), body.get("tools")], "cache_control"
    )
    prompt.has_audio = prompt.has_audio or body.get("audio") is not None or "audio" in (body.get("modalities") or ())
    return prompt


def _is_googles(tool: Any) -> bool:
    return isinstance(tool, Mapping) and any(
        isinstance(name, str) and name.lower().startswith(("google", "url", "code", "enterprise")) for name in tool
    )


def _without_media(found: Any, prompt: Prompt, depth: int) -> Any:
    if depth > DEPTH_MAX:
        raise Malformed("the request is nested too deeply")
    if isinstance(found, list):
        return [one for each in found if (one := _without_media(each, prompt, depth + 1)) is not _MEDIA]
    if isinstance(found, Mapping):
        kind = found.get("type")
        if isinstance(kind, str):
            if kind in _IMAGES and ("image_url" in found or "source" in found or "file_id" in found):
                prompt.images += 1
                return _MEDIA
            if kind in _FILES and not isinstance(found.get("properties"), Mapping):
                prompt.files += 1
                prompt.has_audio = prompt.has_audio or "audio" in kind
                return _MEDIA
            if kind == "item_reference":
                prompt.is_more_elsewhere = True
        kept = {}
        for name, value in found.items():
            if (one := _without_media(value, prompt, depth + 1)) is not _MEDIA:
                kept[name] = one
        return kept
    return found


_MEDIA = object()


def _words(found: Any) -> Iterator[str]:
    if isinstance(found, str):
        yield found
    elif isinstance(found, Mapping):
        for value in found.values():
            yield from _words(value)
    elif isinstance(found, list):
        for one in found:
            yield from _words(one)


def _has_name(found: Any, name: str) -> bool:
    if isinstance(found, Mapping):
        return name in found or any(_has_name(value, name) for value in found.values())
    return isinstance(found, list) and any(_has_name(one, name) for one in found)


def _text(found: Any) -> str:
    return found if isinstance(found, str) else repr(found)


def _json(found: Any) -> str | None:
    """Returns the JSON that a provider receives; None for an internal object of LiteLLM."""
    try:
        return json.dumps(found, ensure_ascii=False)
    except (TypeError, ValueError):
        return None
