#!/usr/bin/env python3
"""Copies selected rows of benches/results into the tables at the top of benches/README.md."""
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
# Frames of 1,518 bytes on a full link.
PACKETS_AT_1_GBPS = 81_274

# (name in the table, page, operation, by)
SEQUENTIAL = [
    ("TCP, pages", "tcp", "pages, new flows: full analysis", "sequential"),
    ("TCP, pages in cache", "tcp", "pages in cache, new flows: full analysis", "sequential"),
    ("TCP, short connections", "tcp", "short connections, new flows: full analysis", "sequential"),
    ("TCP, 1,000,000 live flows", "tcp", "1,000,000 live flows", "sequential"),
    ("HTTP, pages", "http", "pages, new flows: full analysis", "sequential"),
    ("HTTP, many heads", "http", "many heads, new flows: full analysis", "sequential"),
    ("HTTP, kept alive", "http", "kept alive, new flows: full analysis", "sequential"),
    ("TLS, a ClientHello in every packet", "tls", "distinct hellos: full analysis", "sequential"),
    ("TLS, lists never seen before", "tls", "distinct hellos, lists never seen before: full analysis", "sequential"),
    ("TLS, whole handshakes", "tls", "new flows: handshakes, full analysis", "sequential"),
    ("TLS, first packets of QUIC", "tls", "new flows: first flights of QUIC, full analysis", "sequential"),
    ("all protocols, pages", "mixed", "pages, new flows: full analysis", "sequential"),
    ("all protocols, short connections", "mixed", "new flows: full analysis", "sequential"),
]
# Each by one, two, four and eight workers.
PARALLEL = [
    ("TCP, pages", "tcp", "pages, new flows: full analysis, events dropped, start to end"),
    ("TCP, short connections", "tcp", "short connections, new flows: full analysis, events dropped, start to end"),
    ("TCP, short connections, by value", "tcp", "short connections, new flows: full analysis, start to end"),
    ("HTTP, pages", "http", "pages, new flows: full analysis, events dropped, start to end"),
    ("HTTP, many heads", "http", "many heads, new flows: full analysis, events dropped, start to end"),
    ("HTTP, many heads, by value", "http", "many heads, new flows: full analysis, start to end"),
    ("HTTP, kept alive", "http", "kept alive, new flows: full analysis, events dropped, start to end"),
    ("TLS, a ClientHello in every packet", "tls", "distinct hellos: full analysis, start to end"),
    ("TLS, whole handshakes", "tls", "new flows: handshakes, full analysis, start to end"),
    ("all protocols, pages", "mixed", "pages, new flows: full analysis, events dropped, start to end"),
    ("all protocols, short connections", "mixed", "new flows: full analysis, events dropped, start to end"),
    ("all protocols, short connections, by value", "mixed", "new flows: full analysis, start to end"),
    ("all protocols as JSON, pages", "mixed", "pages, new flows: full analysis, as JSON, start to end"),
    ("all protocols as JSON, short connections", "mixed", "new flows: full analysis, as JSON, start to end"),
]
WORKERS = {1: "sequential", 2: "2 workers", 4: "4 workers", 8: "8 workers"}
MATCHING = [
    ("TCP, pages, nothing matched", "tcp", "pages, new flows: analysis, nothing matched", "sequential"),
    ("TCP, pages, operating system matched", "tcp", "pages, new flows: analysis, OS matched", "sequential"),
    ("TCP, pages, link matched", "tcp", "pages, new flows: analysis, link matched", "sequential"),
    ("HTTP, pages, nothing matched", "http", "pages, new flows: analysis, nothing matched", "sequential"),
    ("HTTP, pages, browser matched", "http", "pages, new flows: analysis, browser matched", "sequential"),
    ("HTTP, pages, server matched", "http", "pages, new flows: analysis, server matched", "sequential"),
]


def page(name):
    """The conditions of a page of results, and its rows by operation and executor."""
    with open(os.path.join(HERE, "results", f"{name}.md"), encoding="utf-8") as file:
        text = file.read().split("<!-- figures -->\n", 1)[1].strip()
    rows = {}
    for line in text.split("\n"):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 8:
            rows[cells[0], cells[1]] = cells[2:7]
    return text.split("\n", 1)[0], rows


def cells(pages, name, operation, by):
    """Time and CPU time of a packet, packets a second, and CPU at 1 and 10 Gbps."""
    if (operation, by) not in pages[name][1]:
        raise SystemExit(f"benches/results/{name}.md has no row {operation!r}, {by!r}")
    return pages[name][1][operation, by]


def table(title, pages, wanted):
    head = ["| packets | ns a packet | CPU ns | packets/s | at 1 Gbps | at 10 Gbps |", "|---|--:|--:|--:|--:|--:|"]
    rows = [f"| {label} | " + " | ".join(cells(pages, *row)) + " |" for label, *row in wanted]
    return [f"## {title}", "", *head, *rows, ""]


def parallel_table(pages):
    """Throughput and speedup from the time of a packet, and the CPU use of a full link from the CPU time of all threads."""
    head = "| packets, start to end | workers | packets/s | speedup | CPU ns | CPU at 1 Gbps | CPU at 10 Gbps |"
    rows = []
    for label, *row in PARALLEL:
        one = float(cells(pages, *row, WORKERS[1])[0])
        for workers, by in WORKERS.items():
            nanos, cpu, rate, *_ = cells(pages, *row, by)
            speedup = f"{one / float(nanos):.2f}"
            shares = [f"{float(cpu) * PACKETS_AT_1_GBPS * gbps / 1e7:.1f} %" for gbps in (1, 10)]
            rows.append(f"| {label} | {workers} | {rate} | {speedup} | {cpu} | " + " | ".join(shares) + " |")
    return ["## Parallel", "", head, "|---|--:|--:|--:|--:|--:|--:|", *rows, ""]


def published_table():
    """Throughput of huginn-net 2.2.1 and of this project, by number of workers."""
    with open(os.path.join(HERE, "results", "peers.md"), encoding="utf-8") as file:
        text = file.read().split("<!-- figures -->\n", 1)[1].strip()
    rows = []
    for line in text.split("\n"):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if ", workers: " in cells[0]:
            (what, workers), (own, published) = cells[0].split(", workers: "), map(float, cells[1:3])
            rates = (f"{1e9 / nanos:,.0f}" for nanos in (own, published))
            rows.append((what, f"| {what} | {workers} | " + " | ".join(rates) + f" | {cells[3].split()[0]} |"))
    # Stable: the rows of the same packets stay in the order of their workers.
    rows.sort(key=lambda row: row[0])
    head = "| packets | workers | packets/s | huginn-net 2.2.1 | ratio, median of pairs |"
    note = (
        "Same frames in memory, and every result of both. One worker of this project is faster than eight of huginn-net 2.2.1, so it "
        f"needs no second one. [How, and all rows](results/peers.md): {text.splitlines()[0]}"
    )
    return ["## Throughput beside huginn-net 2.2.1", "", head, "|---|--:|--:|--:|--:|", *(row for _, row in rows), "", note, ""]


def main():
    pages = {name: page(name) for name in ("tcp", "http", "tls", "mixed")}
    lines = published_table() + table("Sequential", pages, SEQUENTIAL) + parallel_table(pages)
    lines += table("Overhead of matching", pages, MATCHING)
    for conditions in dict.fromkeys(conditions for conditions, _ in pages.values()):
        links = [f"[{name}](results/{name}.md)" for name, (its_own, _) in pages.items() if its_own == conditions]
        lines += [f"Rows of {', '.join(links)}: {conditions}", ""]
    path = os.path.join(HERE, "README.md")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    text = re.sub(
        r"(<!-- tables -->\n).*?(<!-- end of tables -->)",
        lambda marks: marks[1] + "\n".join(lines) + marks[2],
        text,
        flags=re.S,
    )
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main()
