"""Connecting by URL, with the library that the URL selects."""

from __future__ import annotations

from importlib import import_module
from typing import Any

DEFAULT_URL = "redis://127.0.0.1:6389"


def connection(url: str, *, is_awaited: bool, **options: Any) -> Any:
    """Returns a client of valkey-py for `valkey://` and `valkeys://`, and one of redis-py for every other URL.

    The client does not retry, since this package does, and all its waits have a timeout.
    """
    library, kind = ("valkey", "Valkey") if url.startswith(("valkey://", "valkeys://")) else ("redis", "Redis")
    try:
        import_module(library)
    except ModuleNotFoundError as error:
        if error.name != library:
            raise
        raise ModuleNotFoundError(f"{library}-py is not installed: pip install {library}", name=library) from None
    clients = f"{library}.asyncio" if is_awaited else library
    client = getattr(import_module(clients), kind)
    retry = import_module(f"{clients}.retry").Retry
    backoff = import_module(f"{library}.backoff")
    defaults: dict[str, Any] = {
        "retry": retry(backoff.NoBackoff(), 0),
        "socket_timeout": 5.0,
        "socket_connect_timeout": 2.0,
    }
    return client.from_url(url, **(defaults | options))
