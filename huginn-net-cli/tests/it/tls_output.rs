//! Exact output of TLS events. The goldens of the captures have the same fingerprints; tshark 4.0.17 shows the same
//! server names, ALPN, ciphers, JA3 and JA3S hashes.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::captures;

fn capture(name: &str) -> String {
    captures::path(name).display().to_string()
}

fn output(args: &[&str]) -> (String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_huginn-net"));
    let output = command
        .args(["pcap", "--protocols", "tls"])
        .args(args)
        .env_remove("CLICOLOR_FORCE")
        .output()
        .unwrap();
    (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn json_over_tcp_dtls_and_quic() {
    for (name, expected) in [
        ("tls-hello-retry.pcap", include_str!("tls_output/tls-hello-retry.json")),
        ("dtls-13.pcap", include_str!("tls_output/dtls-13.json")),
        ("quic-retry.pcap", include_str!("tls_output/quic-retry.json")),
    ] {
        let (events, _) = output(&["--format", "json", &capture(name)]);
        assert!(events.lines().count() >= expected.lines().count(), "{name}");
        for (event, expected) in events.lines().zip(expected.lines()) {
            assert_eq!(without_software(event), expected, "{name}");
        }
    }
}

/// The event without its last field, `software`, which depends on the built-in tables.
fn without_software(event: &str) -> String {
    let (fields, _) = event.split_once(r#","software":"#).unwrap_or((event.strip_suffix('}').unwrap(), ""));
    format!("{fields}}}")
}

/// The first `software` field of a capture with a table of clients.
fn software(table: &str) -> String {
    let path = scratch_table(table);
    let (events, _) = output(&["--format", "json", "--clients", &path, &capture("tls-node.pcap")]);
    let (_, software) = events.lines().find_map(|event| event.split_once(r#","software":"#)).unwrap();
    software.strip_suffix('}').unwrap().to_owned()
}

fn scratch_table(table: &str) -> String {
    let path = format!("{}/clients-{}.tsv", env!("CARGO_TARGET_TMPDIR"), table.len());
    fs::write(&path, table).unwrap();
    path
}

#[test]
fn clients_table_names_software() {
    let header = "ja4_stable\tja4\tlibrary\tapplication\town_settings\tja4_stable_r\n";
    let (events, _) = output(&["--format", "json", &capture("tls-node.pcap")]);
    let field = |name: &str| {
        let (_, rest) = events.split_once(&format!(r#""{name}":""#)).unwrap();
        rest.split_once('"').unwrap().0.to_owned()
    };
    let (ja4_stable, ja4) = (field("ja4_stable"), field("ja4"));
    let exact = software(&format!("{header}{ja4_stable}\t{ja4}\tLib\tA \"quoted\" app\tyes\t\n"));
    let want = r#"{"name":"A \"quoted\" app","library":"Lib","application":"A \"quoted\" app","versions":null,"candidates":["A \"quoted\" app"],"match":"exact"}"#;
    assert_eq!(exact, want);

    let stable = software(&format!("{header}{ja4_stable}\t\tLib\tOther\t\t\n"));
    let want = r#"{"name":"Lib","library":"Lib","application":null,"versions":null,"candidates":["Other"],"match":"stable"}"#;
    assert_eq!(stable, want);

    let other = "t13d1910h2_9dc949149365_97f8aa674fd9";
    let structural = software(&format!("{header}{other}\t\tGo\tGo\t\t\n"));
    let want = r#"{"name":"OpenSSL","library":"OpenSSL","application":null,"versions":null,"candidates":[],"match":"structural"}"#;
    assert_eq!(structural, want);
}

#[test]
fn bad_clients_table_fails_with_line() {
    let path = scratch_table("ja4_stable\tapplication\nnonsense\tA\n");
    let (_, errors) = output(&["--clients", &path, &capture("tls-node.pcap")]);
    assert!(errors.contains(&format!("{path}: line 2: ")), "{errors}");
    let (_, errors) = output(&["--clients", "/nonexistent/clients.tsv", &capture("tls-node.pcap")]);
    assert!(errors.contains("/nonexistent/clients.tsv: "), "{errors}");
}

#[test]
fn human_format_has_blocks() {
    let (blocks, _) = output(&["-v", &capture("tls-hello-retry.pcap")]);
    let expected = "\
ClientHello  192.0.2.1:43274 -> 192.0.2.2:443  2026-11-21T07:43:58.541468000Z
  client     192.0.2.1
  protocol   TLS 1.3
  sni        www.example.test
  groups     x25519, secp384r1
  key shares x25519 (32)
  signatures ecdsa_secp256r1_sha256, ecdsa_secp384r1_sha384, ecdsa_secp521r1_sha512, ed25519, ed448, rsa_pss_pss_sha256, rsa_pss_pss_sha384, rsa_pss_pss_sha512, rsa_pss_rsae_sha256, rsa_pss_rsae_sha384, rsa_pss_rsae_sha512, rsa_pkcs1_sha256, rsa_pkcs1_sha384, rsa_pkcs1_sha512, sha224, ecdsa, sha224, rsa... (4 more)
  ticket     requested
  ja4        t13d311000_e8f1e7e78f70_1f22a2ca17c4
  ja3        d7d477dd98b3fab865d1970dc88a3b9c

ServerHello  192.0.2.1:43274 <- 192.0.2.2:443  2026-11-21T07:43:58.542677000Z
  server     192.0.2.2
  protocol   TLS 1.3, HelloRetryRequest
  cipher     1302 TLS_AES_256_GCM_SHA384
  group      secp384r1
  extensions supported_versions, key_share
  ja3s       15af977ce25de452b96affa2addb1036

ClientHello  192.0.2.1:43274 -> 192.0.2.2:443  2026-11-21T07:43:58.543550000Z
  client     192.0.2.1
  protocol   TLS 1.3, after a HelloRetryRequest
  sni        www.example.test
  groups     x25519, secp384r1
  key shares secp384r1 (97)
  signatures ecdsa_secp256r1_sha256, ecdsa_secp384r1_sha384, ecdsa_secp521r1_sha512, ed25519, ed448, rsa_pss_pss_sha256, rsa_pss_pss_sha384, rsa_pss_pss_sha512, rsa_pss_rsae_sha256, rsa_pss_rsae_sha384, rsa_pss_rsae_sha512, rsa_pkcs1_sha256, rsa_pkcs1_sha384, rsa_pkcs1_sha512, sha224, ecdsa, sha224, rsa... (4 more)
  ticket     requested
  ja4        t13d311000_e8f1e7e78f70_1f22a2ca17c4
  ja3        d7d477dd98b3fab865d1970dc88a3b9c

ServerHello  192.0.2.1:43274 <- 192.0.2.2:443  2026-11-21T07:43:58.546114000Z
  server     192.0.2.2
  protocol   TLS 1.3
  cipher     1302 TLS_AES_256_GCM_SHA384
  key share  secp384r1 (97)
  extensions supported_versions, key_share
  ja3s       15af977ce25de452b96affa2addb1036

TLS handshake  192.0.2.1:43274 <- 192.0.2.2:443  2026-11-21T07:43:58.548368000Z
  server     192.0.2.2
  handshake  completed
  group      secp384r1

ClientHello  192.0.2.1:43276 -> 192.0.2.2:443  2026-11-21T07:43:59.028034000Z
  client     192.0.2.1
  protocol   TLS 1.3
  alpn       h2, http/1.1
";
    assert!(blocks.starts_with(expected), "{blocks}");
    let (blocks, _) = output(&["-v", &capture("dtls-13.pcap")]);
    assert!(blocks.contains("\n  protocol   DTLS 1.3, HelloRetryRequest\n"), "{blocks}");
    let (blocks, _) = output(&["-v", &capture("quic-retry.pcap")]);
    assert!(blocks.contains("\n  protocol   TLS 1.3 over QUIC\n"), "{blocks}");
    assert!(blocks.contains("\n  ech        encrypted hello of "), "{blocks}");
    assert!(blocks.contains("\n             unless it is GREASE, the sni is the outer name\n"), "{blocks}");
}

/// Expected values: tshark 4.0.17 for hellos, `openssl x509 -text -fingerprint` for certificates.
#[test]
fn blocks_have_every_field_of_hellos_and_certificates() {
    for (name, expected) in [
        ("quic-chromium.pcap", "  compress   brotli\n  alps       h3\n"),
        ("tls-resumption.pcap", "  resumes    pre-shared key 0 of the client\n"),
        (
            "tls-certificates.pcap",
            "  key        EC P-256, 256 bits
  serial     1606aa53316f7ee4ae4dd8e91d3b7f1b6e1cf81f
  signature  ecdsa-with-SHA256
  authority  yes
  issued by  itself
  sha256     de72d8510c6320b42ec258952ba2026e23fbf960fe11b74f8b46524357241f0f
  sha1       ef77e3394e6fe4e18c550de133148a9abb5f4f22
",
        ),
    ] {
        let (blocks, _) = output(&["-v", &capture(name)]);
        assert!(blocks.contains(expected), "{name}: {expected} in {blocks}");
    }
    // A list cut by its limit, GREASE, and an extension without a name.
    let extensions = [
        extension(10, &prefixed(&[0x1a, 0x1a, 0, 29])),
        vec![0x5a, 0x5a, 0, 1, 0],
        vec![0xab, 0xcd, 0, 2, 1, 2],
    ];
    let path = capture_of_hello("fields.pcap", &extensions.concat(), 0);
    let (blocks, _) = output(&["-v", &path]);
    let expected =
        "  groups     x25519\n  grease     extensions[1], supported_groups[0]\n  unknown    abcd (2)\n";
    assert!(blocks.contains(expected), "{expected} in {blocks}");
}

/// Prefixes the bytes with their length in two bytes.
fn prefixed(bytes: &[u8]) -> Vec<u8> {
    [&u16::try_from(bytes.len()).unwrap().to_be_bytes(), bytes].concat()
}

fn extension(kind: u8, data: &[u8]) -> Vec<u8> {
    [&[0, kind][..], &prefixed(data)].concat()
}

/// Writes a capture of one IPv4 packet with a ClientHello and returns its path. The length field of the extension block
/// is `excess` bytes too large.
fn capture_of_hello(name: &str, extensions: &[u8], excess: u8) -> String {
    let mut block = prefixed(extensions);
    *block.get_mut(1).unwrap() += excess;
    let body = [&[3, 3][..], &[7; 32], &[0, 0, 2, 0x13, 1, 1, 0], &block].concat();
    let message = [&[1, 0][..], &prefixed(&body)].concat();
    let record = [&[22, 3, 1][..], &prefixed(&message)].concat();
    let tcp = [&[0x9c, 0x40, 1, 0xbb, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x18, 0x20, 0, 0, 0, 0, 0][..], &record]
        .concat();
    let len = u16::try_from(tcp.len()).unwrap() + 20;
    let ip = [&[0x45, 0][..], &len.to_be_bytes(), &[0, 1, 0x40, 0, 64, 6, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2]]
        .concat();
    let packet = [ip, tcp].concat();
    let number = |number: usize| u32::try_from(number).unwrap().to_le_bytes();
    let header = [0xa1b2_c3d4, 0x0004_0002, 0, 0, 0xffff, 101].map(number).concat();
    let pcap = [header, [1000, 0, packet.len(), packet.len()].map(number).concat(), packet].concat();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tls_output");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name).display().to_string();
    fs::write(&path, pcap).unwrap();
    path
}

/// The hashes of `1301`, `0000,0010` and `771,4865,0-16,,` come from coreutils.
#[test]
fn non_utf8_bytes_are_escaped() {
    let odd = b"\xc3(\"\\x41\0\x1b[2J\x7f";
    let name = [&[0][..], &prefixed(odd)].concat();
    let protocol = b"\x07\xff\\x41\n\"";
    let extensions = [extension(0, &prefixed(&name)), extension(16, &prefixed(protocol))].concat();
    let path = capture_of_hello("odd.pcap", &extensions, 0);
    let (event, _) = output(&["--format", "json", &path]);
    let expected = r#"{"v":1,"ts":"1970-01-01T00:16:40.000000Z","event":"tls_client","subject":"client","packet":1,"transport":"tcp","client":{"ip":"192.0.2.1","port":40000},"server":{"ip":"192.0.2.2","port":443},"community_id":"1:Ndxzi0UG8tBTcOeyYacbgz4DHN8=","protocol":"tls","version":"12","sni":"\\xc3(\"\\x5cx41\u0000\u001b[2J","alpn":["\\xff\\x5cx41\n\""],"groups":[],"key_share_groups":[],"key_share_lengths":[],"signature_algorithms":[],"session_id_length":0,"ech":null,"retry":false,"ja4":"t12d0102f2_0f2cb44170f4_000000000000","ja4_r":"t12d0102f2_1301_","ja4_o":"t12d0102f2_0f2cb44170f4_a2cf1a00988d","ja4_ro":"t12d0102f2_1301_0000,0010","ja4_stable":"t12d0102f2_0f2cb44170f4_000000000000","ja4_stable_r":"t12d0102f2_1301_","ja3":"771,4865,0-16,,","ja3_hash":"33b746a27502e1c870d11cfc1893be87"}"#;
    assert_eq!(without_software(event.trim_end()), expected.replace("[2J", "[2J\u{7f}"));
    let (lines, _) = output(&[&path]);
    assert!(lines.contains(", \\xc3(\"\\x5cx41\\x00\\x1b[2J\\x7f, t12d"), "{lines}");
    let (blocks, _) = output(&["-v", &path]);
    assert!(blocks.contains("\n  sni        \\xc3(\"\\x5cx41\\x00\\x1b[2J\\x7f\n"), "{blocks}");
    assert!(blocks.contains("\n  alpn       \\xff\\x5cx41\\x0a\"\n"), "{blocks}");
}

#[test]
fn stats_count_tls_events() {
    let counters = |path: &str| -> serde_json::Value {
        let (_, counters) = output(&["--stats", "-o", "/dev/null", path]);
        serde_json::from_str(&counters).unwrap()
    };
    let of = |counters: &serde_json::Value| {
        let tls = counters.get("tls").unwrap();
        (tls.get("hellos").unwrap().clone(), tls.get("search").unwrap().clone())
    };
    let hellos = |client, server, malformed| serde_json::json!({"client": client, "server": server, "ech": 0, "malformed": malformed});
    let nothing = serde_json::json!({"malformed": 0, "given_up": 0, "too_long": 0});
    let path = capture_of_hello("good.pcap", &extension(23, b""), 0);
    assert_eq!(of(&counters(&path)), (hellos(1, 0, 0), nothing.clone()));
    let path = capture_of_hello("wrong-length.pcap", &extension(23, b""), 9);
    assert_eq!(of(&counters(&path)), (hellos(1, 0, 1), nothing.clone()));
    let (found, search) = of(&counters(&capture("tls-hello-retry.pcap")));
    assert_eq!((found, search), (hellos(11, 11, 0), nothing));
}
