#!/usr/bin/env python3
"""Measures the tables of docs/scaling.md on this machine: scaling.py [--write] PROGRAM CAPTURE

CAPTURE is an uncompressed capture, of a gigabyte or so; PROGRAM is huginn-net. Needs the package with
pyarrow, obstore and moto[server,s3], and the programs git, gzip and zstd. Each row is one process, or for shards several one after the other: its
processor time with what Python imports, the median of three runs. The object store is a server on this machine that answers every
tenth request, and in a second run every third, with 503 Slow Down. It takes about four minutes of
processor time for 762 MB.

--write puts the tables, and what was measured, into docs/scaling.md.
"""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).resolve().parents[1] / "docs/scaling.md"
RUNS = 3
SHARES = (2, 4, 8)
BUCKET = "s3://captures/capture.pcap"
COLUMNS = 'columns=["ts", "event", "ja4"]'
# Rows of the capture, or of a shard, with these options.
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
    text: str


def main() -> None:
    names = [name for name in sys.argv[1:] if name != "--write"]
    if len(names) != 2:
        sys.exit(f"usage: {sys.argv[0]} [--write] PROGRAM CAPTURE")
    program, capture = map(os.path.abspath, names)
    size = os.path.getsize(capture) / 1e6
    measured = [description(program, size)]
    print(measured[0], flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        link = folder / "capture.pcap"
        link.symlink_to(capture)
        for table in (inputs(program, str(link), size), outputs(program, str(link), folder, size), shares(str(link)), store(str(link), size)):
            measured.append("\n".join(table))
            print(f"\n{measured[-1]}", flush=True)
    if "--write" in sys.argv:
        PAGE.write_text(page_with(PAGE.read_text(), measured))


def description(program: str, size: float) -> str:
    """What is measured, and on which machine."""
    git = ["git", "-C", os.path.dirname(os.path.abspath(__file__))]
    revision = output([*git, "describe", "--always", "--exclude=*", "--dirty=, changed"])
    committed = int(output([*git, "log", "-1", "--format=%ct"]))
    native = output([sys.executable, "-c", "import huginn_net._native as native; print(native.__file__)"])
    older = [what for what, path in (("program", program), ("package", native)) if os.path.getmtime(path) < committed]
    older_text = f", but an older {' and '.join(older)}" if older else ""
    load, cores = os.getloadavg()[0], os.cpu_count()
    return f"Measured: revision {revision}{older_text}; {processor_name()}, {cores} cores, load {load:.1f} at the start; capture of {size:.0f} MB."


def page_with(page: str, measured: list[str]) -> str:
    """The page with the tables of the same header, and the line that says what was measured."""
    for text in measured:
        header = text.split("\n", 1)[0]
        start = "Measured:" if header.startswith("Measured:") else header
        before, found, after = page.partition(f"\n{start}")
        if not found:
            sys.exit(f"the page has no {start}")
        page = f"{before}\n{text}\n\n{after.partition(chr(10) * 2)[2]}"
    return page


def inputs(program: str, capture: str, size: float) -> Iterator[str]:
    """What plain and compressed captures cost."""
    yield "| input | size | JSON by the program | MB/s | Arrow in Python | MB/s | peak memory |\n|---|---|---|---|---|---|---|"
    with open(f"{capture}.gz", "wb") as file:
        subprocess.run(["gzip", "--stdout", capture], check=True, stdout=file)
    subprocess.run(["zstd", "-q", "-f", capture, "-o", f"{capture}.zst"], check=True)
    for suffix in ("", ".gz", ".zst"):
        path = capture + suffix
        text = measure([program, "pcap", "-w", "1", "--format", "json", path])
        table = measure(python(path))
        megabytes = os.path.getsize(path) / 1e6
        yield (
            f"| {suffix or 'plain'} | {megabytes:.0f} MB | {text.processor:.2f} s | {size / text.processor:.0f} "
            f"| {table.processor:.2f} s | {size / table.processor:.0f} | {table.megabytes:.0f} MB |"
        )
    few = measure(python(capture, f", {COLUMNS}"))
    yield f"| plain, three columns | | | | {few.processor:.2f} s | {size / few.processor:.0f} | {few.megabytes:.0f} MB |"
    for suffix in (".gz", ".zst"):
        os.remove(capture + suffix)


def outputs(program: str, capture: str, folder: Path, size: float) -> Iterator[str]:
    """How long outputs are."""
    yield "| output | size | of the capture |\n|---|---|---|"
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
    for name, length in lengths.items():
        yield f"| {name} | {length / 1e6:.1f} MB | {length / size / 1e4:.2f} % |"


def shares(capture: str) -> Iterator[str]:
    """What several workers or shards cost together, beside one run, without the start of Python."""
    yield "| one capture | reads | processor time | times one run | of the busiest shard |\n|---|---|---|---|---|"
    start = measure([sys.executable, "-c", "import huginn_net, pyarrow"]).processor
    whole = measure(python(capture)).processor - start
    yield f"| one worker | 1 | {whole:.2f} s | 1.0 | |"
    for number in SHARES:
        cost = measure(python(capture, f", workers={number}")).processor - start
        yield f"| {number} workers | 1 | {cost:.2f} s | {cost / whole:.1f} | |"
    for number in SHARES:
        costs = [measure(python(capture, f", shard=({index}, {number})"), runs=1).processor - start for index in range(number)]
        total = sum(costs)
        yield f"| {number} shards | {number} | {total:.2f} s | {total / whole:.1f} | {max(costs):.2f} s |"


def store(capture: str, size: float) -> Iterator[str]:
    """What a capture in an object store costs, also of one that refuses requests."""
    yield "| object storage | wall time | MB/s | processor time | refused requests |\n|---|---|---|---|---|"
    rows = output(python(capture))
    for every in (0, 10, 3):
        server = subprocess.Popen([sys.executable, "-c", SERVER, str(every)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            assert server.stdout
            url = f"http://127.0.0.1:{server.stdout.readline().strip()}"
            os.environ.update(
                AWS_ENDPOINT_URL=url, AWS_ACCESS_KEY_ID="key", AWS_SECRET_ACCESS_KEY="secret", AWS_DEFAULT_REGION="us-east-1"
            )
            put = "import boto3, sys; s3 = boto3.client('s3'); s3.create_bucket(Bucket='captures'); s3.upload_file(sys.argv[1], 'captures', 'capture.pcap')"
            subprocess.run([sys.executable, "-c", put, capture], check=True)
            cost = measure(python(BUCKET), runs=1)
            assert cost.text == rows, "other rows than from the file"
            refused = output([sys.executable, "-c", f"import urllib.request; print(urllib.request.urlopen('{url}/refused').read().decode())"])
        finally:
            server.kill()
            server.wait()
        what = f"every {every}th GET refused" if every > 3 else "every 3rd GET refused" if every else "S3 API on this machine"
        yield f"| {what} | {cost.wall:.2f} s | {size / cost.wall:.0f} | {cost.processor:.2f} s | {refused} |"


def python(path: str, options: str = "") -> list[str]:
    return [sys.executable, "-c", ARROW.replace("{options}", options), path]


def measure(command: list[str], runs: int = RUNS) -> Cost:
    """The median costs of a command, and what it printed if it is Python."""
    costs = []
    with tempfile.TemporaryFile() as printed:
        for _ in range(runs):
            start = time.monotonic()
            process = subprocess.Popen(command, stdout=printed if command[0] == sys.executable else subprocess.DEVNULL)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode:
                sys.exit(f"{command} failed")
            costs.append((usage.ru_utime + usage.ru_stime, time.monotonic() - start, usage.ru_maxrss / 1e3))
        printed.seek(0)
        processor, wall, megabytes = (statistics.median(values) for values in zip(*costs))
        return Cost(processor, wall, megabytes, printed.read().decode().strip())


def output(command: list[str]) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def processor_name() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


if __name__ == "__main__":
    main()
