"""What no JSON Schema can say of the interface, for the test of the OpenAPI document: which of the requests
that follow the schema are refused all the same. Whatever else is refused is a fault of the schema."""

import re
from urllib.parse import unquote

import schemathesis
from schemathesis import GenerationMode

# Between members of one body, between the body and what is kept, and with the time. The descriptions of
# the members say each of them.
BEYOND_A_SCHEMA = [
    r"/valid_to_ms: must be after valid_from_ms$",
    r"^to_ms: must be after from_ms$",
    r"^cursor \S+ is none of the account's log",
    r"/(valid_to_ms|buckets): valid_to_ms must be in the future$",
    r"^/valid_(from|to)_ms: valid_from_ms must be before valid_to_ms$",
    r"/min: must be at most requested, which must be there$",
    r"/(key|bucket): stands twice$",
    r"an item is listed twice$",
    r"^(/force=true: )?if_transaction goes with force=true",
    r"^/keep_(open|hold): does not go with close_on_denial$",
    r"^/overrun: goes with late_use here",
    r"another unit",
    r"the bucket has no allowance yet: ",
    r"/(item|period|offset_minutes|zone|begin|rolling_ms|rate_ms|burst): needs a unit$",
    r"/(rolling_ms|rate_ms): excludes (periods|rate_ms)$",
    r"/burst: needs rate_ms$",
    r"begin first-use takes no offset_minutes and no zone",
    r"are for a period$",
    r"/zone: is no time zone of the IANA database",
    r"zone and offset_minutes both say the time zone",
    r"begin is an hour 0 to 23 of a day",
    r"the limit counts something else",
    r"^payee must be another account",
    r"^transfer id and account id are too long together",
    r"the accounts of a chain must (differ|be of one hash slot)",
    r"^/(unit|priority|valid_from_ms|floor|mark): the bucket exists: change ",
]


@schemathesis.hook
def map_body(context, body):
    """1.0 is an integer to JSON Schema, and none to a door that counts money."""
    return whole(body)


def whole(value):
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [whole(one) for one in value]
    if isinstance(value, dict):
        return {name: whole(one) for name, one in value.items()}
    return value


@schemathesis.check
def what_follows_the_schema_is_refused_for_what_no_schema_says(ctx, response, case):
    is_positive = case.meta is not None and case.meta.generation.mode == GenerationMode.POSITIVE
    if not is_positive or response.status_code != 400:
        return
    # A chain carries the parameters of a request before it along, be they wrong.
    parameters = [unquote(str(value)) for value in case.path_parameters.values()]
    if not all(re.fullmatch(r"[!-~]{1,128}", value) for value in parameters):
        return
    # Of a command of a chain what is said of it alone.
    detail = re.sub(r"^/commands/\d+|command \d+, account \S+: ", "", response.json()["detail"])
    assert any(re.search(known, detail) for known in BEYOND_A_SCHEMA), detail
