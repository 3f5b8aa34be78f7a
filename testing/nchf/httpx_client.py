"""Charges sessions over Nchf by HTTP/2 with prior knowledge, and prints what it gets.

usage: httpx_client.py URL

httpx runs a session, and then many on one connection at the same time. The library h2 below it sends a PING in the middle of
a request, which httpx has no call for.
"""

import asyncio
import json
import socket
import sys

import h2.config
import h2.connection
import h2.events
import httpx

RESOURCES = "/nchf-convergedcharging/v3/chargingdata"
SUPI = "imsi-001010000000001"
SESSIONS = 40


def body(charging_id, number, used=None, requested=1000):
    """Returns a ChargingDataRequest of a session."""
    usage = {"ratingGroup": 10}
    if requested is not None:
        usage["requestedUnit"] = {"totalVolume": requested}
    if used is not None:
        usage["usedUnitContainer"] = [{"localSequenceNumber": number, "totalVolume": used}]
    return {
        "subscriberIdentifier": SUPI,
        "nfConsumerIdentification": {"nodeFunctionality": "SMF", "nFName": "smf-httpx"},
        "invocationTimeStamp": f"2026-01-01T12:00:{number:02}Z",
        "invocationSequenceNumber": number,
        "chargingId": charging_id,
        "multipleUnitUsage": [usage],
    }


def granted(answer):
    """Returns the units that an answer grants."""
    return answer.json()["multipleUnitInformation"][0]["grantedUnit"]["totalVolume"]


async def session(client, charging_id):
    """Runs a session, and returns the statuses, the grants and the version of HTTP."""
    create = await client.post(RESOURCES, json=body(charging_id, 0))
    path = create.headers["location"]
    update = await client.post(f"{path}/update", json=body(charging_id, 1, used=700))
    again = await client.post(f"{path}/update", json=body(charging_id, 1, used=700))
    release = await client.post(
        f"{path}/release", json=body(charging_id, 2, used=50, requested=None)
    )
    answers = [create, update, again, release]
    replayed = again.headers.get("idempotency-replayed")
    version = {answer.http_version for answer in answers}
    return [answer.status_code for answer in answers], granted(create), granted(update), replayed, version


async def by_httpx(url):
    """Charges by httpx: one session, then many at the same time."""
    limits = httpx.Limits(max_connections=1)
    async with httpx.AsyncClient(
        http1=False, http2=True, base_url=url, limits=limits, timeout=120
    ) as client:
        print("session:", *await session(client, 1))
        many = await asyncio.gather(*(session(client, 2 + number) for number in range(SESSIONS)))
        print("sessions at the same time:", len(many), *{str(one) for one in many})
        problem = await client.post(RESOURCES, content=b"[]")
        print("wrong:", problem.status_code, problem.headers["content-type"])


def by_h2(url):
    """Sends a PING between the head and the body of a Create, by the library h2."""
    address = httpx.URL(url)
    config = h2.config.H2Configuration(client_side=True, header_encoding="utf-8")
    connection = h2.connection.H2Connection(config)
    with socket.create_connection((address.host, address.port), timeout=120) as sock:
        connection.initiate_connection()
        text = json.dumps(body(1000, 0)).encode()
        stream = connection.get_next_available_stream_id()
        head = [
            (":method", "POST"),
            (":scheme", "http"),
            (":authority", f"{address.host}:{address.port}"),
            (":path", RESOURCES),
            ("content-type", "application/json"),
        ]
        connection.send_headers(stream, head)
        connection.ping(b"nchfping")
        sock.sendall(connection.data_to_send())
        status, answer, pinged, ended = None, b"", False, False
        while not ended:
            for event in connection.receive_data(sock.recv(65536)):
                if isinstance(event, h2.events.PingAckReceived) and not pinged:
                    pinged = event.ping_data == b"nchfping" and status is None
                    connection.send_data(stream, text, end_stream=True)
                elif isinstance(event, h2.events.ResponseReceived):
                    status = dict(event.headers)[":status"]
                elif isinstance(event, h2.events.DataReceived):
                    answer += event.data
                elif isinstance(event, h2.events.StreamEnded):
                    ended = True
            sock.sendall(connection.data_to_send())
        connection.close_connection()
        sock.sendall(connection.data_to_send())
    unit = json.loads(answer)["multipleUnitInformation"][0]["grantedUnit"]
    print("PING answered before the request ends:", pinged, status, unit)


asyncio.run(by_httpx(sys.argv[1]))
by_h2(sys.argv[1])
