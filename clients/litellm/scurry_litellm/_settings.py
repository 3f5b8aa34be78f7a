"""The settings, as they stand in LiteLLM's config.yaml under `callback_settings: scurry:`."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args, get_type_hints

from ._accounts import Accounts


class WrongSettings(ValueError):
    """A setting that is unknown, of a wrong type or out of range."""


@dataclass(frozen=True)
class Settings:
    accounts: tuple[str, ...]
    """The accounts that pay for a call, each of them all of it: `$key_alias`, or `{$org_id}:team:$team_id`."""
    url: str = "redis://127.0.0.1:6389"
    unit: str = "ucent"
    ttl: float = 60.0
    """Seconds for which a hold outlives a proxy that died. A call that takes longer renews its hold."""
    call_seconds_max: float = 7200.0
    """A call of which nothing was heard for so long is given up."""
    patience: float = 10.0
    """Seconds for which a call waits for Scurry. A proxy under a burst of calls looks away for seconds, too."""
    when_killed: Literal["free", "charged"] = "free"
    """What becomes of the calls under way where a proxy is killed: their holds end after `ttl`, and they cost nothing;
    or they stay charged what they may have cost at most (they are debited before, and get the rest back)."""
    fail_open: bool = False
    """Whether calls go on without a hold where Scurry is not reached; what they cost is charged once it is."""
    unbudgeted: Literal["refuse", "allow"] = "refuse"
    """What becomes of a call to which no account belongs."""
    denied_status: int = 429
    default_max_tokens: int | None = None
    """The bound that a request gets that names none. Without it, the most that the model can say is held."""
    default_estimate: float | None = None
    """Dollars to hold where a call has no price by tokens: images, audio. Without it such calls are refused."""
    image_tokens: int = 50_000
    """For how many tokens a picture is held. No provider is known to bill more; most bill less than 2,000."""
    file_tokens: int | None = None
    """For how many tokens a file, sound or film is held. Without it: for the most that the model reads."""
    cut_streams: Literal["held", "counted"] = "held"
    """What a stream costs that its reader leaves before its end: all that was held, since the provider may bill more
    than was seen (reasoning); or what was seen."""
    free_call_types: tuple[str, ...] = ("list_mcp_tools", "call_mcp_tool", "moderation", "amoderation")
    margin: float = 1.1
    """Of the prompt's price: LiteLLM counts its tokens nearly as the provider does."""
    overrun: Literal["overdraw", "clamp"] = "overdraw"
    """Where a call cost more than was held and left: a debt of the account, or a loss that is told as uncollected."""
    calls_max: int = 10_000
    """Calls that are under way or not settled; more are refused."""
    connections: int = 4
    """To Scurry; each carries the commands of many calls at a time."""

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
        """From a mapping of YAML; a text `os.environ/NAME` is that variable."""
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
    # A bool is an int to Python, and no number to a reader.
    if type(value) is not wanted:
        raise WrongSettings(f"{name}: not {value!r}")
    return value
