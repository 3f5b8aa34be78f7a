"""A client of the package python-diameter. It charges a session and events, and prints one line per answer: the name of
the request, Result-Code, and what each service got. The package reads every answer by its own dictionary.

usage: python python_client.py PORT
"""

import logging
import sys
import threading

from diameter.message import constants
from diameter.message.avp.grouped import (
    MultipleServicesCreditControl,
    RequestedServiceUnit,
    UsedServiceUnit,
)
from diameter.message.commands import CreditControlAnswer, CreditControlRequest
from diameter.node import Node, validate_message_avps
from diameter.node.application import ThreadingApplication

REALM = "localdomain"
PATIENCE_S = 120
"""How long an answer may take: longer than any pause of the machine."""


class WatchedNode(Node):
    """A node that tells when Device-Watchdog-Answer and Disconnect-Peer-Answer have come."""

    watched = threading.Event()
    released = threading.Event()

    def receive_dwa(self, conn, message) -> None:
        super().receive_dwa(conn, message)
        self.watched.set()

    def receive_dpa(self, conn, message) -> None:
        super().receive_dpa(conn, message)
        self.released.set()


class Client(ThreadingApplication):
    """Sends requests to the one peer."""

    def __init__(self) -> None:
        super().__init__(
            constants.APP_DIAMETER_CREDIT_CONTROL_APPLICATION, is_auth_application=True
        )

    def session(self) -> str:
        return self.node.session_generator.next_id()

    def ask(self, name: str, request: CreditControlRequest) -> CreditControlAnswer:
        """Sends a request, prints its answer and returns it."""
        answer = self.send_request(request, PATIENCE_S)
        missing = validate_message_avps(answer)
        assert not missing, missing
        told = "".join(map(shown, answer.multiple_services_credit_control))
        check = answer.check_balance_result
        print(f"{name}: {answer.result_code}{told}{'' if check is None else f' check {check}'}")
        return answer


def shown(service: MultipleServicesCreditControl) -> str:
    parts = [service.rating_group, service.result_code]
    if service.granted_service_unit is not None:
        parts += [service.granted_service_unit.cc_total_octets, "octets"]
    if service.volume_quota_threshold is not None:
        parts += ["threshold", service.volume_quota_threshold]
    if service.final_unit_indication is not None:
        parts += ["final", service.final_unit_indication.final_unit_action]
    return f" [{' '.join(map(str, parts))}]"


def request(session: str, kind: int, number: int) -> CreditControlRequest:
    message = CreditControlRequest()
    message.session_id = session
    message.origin_host = b"python.example"
    message.origin_realm = b"example"
    message.destination_realm = REALM.encode()
    message.auth_application_id = constants.APP_DIAMETER_CREDIT_CONTROL_APPLICATION
    message.service_context_id = "32251@3gpp.org"
    message.cc_request_type = kind
    message.cc_request_number = number
    message.add_subscription_id(
        constants.E_SUBSCRIPTION_ID_TYPE_END_USER_IMSI, "001010000000001"
    )
    return message


def service(rating_group: int, wanted: int | None = None, used: int | None = None):
    out = MultipleServicesCreditControl(rating_group=rating_group)
    if wanted is not None:
        out.requested_service_unit = RequestedServiceUnit(cc_total_octets=wanted)
    if used is not None:
        out.used_service_unit = [UsedServiceUnit(cc_total_octets=used)]
    return out


def session_request(session: str, kind: int, number: int, *services) -> CreditControlRequest:
    message = request(session, kind, number)
    message.multiple_services_credit_control = list(services)
    return message


def event(session: str, number: int, action: int, *services) -> CreditControlRequest:
    message = session_request(session, constants.E_CC_REQUEST_TYPE_EVENT_REQUEST, number, *services)
    message.requested_action = action
    return message


def charge_session(client: Client) -> None:
    initial = constants.E_CC_REQUEST_TYPE_INITIAL_REQUEST
    update = constants.E_CC_REQUEST_TYPE_UPDATE_REQUEST
    termination = constants.E_CC_REQUEST_TYPE_TERMINATION_REQUEST
    session = client.session()
    client.ask("CCR-I", session_request(session, initial, 0, service(100, 400), service(200, 100)))

    def second() -> CreditControlRequest:
        return session_request(session, update, 1, service(100, 500, 300))

    first = second()
    client.ask("CCR-U", first)
    # A copy: the same End-to-End identifier, another Hop-by-Hop identifier, and the T flag.
    copy = second()
    copy.header.end_to_end_identifier = first.header.end_to_end_identifier
    copy.header.is_retransmit = True
    client.ask("CCR-U again", copy)
    client.ask("CCR-U all", session_request(session, update, 2, service(100, 5000, 500)))
    client.ask("CCR-U none", session_request(session, update, 3, service(100, 1, 100)))
    client.ask("CCR-T", session_request(session, termination, 4, service(200, None, 60)))


def charge_events(client: Client) -> None:
    debiting = constants.E_REQUESTED_ACTION_DIRECT_DEBITING
    refunding = constants.E_REQUESTED_ACTION_REFUND_ACCOUNT
    checking = constants.E_REQUESTED_ACTION_CHECK_BALANCE
    session = client.session()
    answer = client.ask("debit", event(session, 0, debiting, service(1, 30)))
    client.ask("debit again", event(session, 0, debiting, service(1, 30)))
    reference = answer.multiple_services_credit_control[0].refund_information
    part = service(1, 10)
    part.refund_information = reference
    client.ask("refund", event(session, 1, refunding, part))
    client.ask("refund again", event(session, 1, refunding, part))
    client.ask("check 20", event(session, 2, checking, service(1, 20)))
    client.ask("check 21", event(session, 3, checking, service(1, 21)))
    price = constants.E_REQUESTED_ACTION_PRICE_ENQUIRY
    client.ask("price", event(session, 4, price))


def main() -> None:
    logging.basicConfig(level=logging.WARNING)
    node = WatchedNode("python.example", "example")
    node.wakeup_interval = 1
    node.vendor_id = constants.VENDOR_TGPP
    uri = f"aaa://scurry.{REALM}:{sys.argv[1]};transport=tcp"
    peer = node.add_peer(uri, REALM, ip_addresses=["127.0.0.1"], is_persistent=True)
    peer.cea_timeout = peer.dwa_timeout = PATIENCE_S
    # After so many seconds without a message it sends Device-Watchdog-Request.
    peer.idle_timeout = 1
    client = Client()
    node.add_application(client, [peer], [REALM])
    node.start()
    client.wait_for_ready(PATIENCE_S)
    print("up")
    charge_session(client)
    charge_events(client)
    if not node.watched.wait(PATIENCE_S):
        raise TimeoutError("no Device-Watchdog-Answer")
    print("watchdog")
    # It sends Disconnect-Peer-Request, and waits for the answer.
    node.stop(PATIENCE_S)
    print("down" if node.released.is_set() else "no Disconnect-Peer-Answer")


main()
