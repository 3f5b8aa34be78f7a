"""The plugin as LiteLLM loads it: `callbacks: scurry_litellm.plugin.budgets` in config.yaml.

LiteLLM calls it before a call (reserve), with the answer (settle), with the pieces of a stream, and on a failure
(release the hold). The first hook that ends a call settles it; later ones find nothing to do.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping
from typing import Any

import litellm
from fastapi import HTTPException
from litellm.integrations.custom_logger import CustomLogger
from redis.asyncio import Redis
from redis.asyncio.retry import Retry as RedisRetry
from redis.backoff import NoBackoff
from scurry_client import Retry
from scurry_client.aio import Store

from ._accounts import Accounts, Caller, Unbudgeted
from ._billing import Told, charge, usage_of
from ._budgets import Away, Budgets, Call, Full, Refusal, Unusable
from ._line import Line
from ._prices import Unpriced, estimate, output_tokens_of
from ._request import Malformed
from ._settings import Settings, WrongSettings

log = logging.getLogger("scurry_litellm")

MARK = "scurry_call"
"""Key of the call's name in a request's metadata. The names are random, and known only in this process."""


class ScurryBudgets(CustomLogger):  # type: ignore[misc]
    def __init__(self, settings: Settings | None = None, store: Store | None = None) -> None:
        super().__init__()
        self._settings = settings
        self._store = store
        self._budgets: Budgets | None = None
        self._accounts: Accounts | None = None
        self._keeper: asyncio.Task[None] | None = None
        if litellm.disable_hf_tokenizer_download is None:
            # For some model families LiteLLM downloads a tokenizer during a call: without internet this takes 25 s.
            litellm.disable_hf_tokenizer_download = True
        if settings is None and "scurry" in (litellm.callback_settings or {}):
            # A wrong setting prevents the proxy from starting.
            self._settings = Settings.of(litellm.callback_settings["scurry"])
            # Loading the tokenizer takes a second, so it is done before the first call.
            output_tokens_of("word")

    # ---- LiteLLM's hooks -----------------------------------------------------------------------

    async def async_pre_call_hook(
        self, user_api_key_dict: Any, cache: Any, data: dict[str, Any], call_type: str
    ) -> Any:
        """Holds the maximum cost of the call, or refuses the call."""
        budgets = self._ready()
        settings = budgets.settings
        if (before := self._call_of_request(data)) is not None:
            # The same request is sent again: its hold is released, and a new one is made.
            budgets.settle(before, 0)
        for metadata in (data.get("metadata"), data.get("litellm_metadata")):
            if isinstance(metadata, dict):
                metadata.pop(MARK, None)
        if call_type in settings.free_call_types:
            return data
        try:
            assert self._accounts is not None
            accounts = self._accounts.of(caller(user_api_key_dict))
        except Unbudgeted as why:
            if settings.unbudgeted == "allow":
                return data
            raise refused(403, "no_budget", str(why)) from None
        model = str(data.get("model") or call_type)
        try:
            price = await estimate(data, call_type, settings)
        except Unpriced as why:
            raise refused(400, "no_price", str(why)) from None
        except Malformed as why:
            raise refused(400, "bad_request", str(why)) from None
        try:
            call = await budgets.open(accounts, model, price, str(data.get("litellm_call_id") or ""))
        except Refusal as why:
            details = {"budget": why.account, "reason": why.reason, "needed": why.needed, "left": why.left}
            raise refused(settings.denied_status, "budget_exceeded", str(why), **details) from None
        except Unusable as why:
            raise refused(403, "account_unusable", str(why), budget=why.account, reason=why.reason) from None
        except Full as why:
            raise refused(503, "too_many_calls", str(why)) from None
        except Away as why:
            log.error("%s", why)
            raise refused(503, "budget_not_reached", str(why)) from None
        marked(data)[MARK] = call.id
        return data

    async def async_post_call_success_hook(self, data: dict[str, Any], user_api_key_dict: Any, response: Any) -> Any:
        """Settles before the caller receives the answer, so that no answered call is lost with the proxy."""
        call = self._call_of_request(data)
        if call is None or self._budgets is None:
            return
        hidden = getattr(response, "_hidden_params", None) or {}
        told = Told(hidden.get("response_cost"), usage_of(response), response, hidden.get("cache_hit") is True)
        if told.cost is None and not told.is_cached:
            # `async_log_success_event` may know the cost later.
            self._budgets.charge_later(call, call.hold)
        else:
            await self._settled(call, charge(call, told, output_tokens_of))

    async def async_log_success_event(
        self, kwargs: dict[str, Any], response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """Settles a stream after LiteLLM has assembled its pieces, and answers that had no price before."""
        call = self._call_of_event(kwargs)
        if call is None:
            return
        if kwargs.get("stream") and not (
            kwargs.get("async_complete_streaming_response") or kwargs.get("complete_streaming_response")
        ):
            return
        cost = kwargs.get("response_cost")
        if cost is None:
            cost = (kwargs.get("standard_logging_object") or {}).get("response_cost")
        answer = (
            kwargs.get("async_complete_streaming_response") or kwargs.get("complete_streaming_response") or response_obj
        )
        told = Told(cost, usage_of(answer), answer, kwargs.get("cache_hit") is True)
        amount = charge(call, told, output_tokens_of)
        if call.is_cut and not told.is_cached:
            amount = max(amount, call.hold)
        await self._settled(call, amount)

    async def async_post_call_failure_hook(
        self,
        request_data: dict[str, Any],
        original_exception: Exception,
        user_api_key_dict: Any,
        traceback_str: str | None = None,
    ) -> None:
        """Releases the hold when a call has finally failed, after LiteLLM's own retries."""
        call = self._call_of_request(request_data)
        if call is not None:
            await self._settled(call, 0 if call.due is None else call.due[1])

    async def async_post_call_streaming_iterator_hook(
        self, user_api_key_dict: Any, response: Any, request_data: dict[str, Any]
    ) -> AsyncGenerator[Any, None]:
        """Passes a stream on and collects its text, which sets the cost if none is reported or the stream breaks
        off."""
        call = self._call_of_request(request_data)
        if call is None:
            async for piece in response:
                yield piece
            return
        text: list[str] = []
        is_whole = False
        try:
            async for piece in response:
                text.append(said(piece))
                is_whole = is_whole or is_last(piece)
                yield piece
        except (GeneratorExit, asyncio.CancelledError):
            # The reader has left. The text so far is known, but not what else the provider bills.
            if not is_whole and self._budgets is not None and self._budgets.settings.cut_streams == "held":
                call.is_cut = True
            raise
        finally:
            # LiteLLM reports the cost shortly, also for a stream that its reader has left, or reports that it failed.
            if self._budgets is not None and not call.has_ended:
                amount = call.hold if call.is_cut else cost_of_text(call, "".join(text))
                self._budgets.charge_later(call, amount)

    # ---- Helpers ---------------------------------------------------------------------------------

    def _ready(self) -> Budgets:
        if self._budgets is None:
            if self._settings is None:
                given = (litellm.callback_settings or {}).get("scurry")
                if given is None:
                    raise WrongSettings("config.yaml has no callback_settings: scurry:")
                self._settings = Settings.of(given)
            self._accounts = Accounts(self._settings.accounts)
            self._budgets = Budgets(self._store or connect(self._settings), self._settings)
        if self._keeper is None or self._keeper.done():
            self._keeper = asyncio.ensure_future(self._budgets.keep())
        return self._budgets

    async def _settled(self, call: Call, amount: int) -> None:
        assert self._budgets is not None
        await self._budgets.settled(call, amount)

    def _call_of_request(self, data: Mapping[str, Any]) -> Call | None:
        for metadata in (data.get("litellm_metadata"), data.get("metadata")):
            if call := self._named(metadata):
                return call
        return None

    def _call_of_event(self, kwargs: Mapping[str, Any]) -> Call | None:
        return self._call_of_request(kwargs.get("litellm_params") or {})

    def _named(self, metadata: object) -> Call | None:
        id = metadata.get(MARK) if isinstance(metadata, Mapping) else None
        return self._budgets.calls.get(id) if self._budgets is not None and isinstance(id, str) else None


def caller(auth: Any) -> Caller:
    """Returns the caller: the fields of LiteLLM's `UserAPIKeyAuth`."""
    return Caller(
        key=getattr(auth, "token", None) or getattr(auth, "api_key", None),
        key_alias=getattr(auth, "key_alias", None),
        user_id=getattr(auth, "user_id", None),
        team_id=getattr(auth, "team_id", None),
        org_id=getattr(auth, "org_id", None),
        end_user_id=getattr(auth, "end_user_id", None),
    )


def marked(data: dict[str, Any]) -> dict[str, Any]:
    """Returns LiteLLM's own metadata, not the caller's, who may send some to the provider."""
    for name in ("litellm_metadata", "metadata"):
        metadata = data.get(name)
        if isinstance(metadata, dict) and any(key.startswith("user_api_key") for key in metadata):
            return metadata
    metadata = data.setdefault("metadata", {})
    assert isinstance(metadata, dict)
    return metadata


def said(piece: Any) -> str:
    """Returns the text in a piece of a stream that is charged by tokens."""
    if isinstance(piece, (bytes, str)):
        return piece if isinstance(piece, str) else piece.decode(errors="replace")
    found = []
    for choice in getattr(piece, "choices", None) or ():
        delta = getattr(choice, "delta", None)
        for name in ("content", "reasoning_content"):
            if isinstance(text := getattr(delta, name, None), str):
                found.append(text)
        for tool in getattr(delta, "tool_calls", None) or ():
            if isinstance(text := getattr(getattr(tool, "function", None), "arguments", None), str):
                found.append(text)
        if isinstance(text := getattr(choice, "text", None), str):
            found.append(text)
    if isinstance(text := getattr(piece, "delta", None), str):
        found.append(text)
    return "".join(found)


def is_last(piece: Any) -> bool:
    """Reports whether a piece of a stream contains the cost of all of it."""
    if isinstance(piece, (bytes, str)):
        text = piece if isinstance(piece, str) else piece.decode(errors="replace")
        return "message_stop" in text
    if getattr(piece, "type", None) in ("response.completed", "response.incomplete", "message_stop"):
        return True
    choices = getattr(piece, "choices", None) or ()
    # Some providers report the usage so far with each piece.
    has_ended = not choices or all(getattr(choice, "finish_reason", None) for choice in choices)
    return has_ended and bool(getattr(piece, "usage", None))


def cost_of_text(call: Call, text: str) -> int:
    """Returns the cost of a stream with this text: 0 if it is empty."""
    return call.estimate.after(output_tokens_of(text)) if text else 0


def refused(status: int, code: str, message: str, **details: object) -> HTTPException:
    error = {"message": message, "type": code, "code": code, "param": None, **details}
    return HTTPException(status_code=status, detail={"error": error})


def connect(settings: Settings) -> Store:
    client = Redis.from_url(
        settings.url,
        socket_timeout=settings.patience,
        socket_connect_timeout=settings.patience,
        retry=RedisRetry(NoBackoff(), 0),
    )
    return Store(Line(client, settings.connections), retry=Retry(patience=settings.patience))


budgets = ScurryBudgets()
