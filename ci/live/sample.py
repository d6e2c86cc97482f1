#!/usr/bin/env python3
"""Prints the memory, open files, threads and processor time of a program every three seconds until it ends, for flat.py: sample.py PID"""

import os
import re
import sys
import time

pid = sys.argv[1]
begin = time.monotonic()
print("seconds,own_kib,mapped_kib,files,threads,cpu_cs", flush=True)
while True:
    try:
        with open(f"/proc/{pid}/status") as file:
            status = file.read()
        with open(f"/proc/{pid}/stat") as file:
            cpu = sum(map(int, file.read().rpartition(") ")[2].split()[11:13]))
        fields = [re.search(rf"^{name}:\s*(\d+)", status, re.M)[1] for name in ("RssAnon", "RssFile", "Threads")]
        files = len(os.listdir(f"/proc/{pid}/fd"))
    except (OSError, TypeError):
        break
    print(int(time.monotonic() - begin), fields[0], fields[1], files, fields[2], cpu, sep=",", flush=True)
    time.sleep(3)
