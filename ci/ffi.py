"""Prints what the nginx module should say of the connections of a recording: ffi.py EVENTS."""

import json
import sys

syns = {}
for line in open(sys.argv[1]):
    event = json.loads(line)
    if event["event"] == "tcp_syn":
        syns[event["client"]["port"]] = event["sig"]
    if event["event"] == "tls_client":
        shares = zip(event["key_share_groups"] or [], event["key_share_lengths"] or [])
        shares = ",".join(f"{group}:{length}" for group, length in shares)
        ech = (event["ech"] or {}).get("type", "")
        print(event["ja4"], event["ja3_hash"], f"[{shares}] [{ech}]", syns[event["client"]["port"]])
