#!/usr/bin/python3
"""Writes a pcap file again in the other byte order: big_endian.py IN.pcap OUT.pcap"""

import sys

from packets import ETHERNET, read, write

write(sys.argv[2], ETHERNET, read(sys.argv[1]), ">")
