"""Validates requests and answers of Nchf against the official OpenAPI documents of 3GPP.

usage: validate.py RECORDS DIRECTORY...

RECORDS is what the tests have written: run them with SCURRY_NCHF_RECORDS=FILE. It has one JSON object a line, with
"schema" (ChargingDataRequest, ChargingDataResponse, ProblemDetails or ChargingNotifyRequest), "version" (v2, v3) and
"body"; requests that are wrong on purpose are left out. Each DIRECTORY has the YAML of one release,
TS32291_Nchf_ConvergedCharging.yaml and those that it refers to: they are 3GPP's, and not in this repository.

Needs PyYAML and jsonschema. Exits with 1 if a body is not valid.
"""

import functools
import json
import pathlib
import sys
from collections import Counter

import jsonschema
import referencing
import yaml

MAIN = "TS32291_Nchf_ConvergedCharging.yaml"
PROBLEMS = "TS29571_CommonData.yaml"


class Loader(yaml.SafeLoader):
    """Reads dates and `=` as text, as OpenAPI means them."""


Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in rules if not tag.endswith((":timestamp", ":value"))]
    for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def plain(schema):
    """Returns a schema of OpenAPI 3.0 as one of JSON Schema: null is a type there."""
    if isinstance(schema, list):
        return [plain(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    changed = {name: plain(value) for name, value in schema.items() if name != "nullable"}
    if schema.get("nullable") is True:
        return {"anyOf": [changed, {"type": "null"}]}
    return changed


def registry(directory):
    @functools.cache
    def retrieve(uri):
        # A document of Release 16 has tabs before a comment.
        text = (directory / uri).read_text(encoding="utf-8").expandtabs()
        contents = plain(yaml.load(text, Loader))
        return referencing.Resource(contents, referencing.jsonschema.DRAFT4)

    return referencing.Registry(retrieve=retrieve)


def main():
    records_path, *directories = sys.argv[1:]
    lines = pathlib.Path(records_path).read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    failed = False
    for directory in map(pathlib.Path, directories):
        resources = registry(directory)
        # Release 15 is v2 of the service, later ones are v3.
        version = "v2" if "/v2" in (directory / MAIN).read_text(encoding="utf-8") else "v3"
        validators, counts, faults = {}, Counter(), Counter()
        for record in records:
            schema = record["schema"]
            if schema != "ProblemDetails" and record["version"] != version:
                continue
            file = PROBLEMS if schema == "ProblemDetails" else MAIN
            if schema not in validators:
                reference = {"$ref": f"{file}#/components/schemas/{schema}"}
                validators[schema] = jsonschema.Draft4Validator(reference, registry=resources)
            counts[schema] += 1
            for error in validators[schema].iter_errors(record["body"]):
                place = "/".join(map(str, error.absolute_path))
                faults[f"{schema}: /{place}: {error.message[:200]}"] += 1
        print(f"{directory.name} ({version}):", dict(counts), f"{sum(faults.values())} faults")
        for fault, count in faults.most_common(20):
            print(f"  {count} x {fault}")
        failed |= bool(faults)
    sys.exit(failed)


if __name__ == "__main__":
    main()
