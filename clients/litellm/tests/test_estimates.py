"""The hold of a call, from LiteLLM's own prices and counters: without a proxy or a server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import litellm
import pytest
import world  # noqa: F401  it names the paths of the packages
from litellm import Router
from litellm.proxy import proxy_server

import scurry_litellm._prices
from scurry_litellm import Estimate, Settings
from scurry_litellm._prices import Unpriced, estimate
from scurry_litellm._request import Malformed
from scurry_litellm.plugin import ScurryBudgets

CENT = 1e-8
"""A micro-cent, in dollars."""
PRICES = {"cheap": (1, 2), "dear": (100, 200), "seeing": (1, 2), "tiered": (1, 2)}
WORDS = "word " * 4000
TOOL = {"type": "function", "function": {"name": "f", "description": WORDS, "parameters": {"type": "object"}}}


def deployment(name: str, model: str, **more: Any) -> dict[str, Any]:
    return {"model_name": name, "litellm_params": {"model": model, "api_key": "none"} | more}


@pytest.fixture(autouse=True)
def router(monkeypatch: pytest.MonkeyPatch) -> Iterator[Router]:
    priced = [
        deployment(name, f"openai/{name}", input_cost_per_token=i * CENT, output_cost_per_token=o * CENT)
        for name, (i, o) in PRICES.items()
    ]
    priced[2]["model_info"] = {"max_input_tokens": 120_000}
    priced[3]["model_info"] = {
        "input_cost_per_token_priority": 7 * CENT,
        "output_cost_per_token_priority": 9 * CENT,
        "input_cost_per_token_above_200k_tokens": 3 * CENT,
        "cache_creation_input_token_cost": 2 * CENT,
        "cache_creation_input_token_cost_above_1hr": 4 * CENT,
        "input_cost_per_audio_token": 50 * CENT,
        "max_input_tokens": 1_000_000,
    }
    made = Router(
        model_list=[*priced, deployment("unpriced", "openai/nobody-knows")],
        fallbacks=[{"seeing": ["dear"]}, {"tiered": ["unpriced"]}],
    )
    monkeypatch.setattr(proxy_server, "llm_router", made)
    monkeypatch.setattr(scurry_litellm._prices, "_kept", {})
    yield made


def held(model: str = "cheap", call_type: str = "acompletion", settings: Any = None, **body: Any) -> Estimate:
    given = {"accounts": ["$key"], "default_max_tokens": 500, "margin": 1.0} | (settings or {})
    said = {} if "messages" in body or "input" in body else {"messages": [{"role": "user", "content": "hello"}]}
    return asyncio.run(estimate({"model": model} | said | body, call_type, Settings.of(given)))


def prompt(**body: Any) -> float:
    """The price of the prompt in micro-cents, which are tokens of `cheap`."""
    return round(held(**body).prompt / CENT, 3)


def test_the_dearest_of_the_fallbacks_is_held(router: Router) -> None:
    plain = held()
    assert plain.output_token == pytest.approx(2 * CENT) and plain.output_tokens == 500
    router.fallbacks = [{"cheap": ["seeing"]}, {"seeing": ["dear"]}]
    assert held().hold == pytest.approx(100 * plain.hold, rel=0.01)
    router.fallbacks = [{"*": ["dear"]}]
    assert held().hold == pytest.approx(100 * plain.hold, rel=0.01)
    router.fallbacks, router.context_window_fallbacks = [], [{"cheap": ["dear"]}]
    assert held().hold == pytest.approx(100 * plain.hold, rel=0.01)
    router.context_window_fallbacks, router.content_policy_fallbacks = [], [{"cheap": ["dear"]}]
    assert held().hold == pytest.approx(100 * plain.hold, rel=0.01)


def test_fallbacks_of_the_caller_are_held_with_what_they_change() -> None:
    named = held(fallbacks=[{"model": "dear", "max_tokens": 8000}])
    assert named.output_token == pytest.approx(200 * CENT) and named.output_tokens == 8000
    assert held(fallbacks=["dear"]).output_token == pytest.approx(200 * CENT)


def test_a_fallback_without_a_price_is_refused() -> None:
    with pytest.raises(Unpriced, match="unpriced"):
        held("tiered")
    with pytest.raises(Unpriced, match="nobody-known"):
        held(fallbacks=["nobody-known"])
    assert held("tiered", settings={"default_estimate": 3.0}).hold == 300_000_000


def test_what_stands_in_extra_body_is_held() -> None:
    plain = held()
    assert held(extra_body={"max_completion_tokens": 16_000}).output_tokens == 16_000
    assert held(extra_body={"max_tokens": 16_000, "n": 8}).output_tokens == 128_000
    assert held(extra_body={"tools": [TOOL]}).prompt > plain.prompt + 4000 * CENT
    assert held(extra_body={"messages": [{"role": "user", "content": WORDS}]}).prompt > 4000 * CENT
    assert held(extra_body={"stuffing": WORDS}).prompt > plain.prompt + 4000 * CENT


@pytest.mark.parametrize(
    "body",
    [
        {"tools": [TOOL]},
        {"functions": [TOOL["function"]]},
        {"response_format": {"type": "json_schema", "json_schema": {"name": "f", "schema": {"description": WORDS}}}},
        {"messages": [{"role": "user", "content": WORDS}]},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": WORDS}]}]},
        {"messages": [{"role": "user", "content": [{"type": "of tomorrow", "says": WORDS}]}]},
        {"messages": [{"role": "user", "content": [{"type": "tool_result", "content": [{"text": WORDS}]}]}]},
        {"prediction": {"type": "content", "content": WORDS}},
        {"messages": WORDS},
        {"something_new": [WORDS]},
        {"system": WORDS},
    ],
    ids=lambda body: next(iter(body)),
)
def test_all_that_is_said_is_held(body: dict[str, Any]) -> None:
    assert prompt() < 20
    assert prompt(**body) > 4000


def test_responses_hold_their_schema_and_what_came_before(router: Router) -> None:
    router.fallbacks = []
    assert prompt(call_type="aresponses", input="hello") < 20
    schema = {"format": {"type": "json_schema", "schema": {"description": WORDS}}}
    assert prompt(call_type="aresponses", input="hello", text=schema) > 4000
    with pytest.raises(Unpriced, match="the input of cheap"):
        held(call_type="aresponses", input="hello", previous_response_id="r1")
    assert prompt(model="seeing", call_type="aresponses", input="hello", previous_response_id="r1") == 120_000


def parts(kind: str, count: int = 1) -> dict[str, Any]:
    part = {
        "image": {"type": "image_url", "image_url": {"url": "https://example.invalid/a.png", "detail": "high"}},
        "file": {"type": "file", "file": {"file_data": "data:application/pdf;base64," + "A" * 4000}},
        "audio": {"type": "input_audio", "input_audio": {"data": "A" * 4000, "format": "wav"}},
    }[kind]
    return {"messages": [{"role": "user", "content": [{"type": "text", "text": "see"}, *[part] * count]}]}


def test_pictures_are_held_for_as_many_tokens_as_a_provider_may_bill(router: Router) -> None:
    router.fallbacks = []
    assert 500_000 <= prompt(**parts("image", 10)) < 500_020
    assert 20_000 <= prompt(settings={"image_tokens": 2000}, **parts("image", 10)) < 20_020
    # The input is at most as long as the model reads.
    assert prompt(model="seeing", **parts("image", 10)) == 120_000


@pytest.mark.parametrize("kind", ["file", "audio"])
def test_files_are_held_for_the_most_that_the_model_reads(router: Router, kind: str) -> None:
    router.fallbacks = []
    assert prompt(model="seeing", **parts(kind)) == 120_000
    assert 14_000 <= prompt(settings={"file_tokens": 7000}, **parts(kind, 2)) < 14_020
    with pytest.raises(Unpriced, match="the input of cheap"):
        held(**parts(kind))
    assert held(settings={"default_estimate": 3.0}, **parts(kind)).hold == 300_000_000


def test_tokens_are_held_at_the_dearest_price_that_theirs_may_be(router: Router) -> None:
    router.fallbacks = []
    plain = prompt(model="tiered")
    assert held("tiered").output_token == pytest.approx(2 * CENT)
    first = held("tiered", service_tier="priority")
    assert first.output_token == pytest.approx(9 * CENT)
    assert first.prompt >= 6.99 * plain * CENT
    kept = [{"type": "text", "text": "hello", "cache_control": {"type": "ephemeral", "ttl": "1h"}}]
    said = [{"role": "user", "content": kept}]
    assert prompt(model="tiered", messages=said) >= 4 * plain
    assert prompt(model="tiered", messages=said) < 7 * 2 * plain
    many = parts("image", 10)
    assert 1_500_000 <= prompt(model="tiered", **many) < 1_500_100
    assert prompt(model="tiered", settings={"file_tokens": 1000}, **parts("audio")) > 50_000


def test_the_bound_of_the_settings_goes_to_the_provider_where_there_is_no_other() -> None:
    settings = Settings.of({"accounts": ["$key"], "default_max_tokens": 500})
    for call_type, body, bound in (
        ("acompletion", {}, {"max_tokens": 500}),
        ("acompletion", {"max_tokens": None}, {"max_tokens": 500}),
        ("acompletion", {"max_completion_tokens": 7}, {"max_completion_tokens": 7}),
        ("acompletion", {"max_output_tokens": 7}, {"max_output_tokens": 7, "max_tokens": 500}),
        ("acompletion", {"extra_body": {"max_tokens": 7}}, {}),
        ("aresponses", {}, {"max_output_tokens": 500}),
        ("aembedding", {}, {}),
    ):
        data: dict[str, Any] = {"model": "cheap", "input": "hello"} | body
        asyncio.run(estimate(data, call_type, settings))
        assert {name: data[name] for name in data if name.startswith("max_")} == bound, (call_type, body)


def test_no_number_of_tokens_is_too_much_to_be_refused() -> None:
    for body in ({"n": 10**400}, {"max_tokens": 10**400}, {"max_tokens": 0}, {"max_tokens": "many"}, {"n": -3}):
        with pytest.raises(Malformed):
            held(**body)
    assert held(max_tokens=100_000_000, n=10_000).hold < 2**63


def test_nothing_is_fetched_to_count_a_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    def fetched(*_: Any, **__: Any) -> Any:
        raise AssertionError("a picture was asked for")

    monkeypatch.setattr(litellm.module_level_client, "get", fetched)
    held(**parts("image"))


@pytest.mark.parametrize("model", ["meta-llama/Llama-3-8b-instruct", "replicate/llama-2-70b"])
def test_no_tokenizer_is_fetched_while_a_call_waits(monkeypatch: pytest.MonkeyPatch, model: str) -> None:
    asked: list[str] = []
    monkeypatch.setattr(litellm, "disable_hf_tokenizer_download", None)
    monkeypatch.setattr(litellm.utils, "_return_huggingface_tokenizer", asked.append)
    assert litellm.token_counter(model=model, text="hello world") > 0
    assert asked, "LiteLLM would fetch one"
    asked.clear()
    ScurryBudgets()
    assert litellm.token_counter(model=model, text="hello world") > 0
    assert not asked
