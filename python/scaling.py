#!/usr/bin/env python3
"""Measures the tables of docs/scaling.md on this machine: scaling.py PROGRAM CAPTURE

CAPTURE is an uncompressed capture, of a gigabyte or so; PROGRAM is huginn-net. Needs the package with
pyarrow, s3fs and moto[server], and the program zstd. Each row is one process, or for shards several one after the other: its
processor time with what Python imports, the median of three runs. The object store is a server on this machine that answers every
tenth request, and in a second run every third, with 503 Slow Down.
"""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

RUNS = 3
SHARDS = (2, 4, 8)
BUCKET = "s3://captures/capture.pcap"
COLUMNS = 'columns=["ts", "event", "ja4"]'
# Rows of the capture, and of its first shard, with these options.
ARROW = "import huginn_net as hn, sys; print(hn.read_pcap(sys.argv[1]{options}).to_arrow().num_rows)"
SERVER = """
import itertools, sys
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server
moto, numbers, every = DomainDispatcherApplication(create_backend_app), itertools.count(1), int(sys.argv[1])
refused = 0
def app(environ, start):
    global refused
    if environ["PATH_INFO"] == "/refused":
        start("200 OK", [])
        return [str(refused).encode()]
    if environ["REQUEST_METHOD"] == "GET" and every and next(numbers) % every == 0:
        refused += 1
        start("503 Slow Down", [("Content-Type", "application/xml")])
        return [b"<Error><Code>SlowDown</Code><Message>Reduce your request rate</Message></Error>"]
    return moto(environ, start)
server = make_server("127.0.0.1", 0, app, threaded=True)
print(server.port, flush=True)
server.serve_forever()
"""


class Cost(NamedTuple):
    processor: float
    wall: float
    megabytes: float


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit(f"usage: {sys.argv[0]} PROGRAM CAPTURE")
    program, capture = (os.path.abspath(name) for name in sys.argv[1:])
    size = os.path.getsize(capture) / 1e6
    revision = output(["git", "-C", os.path.dirname(os.path.abspath(__file__)), "rev-parse", "--short", "HEAD"])
    print(f"{processor_name()}, {os.cpu_count()} cores; revision {revision}; capture of {size:.0f} MB\n")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        link = folder / "capture.pcap"
        link.symlink_to(capture)
        inputs(program, str(link), size)
        outputs(program, str(link), folder, size)
        shards(str(link), size)
        store(str(link), size)


def inputs(program: str, capture: str, size: float) -> None:
    """Prints what plain and compressed captures cost."""
    subprocess.run(["gzip", "-kf", "--stdout", capture], check=True, stdout=open(f"{capture}.gz", "wb"))
    subprocess.run(["zstd", "-q", "-f", capture, "-o", f"{capture}.zst"], check=True)
    print("| input | size | JSON by the program | MB/s | Arrow in Python | MB/s | peak memory |\n|---|---|---|---|---|---|---|")
    for suffix in ("", ".gz", ".zst"):
        path = capture + suffix
        text = measure([program, "pcap", "-w", "1", "--format", "json", path])
        table = measure(python(path))
        megabytes = os.path.getsize(path) / 1e6
        print(
            f"| {suffix or 'plain'} | {megabytes:.0f} MB | {text.processor:.2f} s | {size / text.processor:.0f} "
            f"| {table.processor:.2f} s | {size / table.processor:.0f} | {table.megabytes:.0f} MB |"
        )
    few = measure(python(capture, f", {COLUMNS}"))
    print(f"| plain, three columns | | | | {few.processor:.2f} s | {size / few.processor:.0f} | {few.megabytes:.0f} MB |\n")
    for suffix in (".gz", ".zst"):
        os.remove(capture + suffix)


def outputs(program: str, capture: str, folder: Path, size: float) -> None:
    """Prints how long outputs are."""
    text = folder / "events.json"
    with text.open("wb") as file:
        subprocess.run([program, "pcap", "--format", "json", capture], check=True, stdout=file)
    lengths = {"JSON Lines": text.stat().st_size}
    subprocess.run(["zstd", "-q", "--rm", text], check=True)
    lengths["JSON Lines, zstd"] = Path(f"{text}.zst").stat().st_size
    for compression in ("snappy", "zstd"):
        path = folder / "package.parquet"
        code = f"import huginn_net as hn, sys; hn.read_pcap(sys.argv[1]).write_parquet(sys.argv[2], compression={compression!r})"
        subprocess.run([sys.executable, "-c", code, capture, path], check=True)
        lengths[f"`write_parquet`, {compression}"] = path.stat().st_size
    print("| output | size | of the capture |\n|---|---|---|")
    for name, length in lengths.items():
        print(f"| {name} | {length / 1e6:.1f} MB | {length / size / 1e4:.2f} % |")
    print()


def shards(capture: str, size: float) -> None:
    """Prints what all shards of a capture cost together, beside one run."""
    whole = measure(python(capture))
    print("| shards | processor time of all | of one | times one run |\n|---|---|---|---|")
    print(f"| 1 | {whole.processor:.2f} s | {whole.processor:.2f} s | 1.0 |")
    for number in SHARDS:
        costs = [measure(python(capture, f", shard=({index}, {number})"), runs=1).processor for index in range(number)]
        total = sum(costs)
        print(f"| {number} | {total:.2f} s | {max(costs):.2f} s | {total / whole.processor:.1f} |")
    print()


def store(capture: str, size: float) -> None:
    """Prints what a capture in an object store costs, also of one that refuses requests."""
    rows = output(python(capture))
    print("| object storage | wall time | MB/s | processor time | refused requests |\n|---|---|---|---|---|")
    for every in (0, 10, 3):
        server = subprocess.Popen([sys.executable, "-c", SERVER, str(every)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            assert server.stdout
            url = f"http://127.0.0.1:{server.stdout.readline().strip()}"
            os.environ.update(
                AWS_ENDPOINT_URL=url, AWS_ACCESS_KEY_ID="key", AWS_SECRET_ACCESS_KEY="secret", AWS_DEFAULT_REGION="us-east-1"
            )
            put = "import s3fs, sys; s3 = s3fs.S3FileSystem(); s3.mkdir('captures'); s3.put(sys.argv[1], sys.argv[2])"
            subprocess.run([sys.executable, "-c", put, capture, BUCKET], check=True)
            assert output(python(BUCKET)) == rows, "other rows than from the file"
            cost = measure(python(BUCKET), runs=1)
            refused = output([sys.executable, "-c", f"import urllib.request; print(urllib.request.urlopen('{url}/refused').read().decode())"])
        finally:
            server.kill()
            server.wait()
        what = f"every {every}th GET refused" if every > 3 else "every 3rd GET refused" if every else "S3 API on this machine"
        print(f"| {what} | {cost.wall:.2f} s | {size / cost.wall:.0f} | {cost.processor:.2f} s | {refused} in two runs |")


def python(path: str, options: str = "") -> list[str]:
    return [sys.executable, "-c", ARROW.replace("{options}", options), path]


def measure(command: list[str], runs: int = RUNS) -> Cost:
    """The median costs of a command."""
    costs = []
    for _ in range(runs):
        start = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit(f"{command} failed")
        costs.append(Cost(usage.ru_utime + usage.ru_stime, time.monotonic() - start, usage.ru_maxrss / 1e3))
    return Cost(*(statistics.median(values) for values in zip(*costs)))


def output(command: list[str]) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def processor_name() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


if __name__ == "__main__":
    main()
