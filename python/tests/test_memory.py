"""The memory of tables, in processes of their own."""

import struct
import subprocess
import sys

import pytest

#: Bytes beside the table: the analysis, and batches that are being converted.
BESIDE = 100 << 20

SCRIPT = """
import resource, sys
import huginn_net as hn, polars, pyarrow

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10

path, method, dictionaries = sys.argv[1:]
before = peak()
table = getattr(hn.read_pcap(path, dictionaries=dictionaries == "True"), method)()
print(peak() - before, (table.to_arrow() if method == "to_polars" else table).nbytes, len(table))
"""


@pytest.fixture(scope="module")
def capture(tmp_path_factory):
    """60,000 SYNs, of different hosts."""
    path = tmp_path_factory.mktemp("memory") / "syns.pcap"
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 101))
        for number in range(60_000):
            address = bytes([10, *number.to_bytes(3, "big")])
            ip = struct.pack(">BBHHHBBH", 0x45, 0, 44, number & 0xFFFF, 0x4000, 64, 6, 0) + address + bytes([192, 0, 2, 1])
            tcp = struct.pack(">HHIIBBHHH", 40000, 443, number, 0, 0x60, 2, 64240, 0, 0) + bytes([2, 4, 5, 180])
            file.write(struct.pack("<IIII", 1_700_000_000 + number // 1000, number % 1000 * 1000, len(ip + tcp), len(ip + tcp)) + ip + tcp)
    return path


@pytest.mark.parametrize(("method", "dictionaries", "factor"), [("to_arrow", False, 1.15), ("to_polars", True, 1.3), ("to_polars", False, 4)])
def test_peak_is_little_more_than_the_table(capture, method, dictionaries, factor):
    """Polars has 16 bytes for each text, also where it is null: without dictionaries its table is that much larger than Arrow's."""
    command = [sys.executable, "-c", SCRIPT, str(capture), method, str(dictionaries)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    peak, table, rows = map(int, run.stdout.split())
    assert rows == 60_000 and table > 20 << 20
    assert peak < factor * table + BESIDE, (peak >> 20, table >> 20)
