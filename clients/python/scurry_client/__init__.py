"""A client of Scurry, a real-time balance and session store: sessions, safe retries, typed replies and errors.

`Store` blocks until a reply arrives; `scurry_client.aio.Store` is the same for asyncio. `commands` builds commands as
values, for chains.
"""

from . import _commands as commands
from ._command import Command
from ._commands import *
from ._errors import Denied, OutcomeUnknown, Refused, ScurryError, ServerError, UnexpectedReply, Unreachable
from ._meter import Hold
from ._retry import Retry
from ._store import Session, Sessions, Store

__all__ = [
    "Command",
    "Denied",
    "Hold",
    "OutcomeUnknown",
    "Refused",
    "Retry",
    "ScurryError",
    "ServerError",
    "Session",
    "Sessions",
    "Store",
    "UnexpectedReply",
    "Unreachable",
    "commands",
]
__all__ += commands.__all__


# Tracebacks, reprs and pickles show the public module, which users import, instead of the private one.
for _name in __all__:
    if isinstance(_exported := globals()[_name], type):
        _exported.__module__ = __name__
del _name, _exported
