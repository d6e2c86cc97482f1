#!/usr/bin/env python3
"""Reads captures from a Kafka topic, and writes their events to Parquet files or to ClickHouse.

    kafka.py --brokers HOST:9092 --topic captures (--folder FOLDER | --clickhouse http://HOST:8123)

Needs `pip install "huginn-net[arrow]" confluent-kafka`. A message is a whole capture (pcap, pcapng, also .gz or .zst), and its key the name of
it. A capture that cannot be read to its end is kept as far as it goes, with a warning.

What is written of a message is named by its place in the topic, and its offset is committed after it is durable. So after a crash a message may be
read again, and none is lost. In a folder, its file is then replaced by an equal one. ClickHouse drops the insert, if it is one of the last 10,000
(`clickhouse.sql`).
"""

import argparse
import os
import signal
import sys
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import huginn_net as hn

#: Takes the place of a message in its topic, and the events.
Write = Callable[[str, pa.Table], None]

#: Seconds for which ClickHouse may not answer. Then the program ends, and its next start inserts the message again.
INSERT_SECONDS = 60


def read_messages(consumer: Any, write: Write, is_stopped: Callable[[], bool], **options: Any) -> None:
    """Writes the events of messages, and commits each message after that. Options are those of `huginn_net.read_pcap`."""
    while not is_stopped():
        message = consumer.poll(1.0)
        if message is None:
            continue
        if message.error():
            raise RuntimeError(str(message.error()))
        place = f"{message.topic()}-{message.partition()}-{message.offset():020}"
        key = message.key()
        name = key.decode(errors="replace") if key else place
        write(place, hn.read_pcap({name: message.value() or b""}, on_error="skip", **options).to_arrow())
        consumer.commit(message=message, asynchronous=False)


def parquet_writer(folder: Path) -> Write:
    """Writes a file for each message. It has another name until it is complete."""
    folder.mkdir(parents=True, exist_ok=True)

    def write(place: str, events: pa.Table) -> None:
        unfinished = folder / f".{place}.unfinished"
        pq.write_table(events, unfinished, compression="zstd")
        for path in (unfinished, folder):
            # The name is durable once the folder is.
            if path is folder:
                os.replace(unfinished, folder / f"{place}.parquet")
            handle = os.open(path, os.O_RDONLY)
            os.fsync(handle)
            os.close(handle)

    return write


def clickhouse_writer(url: str) -> Write:
    """Inserts the events of each message. ClickHouse answers when they are stored."""

    def write(place: str, events: pa.Table) -> None:
        if not events.num_rows:
            return
        sink = pa.BufferOutputStream()
        pq.write_table(events, sink)
        query = {"query": "INSERT INTO huginn_events FORMAT Parquet", "insert_deduplication_token": place, "async_insert": "0"}
        with urllib.request.urlopen(f"{url}/?{urllib.parse.urlencode(query)}", data=sink.getvalue().to_pybytes(), timeout=INSERT_SECONDS) as answer:
            answer.read()

    return write


def main() -> None:
    from confluent_kafka import Consumer

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--brokers", required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--group", default="huginn-net")
    target = parser.add_mutually_exclusive_group(required=True)
    target.add_argument("--folder", type=Path)
    target.add_argument("--clickhouse", metavar="URL")
    args = parser.parse_args()
    settings = {"bootstrap.servers": args.brokers, "group.id": args.group, "enable.auto.commit": False, "auto.offset.reset": "earliest"}
    consumer = Consumer(settings)
    consumer.subscribe([args.topic])
    stopped: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: stopped.append(number))
    try:
        write = parquet_writer(args.folder) if args.folder else clickhouse_writer(args.clickhouse.rstrip("/"))
        read_messages(consumer, write, lambda: bool(stopped))
    finally:
        consumer.close()


if __name__ == "__main__":
    sys.exit(main())
