"""Authentication for LiteLLM's `custom_auth`: keys `sk-NAME` without a database. A name `NAME.TEAM.ORG` sets these as
well.

`LITELLM_BUDGETS` holds LiteLLM's own budgets as JSON, in dollars by name.
"""

from __future__ import annotations

import json
import os
from typing import Any

from litellm.proxy._types import UserAPIKeyAuth

BUDGETS: dict[str, float] = json.loads(os.environ.get("LITELLM_BUDGETS", "{}"))


async def known(request: Any, api_key: str) -> UserAPIKeyAuth:
    if not api_key.startswith("sk-"):
        raise ValueError("not a key of this test")
    name, _, rest = api_key.removeprefix("sk-").partition(".")
    team, _, organisation = rest.partition(".")
    return UserAPIKeyAuth(
        api_key=api_key,
        key_alias=name,
        user_id=f"user-{name}",
        team_id=team or None,
        org_id=organisation or None,
        max_budget=BUDGETS.get(name),
    )
