"""The settings, as written in LiteLLM's config.yaml under `callback_settings: scurry:`."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args, get_type_hints

from ._accounts import Accounts


class WrongSettings(ValueError):
    """A setting is unknown, has a wrong type or is out of range."""


@dataclass(frozen=True)
class Settings:
    accounts: tuple[str, ...]
    """The accounts that pay for a call, each in full: `$key_alias`, or `{$org_id}:team:$team_id`."""
    url: str = "redis://127.0.0.1:6389"
    unit: str = "ucent"
    ttl: float = 60.0
    """Seconds for which a hold outlives a proxy that died. A call that takes longer renews its hold."""
    call_seconds_max: float = 7200.0
    """Seconds after which a call without an end is abandoned."""
    patience: float = 10.0
    """Seconds for which a call waits for Scurry. Under a burst of calls, a proxy itself may not respond for seconds."""
    when_killed: Literal["free", "charged"] = "free"
    """What happens to calls in progress when a proxy is killed: their holds expire after `ttl`, and they cost nothing;
    or they stay charged with their maximum cost (it is debited before the call, and the rest is returned after it)."""
    fail_open: bool = False
    """Whether calls go on without a hold when Scurry is unreachable; their cost is charged once it is reachable."""
    unbudgeted: Literal["refuse", "allow"] = "refuse"
    """What happens to a call to which no account belongs."""
    denied_status: int = 429
    default_max_tokens: int | None = None
    """Limit for a request without one. If not set, the model's maximum output is held."""
    default_estimate: float | None = None
    """Dollars to hold for a call without a price per token: images, audio. If not set, such calls are refused."""
    image_tokens: int = 50_000
    """Number of tokens held for a picture. No known provider bills more; most bill less than 2,000."""
    file_tokens: int | None = None
    """Number of tokens held for a file, sound or film. If not set, the maximum input of the model is held."""
    cut_streams: Literal["held", "counted"] = "held"
    """The cost of a stream that its reader leaves before its end: the whole hold, since the provider may bill more than
    was seen (reasoning); or the text that was seen."""
    free_call_types: tuple[str, ...] = ("list_mcp_tools", "call_mcp_tool", "moderation", "amoderation")
    margin: float = 1.1
    """Factor on the price of the prompt, because LiteLLM counts tokens only nearly as the provider does."""
    overrun: Literal["overdraw", "clamp"] = "overdraw"
    """When a call costs more than the hold and the balance: a debt of the account, or a loss reported as
    uncollected."""
    calls_max: int = 10_000
    """Maximum number of calls in progress or not settled; more are refused."""
    connections: int = 4
    """Number of connections to Scurry; each carries the commands of many calls at a time."""

    def __post_init__(self) -> None:
        for name in ("ttl", "call_seconds_max", "patience", "calls_max", "connections", "margin"):
            if getattr(self, name) <= 0:
                raise WrongSettings(f"{name}: more than 0")
        if not 400 <= self.denied_status <= 499:
            raise WrongSettings("denied_status: 400 to 499")
        try:
            Accounts(self.accounts)
        except ValueError as why:
            raise WrongSettings(f"accounts: {why}") from None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Builds the settings from a mapping of YAML; a text `os.environ/NAME` is replaced by that variable."""
        types = get_type_hints(cls)
        fields = {field.name for field in dataclasses.fields(cls)}
        if unknown := sorted(set(given) - fields):
            raise WrongSettings(f"no such setting: {', '.join(unknown)}; there are {', '.join(sorted(fields))}")
        if "accounts" not in given:
            raise WrongSettings("accounts: say which accounts pay, such as ['$key_alias']")
        return cls(**{name: _value(name, value, types[name]) for name, value in given.items()})


def _value(name: str, value: Any, kind: Any) -> Any:
    if isinstance(value, str) and value.startswith("os.environ/"):
        variable = value.removeprefix("os.environ/")
        if variable not in os.environ:
            raise WrongSettings(f"{name}: no variable {variable} in the environment")
        value = os.environ[variable]
    if kind == tuple[str, ...]:
        if not isinstance(value, (list, tuple)) or not all(isinstance(one, str) for one in value):
            raise WrongSettings(f"{name}: a list of texts")
        return tuple(value)
    choices = get_args(kind)
    if choices and all(isinstance(choice, str) for choice in choices):
        if value not in choices:
            raise WrongSettings(f"{name}: one of {', '.join(choices)}")
        return value
    kinds = choices or (kind,)
    if value is None and type(None) in kinds:
        return None
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if float in kinds and is_number:
        return float(value)
    wanted = next(one for one in (bool, int, float, str) if one in kinds)
    # In Python a bool is an int, but it is not accepted as a number here.
    if type(value) is not wanted:
        raise WrongSettings(f"{name}: not {value!r}")
    return value
