#!/usr/bin/python3
"""Converts a pcap file to big-endian byte order: big_endian.py IN.pcap OUT.pcap"""

import sys

from packets import ETHERNET, read, write

write(sys.argv[2], ETHERNET, read(sys.argv[1]), ">")
