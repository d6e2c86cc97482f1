#!/usr/bin/env python3
"""Forged packets and floods against alerts, as capture files.

    ci/hostile/alerts.py PROGRAM [--short] [--only TEXT] [--save FOLDER]

Forgeries: a sender that receives no packet of a host sends packets in its name. No alert about the host may be proven or have severity
high. Floods: each surrounds attacks with complete handshakes. Their alerts must be proven, among the first ten lines of `findings`, and
before unproven ones of their kind; memory stays within a limit. The exit status is 1 if any fails.
"""

import argparse
import heapq
import json
import os
import struct
import subprocess
import sys
import tempfile
from ipaddress import ip_address

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from connections import ACK, FIN, LINUX, PSH, RANDOM, RST, SYN, URG, Connection, certificate, nameless, segment, ssh  # noqa: E402
from messages import hello, request  # noqa: E402

# Peak of resident memory, in MiB.
MAX_MEMORY = 700
# Lines among which a proven alert must be.
FIRST_LINES = 10
SECOND = 1_000_000
# Options, window and TTL of the SYNs of Nmap, masscan and ZMap.
TOOLS = ((b"\x02\x04\x05\xb4", 1024, 50), (b"", 1024, 250), (b"\x02\x04\x05\xb4", 65535, 250))
# The innocent host, a server that knows nothing, and the forger.
HOST, SERVER, FORGER = (int(ip_address(text)) for text in ("192.0.2.10", "198.51.100.1", "203.0.113.66"))
# The hosts of the attacks that floods must not hide.
ATTACKER, INFECTED, BOT, MASTER = (int(ip_address(text)) for text in ("192.0.2.21", "192.0.2.22", "192.0.2.23", "203.0.113.99"))


C2 = certificate(b"DcRat")


def guess():
    return RANDOM.getrandbits(32)


def one_way(at, server=SERVER, port=443, **how):
    """The client's half of a connection, with a guess at the sequence number of the SYN+ACK, which is the server's."""
    return Connection(at, HOST, server, port, believed=guess(), **how).syn().accept().client(flags=ACK)


def scan(answer, count=1000):
    """SYNs to ports of a server, and to hosts."""
    for i in range(2 * count):
        at, server, port = (0, SERVER, i + 1) if i < count else (100 * SECOND, SERVER + i, 445)
        connection = Connection(at + i * 5000, HOST, server, port, believed=guess()).syn()
        answer(connection, i)
        yield from connection.packets


def accept(connection, i, flags=0):
    """A fourth of the targets accept, and the host may reset the connection that it knows nothing of."""
    connection.accept() if i % 4 == 0 else connection.refuse()
    if i % 4 == 0 and flags:
        connection.client(flags=flags, ack=connection.initial[1] + 1)


def scan_beside_connections():
    """Beside a forged scan, the host has connections with some of its targets."""
    yield from scan(lambda connection, i: connection.refuse())
    for i in range(8):
        connection = Connection(107 * SECOND + i * 10000, HOST, SERVER + 1000 + i, 445).open().client(b"\0\0\0\4data")
        yield from connection.server(b"\0\0\0\4data").close().packets


def syns_of_tools():
    for place, (options, window, ttl) in enumerate(TOOLS):
        for i in range(300):
            connection = Connection(place * 100 * SECOND + i * 5000, HOST, SERVER + place, i + 1)
            yield from connection.syn(options, window=window, ttl=ttl).accept().client(flags=RST).packets


def many_systems():
    """SYNs of many systems, as behind NAT."""
    for i in range(2000):
        options, window, ttl = [*TOOLS, (LINUX, 64240, 60), (LINUX[:6] + b"\1\1", 8192, 120)][i % 5]
        yield from Connection(i * SECOND // 5, HOST, SERVER).syn(options, window=window, ttl=ttl).packets


def segments_without_connection():
    for place, flags in enumerate((FIN, 0, FIN | PSH | URG, ACK, FIN | ACK)):
        for i in range(300):
            connection = Connection(place * 100 * SECOND + i * 5000, HOST, SERVER + place, i + 1, 50000)
            connection.send(True, flags, ack=guess(), window=1024)
            yield from connection.send(False, RST | (0 if flags & ACK else ACK), seq=0, window=0).packets


def ssh_with_guesses():
    """Beside forged halves, the host has a wrong password of its own."""
    for i in range(50):
        yield from one_way(i * SECOND, port=22).client(b"SSH-2.0-x\r\n").server(flags=RST, ack=0).packets
    yield from ssh(60 * SECOND, HOST, SERVER)


def beacon(content, port=443):
    for i in range(40):
        yield from one_way(i * 60 * SECOND, port=port).client(content()).packets


def beacon_beside_connections():
    """The host has connections with the server of a forged beacon, two of them at its regular times."""
    yield from beacon(nameless)
    for at in (61 * SECOND, 540 * SECOND + 9, 1140 * SECOND + 9):
        yield from Connection(at, HOST, SERVER).open().client(nameless()).server(b"\x15\3\3\0\2\2\x28").close().packets


def c2_of_forger(ttl=64):
    """A certificate of the forger's server to a host that resets the connection that it knows nothing of."""
    connection = Connection(0, HOST, FORGER).accept(ttl=ttl)
    if ttl > 2:
        connection.client(flags=RST)
    else:
        # The SYN+ACK does not reach the host, which acknowledges a FIN without ACK as RFC 9293 says.
        connection.server(flags=FIN, ack=0).client(flags=RST | ACK, seq=0, ack=connection.initial[1] + 1)
    return connection.server(C2[:1400]).server(C2[1400:]).packets


def c2_to_server():
    """The forger connects to a web server of the host, and sends a SYN+ACK before, so that it seems to be the server."""
    connection = Connection(0, HOST, FORGER, client_port=80).accept(ttl=2)
    connection.send(False, SYN, seq=connection.initial[1]).send(True, SYN | ACK, seq=connection.initial[0])
    connection.server(flags=ACK).server(C2[:1400]).client(flags=ACK).server(C2[1400:])
    return connection.client(b"HTTP/1.1 400 Bad Request\r\n\r\n").packets


def c2_with_guesses():
    for i in range(50):
        yield from one_way(i * SECOND).client(nameless()).server(C2[:1400], ttl=9).server(C2[1400:], ttl=9).packets


def two_requests(connection):
    """Two contents for the same bytes, the second in a packet that dies on its way."""
    return connection.send(True, PSH | ACK, request("a.example")).send(True, PSH | ACK, request("b.example"), ttl=1).packets


def conflicts_in_connection():
    """Somebody who knows the ports of a connection of the host, but no sequence number, sends other content."""
    connection = Connection(0, HOST, SERVER, 80).open()
    for _ in range(200):
        for flags in (PSH | ACK, PSH, SYN, SYN | ACK, FIN | ACK, RST):
            connection.send(True, flags, request("b.example"), seq=guess(), ack=guess(), ttl=1)
            connection.send(False, flags, b"HTTP/1.1 200 OK\r\n\r\n", seq=guess(), ack=guess(), ttl=1)
    return connection.client(request("a.example")).server(b"HTTP/1.1 204 No Content\r\n\r\n").close().packets


def conflicts_after_connection():
    """A forged connection with the ports of one that the host had."""
    first = Connection(0, HOST, SERVER, 80).open().close()
    return first.packets + two_requests(one_way(first.at + SECOND, port=80, client_port=first.ports[0]))


def contradictions():
    """User-Agents of another system and program."""
    for i, agent in enumerate((b"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36", b"curl/8.5.0")):
        head = request("a.example").replace(b"User-Agent: a.example", b"User-Agent: " + agent)
        yield from one_way(i * SECOND, port=80).client(head).packets


# HOST is innocent, and SERVER knows nothing of the forger.
FORGERIES = {
    "syns-without-answers": lambda: scan(lambda connection, i: None, 5000),
    "syns-refused": lambda: scan(lambda connection, i: connection.refuse()),
    "syns-accepted": lambda: scan(accept),
    "syns-reset-by-host": lambda: scan(lambda connection, i: accept(connection, i, RST)),
    "syns-reset-by-firewall": lambda: scan(lambda connection, i: accept(connection, i, RST | ACK)),
    "scan-with-guesses": lambda: scan(lambda connection, i: connection.accept().client(flags=ACK).client(flags=ACK, ack=guess())),
    "scan-beside-connections": scan_beside_connections,
    "syns-of-tools": syns_of_tools,
    "many-systems": many_systems,
    "segments-without-connection": segments_without_connection,
    "ssh-one-way": lambda: [packet for i in range(50) for packet in ssh(i * SECOND, HOST, SERVER, both=False, believed=guess())],
    "ssh-with-guesses": ssh_with_guesses,
    "beacon-of-hellos": lambda: beacon(nameless),
    "beacon-of-names": lambda: beacon(lambda: hello("c2.example")),
    "beacon-of-requests": lambda: beacon(lambda: request("c2.example"), 80),
    "beacon-beside-connections": beacon_beside_connections,
    "c2-reset": c2_of_forger,
    "c2-reset-with-ack": lambda: c2_of_forger(ttl=2),
    "c2-to-server": c2_to_server,
    "c2-with-guesses": c2_with_guesses,
    "conflicts": lambda: [packet for i in range(50) for packet in two_requests(one_way(i * SECOND, port=80))],
    "conflicts-in-connection": conflicts_in_connection,
    "conflicts-after-connection": conflicts_after_connection,
    "contradictions": contradictions,
}

# When the attacks begin, in seconds, and their alerts.
START = 100
ALERTS = {"brute_force": ATTACKER, "scan": ATTACKER, "beacon": INFECTED, "c2_certificate": BOT}


def attacks():
    """A beacon of ten contacts, a brute force of 15 logins, a connect scan of 120 ports, and a C2 server, in nine minutes."""
    for i in range(10):
        connection = Connection((START + i * 60) * SECOND, INFECTED, MASTER, 8080).open()
        yield from connection.client(bytes(80)).server(bytes(20)).close().packets
    for i in range(15):
        yield from ssh((START + i * 4) * SECOND, ATTACKER, SERVER)
    for port in range(1, 121):
        connection = Connection(START * SECOND + port * 200_000, ATTACKER, SERVER, port).syn()
        yield from connection.accept().client(flags=ACK).client(flags=RST | ACK).packets if port % 50 == 2 else connection.refuse().packets
    # A server ignores the acknowledgement of another number, and waits for the right one.
    connection = Connection((START + 10) * SECOND, BOT, MASTER).syn().accept().client(flags=ACK, ack=7).client(flags=ACK).client(nameless())
    yield from connection.server(C2[:1400]).server(C2[1400:]).client(bytes(9)).close().packets


def bursts(count, packets):
    """Divides `packets(i, time)` of `count` numbers over bursts of ten seconds before, amid and after the attacks."""
    for burst, start in enumerate((START - 50, START + 5, START + 560)):
        for i in range(count * burst // 3, count * (burst + 1) // 3):
            yield from packets(i, start * SECOND + i * 30 * SECOND // count - burst * 10 * SECOND)


def elsewhere(i):
    """An address of a flood, at random."""
    return 0x0A000000 + i * 2654435761 % (1 << 24)


def syn(at, source, server=SERVER, port=443, client_port=40000):
    return at, segment(source, server, (client_port, port), guess(), 0, SYN)


def scans(sources):
    """SYNs to 105 ports from each source, in turns."""
    for i in range(105 * sources):
        port, source = divmod(i, sources)
        yield syn((START + 1) * SECOND + i * 25 * SECOND // (105 * sources), elsewhere(source), port=port + 1)


def contacts(pairs, count, period, start):
    """Contacts of `pairs` hosts at regular intervals."""
    for i in range(count * pairs):
        contact, pair = divmod(i, pairs)
        yield syn((start + contact * period) * SECOND + pair * SECOND // pairs, elsewhere(pair), client_port=1024 + contact)


def unproven_alerts(hosts):
    yield from contacts(2 * hosts, 12, 55, START)
    for host in range(hosts):
        connection = Connection((START + 700) * SECOND + host * 2000, elsewhere(host), FORGER + host).accept()
        yield from connection.server(C2[:1400]).server(C2[1400:]).packets
    for host in range(hosts):
        yield from two_requests(Connection((START + 710) * SECOND + host * 2000, elsewhere(host), SERVER, 80).syn())


def forged_before():
    """The alerts of the attacks, forged before them."""
    for i in range(12):
        yield syn((START - 90 + i * 3) * SECOND, INFECTED, MASTER, 8080, client_port=1024 + i)
    connection = Connection((START - 5) * SECOND, BOT, MASTER).accept()
    yield from connection.server(C2[:1400]).server(C2[1400:]).packets


def server_of(i, at, content=nameless()):
    """A one-way handshake with a server without a name."""
    connection = Connection(at, BOT, 0x0B000000 + i, believed=guess()).syn().client(content)
    return connection.server(C2[:1400]).server(C2[1400:]).packets


# Each takes the number of its packets, or of its hosts, in thousands: that with --short, and without.
FLOODS = {
    "syns": (210, 600, lambda count: bursts(count, lambda i, at: [syn(at, elsewhere(i), client_port=i % 60000 + 1024)])),
    "syns-of-hosts": (210, 600, lambda count: bursts(count, lambda i, at: [syn(at, (INFECTED, BOT)[i % 2], elsewhere(i), 81)])),
    "scans": (5, 50, scans),
    "pairs": (20, 70, lambda pairs: contacts(pairs, 3, 3, START + 125)),
    "unproven-alerts": (3, 6, unproven_alerts),
    "forged-before": (0, 0, lambda _: forged_before()),
    "ssh-connections": (6, 60, lambda count: bursts(count, lambda i, at: ssh(at, elsewhere(i), SERVER + i % 200, believed=guess() if i % 2 else None))),
    "servers": (9, 60, lambda count: bursts(count, server_of)),
}


def write(path, packets):
    with open(path, "wb", buffering=1 << 20) as f:
        f.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 101))
        for at, packet in packets:
            f.write(struct.pack("<4I", 1_700_000_000 + at // SECOND, at % SECOND, len(packet), len(packet)) + packet)


def findings(program, path):
    """The alerts, and the peak of resident memory in MiB."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen([program, "findings", "--format", "json", path], stdout=output)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        if process.returncode:
            sys.exit(f"{path}: exit status {process.returncode}")
        return [json.loads(line) for line in output], usage.ru_maxrss / 1024


def faults_of_forgery(alerts):
    about = [alert for alert in alerts if alert["host"] == str(ip_address(HOST))]
    return [f"{alert['severity']} {alert['kind']}: {alert['reason']}" for alert in about if alert["proven"] or alert["severity"] == "high"]


def faults_of_flood(alerts):
    for kind, host in ALERTS.items():
        of_kind = [(place, alert) for place, alert in enumerate(alerts) if alert["kind"] == kind]
        is_own = lambda alert: alert["host"] == str(ip_address(host)) and alert["proven"]  # noqa: E731
        place = next((place for place, alert in of_kind if is_own(alert)), None)
        if place is None:
            yield f"{kind} of {ip_address(host)} is missing or not proven"
        elif place >= FIRST_LINES or any(other < place and not alert["proven"] for other, alert in of_kind):
            yield f"{kind} of {ip_address(host)} is in line {place + 1}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", metavar="PROGRAM", help="the program huginn-net")
    parser.add_argument("--short", action="store_true", help="smaller floods")
    parser.add_argument("--only", default="", metavar="TEXT", help="attempts whose name contains this")
    parser.add_argument("--save", metavar="FOLDER", help="keep the captures")
    arguments = parser.parse_args()
    failed = False
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.save or temporary
        os.makedirs(folder, exist_ok=True)
        for name in [name for name in [*FORGERIES, *FLOODS] if arguments.only in name]:
            path = os.path.join(folder, f"{name}.pcap")
            RANDOM.seed(name)
            by_time = lambda packets: sorted(packets, key=lambda packet: packet[0])  # noqa: E731
            if name in FORGERIES:
                packets = by_time(FORGERIES[name]())
            else:
                short, full, flood = FLOODS[name]
                packets = heapq.merge(by_time(attacks()), flood(1000 * (short if arguments.short else full)), key=lambda packet: packet[0])
            write(path, packets)
            alerts, memory = findings(arguments.program, path)
            faults = list(faults_of_forgery(alerts) if name in FORGERIES else faults_of_flood(alerts))
            if memory > MAX_MEMORY:
                faults.append(f"more than {MAX_MEMORY} MiB")
            failed |= bool(faults)
            print(f"{name:<28}{len(alerts):>6} alerts{memory:>6.0f} MiB{'  FAILED: ' + '; '.join(faults) if faults else ''}", flush=True)
            if not arguments.save:
                os.remove(path)
    sys.exit(failed)


if __name__ == "__main__":
    main()
