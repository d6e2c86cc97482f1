#!/usr/bin/python3
"""Constructs fingerprints of programs that cannot be recorded here, from public documents.

    captures/tools/construct-clients.py [OUT]      (default: huginn-net-db/clients/constructed.tsv)

A document gives the cipher suites, and for libraries with public source the extensions and signature algorithms. Those of
Schannel and Apple are not documented; they are the ones that hellos of these systems have. The evidence of each row names its
document. docs/clients.md describes the columns.
"""

import hashlib
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATE = "2026-11-29"
COLUMNS = ["ja4_stable", "ja4", "library", "library_version", "application", "application_version", "own_settings",
           "source", "evidence", "date", "ja4_stable_r"]
TLS_1_3 = "002b 002d 0033"
# Suites that TLS 1.0 has, too: AES and 3DES with CBC and SHA-1, and RC4.
OF_TLS_1_0 = set("c00a c009 c014 c013 0039 0033 0038 0032 0035 002f 000a 0013 0005 0004".split())


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()[:12] if text else "0" * 12


class Table:
    def __init__(self):
        self.rows = {}

    def add(self, document, library, application, suites, extensions, algorithms, *, version="12", alpn="h2", own=False,
            library_version="", application_version="", transport="t"):
        """A hello to a name, without the extensions of a session. Sorted lists and the order of algorithms decide JA4."""
        suites, kinds = sorted(set(suites.split())), sorted(set(extensions.split()))
        named = len(kinds) + 1 + (alpn != "00")
        head = f"{transport}{version}d{len(suites):02}{named:02}{alpn}"
        algorithms = ",".join(algorithms.split())
        lists = ",".join(kinds) + ("_" + algorithms if algorithms else "")
        ja4 = f"{head}_{digest(','.join(suites))}_{digest(lists)}"
        row = dict(ja4_stable=ja4, ja4=ja4, library=library, library_version=library_version, application=application,
                   application_version=application_version, own_settings="yes" if own else "", source="constructed",
                   evidence=document, date=DATE, ja4_stable_r=f"{head}_{','.join(suites)}_{lists}")
        self.rows.setdefault((ja4, library, application, application_version), row)

    def write(self, out):
        lines = ["\t".join(COLUMNS)] + ["\t".join(row[name] for name in COLUMNS) for row in self.rows.values()]
        pathlib.Path(out).write_text("\n".join(lines) + "\n")
        print(f"{out}: {len(self.rows)} rows")


def schannel(table):
    """Suites: MicrosoftDocs/win32, desktop-src/SecAuthN/tls-cipher-suites-in-windows-*.md, in order of priority."""
    seven = ("c028 c027 c014 c013 009f 009e 0039 0033 009d 009c 003d 003c 0035 002f c02c c02b c024 c023 c00a c009 "
             "006a 0040 0038 0032 000a 0013 0005 0004")
    r1607 = ("c02c c02b c030 c02f 009f 009e c024 c023 c028 c027 c00a c009 c014 c013 0039 0033 009d 009c 003d 003c "
             "0035 002f 000a 006a 0040 0038 0032 0013 0005 0004")
    r1709 = ("c02c c02b c030 c02f 009f 009e c024 c023 c028 c027 c00a c009 c014 c013 009d 009c 003d 003c 0035 002f 000a")
    old = "0601 0603 0401 0501 0201 0403 0503 0203 0202"
    ten = "0804 0805 0806 0401 0501 0201 0403 0503 0203 0202 0601 0603"
    # The client's list of Windows 7 and 8.1 lacks the two DHE suites with CBC.
    without_dhe = " ".join(suite for suite in seven.split() if suite not in ("0039", "0033"))
    systems = [
        ("Windows 7", "Windows 7", [seven, without_dhe], old),
        ("Windows 8.1", "Windows 8.1", [seven, without_dhe], old),
        ("Windows 10 1607", "Windows 10 v1607", [r1607], ten),
        ("Windows 10 1709", "Windows 10 v1709", [r1709], ten),
        ("Windows 10 1903-2004", "Windows 10 v1903, v1909, and v2004", [r1709], ten),
    ]
    for application, title, lists, algorithms in systems:
        document = f"Microsoft, TLS Cipher Suites in {title}; extensions as in hellos of Windows"
        for suites in lists:
            # SCH_USE_STRONG_CRYPTO removes RC4.
            strong = " ".join(suite for suite in suites.split() if suite not in ("0005", "0004"))
            for chosen in (suites, strong):
                older = " ".join(suite for suite in chosen.split() if suite in OF_TLS_1_0)
                # Hellos of Windows 10 have extended_master_secret, those of older systems may.
                for base in ("000a 000b ff01", "000a 000b 0017 ff01") if algorithms == old else ("000a 000b 0017 ff01",):
                    for extensions in (base, base + " 0005"):
                        table.add(document, "Schannel", application, chosen, extensions + " 000d", algorithms)
                        table.add(document, "Schannel", application, older, extensions, "", version="10", alpn="00")
    document = "Microsoft, TLS Cipher Suites in Windows 11; extensions of TLS 1.3 by RFC 8446"
    for more in ("", " 0005"):
        table.add(document, "Schannel", "Windows 11", "1302 1301 " + r1709, f"000a 000b 000d 0017 ff01 {TLS_1_3}{more}", ten,
                  version="13")


def apple(table):
    """Suites: apple-open-source/macos, Security/protocol/SecProtocolInternal.h, before and since CBC with SHA-2 was removed;
    their groups: SecProtocolHelper.m there."""
    tls_1_3 = "1301 1302 1303 "
    sha1 = "c00a c009 c014 c013 "
    aead = "c02c c02b cca9 c030 c02f cca8 "
    before = aead + "c024 c023 c028 c027 " + sha1
    since = aead + sha1
    rsa = "009d 009c 0035 002f "
    triple_des = "c008 c012 000a"
    # Since iOS 18 without ECDSA and SHA-1.
    algorithms = ("0403 0804 0401 0503 0203 0805 0805 0501 0806 0601 0201", "0403 0804 0401 0503 0805 0805 0501 0806 0601 0201")
    base = "0005 000a 000b 000d 0012 0017 ff01"
    for generation, pfs, non_pfs in (("before CBC with SHA-2 was removed", before, rsa + "003d 003c "), ("since", since, rsa)):
        document = f"Apple, Security: SecProtocolInternal.h {generation}; extensions as in hellos of Apple's systems"
        # App Transport Security allows the first group alone; Safari is without it.
        groups = (("URLSession", pfs), ("CFNetwork, as in Safari", pfs + non_pfs + triple_des))
        for application, suites in groups:
            for used in algorithms:
                for compression in ("", " 001b"):
                    table.add(document, "Apple", application, tls_1_3 + suites, f"{base} {TLS_1_3}{compression}", used,
                              version="13", own=True)
                table.add(document, "Apple", application, suites, base, used, own=True)


def java(table):
    """OpenJDK 8 before 8u261, which has the TLS of Java 11: sun/security/ssl/CipherSuite.java and SignatureAndHashAlgorithm.java."""
    cbc_256 = "c024 c028 003d c026 c02a 006b 006a c00a c014 0035 c005 c00f 0039 0038 "
    cbc_128 = "c023 c027 003c c025 c029 0067 0040 c009 c013 002f c004 c00e 0033 0032 "
    gcm = "c02c c02b c030 009d c02e c032 009f 00a3 c02f 009c c02d c031 009e 00a2 "
    triple_des = "c008 c012 000a c003 c00d 0016 0013 "
    algorithms = [
        "0603 0601 0503 0501 0403 0401 0303 0301 0203 0201 0202 0101",
        "0603 0601 0503 0501 0403 0401 0303 0301 0203 0201 0202",
        "0603 0601 0503 0501 0403 0401 0402 0303 0301 0302 0203 0201 0202",
        "0603 0601 0503 0501 0403 0401 0402 0203 0201 0202",
    ]
    document = "OpenJDK 8, sun.security.ssl: CipherSuite, SignatureAndHashAlgorithm, HandshakeMessage"
    # Without the unlimited policy there is no AES-256.
    aes_128 = cbc_128 + " ".join(suite for suite in gcm.split() if suite in "c02b c02f 009c c02d c031 009e 00a2".split()) + " "
    for aes in (cbc_256 + cbc_128 + gcm, aes_128):
        for suites in (aes + triple_des, aes):
            for used in algorithms:
                for renegotiation in (("00ff", ""), ("", " ff01")):
                    # Hellos with the last list of algorithms may have extended_master_secret.
                    for secret in ("", " 0017") if used == algorithms[-1] else ("",):
                        table.add(document, "JSSE", "Java SSLSocket", suites + renegotiation[0],
                                  "000a 000b 000d" + secret + renegotiation[1], used, alpn="00", library_version="8",
                                  application_version="8")


# BoringSSL, ssl/extensions.cc (t1_lib.cc before), kVerifySignatureAlgorithms of 2016, 2017 and since 2018.
BORINGSSL_2016 = "0601 0603 0501 0503 0401 0403 0301 0303 0201 0203"
BORINGSSL_2017 = "0403 0401 0503 0501 0603 0601 0201"
BORINGSSL_2018 = "0403 0804 0401 0503 0805 0501 0806 0601 0201"
ANDROID_14 = "c02b c02c cca9 c02f c030 cca8 c009 c00a c013 c014 009c 009d 002f 0035"
DHE = " 009e 009f 0033 0039"


def android(table):
    """Suites: the table of Android's javax.net.ssl.SSLSocket by API level; OkHttp: ConnectionSpec, those that the level has."""
    document = "Android, javax.net.ssl.SSLSocket: default configuration; BoringSSL, kVerifySignatureAlgorithms"
    okhttp = document + "; OkHttp, ConnectionSpec.MODERN_TLS"
    base = "000a 000b 000d 0017 ff01"
    systems = [
        ("Android 7", ANDROID_14 + DHE, [base], BORINGSSL_2016, "12"),
        ("Android 8", ANDROID_14, [base, base + " 0005"], BORINGSSL_2017, "12"),
        ("Android 9", ANDROID_14, [base, base + " 0005"], BORINGSSL_2018, "12"),
        ("Android 10 and newer", "1301 1302 1303 " + ANDROID_14, [f"{base} {TLS_1_3}", f"{base} 0005 {TLS_1_3}"],
         BORINGSSL_2018, "13"),
    ]
    for system, suites, lists, algorithms, version in systems:
        modern = " ".join(suite for suite in suites.split() if suite not in ("c009", "c00a", *DHE.split()))
        for extensions in lists:
            table.add(document, "Conscrypt", system, suites, extensions, algorithms, version=version, alpn="h1")
            table.add(document, "Conscrypt", system, suites, extensions, algorithms, version=version, alpn="h2")
            table.add(okhttp, "Conscrypt", f"OkHttp on {system}", modern, extensions, algorithms, version=version, alpn="h2",
                      own=True)


def boringssl(table):
    """BoringSSL's own defaults, in programs that choose no suites: ssl/ssl_cipher.cc and ssl/extensions.cc."""
    document = "BoringSSL, ssl_cipher.cc: default suites; extensions.cc"
    suites = "c02b c02f c02c c030 cca9 cca8 c009 c013 c00a c014 009c 009d 002f 0035"
    base = "000a 000b 000d 0017 ff01"
    for more in ("", " 000a"):
        for npn in ("", " 3374"):
            table.add(document, "BoringSSL", "BoringSSL client", suites + more, base + npn, BORINGSSL_2018, alpn="h1")
        table.add(document, "BoringSSL", "BoringSSL client", "1301 1302 1303 " + suites + more, f"{base} {TLS_1_3}",
                  BORINGSSL_2018, version="13", alpn="00")
        table.add(document, "BoringSSL", "BoringSSL client", "1301 1302 1303 " + suites + more, f"{base} 0005 {TLS_1_3}",
                  BORINGSSL_2018, version="13", alpn="h1")
    document = "Node.js, src/node_constants.h: DEFAULT_CIPHER_LIST_CORE, those of BoringSSL; BoringSSL, extensions.cc"
    for more in (" c027", ""):
        node = "1301 1302 1303 c02f c02b c030 c02c" + more + " cca9 cca8 c009 c013 c00a c014 009c 009d 002f 0035"
        if more:
            table.add(document, "BoringSSL", "Node.js in Electron", node, f"{base} {TLS_1_3}", BORINGSSL_2018, version="13",
                      alpn="00", own=True)
            table.add(document, "BoringSSL", "Node.js in Electron", node.removeprefix("1301 1302 1303 "), base, BORINGSSL_2018,
                      alpn="00", own=True)
    document = "draft-ietf-quic-tls-29, section 8.2; BoringSSL, extensions.cc"
    for alps in ("", " 4469"):
        for compression in ("", " 001b"):
            table.add(document, "BoringSSL", "Chromium", "1301 1302 1303", f"000a 000d {TLS_1_3} ffa5{alps}{compression}",
                      BORINGSSL_2018, version="13", alpn="h9", own=True, transport="q")


def firefox(table):
    """Connections that Firefox limits to TLS 1.2 (updates, settings): nsISocketProvider.idl, BE_CONSERVATIVE."""
    document = "Mozilla, nsISocketProvider.idl: BE_CONSERVATIVE; nsNSSComponent.cpp, sCipherPrefs; NSS, ssl3ext.c"
    suites = "c02b c02f cca9 cca8 c02c c030 c00a c009 c013 c014 009c 009d 002f 0035"
    algorithms = "0403 0503 0603 0804 0805 0806 0401 0501 0601 0203 0201"
    for chosen in (suites, suites + " 000a", " ".join(suite for suite in suites.split() if suite not in ("c009", "c00a"))):
        for more in ("", " 001c", " 0022", " 001c 0022"):
            table.add(document, "NSS", "Firefox", chosen, "0005 000a 000b 000d 0017 ff01" + more, algorithms, own=True)


def fizz(table):
    """facebookincubator/fizz, fizz/client: FizzClientContext.h and ClientProtocol.cpp; mvfst adds QUIC's transport parameters."""
    document = "Fizz, FizzClientContext.h and ClientProtocol.cpp"
    suites = "1301 1302 1303"
    for compression in ("", " 001b"):
        for algorithms in ("0403 0804", "0403 0503 0603 0804"):
            table.add(document, "Fizz", "Fizz client", suites, f"000a 000d {TLS_1_3}{compression}", algorithms, version="13")
            for parameters in (" 0039", " ffa5"):
                for chosen in (suites, "1301"):
                    table.add(document + "; mvfst", "Fizz", "mvfst", chosen, f"000a 000d {TLS_1_3}{compression}{parameters}",
                              algorithms, version="13", alpn="h3", transport="q")


def tongsuo(table):
    """Tongsuo 8 (BabaSSL) is OpenSSL 1.1.1 with the suites, the curve and the algorithm of RFC 8998."""
    document = "RFC 8998 and the recorded lists of OpenSSL 1.1.1"
    suites = ("1302 1303 1301 00c7 00c6 c02c c030 009f cca9 cca8 ccaa c02b c02f 009e c024 c028 006b c023 c027 0067 c00a c014 "
              "0039 c009 c013 0033 009d 009c 003d 003c 0035 002f 00ff")
    algorithms = ("0403 0503 0603 0708 0807 0808 0809 080a 080b 0804 0805 0806 0401 0501 0601 0303 0203 0301 0201 0302 0202 "
                  "0402 0502 0602")
    for alpn in ("h2", "00"):
        table.add(document, "Tongsuo", "Tongsuo client", suites, f"000a 000b 000d 0016 0017 {TLS_1_3}", algorithms,
                  version="13", alpn=alpn)


def main():
    table = Table()
    for construct in (schannel, apple, java, android, boringssl, firefox, fizz, tongsuo):
        construct(table)
    table.write(sys.argv[1] if len(sys.argv) > 1 else ROOT / "huginn-net-db/clients/constructed.tsv")


if __name__ == "__main__":
    main()
