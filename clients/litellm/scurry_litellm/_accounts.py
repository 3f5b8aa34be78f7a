"""Which accounts pay for a call: patterns of the settings, filled with who calls."""

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
"""What is longer goes in as a hash. The hash of a key has this length."""
_TAG = re.compile(r"\{([^{}]+)\}")
# Claude Code writes its session behind the user and the account, and so another end user for each session.
_SESSION = re.compile(r"(user_[0-9a-f]{64}_account_[0-9a-f-]*)_session_[0-9a-f-]*")


class Unbudgeted(Exception):
    """No account belongs to the caller."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls, as LiteLLM has authenticated it; the names in the patterns."""

    key: str | None = None
    """The hash of the key, not the key."""
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
        # A chain lies in one hash slot. The braces come from the patterns alone: a name cannot bring any.
        if len(patterns) > 1:
            tags = {found[1] if (found := _TAG.search(pattern)) else "" for pattern in patterns}
            if len(tags) != 1 or "" in tags:
                raise ValueError("several accounts need one tag in braces, such as {$org_id}, in each of them")

    def of(self, caller: Caller) -> list[str]:
        """The accounts, in the order of the patterns; a pattern that names what the caller has not is left out."""
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
    """The end user as Claude Code names it, in one of its two forms, without the session: a budget outlives it."""
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
    """A value as it stands in an account's id.

    It depends on nothing but the value, so that a budget has one name. No value brings a colon of its own, so that none
    can pretend to be the hash of another.
    """
    encoded = quote(value, safe="@")
    if len(encoded) <= VALUE_LEN_MAX:
        return encoded
    return f"sha256:{hashlib.sha256(value.encode()).hexdigest()[:32]}"
