//! `huginn-net inventory`: what servers chose and clients offered. Counts are those of tshark 4.0.17 for the same captures
//! (`tls.handshake.type`, `tls.handshake.ciphersuite`, `tls.handshake.extensions_key_share_group` and so on).

use std::process::{Command, Output};

use serde_json::Value;

use crate::captures;

fn run(args: &[&str], files: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_huginn-net"));
    command.arg("inventory").args(args).env("COLUMNS", "100");
    command.args(files.iter().map(|file| captures::path(file))).output().unwrap()
}

fn stdout(args: &[&str], files: &[&str]) -> String {
    let output = run(args, files);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Lines of JSON with this name.
fn lines(event: &str, files: &[&str]) -> Vec<Value> {
    let text = stdout(&["--format", "json"], files);
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["event"] == event).collect()
}

/// Version, cipher suite, group and count of what a server chose.
fn chosen(server: &Value) -> Vec<(&str, &str, Option<&str>, u64)> {
    let rows = server["tls"].as_array().unwrap().iter();
    rows.map(|row| {
        (
            row["version"].as_str().unwrap(),
            row["cipher_suite"].as_str().unwrap(),
            row["group"].as_str(),
            row["count"].as_u64().unwrap(),
        )
    })
    .collect()
}

/// The count of a name in a list of a client.
fn count(client: &Value, list: &str, name: &str) -> Option<u64> {
    client[list].as_array().unwrap().iter().find(|row| row["name"] == name)?["count"].as_u64()
}

#[test]
fn servers_have_what_tshark_shows() {
    let servers = lines("inventory_server", &["tls-openssl.pcap"]);
    assert_eq!(servers.len(), 2);
    assert_eq!((&servers[0]["ip"], &servers[0]["port"]), (&"192.0.2.2".into(), &443.into()));
    assert_eq!(
        chosen(&servers[0]),
        [
            ("TLS 1.3", "TLS_AES_256_GCM_SHA384", Some("x25519"), 3),
            ("TLS 1.3", "TLS_AES_256_GCM_SHA384", Some("x448"), 1),
            ("TLS 1.2", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", None, 1),
        ]
    );
    assert_eq!(servers[0]["problems"], serde_json::json!(["no_post_quantum_key_exchange"]));
    assert_eq!(servers[1]["port"], 4443);
    assert_eq!(
        chosen(&servers[1]),
        [
            ("TLS 1.1", "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", None, 1),
            ("TLS 1.0", "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", None, 1),
        ]
    );
    assert_eq!(
        servers[1]["problems"],
        serde_json::json!(["deprecated_version", "no_post_quantum_key_exchange"])
    );
}

#[test]
fn retry_counts_neither_connection_nor_offer() {
    let files = ["tls-hello-retry.pcap"];
    let servers = lines("inventory_server", &files);
    assert_eq!(servers[0]["hello_retry_requests"], 5);
    assert_eq!(
        chosen(&servers[0]),
        [
            ("TLS 1.3", "TLS_AES_128_GCM_SHA256", Some("secp384r1"), 2),
            ("TLS 1.3", "TLS_AES_256_GCM_SHA384", Some("secp384r1"), 3),
            ("TLS 1.2", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", Some("secp384r1"), 1),
        ]
    );
    // 11 hellos, five of them the second ones of their connections with the same groups.
    let clients = lines("inventory_client", &files);
    assert_eq!(clients[0]["hellos"], 6);
    assert_eq!(count(&clients[0], "groups", "X25519MLKEM768"), Some(2));
    assert_eq!(count(&clients[0], "groups", "x448"), Some(2));
    assert_eq!(count(&clients[0], "groups", "secp256r1"), Some(5));
    assert_eq!(count(&clients[0], "versions", "TLS 1.3"), Some(5));
    assert_eq!(clients[0]["problems"], serde_json::json!([]));
}

#[test]
fn hybrid_key_exchange_is_counted() {
    let files = ["quic-chromium.pcap", "tls-openssl.pcap"];
    let totals = lines("inventory", &files);
    assert_eq!(totals[0]["captures"], 2);
    assert_eq!(totals[0]["tls_connections"], 9);
    let kinds = serde_json::json!({"hybrid": 2, "post_quantum": 0, "classical": 7, "unknown": 0});
    assert_eq!(totals[0]["key_exchange"], kinds);
    let servers = lines("inventory_server", &files[..1]);
    assert!(servers.iter().all(|server| server["problems"] == serde_json::json!([])));
    assert!(servers.iter().flat_map(|server| server["tls"].as_array().unwrap()).all(|row| {
        row["transport"] == "quic" && row["group"] == "X25519MLKEM768" && row["key_exchange"] == "hybrid"
    }));
}

/// The peer that starts the flow can be the server.
#[test]
fn server_of_webrtc_is_the_one_that_sent_the_server_hello() {
    let servers = lines("inventory_server", &["dtls-chromium.pcap"]);
    let addresses: Vec<_> = servers.iter().map(|server| (&server["ip"], &server["port"])).collect();
    assert_eq!(addresses, [(&"192.0.2.1".into(), &55212.into())]);
    assert_eq!(chosen(&servers[0]), [("DTLS 1.3", "TLS_AES_128_GCM_SHA256", Some("X25519MLKEM768"), 1)]);
}

/// Hashes, names and dates by `openssl x509` of the bytes that tshark shows (`tls.handshake.certificate`).
#[test]
fn servers_have_their_certificates_and_not_those_of_clients() {
    let files = ["tls-certificates.pcap"];
    let servers = lines("inventory_server", &files);
    let server = servers.iter().find(|server| server["port"] == 443).unwrap();
    let certificates = server["certificates"].as_array().unwrap();
    assert_eq!(certificates.len(), 3);
    let own = &certificates[0];
    assert!(own["sha256"].as_str().unwrap().starts_with("7c05d977441d20e3"));
    assert_eq!(own["subject"], r"CN=www.example.test,O=Example\, Inc.");
    assert_eq!(own["issuer"], "CN=Example Authority,O=Example Trust,C=DE");
    assert_eq!(own["not_after"], "2036-11-23T18:15:17Z");
    assert_eq!((&own["own"], &own["count"]), (&true.into(), &3.into()));
    assert_eq!(certificates[2]["own"], false);
    // Clients of 4431 and others send a certificate, too.
    assert_eq!(lines("inventory", &files)[0]["certificates"], 3);
    let bom: Value = serde_json::from_str(&stdout(&["--format", "cyclonedx"], &files)).unwrap();
    let components = bom["components"].as_array().unwrap().iter();
    let found: Vec<&Value> =
        components.filter(|component| component["cryptoProperties"]["assetType"] == "certificate").collect();
    assert_eq!(found.len(), 3);
    let leaf = found.iter().find(|component| component["hashes"][0]["content"] == own["sha256"]).unwrap();
    assert_eq!(leaf["cryptoProperties"]["certificateProperties"]["notValidAfter"], "2036-11-23T18:15:17Z");
}

#[test]
fn ssh_servers_have_their_algorithms() {
    let servers = lines("inventory_server", &["ssh-openssh.pcap"]);
    let small = servers.iter().find(|server| server["port"] == 2222).unwrap();
    let offer = &small["ssh_offered"][0];
    assert_eq!(offer["software"], "OpenSSH_9.2p1");
    assert_eq!(offer["kex"], serde_json::json!(["ecdh-sha2-nistp256", "kex-strict-s-v00@openssh.com"]));
    assert_eq!(offer["ciphers"], serde_json::json!(["aes128-ctr", "aes256-ctr"]));
    assert_eq!(offer["macs"], serde_json::json!(["hmac-sha2-256"]));
    // Both sides agree on the only algorithms of the server.
    let agreed = &small["ssh"][0];
    let names =
        ["kex", "host_key", "client_cipher", "server_cipher", "server_mac"].map(|name| agreed[name].as_str());
    let wanted = ["ecdh-sha2-nistp256", "ssh-ed25519", "aes128-ctr", "aes128-ctr", "hmac-sha2-256"];
    assert_eq!(names, wanted.map(Some));
    assert_eq!((&agreed["post_quantum"], &agreed["count"]), (&false.into(), &1.into()));
    assert_eq!(small["problems"], serde_json::json!(["no_post_quantum_key_exchange"]));
    // OpenSSH 9.2 prefers sntrup761x25519-sha512.
    let first = servers.iter().find(|server| server["port"] == 22 && server["ip"] == "2001:db8::2").unwrap();
    assert!(first["ssh"][0]["kex"].as_str().unwrap().starts_with("sntrup761x25519-sha512"));
    assert_eq!(first["problems"], serde_json::json!([]));
}

/// The server on port 22 agreed on the weak methods that the one on port 2201 only offers; that on port 2202 has the defaults of
/// OpenSSH 9.2.
#[test]
fn weak_ssh_methods_are_problems() {
    let files = ["ssh-weak.pcap"];
    let weak = |host: &Value| -> Vec<(String, String, bool)> {
        let rows = host["weak_ssh"].as_array().unwrap().iter();
        let text = |row: &Value, name: &str| row[name].as_str().unwrap().to_owned();
        rows.map(|row| (text(row, "method"), text(row, "weakness"), row["agreed"] == true)).collect()
    };
    let methods = [
        ("diffie-hellman-group1-sha1", "short_prime"),
        ("3des-cbc", "short_block"),
        ("hmac-md5", "md5"),
        ("diffie-hellman-group14-sha1", "sha1_key_exchange"),
        ("ssh-rsa", "sha1_signature"),
        ("hmac-sha1-96", "short_mac"),
        ("aes128-cbc", "cbc"),
    ];
    let all =
        |agreed| methods.map(|(name, weakness)| (name.to_owned(), weakness.to_owned(), agreed)).to_vec();
    let servers = lines("inventory_server", &files);
    let ports: Vec<_> = servers.iter().map(|server| server["port"].as_u64().unwrap()).collect();
    assert_eq!(ports, [22, 2201, 2202]);
    assert_eq!(
        (weak(&servers[0]), weak(&servers[1]), weak(&servers[2])),
        (all(true), all(false), Vec::new())
    );
    let problems: Vec<&Value> = servers.iter().map(|server| &server["problems"]).collect();
    let wanted = [
        serde_json::json!(["weak_ssh_method", "no_post_quantum_key_exchange"]),
        serde_json::json!(["weak_ssh_method_offered"]),
        serde_json::json!([]),
    ];
    assert_eq!(problems, wanted.iter().collect::<Vec<_>>());
    let clients = lines("inventory_client", &files);
    assert_eq!(
        (weak(&clients[0]), &clients[0]["problems"]),
        (all(false), &serde_json::json!(["weak_ssh_method"]))
    );

    let text = stdout(&[], &files);
    let has = |line: &str| assert!(text.contains(line), "{line}\n{text}");
    has("4 connections of 3 servers, 1 client: 50 % hybrid or post-quantum, 50 % classical, 0 % unknown");
    has(
        "weak methods in use: diffie-hellman-group1-sha1 (1 server), 3des-cbc (1 server), hmac-md5 (1 server), ",
    );
    has("1 server offered other weak methods");
    has("\nSSH key exchange ");
    has("Servers that need attention: 2 of 3");
    let bom: Value = serde_json::from_str(&stdout(&["--format", "cyclonedx"], &files)).unwrap();
    let mut components = bom["components"].as_array().unwrap().iter();
    let ssh =
        components.find(|component| component["cryptoProperties"]["protocolProperties"]["type"] == "ssh");
    let properties = ssh.unwrap()["properties"].as_array().unwrap();
    let first = serde_json::json!({"name": "huginn-net:weak_ssh_method", "value": "diffie-hellman-group1-sha1: short_prime"});
    assert_eq!((properties.len(), &properties[0]), (7, &first));
}

#[test]
fn human_format_lists_worst_servers_first() {
    let text = stdout(&["--top", "1"], &["tls-openssl.pcap", "quic-chromium.pcap"]);
    let has = |line: &str| assert!(text.contains(line), "{line}\n{text}");
    has("9 connections: 22 % hybrid or post-quantum key exchange, 78 % classical, 0 % unknown");
    has("deprecated versions: TLS 1.0 (1 server), TLS 1.1 (1 server)");
    has("Servers that need attention: 2 of ");
    has("\nand 1 more\n");
    let row = text.lines().find(|line| line.starts_with("192.0.2.2:4443 ")).unwrap();
    assert_eq!(
        row.split_whitespace().collect::<Vec<_>>().join(" "),
        "192.0.2.2:4443 TLS 1.0, TLS 1.1 2 2026-11-21"
    );
}

#[test]
fn capture_without_handshakes_says_so() {
    assert_eq!(stdout(&[], &["curl-nginx.pcap"]), "nothing      no TLS hello and no SSH key exchange\n");
}

#[test]
fn inventory_does_not_depend_on_workers() {
    let files = ["tls-openssl.pcap", "quic-chromium.pcap", "ssh-openssh.pcap", "tls-hello-retry.pcap"];
    for format in ["human", "json", "cyclonedx"] {
        let one = stdout(&["--format", format, "-w", "1"], &files);
        assert_eq!(one, stdout(&["--format", format, "-w", "3"], &files));
        assert!(one.len() > 500);
    }
}

#[test]
fn bom_has_versions_and_key_exchanges_with_their_servers() {
    let files = ["tls-openssl.pcap", "quic-chromium.pcap"];
    let bom: Value = serde_json::from_str(&stdout(&["--format", "cyclonedx"], &files)).unwrap();
    assert_eq!((&bom["bomFormat"], &bom["specVersion"]), (&"CycloneDX".into(), &"1.6".into()));
    let components = bom["components"].as_array().unwrap();
    let component = |name: &str| components.iter().find(|component| component["name"] == name).unwrap();
    let hybrid = &component("X25519MLKEM768");
    assert_eq!(
        hybrid["cryptoProperties"],
        serde_json::json!({
            "assetType": "algorithm",
            "algorithmProperties": {"primitive": "combiner", "nistQuantumSecurityLevel": 3},
        })
    );
    let old = &component("TLS 1.0");
    assert_eq!(
        old["cryptoProperties"]["protocolProperties"],
        serde_json::json!({
            "type": "tls",
            "version": "1.0",
            "cipherSuites": [{"name": "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", "identifiers": ["0xc0", "0x0a"]}],
        })
    );
    assert_eq!(old["evidence"]["occurrences"][0]["location"], "192.0.2.2:4443");
    // Each reference names a component.
    let references: Vec<&Value> = components.iter().map(|component| &component["bom-ref"]).collect();
    for dependency in bom["dependencies"].as_array().unwrap() {
        assert!(references.contains(&&dependency["ref"]));
        let used = dependency["dependsOn"].as_array().unwrap();
        assert!(!used.is_empty() && used.iter().all(|reference| references.contains(&reference)));
    }
}
