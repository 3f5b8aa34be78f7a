"""Fires ammunition at an HTTP door as yandex-tank's own readers understand it.

usage: tank.py FORMAT FILE HOST PORT COUNT, with FORMAT raw or uri
One line per request: marker and status, with a tab between.
"""

import http.client
import itertools
import socket
import sys

# The tank shows its progress on stdout.
results, sys.stdout = sys.stdout, sys.stderr
from yandextank.stepper import missile  # noqa: E402

form, path, host, port, count = sys.argv[1:]
reader = {"raw": missile.AmmoFileReader, "uri": missile.UriReader}[form]
text = {"encoding": "utf-8"}
with socket.create_connection((host, int(port)), timeout=20) as door:
    for request, marker in itertools.islice(reader(path), int(count)):
        door.sendall(request if isinstance(request, bytes) else request.encode(**text))
        answer = http.client.HTTPResponse(door)
        answer.begin()
        answer.read()
        marker = marker.decode(**text) if isinstance(marker, bytes) else marker
        print(marker, answer.status, sep="\t", file=results)
