#!/usr/bin/python3
"""Records what a TLS server sees of honest clients, and of programs that claim to be a browser.

    captures/tools/record-consistency.py [CLIENT...]   record all clients, or those whose name contains one of these texts

Writes captures/consistency/clients.jsonl; clients that are not recorded again stay. captures/README.md describes the fields. The clients
are those of record-clients.py, from package registries, and go to ~/.cache/huginn-net-clients. Needs root for apt-get and
for /etc/hosts.
"""

import argparse
import dataclasses
import importlib
import json
import os
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "clients")]

import groups  # noqa: E402
from groups import GO_VERSIONS, PROGRAMS, Client  # noqa: E402
from registries import CACHE, apt, debian_version, installed_version, python_environment  # noqa: E402
from server import NAME, PREFACE, Server  # noqa: E402

record_clients = importlib.import_module("record-clients")

FILE = HERE.parent / "consistency" / "clients.jsonl"

MAX_REQUESTS = 6  # of one client in one version of HTTP

WEBKIT = "AppleWebKit/537.36 (KHTML, like Gecko)"
CHROME_WINDOWS = f"Mozilla/5.0 (Windows NT 10.0; Win64; x64) {WEBKIT} Chrome/131.0.0.0 Safari/537.36"
CHROME_LINUX = f"Mozilla/5.0 (X11; Linux x86_64) {WEBKIT} Chrome/131.0.0.0 Safari/537.36"
CHROME_MAC = f"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) {WEBKIT} Chrome/131.0.0.0 Safari/537.36"
EDGE = f"{CHROME_WINDOWS} Edg/131.0.0.0"
FIREFOX_WINDOWS = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:133.0) Gecko/20100101 Firefox/133.0"
FIREFOX_LINUX = "Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0"
SAFARI = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Safari/605.1.15"
IPHONE = ("Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 "
          "Mobile/15E148 Safari/604.1")
CLAIMS = {CHROME_WINDOWS: "Chrome 131 on Windows", CHROME_LINUX: "Chrome 131 on Linux", CHROME_MAC: "Chrome 131 on macOS",
          EDGE: "Edge 131 on Windows", FIREFOX_WINDOWS: "Firefox 133 on Windows", FIREFOX_LINUX: "Firefox 133 on Linux",
          SAFARI: "Safari 18.1 on macOS", IPHONE: "Safari 18.1 on iPhone"}


def window_chromium(*options):
    """Debian's Chromium in a window of a virtual screen."""
    apt("chromium", "xvfb", "xauth")
    version = debian_version("chromium")
    folder = tempfile.mkdtemp()
    command = ["xvfb-run", "-a", "chromium", "--no-sandbox", "--ignore-certificate-errors", "--disable-gpu", "--no-first-run",
               f"--user-data-dir={folder}", *options, "@URL@"]
    return Client("BoringSSL", "", "Chromium", groups.upstream(version), " ".join([f"Debian chromium {version}", *options]),
                  command, timeout=12)


def firefox(**preferences):
    """Debian's Firefox without a window: its User-Agent is the usual one."""
    apt("firefox-esr", "libnss3-tools")
    version = debian_version("firefox-esr")
    folder = pathlib.Path(tempfile.mkdtemp())
    lines = [f'user_pref("{name.replace("__", ".")}", {json.dumps(value)});\n' for name, value in preferences.items()]
    (folder / "user.js").write_text("".join(lines))
    # Firefox sends no request over a connection with an unknown certificate.
    trust = f"certutil -A -n authority -t C,, -i @CERTIFICATE@ -d {folder}"
    return Client("NSS", "", "Firefox", groups.upstream(version), " ".join([f"Debian firefox-esr {version}", *preferences]),
                  ["sh", "-c", f"certutil -N -d {folder} --empty-password && {trust} && exec \"$@\"", "sh", "firefox-esr", "--headless",
                   "--no-remote", "--profile", folder, "--screenshot", folder / "page.png", "@URL@"], timeout=30)


def first_of(group, application, text=""):
    """The first client of a group of record-clients.py with this application, and with this text in its evidence."""
    clients = groups.GROUPS[group]()
    return next(client for client in clients if client.application == application and text in client.evidence)


def python_client(package, requirement=None):
    interpreter = python_environment(package, requirement or package)
    version = installed_version(interpreter, package)
    return Client("OpenSSL", "", f"Python {package}", version, f"PyPI {package}=={version}, clients/client.py",
                  [interpreter, PROGRAMS / "client.py", package, "@URL@"], timeout=15)


def imitator(package, profile):
    interpreter = python_environment(package, package, *(["typing_extensions"] if package == "tls-client" else []))
    version = installed_version(interpreter, package)
    return Client("", "", package, version, f"PyPI {package}=={version} profile {profile}",
                  [interpreter, PROGRAMS / "client.py", package, "@URL@", profile])


def utls(browser, version):
    return next(client for client in groups.utls() if client.command[1:3] == [browser, version])


def tool(package, application, *command):
    apt(package)
    version = debian_version(package)
    return Client("", "", application, groups.upstream(version), f"Debian {package} {version}", list(command))


def curl(*options):
    return tool("curl", "curl", "curl", "-sk", "-o", "/dev/null", *options, "@URL@")


def wget(*options):
    return tool("wget", "wget", "wget", "-q", "--no-check-certificate", "-O", "/dev/null", *options, "@URL@")


def honest():
    """Pairs of a client and the protocols that its server offers."""
    for protocols in [("h2", "http/1.1"), ("http/1.1",)]:
        yield window_chromium(), protocols
        yield window_chromium("--lang=de", "--accept-lang=de-DE,de"), protocols
        yield firefox(), protocols
        yield firefox(intl__accept_languages="fr, en", privacy__donottrackheader__enabled=True), protocols
        for client in groups.qt():
            yield client, protocols
        yield next(groups.webkit()), protocols
        yield python_client("httpx", "httpx[http2]"), protocols
        yield curl(), protocols
        for version in [GO_VERSIONS[0], "1.20.14", GO_VERSIONS[-1]]:
            yield first_of("go", "Go net/http", version), protocols
        yield first_of("node", "Node.js", "22.22.0, clients/client.js fetch"), protocols
        yield first_of("node", "Node.js", "22.22.0, clients/client.js http2"), protocols
        yield first_of("java", "Java HttpClient"), protocols
    for version in ["103.0.0", "131.0.1", "149.0.0"]:
        yield first_of("chromium", "Chromium", version), ("h2", "http/1.1")
    for package in ["requests", "urllib3", "aiohttp"]:
        yield python_client(package), ("http/1.1",)
    yield wget(), ("http/1.1",)
    yield first_of("bun", "Bun"), ("http/1.1",)
    yield first_of("deno", "Deno"), ("h2", "http/1.1")


def claiming(client, user_agent):
    """The client with another User-Agent, in the variable USER_AGENT."""
    return dataclasses.replace(client, environment=client.environment | {"USER_AGENT": user_agent},
                               imitates=CLAIMS[user_agent])


def imitations():
    both, http1 = ("h2", "http/1.1"), ("http/1.1",)
    for package, user_agent in [("requests", CHROME_WINDOWS), ("requests", FIREFOX_LINUX), ("urllib3", CHROME_LINUX),
                                ("aiohttp", SAFARI), ("aiohttp", EDGE)]:
        yield claiming(python_client(package), user_agent), http1
    for user_agent, protocols in [(CHROME_WINDOWS, both), (FIREFOX_WINDOWS, both), (CHROME_LINUX, http1)]:
        yield claiming(python_client("httpx", "httpx[http2]"), user_agent), protocols
    for user_agent, protocols in [(CHROME_WINDOWS, both), (FIREFOX_LINUX, http1), (IPHONE, both)]:
        yield dataclasses.replace(curl("-A", user_agent), imitates=CLAIMS[user_agent]), protocols
    yield dataclasses.replace(wget("-U", CHROME_LINUX), imitates=CLAIMS[CHROME_LINUX]), http1
    for user_agent, protocols in [(CHROME_LINUX, both), (CHROME_WINDOWS, http1), (SAFARI, both)]:
        yield claiming(first_of("go", "Go net/http", GO_VERSIONS[-1]), user_agent), protocols
    for mode, user_agent, protocols in [("fetch", CHROME_WINDOWS, http1), ("fetch", FIREFOX_LINUX, http1),
                                        ("http2", CHROME_LINUX, both), ("https", EDGE, http1)]:
        yield claiming(first_of("node", "Node.js", f"22.22.0, clients/client.js {mode}"), user_agent), protocols
    for user_agent, protocols in [(CHROME_WINDOWS, both), (FIREFOX_LINUX, http1)]:
        yield claiming(first_of("java", "Java HttpClient"), user_agent), protocols
    for browser, version, user_agent, protocols in [
            ("Chrome", "131", CHROME_WINDOWS, both), ("Chrome", "120", CHROME_LINUX, http1), ("Firefox", "120", FIREFOX_LINUX, both),
            ("Firefox", "120", FIREFOX_WINDOWS, http1), ("Safari", "16.0", SAFARI, both)]:
        yield claiming(utls(browser, version), user_agent), protocols
    # Default headers, which claim the system of the profile; and another User-Agent beside the profile's client hints.
    for profile, claim in [("chrome131", "Chrome 131 on macOS"), ("firefox133", "Firefox 133 on macOS"),
                           ("safari180", "Safari 18.0 on macOS")]:
        yield dataclasses.replace(imitator("curl_cffi", profile), imitates=claim), both
    for profile, user_agent in [("chrome131", CHROME_WINDOWS), ("chrome124", CHROME_LINUX), ("chrome131", FIREFOX_WINDOWS)]:
        yield claiming(imitator("curl_cffi", profile), user_agent), both
    for profile, user_agent in [("chrome_120", CHROME_WINDOWS), ("firefox_120", FIREFOX_LINUX)]:
        yield claiming(imitator("tls-client", profile), user_agent), both
    for version, user_agent in [("131.0.1", CHROME_WINDOWS), ("131.0.1", CHROME_MAC), ("131.0.1", CHROME_LINUX),
                                ("149.0.0", FIREFOX_LINUX), ("149.0.0", IPHONE)]:
        client = first_of("chromium", "Chromium", f"@sparticuz/chromium@{version}")
        options = [*client.command[:-1], f"--user-agent={user_agent}", client.command[-1]]
        yield dataclasses.replace(client, command=options, imitates=CLAIMS[user_agent]), both
    for user_agent in [CHROME_WINDOWS, SAFARI]:
        yield dataclasses.replace(window_chromium(f"--user-agent={user_agent}"), imitates=CLAIMS[user_agent]), both
    for user_agent in [CHROME_WINDOWS, SAFARI]:
        yield dataclasses.replace(firefox(general__useragent__override=user_agent), imitates=CLAIMS[user_agent]), both


def to_row(client, connection):
    protocol = "HTTP/2" if connection.http.startswith(PREFACE) else "HTTP/1"
    name = f"{client.application} {client.application_version}".strip()
    return {"client": name, "protocol": protocol, "imitates": client.imitates, "evidence": client.evidence, "request": 0,
            "syn": connection.syn.hex(), "hello": connection.hello.hex(), "http": connection.http.hex()}


def row_key(row):
    return tuple(row[name] for name in ("client", "protocol", "imitates", "evidence", "request"))


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("clients", metavar="CLIENT", nargs="*")
    wanted = arguments.parse_args().clients
    FILE.parent.mkdir(exist_ok=True)
    CACHE.mkdir(parents=True, exist_ok=True)
    record_clients.add_host(NAME)
    folder = pathlib.Path(tempfile.mkdtemp())
    servers = {}
    rows = {}
    if FILE.exists():
        before = map(json.loads, FILE.read_text().splitlines())
        rows = {row_key(row): row for row in before if wanted and not any(text in row["client"] for text in wanted)}
    for group in (honest, imitations):
        for client, protocols in group():
            if wanted and not any(text in client.application for text in wanted):
                continue
            if protocols not in servers:
                own = folder / str(len(servers))
                own.mkdir()
                servers[protocols] = Server(own, protocols)
            server = servers[protocols]
            server.connections.clear()
            os.environ.pop("USER_AGENT", None)
            status = record_clients.run_client(client, server, folder)
            if not server.connections:
                print(f"no request ({status}): {client.evidence}", file=sys.stderr)
            numbers = dict.fromkeys(["HTTP/1", "HTTP/2"], 0)
            for connection in list(server.connections):
                row = to_row(client, connection)
                numbers[row["protocol"]] += 1
                row["request"] = numbers[row["protocol"]]
                if row["request"] <= MAX_REQUESTS:
                    rows[row_key(row)] = row
                    print(*row_key(row), sep=" | ", flush=True)
    FILE.write_text("".join(json.dumps(row) + "\n" for row in rows.values()))


if __name__ == "__main__":
    main()
