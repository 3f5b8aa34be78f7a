"""Hard budgets for LiteLLM's proxy, kept by Scurry: reserve before the call, settle afterwards from its cost.

LiteLLM loads the plugin itself by `callbacks: scurry_litellm.plugin.budgets`. This module holds the parts that do not
depend on LiteLLM, so that they can be tested and used without it.
"""

from ._accounts import Accounts, Caller, Unbudgeted
from ._budgets import Away, Budgets, Call, Full, Refusal, Unusable
from ._money import Estimate, micro_cents
from ._settings import Settings, WrongSettings

__all__ = [
    "Accounts",
    "Away",
    "Budgets",
    "Call",
    "Caller",
    "Estimate",
    "Full",
    "Refusal",
    "Settings",
    "Unbudgeted",
    "Unusable",
    "WrongSettings",
    "micro_cents",
]
