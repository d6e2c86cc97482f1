"""Prints what the nginx module should say of the connections of a recording: ffi.py EVENTS."""

import json
import sys

syns = {}
for line in open(sys.argv[1]):
    event = json.loads(line)
    if event["event"] == "tcp_syn":
        syns[event["client"]["port"]] = event["sig"]
    if event["event"] == "tls_client":
        print(event["ja4"], event["ja3_hash"], syns[event["client"]["port"]])
