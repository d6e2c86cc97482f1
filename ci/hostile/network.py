"""Namespaces, servers and the tap of evasion.py: client, router and server, each in a network namespace of its own.

The tap is on the client's side of the router. What dies at the router is recorded, and the server never sees it. The router's
link to the server has a smaller MTU than its link to the client.
"""

import collections
import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PREFIX = f"evasion-{os.getpid()}"
CLIENT, ROUTER, SERVER = (f"{PREFIX}-{role}" for role in ("client", "router", "server"))
CLIENT_MAC, ROUTER_MAC, FAR_MAC, SERVER_MAC = (f"02:00:00:00:00:{n:02x}" for n in (0x0A, 0x0C, 0x0D, 0x0B))
TAP, NEAR, FAR, INSIDE = "tap", "near", "far", "inside"
# Link MTU between router and server, in bytes: at least 1280 (RFC 8200, section 5).
FAR_MTU = 1400
SERVER_ADDRESS = {4: "203.0.113.2", 6: "2001:db8:2::2"}
# Addresses of clients with the kernel's TCP, and of clients whose segments this program makes, which no host owns.
PLAIN, RAW = 1, 2
HTTP, TLS, HTTP2, PROXIED_TLS, SMTP, CONNECT, QUIC = 80, 443, 8080, 8443, 25, 3128, 4433
PROGRAMS = {"nginx": "nginx", "tcpdump": "tcpdump", "ip": "iproute2", "ethtool": "ethtool", "openssl": "openssl"}
NAME = r"[a-z0-9]{6}-[0-9]{4}\.test"


def client_address(version, stack, number):
    """The address of an attempt's client: every attempt has its own."""
    if version == 4:
        return f"198.18.{stack * 16 + number // 250}.{number % 250 + 1}"
    return f"2001:db8:a:{stack}::{number + 1:x}"


class Network:
    """The three namespaces with their servers, until `close`."""

    def __init__(self, quic_python=None):
        missing = [package for program, package in PROGRAMS.items() if not shutil.which(program)]
        if missing:
            sys.exit(f"missing programs: apt-get install {' '.join(missing)}")
        if os.getuid() != 0:
            sys.exit("network namespaces need root; run the script with sudo")
        self.folder = tempfile.mkdtemp()
        os.chmod(self.folder, 0o755)
        self.processes = []
        self.home = os.open("/proc/self/ns/net", os.O_RDONLY)
        self.quic_python = quic_python

    def open(self):
        for namespace in (CLIENT, ROUTER, SERVER):
            run(f"ip netns add {namespace}")
        self._link(CLIENT, TAP, CLIENT_MAC, ROUTER, NEAR, ROUTER_MAC, 1500)
        self._link(ROUTER, FAR, FAR_MAC, SERVER, INSIDE, SERVER_MAC, FAR_MTU)
        for namespace, interface, *addresses in (
            (CLIENT, TAP, "192.0.2.1/24", "2001:db8:1::1/64"),
            (ROUTER, NEAR, "192.0.2.254/24", "2001:db8:1::fe/64"),
            (ROUTER, FAR, "203.0.113.254/24", "2001:db8:2::fe/64"),
            (SERVER, INSIDE, "203.0.113.2/24", "2001:db8:2::2/64"),
        ):
            for address in addresses:
                run(f"ip -n {namespace} addr add {address} dev {interface} {'nodad' if ':' in address else ''}")
            run(f"ip -n {namespace} link set lo up")
            run(f"ip -n {namespace} link set {interface} up")
        run(f"ip netns exec {ROUTER} sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1")
        for address, namespace, interface, mac in (
            ("192.0.2.1", ROUTER, NEAR, CLIENT_MAC),
            ("2001:db8:1::1", ROUTER, NEAR, CLIENT_MAC),
            ("203.0.113.2", ROUTER, FAR, SERVER_MAC),
            ("2001:db8:2::2", ROUTER, FAR, SERVER_MAC),
            ("192.0.2.254", CLIENT, TAP, ROUTER_MAC),
            ("2001:db8:1::fe", CLIENT, TAP, ROUTER_MAC),
            ("203.0.113.254", SERVER, INSIDE, FAR_MAC),
            ("2001:db8:2::fe", SERVER, INSIDE, FAR_MAC),
        ):
            run(f"ip -n {namespace} neigh replace {address} lladdr {mac} dev {interface}")
        run(f"ip -n {ROUTER} route add 198.18.0.0/16 via 192.0.2.1")
        run(f"ip -n {ROUTER} -6 route add 2001:db8:a::/48 via 2001:db8:1::1")
        for namespace, via4, via6 in ((CLIENT, "192.0.2.254", "2001:db8:1::fe"), (SERVER, "203.0.113.254", "2001:db8:2::fe")):
            run(f"ip -n {namespace} route add default via {via4}")
            run(f"ip -n {namespace} -6 route add default via {via6}")
        run(f"ip -n {CLIENT} route add local 198.18.{PLAIN * 16}.0/20 dev lo")
        run(f"ip -n {CLIENT} -6 route add local 2001:db8:a:{PLAIN}::/64 dev lo")
        run(f"ip netns exec {CLIENT} sysctl -qw net.ipv6.ip_nonlocal_bind=1")
        self._servers()
        enter(f"/run/netns/{CLIENT}")

    def _link(self, one, one_name, one_mac, other, other_name, other_mac, mtu):
        run(
            f"ip link add {one_name} netns {one} address {one_mac} mtu {mtu} type veth "
            f"peer name {other_name} netns {other} address {other_mac} mtu {mtu}"
        )
        for namespace, interface in ((one, one_name), (other, other_name)):
            # Segments and checksums as on a wire.
            run(f"ip netns exec {namespace} ethtool -K {interface} tso off gso off gro off tx off rx off")
            run(f"ip -n {namespace} link set {interface} addrgenmode none")

    def _servers(self):
        key, certificate = self.file("key.pem"), self.file("cert.pem")
        run(
            f"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 -subj /CN=evasion.test "
            f"-keyout {key} -out {certificate}"
        )
        listen = lambda port, how="": f"listen {port} {how}; listen [::]:{port} {how};"
        with open(self.file("nginx.conf"), "w", encoding="ascii") as f:
            f.write(
                f"""daemon off; pid {self.file("nginx.pid")}; error_log {self.file("error.log")} debug; user root;
worker_processes 1;
events {{ worker_connections 8192; }}
http {{
    log_format truth '$status "$host" "$http_host" "$http_user_agent" "$request"';
    access_log {self.file("access.log")} truth;
    ssl_certificate {certificate}; ssl_certificate_key {key};
    client_header_timeout 300s; client_body_timeout 300s; large_client_header_buffers 16 128k; client_max_body_size 0;
    server {{ {listen(HTTP)} {listen(HTTP2, "http2")} location / {{ return 200 "accepted"; }} }}
    server {{ {listen(TLS, "ssl http2")} {listen(PROXIED_TLS, "ssl proxy_protocol")} return 200 "accepted"; }}
}}
"""
            )
        self._start("nginx", "-c", self.file("nginx.conf"))
        self._start(sys.executable, f"{HERE}/servers.py", self.folder, str(SMTP), str(CONNECT))
        if self.quic_python:
            self._start(self.quic_python, f"{HERE}/quic_server.py", self.folder, str(QUIC))
        wanted = {"nginx.pid", "servers.log"} | ({"quic.log"} if self.quic_python else set())
        until = time.monotonic() + 10
        while not all(os.path.exists(self.file(name)) for name in wanted):
            if time.monotonic() > until:
                sys.exit(f"no server: {wanted - set(os.listdir(self.folder))}")
            time.sleep(0.05)
        time.sleep(0.2)

    def _start(self, *command):
        self.processes.append(
            subprocess.Popen(["ip", "netns", "exec", SERVER, *command], stderr=open(self.file("stderr"), "a"))
        )
        return self.processes[-1]

    def record(self, path):
        """Starts tcpdump at the tap; returns a function that ends it."""
        with open(self.file("tcpdump.err"), "w", encoding="ascii") as errors:
            process = subprocess.Popen(
                ["tcpdump", "-i", TAP, "-U", "-n", "-s", "0", "-B", "65536", "-Z", "root", "-w", path], stderr=errors
            )
        while "listening on" not in open(self.file("tcpdump.err"), encoding="ascii").read():
            if process.poll() is not None:
                sys.exit(open(self.file("tcpdump.err"), encoding="ascii").read())
            time.sleep(0.02)

        def stop():
            time.sleep(1.2)
            process.send_signal(signal.SIGINT)
            process.wait()
            said = open(self.file("tcpdump.err"), encoding="ascii").read()
            if "\n0 packets dropped by kernel" not in said:
                sys.exit(f"tcpdump lost packets: {said}")

        return stop

    def accepted(self):
        """What the servers accepted, from their own logs: attempt number to the set of names."""
        names = collections.defaultdict(set)
        found = []
        with open(self.file("error.log"), encoding="latin-1") as f:
            found += re.findall(rf'SSL server name: "({NAME})"', f.read())
        with open(self.file("access.log"), encoding="latin-1") as f:
            for line in f:
                if line.startswith("200 "):
                    found += re.findall(NAME, line)
        for log in ("servers.log", "quic.log"):
            if os.path.exists(self.file(log)):
                with open(self.file(log), encoding="ascii") as f:
                    found += re.findall(NAME, f.read())
        for name in found:
            names[int(name[7:11])].add(name)
        return names

    def file(self, name):
        return os.path.join(self.folder, name)

    def close(self, keep=None):
        enter(self.home)
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait()
        for namespace in (CLIENT, ROUTER, SERVER):
            subprocess.run(["ip", "netns", "del", namespace], stderr=subprocess.DEVNULL, check=False)
        if keep:
            shutil.copytree(self.folder, keep, dirs_exist_ok=True)
        shutil.rmtree(self.folder)


def enter(namespace):
    """Moves this thread into a network namespace: a path, or an open file."""
    descriptor = namespace if isinstance(namespace, int) else os.open(namespace, os.O_RDONLY)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(descriptor, 0) != 0:
        raise OSError(ctypes.get_errno(), "setns")


def run(command):
    done = subprocess.run(command.split(), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{command}: {done.stderr}")
