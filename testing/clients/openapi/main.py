"""Charges, and keeps an entity, through the clients that openapi-generator makes of the door's own documents.

PROGRAM CHARGING-URL ENTITIES-URL, with both clients in PYTHONPATH. It ends with an error at the first answer that
is wrong.
"""

import json
import sys

import charging
import entities


def refused(status, code, call, *arguments, **named):
    try:
        call(*arguments, **named)
    except charging.ApiException as error:
        told = json.loads(error.body)
        assert (error.status, told["code"]) == (status, code), told
        return told
    raise AssertionError(f"not refused: {status} {code}")


def charge(url):
    account = "python/1"
    client = charging.ApiClient(charging.Configuration(host=url))
    accounts, debits = charging.AccountsApi(client), charging.DebitsApi(client)
    sessions, chains = charging.SessionsApi(client), charging.ChainsApi(client)

    amount = charging.NonNegativeAmount(1000)
    creation = charging.AccountCreation(buckets=[charging.BucketCreation(bucket="main", unit="cent", amount=amount)])
    assert accounts.create_account(account, creation).code == "OK"
    refused(409, "ACCOUNT_EXISTS", accounts.create_account, account, creation)

    debit = charging.Debit(unit="cent", amount=charging.PositiveAmount(30))
    assert not debits.debit(account, "d-1", debit).replayed
    again = debits.debit(account, "d-1", debit)
    assert again.replayed and again.amount.actual_instance == 30, again
    much = charging.Debit(unit="cent", amount=charging.PositiveAmount("5000"))
    told = refused(402, "CREDIT_LIMIT_REACHED", debits.debit, account, "d-2", much)
    assert told["cause"] == "balance", told

    key, least = charging.ItemKey(1), charging.NonNegativeAmount
    item = charging.ItemRequest(key=key, unit="cent", requested=charging.PositiveAmount(100))
    opened = sessions.create_session(account, "s", charging.SessionOpening(request=0, items=[item]))
    assert opened.items[0].granted.actual_instance == 100, opened
    use = charging.UpdatedItem(key=key, unit="cent", used=least(60), requested=least(50))
    sessions.update_session(account, "s", charging.SessionUpdate(request=1, items=[use]))
    end = charging.EndedItem(key=key, unit="cent", used=least(10))
    sessions.terminate_session(account, "s", charging.SessionEnd(request=2, items=[end]))

    reserve = charging.ChainedReserve(operation="reserve", account=account, session="t", request=0, items=[item])
    answer = chains.chain(charging.Chain(commands=[charging.ChainedCommand(reserve)]))
    assert answer.answers[0].actual_instance.code == "OK", answer

    bucket = accounts.get_account(account).buckets[0]
    assert (bucket.available.actual_instance, bucket.held.actual_instance) == (800, 100), bucket
    assert accounts.get_statement(account).entries


def keep(url):
    client = entities.EntitiesApi(entities.ApiClient(entities.Configuration(host=url)))
    client.put_entity("python", b"blue")
    assert client.get_entity("python") == b"blue"
    client.delete_entity("python")
    assert client.get_entity_status().ready


charge(sys.argv[1])
keep(sys.argv[2])
print("all right")
