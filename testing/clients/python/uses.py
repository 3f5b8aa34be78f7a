"""What web frameworks and valkey-py use a store for. See ../README.md for the arguments."""

import logging
import sys

import django
import flask
import redis
import valkey
from django.conf import settings
from django.core.cache import caches
from flask_session import Session
from redlock import Redlock


def equal(got, expected):
    assert got == expected, f"expected {expected!r}, got {got!r}"


def refused(call, errors, word):
    try:
        got = call()
    except errors as error:
        assert word in str(error), f"{error!r}"
    else:
        raise AssertionError(f"not refused: {got!r}")


def valkey_py(host, port):
    for protocol in (2, 3):
        client = valkey.Valkey(host, port, protocol=protocol, decode_responses=True)
        account = f"valkey-py-{protocol}"
        equal(client.execute_command("SCUR.CREATE", account, "BUCKET", "main", "cent", 100),
              ["OK", 1])
        equal(client.execute_command("SCUR.RESERVE", account, "s1", 0,
                                     "ITEM", 1, "cent", "REQUESTED", 30),
              ["OK", 0, 1, [[1, "OK", 30, 0, 0]]])
        equal(client.set("one", "1", ex=60), True)
        equal(client.mget("one", "none"), ["1", None])
        with client.pipeline() as pipe:
            equal(pipe.incr("one").expire("one", 60).execute(), [2, True])
        for number in range(30):
            client.set(f"many-{number}", number)
        equal(len(set(client.scan_iter("many-*"))), 30)
        # What a lock gives back by a script has a command here.
        lock = client.lock("lock", timeout=60)
        equal(lock.acquire(blocking=False), True)
        token = lock.local.token.decode()
        refused(lock.release, valkey.ValkeyError, "runs no scripts")
        equal(client.execute_command("DELIFEQ", "lock", "another"), 0)
        equal(client.execute_command("DELIFEQ", "lock", token), 1)


def configure_django(url):
    def cache(backend, prefix):
        return {"BACKEND": backend, "LOCATION": url, "KEY_PREFIX": prefix}

    settings.configure(
        SECRET_KEY="none",
        SESSION_ENGINE="django.contrib.sessions.backends.cache",
        CACHES={"default": cache("django.core.cache.backends.redis.RedisCache", "django"),
                "django-redis": cache("django_redis.cache.RedisCache", "dr")},
    )
    django.setup()


def django_caches():
    for cache in (caches["default"], caches["django-redis"]):
        cache.set("one", 1, 60)
        equal((cache.get("one"), cache.add("one", 2), cache.incr("one")), (1, False, 2))
        cache.set_many({"list": [1, 2], "text": "t"}, timeout=60)
        equal(cache.get_many(["list", "text", "none"]), {"list": [1, 2], "text": "t"})
        equal(cache.touch("list", 120), True)
        cache.delete_many(["list", "text"])
        equal(cache.get("list"), None)
    cache = caches["django-redis"]
    equal(sorted(cache.iter_keys("*")), ["one"])
    equal((cache.delete_pattern("o*"), cache.get("one")), (1, None))
    # FLUSHDB would take the accounts, too.
    refused(caches["default"].clear, redis.RedisError, "accounts exist")


def django_sessions():
    from django.contrib.sessions.backends.cache import SessionStore
    begun = SessionStore()
    begun["user"] = "alice"
    begun.save()
    again = SessionStore(begun.session_key)
    equal(again["user"], "alice")
    again.cycle_key()
    equal(SessionStore(again.session_key)["user"], "alice")
    equal(again.exists(begun.session_key), False)
    again.flush()
    equal(again.exists(again.session_key or ""), False)


def flask_sessions(url):
    app = flask.Flask("uses")
    app.config.update(SESSION_TYPE="redis", SESSION_REDIS=redis.from_url(url))
    Session(app)

    @app.route("/visit")
    def visit():
        flask.session["visits"] = flask.session.get("visits", 0) + 1
        return str(flask.session["visits"])

    browser, other = app.test_client(), app.test_client()
    equal([browser.get("/visit").text for _ in range(3)], ["1", "2", "3"])
    equal(other.get("/visit").text, "1")


def redlock(host, port):
    """The lock is taken by a command and cannot be given back: the library wants a script for that."""
    logging.disable(logging.CRITICAL)
    manager = Redlock([{"host": host, "port": port}])
    lock = manager.lock("redlock", 60_000)
    assert lock, "redlock-py gets no lock"
    manager.unlock(lock)
    equal(redis.Redis(host, port).get("redlock"), lock.key)


def main():
    host, port = sys.argv[1].rsplit(":", 1)
    url = f"redis://{sys.argv[1]}/0"
    valkey_py(host, int(port))
    configure_django(url)
    django_caches()
    django_sessions()
    flask_sessions(url)
    redlock(host, int(port))
    print(f"uses: valkey-py {valkey.__version__}, Django {django.__version__}: right")


main()
