"""The charge for an answer, from the reports of LiteLLM and the provider, and from the answer's own text."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ._budgets import Call
from ._money import micro_cents

log = logging.getLogger("scurry_litellm")

_INPUT = ("prompt_tokens", "input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
_OUTPUT = ("completion_tokens", "output_tokens")
# Fields in which answers contain their text, in all formats.
_SAID = frozenset(("content", "reasoning_content", "text", "arguments", "thinking", "refusal", "partial_json"))


@dataclass(frozen=True, slots=True)
class Told:
    cost: float | None
    """In dollars, as LiteLLM computed it."""
    usage: Any = None
    answer: Any = None
    is_cached: bool = False
    """LiteLLM answered from its cache, without asking a provider."""


def charge(call: Call, told: Told, count: Callable[[str], int]) -> int:
    """Returns the charge for an answered call in micro-cents.

    A cost is trusted when a usage supports it. Otherwise the answer's text is counted, and an answer that cannot be
    counted costs the whole hold: a provider that reports nothing, or something impossible, does not make a call free.
    """
    if told.is_cached:
        return 0
    cost = told.cost if isinstance(told.cost, (int, float)) and math.isfinite(told.cost) else None
    numbers = fields(told.usage)
    text = "" if any(numbers.get(name) for name in _OUTPUT) else "".join(said_in(told.answer))
    is_counted = _is_counted(numbers, bool(text))
    # A price per piece comes without tokens.
    if cost is not None and cost >= 0 and (is_counted or (cost > 0 and not text)):
        return micro_cents(cost)
    if not call.hold:
        return micro_cents(max(0.0, cost or 0.0))
    text = text or "".join(said_in(told.answer))
    counted = call.estimate.after(count(text)) if text else call.hold
    amount = max(counted, micro_cents(max(0.0, cost or 0.0)))
    why = "no usage" if not told.usage else "a usage that cannot be" if not is_counted else f"a cost of {told.cost}"
    log.warning("call %s was answered with %s: it is charged %s micro-cents", call.id, why, amount)
    return amount


def _is_counted(numbers: Mapping[str, Any], has_text: bool) -> bool:
    read, written = ([numbers.get(name) for name in names] for names in (_INPUT, _OUTPUT))
    known = [value for value in (*read, *written) if isinstance(value, (int, float))]
    if any(value < 0 for value in known):
        return False
    return any(read) and (any(written) or not has_text)


def fields(found: Any) -> Mapping[str, Any]:
    """Returns the fields of a part of an answer, either one of LiteLLM's models or a mapping read from JSON."""
    if isinstance(found, Mapping):
        return found
    dump = getattr(found, "model_dump", None)
    if callable(dump):
        dumped = dump()
        return dumped if isinstance(dumped, Mapping) else {}
    return {}


def usage_of(answer: Any) -> Any:
    return _field(answer, "usage")


def _field(answer: Any, name: str) -> Any:
    return answer.get(name) if isinstance(answer, Mapping) else getattr(answer, name, None)


def said_in(answer: Any) -> Iterator[str]:
    """Yields the texts of an answer, for every endpoint."""
    for name in ("choices", "output", "content"):
        yield from _texts(_field(answer, name), name)


def _texts(found: Any, name: str) -> Iterator[str]:
    if isinstance(found, str):
        if name in _SAID:
            yield found
    elif isinstance(found, Mapping):
        for key, value in found.items():
            yield from _texts(value, key)
    elif isinstance(found, (list, tuple)):
        for one in found:
            yield from _texts(one, name)
    elif found is not None:
        yield from _texts(dict(fields(found)), name)
