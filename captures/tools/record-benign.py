#!/usr/bin/env python3
"""Records the traffic of harmless programs that contact servers again and again: browsers, mail, updates, monitoring.

    sudo captures/tools/record-benign.py FILE.pcap MINUTES

docs/findings-measured.md has the alerts of such a recording. Client and servers are in network namespaces; a private authority signs the
certificates. Half of the servers have addresses of 10.20.0.0/16, the others those for documentation, which count as public.
Debian packages: apt-utils chromium chrony curl dnsmasq-base dovecot-imapd dpkg-dev firefox-esr git iproute2 kubernetes-client
libnss3-tools nginx-light openssh-client openssh-server openssl prometheus prometheus-node-exporter python3 python3-pip tcpdump.
A user `ops` exists only inside the namespace of the servers.
"""

import imaplib
import json
import os
import pathlib
import random
import shutil
import smtplib
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import zipfile

HERE = os.path.abspath(__file__)
CLIENT, SERVER = "hn-benign-client", "hn-benign-server"
RESOLVER = "10.20.0.1"
# Address and name; sites are what a person opens.
SITES = {
    "10.20.1.10": "intranet.corp.example",
    "10.20.1.11": "wiki.corp.example",
    "203.0.113.10": "news.example.com",
    "203.0.113.11": "shop.example.org",
    "198.51.100.10": "video.example.net",
}
SERVERS = {
    **SITES,
    "198.51.100.11": "cdn.example.net",
    "10.20.1.1": "router.corp.example",
    "10.20.1.20": "apt.corp.example",
    "10.20.1.30": "ntp.corp.example",
    "10.20.1.40": "node1.corp.example",
    "10.20.1.41": "node2.corp.example",
    "10.20.1.50": "mail.corp.example",
    "10.20.1.70": "git.corp.example",
    "10.20.1.80": "kubernetes.corp.example",
    "10.20.1.90": "jump.corp.example",
    "203.0.113.20": "packages.cloud.example",
    "203.0.113.21": "pypi.cloud.example",
    "203.0.113.30": "time.example.net",
    "203.0.113.40": "node3.cloud.example",
    "203.0.113.50": "smtp.cloud.example",
    "203.0.113.60": "chat.example.com",
    "203.0.113.70": "code.cloud.example",
    "203.0.113.80": "kubernetes.cloud.example",
    "198.51.100.60": "push.example.net",
    "198.51.100.90": "health.example.org",
}
# What the servers of these names offer over HTTPS, and those that have TLS 1.2 only.
ROOTS = {"packages.cloud.example": "apt", "pypi.cloud.example": "pypi", "git.corp.example": "git", "code.cloud.example": "git"}
TLS12 = {"intranet.corp.example", "shop.example.org", "pypi.cloud.example", "code.cloud.example"}
HEADLESS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-port=9333", "about:blank"]


def run(*command, **options):
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, **options)


def namespaces():
    for name in CLIENT, SERVER:
        run("ip", "netns", "add", name)
        run("ip", "-n", name, "link", "set", "lo", "up")
    run("ip", "link", "add", "hn-a", "netns", CLIENT, "type", "veth", "peer", "name", "hn-b", "netns", SERVER)
    for name, interface, address in (CLIENT, "hn-a", "10.20.0.5/16"), (SERVER, "hn-b", f"{RESOLVER}/16"):
        run("ip", "-n", name, "addr", "add", address, "dev", interface)
        run("ip", "-n", name, "link", "set", interface, "up")
        run("ip", "netns", "exec", name, "ethtool", "-K", interface, *"tso off gso off gro off tx off".split())
    run("ip", "-n", CLIENT, "route", "add", "default", "via", RESOLVER)
    for address in SERVERS:
        run("ip", "-n", SERVER, "addr", "add", f"{address}/32", "dev", "hn-b")
    for name in CLIENT, SERVER:
        os.makedirs(f"/etc/netns/{name}", exist_ok=True)
        write(f"/etc/netns/{name}/hosts", f"127.0.0.1 localhost {os.uname().nodename}\n")
        write(f"/etc/netns/{name}/resolv.conf", f"nameserver {RESOLVER}\n")
    write(f"/etc/netns/{SERVER}/passwd", pathlib.Path("/etc/passwd").read_text() + "ops:x:4000:4000::/tmp:/bin/sh\n")
    write(f"/etc/netns/{SERVER}/shadow", pathlib.Path("/etc/shadow").read_text() + "ops:*:20000::::::\n")


def write(path, text):
    pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
    pathlib.Path(path).write_text(text)


def certificates(folder):
    (folder / "pki").mkdir()
    openssl = ["openssl", "req", "-newkey", "rsa:2048", "-nodes"]
    quiet = {"stderr": subprocess.DEVNULL, "cwd": folder / "pki"}
    run(*openssl, "-x509", "-days", "3650", "-subj", "/O=Corp Example/CN=Corp Example Root CA", "-keyout", "ca.key", "-out", "ca.crt", **quiet)
    run(*openssl, "-x509", "-days", "3650", "-subj", "/O=Router/CN=192.168.1.1", "-keyout", "self.key", "-out", "self.crt", **quiet)
    for address, name in SERVERS.items():
        run(*openssl, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr", **quiet)
        write(folder / "pki/extensions", f"subjectAltName=DNS:{name},IP:{address}\nbasicConstraints=CA:FALSE\n")
        run("openssl", "x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-days", "397", "-extfile", "extensions",
            "-out", f"{name}.crt", **quiet)


def pages(folder):
    """The files of the web servers, packages and repository included."""
    www = folder / "www"
    for name in [*SITES.values(), "cdn.example.net"]:
        images = "".join(f"<img src=/{n}.png>" for n in range(1, 7))
        if name in ("news.example.com", "shop.example.org", "video.example.net"):
            images += "".join(f"<img src=https://cdn.example.net/{n}.png>" for n in range(7, 10))
        period = {"news.example.com": 30, "intranet.corp.example": 60}.get(name)
        script = f"<script>setInterval(()=>fetch('/live.json?'+Date.now()),{period}000)</script>" if period else ""
        for page in "index", "a", "b", "c":
            write(www / name / f"{page}.html", f"<!doctype html><title>{page}</title><link rel=stylesheet href=/s.css>{images}{script}")
        write(www / name / "s.css", "h1{color:navy}")
        write(www / name / "live.json", "{}")
        for n in range(1, 10):
            (www / name / f"{n}.png").write_bytes(os.urandom(n * 4000))
    (www / "video.example.net/movie.bin").write_bytes(os.urandom(3_000_000))
    write(www / "health/health", "ok\n")
    write(www / "router/index.html", "<title>Router</title>")
    write(www / "kubernetes/api/v1/nodes", '{"kind":"NodeList","items":[]}')
    write(folder / "package/DEBIAN/control", "Package: demo\nVersion: 1\nArchitecture: all\nMaintainer: a <a@example.org>\nDescription: demo\n")
    (www / "apt").mkdir()
    run("dpkg-deb", "-b", folder / "package", www / "apt/demo_1_all.deb")
    run("sh", "-c", "dpkg-scanpackages . >Packages 2>/dev/null && gzip -k Packages", cwd=www / "apt")
    wheel = "demo-1.0-py3-none-any.whl"
    write(www / "pypi/simple/demo/index.html", f'<a href="{wheel}">{wheel}</a>')
    with zipfile.ZipFile(www / "pypi/simple/demo" / wheel, "w") as file:
        file.writestr("demo-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n")
        file.writestr("demo-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: demo\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr("demo-1.0.dist-info/RECORD", "")
    run("git", "init", "-q", "-b", "main", folder / "repository")
    own = ["git", "-C", folder / "repository", "-c", "user.name=a", "-c", "user.email=a@example.org"]
    run(*own, "commit", "-q", "--allow-empty", "-m", "one")
    run("git", "clone", "-q", "--bare", folder / "repository", www / "git/repo.git")
    run("git", "-C", www / "git/repo.git", "update-server-info")


def start(namespace, *command, **options):
    log = open(f"{command[0].replace('/', '_')}.log", "ab")
    command = ["ip", "netns", "exec", namespace, *map(str, command)]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **options)


def nginx(folder):
    certificate = lambda name: f"ssl_certificate {folder}/pki/{name}.crt; ssl_certificate_key {folder}/pki/{name}.key;"
    blocks = []
    for address, name in SERVERS.items():
        root = ROOTS.get(name) or (name if (folder / "www" / name).is_dir() else None)
        if root:
            versions = "TLSv1.2" if name in TLS12 else "TLSv1.2 TLSv1.3"
            blocks.append(f"server {{ listen {address}:443 ssl http2; root {folder}/www/{root}; ssl_protocols {versions}; {certificate(name)} }}")
        if name.startswith("kubernetes"):
            blocks.append(f"server {{ listen {address}:6443 ssl http2; root {folder}/www/kubernetes; {certificate(name)} }}")
    blocks.append(f"server {{ listen 10.20.1.20:80; root {folder}/www/apt; }} server {{ listen 198.51.100.90:80; root {folder}/www/health; }}")
    blocks.append(f"server {{ listen 10.20.1.1:8443 ssl; root {folder}/www/router; ssl_protocols TLSv1.2; {certificate('self')} }}")
    write(folder / "nginx.conf", f"daemon off; pid {folder}/nginx.pid; user root; events {{}} error_log {folder}/nginx.err; http {{ access_log off;"
          f"include /etc/nginx/mime.types; {' '.join(blocks)} }}")
    start(SERVER, "nginx", "-c", folder / "nginx.conf")


def servers(folder):
    write(folder / "names", "".join(f"{address} {name}\n" for address, name in SERVERS.items()))
    start(SERVER, "dnsmasq", "-k", "--no-resolv", "--no-hosts", f"--addn-hosts={folder}/names", "--address=/#/", f"--listen-address={RESOLVER}",
          "--bind-interfaces", f"--pid-file={folder}/dnsmasq.pid")
    nginx(folder)
    for name, address in ("node2.corp.example", "10.20.1.41"), ("node3.cloud.example", "203.0.113.40"):
        key = f"{folder}/pki/{name}"
        write(folder / f"{name}.yml", f"tls_server_config: {{cert_file: {key}.crt, key_file: {key}.key}}\n")
        start(SERVER, "prometheus-node-exporter", f"--web.listen-address={address}:9100", f"--web.config.file={folder}/{name}.yml")
    start(SERVER, "prometheus-node-exporter", "--web.listen-address=10.20.1.40:9100")
    write(folder / "ntp.conf", f"local stratum 8\nallow all\ncmdport 0\nbindcmdaddress /\npidfile {folder}/ntp.pid\n")
    start(SERVER, "chronyd", "-x", "-d", "-u", "root", "-f", folder / "ntp.conf")
    key = f"{folder}/pki/mail.corp.example"
    write(folder / "dovecot.conf", f"base_dir = {folder}/dovecot\nprotocols = imap\nlisten = 10.20.1.50\nssl = required\nssl_cert = <{key}.crt\n"
          f"ssl_key = <{key}.key\nlog_path = {folder}/dovecot.log\nmail_location = maildir:{folder}/mail/%u\nfirst_valid_uid = 500\n"
          "passdb {\n driver = static\n args = password=secret\n}\nuserdb {\n driver = static\n args = uid=1000 gid=1000 home=/tmp\n}\n")
    (folder / "mail").mkdir(mode=0o777)
    (folder / "mail").chmod(0o777)
    start(SERVER, "dovecot", "-F", "-c", folder / "dovecot.conf")
    for name in "host", "user", "old":
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name)
    os.makedirs("/run/sshd", exist_ok=True)
    write(folder / "sshd.conf", f"ListenAddress 10.20.1.90\nHostKey {folder}/host\nPidFile none\nAuthorizedKeysFile {folder}/user.pub\nStrictModes no\n"
          "UsePAM no\n")
    start(SERVER, "/usr/sbin/sshd", "-D", "-f", folder / "sshd.conf")
    start(SERVER, sys.executable, HERE, "--talkers", folder)


def talkers(folder):
    """Servers of SMTP and of chat messages, in the namespace of the servers."""
    def serve(address, port, name, talk, versions):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{folder}/pki/{name}.crt", f"{folder}/pki/{name}.key")
        context.maximum_version = versions
        listener = context.wrap_socket(socket.create_server((address, port)), server_side=True, do_handshake_on_connect=False)
        while True:
            threading.Thread(target=talk, args=(listener.accept()[0],), daemon=True).start()

    def smtp(client):
        answers = {b"EHLO": b"250-smtp\r\n250 AUTH PLAIN\r\n", b"AUTH": b"235 ok\r\n", b"DATA": b"354 go\r\n", b"QUIT": b"221 bye\r\n"}
        with client, client.makefile("rb") as lines:
            client.sendall(b"220 smtp.cloud.example ESMTP\r\n")
            while line := lines.readline():
                client.sendall(answers.get(line[:4].upper(), b"250 ok\r\n"))
                while line[:4] == b"DATA" and lines.readline() != b".\r\n":
                    pass
                if line[:4] == b"DATA":
                    client.sendall(b"250 queued\r\n")
                if line[:4].upper() == b"QUIT":
                    return

    def chat(client):
        with client:
            while data := client.recv(100):
                client.sendall(data)

    one_two, one_three = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3
    for arguments in (("203.0.113.50", 465, "smtp.cloud.example", smtp, one_two), ("203.0.113.60", 5223, "chat.example.com", chat, one_three),
                      ("198.51.100.60", 443, "push.example.net", chat, one_two)):
        threading.Thread(target=serve, args=arguments, daemon=True).start()
    threading.Event().wait()


class Clients:
    """The clients, in their namespace."""

    def __init__(self, folder, seconds):
        self.folder, self.end = folder, time.time() + seconds
        self.authority = f"{folder}/pki/ca.crt"
        self.context = ssl.create_default_context(cafile=self.authority)

    def every(self, seconds, share, task, *arguments):
        """Runs a task until the end, at intervals that vary by up to this share. 0: exactly, as timers do."""
        def loop():
            time.sleep(random.uniform(0, min(seconds, 20)))
            while (at := time.time()) < self.end:
                try:
                    task(*arguments)
                except Exception as error:  # The recording goes on.
                    print(task.__name__, arguments, repr(error), flush=True)
                used = 0 if share else time.time() - at
                time.sleep(max(0.2, seconds * random.uniform(1 - share, 1 + share) - used))
        threading.Thread(target=loop, daemon=True).start()

    def call(self, *command, **environment):
        subprocess.run(list(map(str, command)), env={**os.environ, **environment}, timeout=60, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def curl(self, *arguments):
        self.call("curl", "-sS", "-o", "/dev/null", "--cacert", self.authority, *arguments)

    def address(self):
        site = f"https://{random.choice(list(SITES.values()))}/"
        return site + random.choice(["", "a.html", "b.html", "c.html"])

    def read(self):
        """Waits as long as a person reads a page: half of the times less than 20 s."""
        time.sleep(min(120, random.lognormvariate(3.0, 0.8)))

    def trust(self, profile):
        os.makedirs(profile)
        self.call("certutil", "-N", "-d", f"sql:{profile}", "--empty-password")
        self.call("certutil", "-A", "-d", f"sql:{profile}", "-n", "ca", "-t", "C,,", "-i", self.authority)

    def chromium(self):
        home = f"{self.folder}/chromium"
        self.trust(f"{home}/.pki/nssdb")
        log = open(f"{home}/log", "w")
        subprocess.Popen(["chromium", f"--user-data-dir={home}/profile", *HEADLESS], env={**os.environ, "HOME": home}, stdout=log, stderr=log)
        time.sleep(8)
        tabs = []
        while time.time() < self.end:
            address = "https://video.example.net/movie.bin" if random.random() < 0.05 else self.address()
            tabs.append(json.loads(self.devtools("PUT", f"/json/new?{address}"))["id"])
            while len(tabs) > 4:
                self.devtools("GET", f"/json/close/{tabs.pop(random.randrange(len(tabs)))}")
            self.read()

    def devtools(self, method, path):
        return urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:9333{path}", method=method), timeout=20).read()

    def firefox(self):
        profile = f"{self.folder}/firefox"
        self.trust(profile)
        log = open(f"{profile}/log", "w")
        command = ["firefox-esr", "--headless", "--marionette", "--profile", profile]
        subprocess.Popen(command, env={**os.environ, "HOME": profile}, stdout=log, stderr=log)
        time.sleep(15)
        connection = socket.create_connection(("127.0.0.1", 2828))
        answers = connection.makefile("rb")

        def answer():
            length = b""
            while (digit := answers.read(1)) != b":":
                length += digit
            return answers.read(int(length))

        def ask(number, command, **parameters):
            message = json.dumps([0, number, command, parameters])
            connection.sendall(f"{len(message)}:{message}".encode())
            answer()

        answer()
        ask(1, "WebDriver:NewSession", capabilities={})
        while time.time() < self.end:
            ask(2, "WebDriver:Navigate", url=self.address())
            self.read()

    def imap(self):
        mail = imaplib.IMAP4_SSL("mail.corp.example", 993, ssl_context=self.context)
        mail.login("ann", "secret")
        mail.select()
        mail.logout()

    def smtp(self):
        mail = smtplib.SMTP_SSL("smtp.cloud.example", 465, context=self.context)
        mail.login("ann", "secret")
        mail.sendmail("a@example.org", ["b@example.org"], "Subject: x\r\n\r\nhello")
        mail.quit()

    def chat(self, name, port, seconds):
        """Keeps a connection for two to five minutes, with a message now and then."""
        until = min(self.end, time.time() + random.uniform(120, 320))
        with self.context.wrap_socket(socket.create_connection((name, port)), server_hostname=name) as connection:
            while time.time() < until:
                connection.sendall(b"ping\n")
                connection.recv(100)
                time.sleep(seconds)

    def apt(self, name, address):
        folder = f"{self.folder}/{name}"
        for part in "lists/partial", "cache/archives/partial":
            os.makedirs(f"{folder}/{part}", exist_ok=True)
        write(f"{folder}/sources.list", f"deb [trusted=yes] {address} ./\n")
        options = {"Dir::Etc::sourcelist": f"{folder}/sources.list", "Dir::Etc::sourceparts": "-", "Dir::State::lists": f"{folder}/lists",
                   "Dir::Cache": f"{folder}/cache", "Acquire::https::CAInfo": self.authority, "APT::Sandbox::User": "root"}
        self.call("apt-get", "-qq", *(text for key, value in options.items() for text in ("-o", f"{key}={value}")), "update")

    def pip(self):
        self.call("pip", "-q", "download", "--no-cache-dir", "--no-deps", "--cert", self.authority, "-i", "https://pypi.cloud.example/simple",
                  "-d", f"{self.folder}/downloads", "demo")

    def git(self, name, address):
        clone = f"{self.folder}/{name}"
        if os.path.isdir(clone) and random.random() < 0.7:
            self.call("git", "-C", clone, "fetch", "-q", GIT_SSL_CAINFO=self.authority)
        else:
            shutil.rmtree(clone, ignore_errors=True)
            self.call("git", "clone", "-q", address, clone, GIT_SSL_CAINFO=self.authority)

    def ssh(self, key):
        options = ["IdentitiesOnly=yes", "BatchMode=yes", "StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "LogLevel=QUIET"]
        options = [text for option in options for text in ("-o", option)]
        self.call("ssh", "-F", "none", "-i", f"{self.folder}/{key}", *options, "ops@10.20.1.90", "true")

    def kubectl(self):
        self.call("kubectl", "--kubeconfig", f"{self.folder}/kubeconfig", "get", "--raw", "/api/v1/nodes")

    def start(self):
        folder, authority = self.folder, self.authority
        for number, address in enumerate(["10.20.1.30", "203.0.113.30"]):
            own = f"{folder}/chrony{number}"
            write(f"{own}.conf", f"server {address} iburst minpoll 4 maxpoll 6\ncmdport 0\nbindcmdaddress {own}.sock\npidfile {own}.pid\n")
            subprocess.Popen(["chronyd", "-x", "-d", "-u", "root", "-f", f"{own}.conf"], stderr=subprocess.DEVNULL)
        jobs = [("plain", "http", "10.20.1.40"), ("inside", "https", "10.20.1.41"), ("outside", "https", "203.0.113.40"),
                ("name", "https", "node3.cloud.example")]
        write(f"{folder}/prometheus.yml", "global: {scrape_interval: 15s}\nscrape_configs:\n" + "".join(
            f"- {{job_name: {name}, scheme: {scheme}, tls_config: {{ca_file: {authority}}}, static_configs: [{{targets: ['{target}:9100']}}]}}\n"
            for name, scheme, target in jobs))
        subprocess.Popen(["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/tsdb",
                          "--web.listen-address=127.0.0.1:9090"], stderr=subprocess.DEVNULL)
        write(f"{folder}/kubeconfig", json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "one", "contexts": [{"name": "one", "context": {"cluster": "one", "user": "one"}}],
            "clusters": [{"name": "one", "cluster": {"server": "https://10.20.1.80:6443", "certificate-authority": authority}}],
            "users": [{"name": "one", "user": {"token": "x"}}]}))
        for browser in self.chromium, self.firefox:
            threading.Thread(target=browser, daemon=True).start()
        self.every(300, 0, self.imap)
        self.every(420, 0.3, self.smtp)
        self.every(1, 0, self.chat, "chat.example.com", 5223, 30)
        self.every(1, 0, self.chat, "push.example.net", 443, 55)
        self.every(400, 0.2, self.apt, "apt", "http://apt.corp.example/")
        self.every(500, 0.2, self.apt, "apt-https", "https://packages.cloud.example/")
        self.every(300, 0.5, self.pip)
        self.every(200, 0.5, self.git, "inside", "https://git.corp.example/repo.git")
        self.every(240, 0.5, self.git, "outside", "https://code.cloud.example/repo.git")
        self.every(10, 0, self.curl, "https://10.20.1.80:6443/api/v1/nodes")
        self.every(30, 0.1, self.curl, "https://203.0.113.80:6443/api/v1/nodes")
        self.every(45, 0.2, self.kubectl)
        self.every(60, 0, self.curl, "-k", "https://10.20.1.1:8443/")
        self.every(30, 0, self.curl, "http://health.example.org/health")
        self.every(60, 0, self.curl, "-A", "kube-probe/1.30", "http://198.51.100.90/health")
        self.every(60, 0, self.ssh, "user")
        self.every(30, 0, self.ssh, "old")  # A job whose key the server no longer knows.
        while time.time() < self.end:
            time.sleep(1)


def stop():
    for name in CLIENT, SERVER:
        found = subprocess.run(["ip", "netns", "pids", name], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for pid in found.stdout.split():
            subprocess.run(["kill", "-9", pid], stderr=subprocess.DEVNULL)
        subprocess.run(["ip", "netns", "del", name], stderr=subprocess.DEVNULL)
        shutil.rmtree(f"/etc/netns/{name}", ignore_errors=True)


def main():
    if sys.argv[1] == "--talkers":
        return talkers(sys.argv[2])
    if sys.argv[1] == "--clients":
        return Clients(pathlib.Path(sys.argv[2]), float(sys.argv[3])).start()
    file, seconds = pathlib.Path(sys.argv[1]).resolve(), float(sys.argv[2]) * 60
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        os.chdir(folder)
        try:
            namespaces()
            certificates(folder)
            pages(folder)
            servers(folder)
            time.sleep(3)
            recorder = start(CLIENT, "tcpdump", "-i", "hn-a", "-U", "-B", "16384", "-Z", "root", "-w", file)
            time.sleep(1)
            # The authority is the only one that clients trust.
            environment = {key: value for key, value in os.environ.items() if not key.endswith(("_CA_BUNDLE", "_CAINFO"))}
            run("ip", "netns", "exec", CLIENT, sys.executable, HERE, "--clients", folder, str(seconds), env=environment)
            time.sleep(1)
            recorder.terminate()
            recorder.wait()
        finally:
            stop()


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main()
