"""The accounts that pay for a call: patterns of the settings, filled in with the caller's identity."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from string import Template
from urllib.parse import quote

LINKS_MAX = 16
ACCOUNT_LEN_MAX = 128
VALUE_LEN_MAX = 64
"""A longer value is replaced by a hash. The hash of a key has this length."""
_TAG = re.compile(r"\{([^{}]+)\}")
# Claude Code appends its session to the user and the account, so that each session is another end user.
_SESSION = re.compile(r"(user_[0-9a-f]{64}_account_[0-9a-f-]*)_session_[0-9a-f-]*")


class Unbudgeted(Exception):
    """No account belongs to the caller."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller as LiteLLM has authenticated it; its fields are the names in the patterns."""

    key: str | None = None
    """The hash of the key, not the key itself."""
    key_alias: str | None = None
    user_id: str | None = None
    team_id: str | None = None
    org_id: str | None = None
    end_user_id: str | None = None


class Accounts:
    def __init__(self, patterns: Sequence[str]) -> None:
        if not 1 <= len(patterns) <= LINKS_MAX:
            raise ValueError(f"1 to {LINKS_MAX} patterns")
        self.patterns = [Template(pattern) for pattern in patterns]
        names = set(Caller.__slots__)
        for pattern in self.patterns:
            if not pattern.is_valid():
                raise ValueError(f"not a pattern: {pattern.template}")
            if unknown := sorted(set(pattern.get_identifiers()) - names):
                raise ValueError(f"${unknown[0]} in {pattern.template}: there are ${', $'.join(sorted(names))}")
        # All accounts of a chain must lie in one hash slot. Only patterns contain braces: a name cannot add any.
        if len(patterns) > 1:
            tags = {found[1] if (found := _TAG.search(pattern)) else "" for pattern in patterns}
            if len(tags) != 1 or "" in tags:
                raise ValueError("several accounts need one tag in braces, such as {$org_id}, in each of them")

    def of(self, caller: Caller) -> list[str]:
        """Returns the accounts in the order of the patterns. Patterns that name a field without a value are skipped."""
        named = {name: value for name in Caller.__slots__ if (value := getattr(caller, name))}
        if end_user := named.get("end_user_id"):
            named["end_user_id"] = without_session(end_user)
        values = {name: _filled_in(value) for name, value in named.items()}
        found: list[str] = []
        for pattern in self.patterns:
            if all(name in values for name in pattern.get_identifiers()):
                account = pattern.substitute(values)
                if len(account) > ACCOUNT_LEN_MAX:
                    raise Unbudgeted(f"the account's id would be longer than {ACCOUNT_LEN_MAX} characters")
                if account not in found:
                    found.append(account)
        if not found:
            raise Unbudgeted("no account belongs to this key: see accounts in the settings of scurry")
        return found


def without_session(end_user: str) -> str:
    """Removes the session from an end user in one of Claude Code's two forms, so that a budget outlives the session."""
    if found := _SESSION.fullmatch(end_user):
        return found[1]
    if not end_user.startswith("{"):
        return end_user
    try:
        fields = json.loads(end_user)
    except ValueError:
        return end_user
    if not isinstance(fields, dict) or fields.pop("session_id", None) is None:
        return end_user
    return json.dumps(fields, sort_keys=True, separators=(",", ":"))


def _filled_in(value: str) -> str:
    """Returns a value in the form that it has in an account's id.

    The result depends only on the value, so that a budget has one name. A value never adds a colon, so that none can
    pass for the hash of another.
    """
    encoded = quote(value, safe="@")
    if len(encoded) <= VALUE_LEN_MAX:
        return encoded
    return f"sha256:{hashlib.sha256(value.encode()).hexdigest()[:32]}"
