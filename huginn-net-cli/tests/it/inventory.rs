//! `huginn-net inventory`: what servers chose and clients offered. Counts are those of tshark 4.0.17 for the same captures
//! (`tls.handshake.type`, `tls.handshake.ciphersuite`, `tls.handshake.extensions_key_share_group` and so on).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::captures;

fn run(args: &[&str], files: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_huginn-net"));
    command.arg("inventory").args(args).env("COLUMNS", "100");
    let path = |file: &&str| if file.starts_with('/') { PathBuf::from(file) } else { captures::path(file) };
    command.args(files.iter().map(path)).output().unwrap()
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
        row["protocol"] == "quic" && row["group"] == "X25519MLKEM768" && row["key_exchange"] == "hybrid"
    }));
}

/// All connections of the capture are of one client.
#[test]
fn client_has_what_its_servers_chose_and_days() {
    let files = ["tls-openssl.pcap"];
    let clients = lines("inventory_client", &files);
    let mut all: Vec<_> = lines("inventory_server", &files)
        .iter()
        .flat_map(|server| {
            chosen(server)
                .into_iter()
                .map(|(version, suite, group, count)| {
                    (version.to_owned(), suite.to_owned(), group.map(str::to_owned), count)
                })
                .collect::<Vec<_>>()
        })
        .collect();
    let mut of_client: Vec<_> = chosen(&clients[0])
        .into_iter()
        .map(|(version, suite, group, count)| {
            (version.to_owned(), suite.to_owned(), group.map(str::to_owned), count)
        })
        .collect();
    all.sort();
    of_client.sort();
    assert_eq!((of_client.len(), &of_client), (5, &all));
    let text = stdout(&[], &["tls-openssl.pcap", "quic-retry.pcap"]);
    assert!(text.contains("from, to"), "{text}");
    let folder = captures::path("tls-openssl.pcap");
    let output = run(&[], &[folder.parent().unwrap().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    // A screen of 80 columns.
    let narrow = Command::new(env!("CARGO_BIN_EXE_huginn-net"))
        .args(["inventory", "-q"])
        .arg(folder.parent().unwrap().parent().unwrap())
        .env("COLUMNS", "80")
        .output()
        .unwrap();
    let narrow = String::from_utf8(narrow.stdout).unwrap();
    assert!(narrow.lines().all(|line| line.chars().count() <= 80) && narrow.lines().count() < 75, "{narrow}");
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
    assert_eq!(own["serial"], "1a2ad23a6815682dce41460b4fa2a51a6b2d4be9");
    assert_eq!(own["sha1"], "a2db39d9b6e7c5c0f52698dc6ac21cbaad6028af");
    assert_eq!((&own["names"][0], &own["ca"]), (&"www.example.test".into(), &false.into()));
    assert_eq!((&own["self_issued"], &certificates[2]["self_issued"]), (&false.into(), &true.into()));
    assert_eq!(certificates[2]["own"], false);
    let text = stdout(&[], &files);
    assert!(text.contains("\ncertificates 3 certificates of "), "{text}");
    // Clients of 4431 and others send a certificate, too.
    assert_eq!(lines("inventory", &files)[0]["certificates"], 3);
    let bom: Value = serde_json::from_str(&stdout(&["--format", "cyclonedx"], &files)).unwrap();
    let components = bom["components"].as_array().unwrap().iter();
    let found: Vec<&Value> =
        components.filter(|component| component["cryptoProperties"]["assetType"] == "certificate").collect();
    assert_eq!(found.len(), 3);
    let leaf = found.iter().find(|component| component["hashes"][0]["content"] == own["sha256"]).unwrap();
    let properties = &leaf["cryptoProperties"]["certificateProperties"];
    assert_eq!(properties["notValidAfter"], "2036-11-23T18:15:17Z");
    // References name other components.
    let component = |reference: &Value| {
        let mut all = bom["components"].as_array().unwrap().iter();
        all.find(|component| component["bom-ref"] == *reference).unwrap()["cryptoProperties"].clone()
    };
    let signature = component(&properties["signatureAlgorithmRef"]);
    assert_eq!(signature["algorithmProperties"]["primitive"], "signature");
    let key = component(&properties["subjectPublicKeyRef"]);
    assert_eq!(key["assetType"], "related-crypto-material");
    assert_eq!(
        key["relatedCryptoMaterialProperties"],
        serde_json::json!({"type": "public-key", "size": 256})
    );
    let table = text.split_once("\nCertificates of servers that end first\n").unwrap().1;
    let row = table.lines().nth(2).unwrap();
    assert!(row.starts_with(r"CN=www.example.test,O=Example\, Inc.") && row.contains("2036-11-23"), "{row}");
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
    let methods = [
        ("diffie-hellman-group1-sha1", "short_prime"),
        ("3des-cbc", "short_block"),
        ("hmac-md5", "md5"),
        ("diffie-hellman-group14-sha1", "sha1_key_exchange"),
        ("ssh-rsa", "sha1_signature"),
        ("hmac-sha1-96", "short_mac"),
        ("aes128-cbc", "cbc"),
    ];
    let all = |agreed| methods.map(|(name, weakness)| (name, weakness, agreed)).to_vec();
    let servers = lines("inventory_server", &files);
    let ports: Vec<_> = servers.iter().map(|server| server["port"].as_u64().unwrap()).collect();
    assert_eq!(ports, [22, 2201, 2202]);
    assert_eq!(
        (weak_ssh(&servers[0]), weak_ssh(&servers[1]), weak_ssh(&servers[2])),
        (all(true), all(false), Vec::new())
    );
    let source = |method: &str| {
        let mut rows = servers[0]["weak_ssh"].as_array().unwrap().iter();
        rows.find(|row| row["method"] == method).unwrap()["source"].as_str().unwrap()
    };
    // RFC 9142 permits it.
    assert_eq!(source("diffie-hellman-group14-sha1"), "OpenSSH 8.2");
    assert_eq!(source("diffie-hellman-group1-sha1"), "RFC 9142");
    let problems: Vec<&Value> = servers.iter().map(|server| &server["problems"]).collect();
    let wanted = [
        serde_json::json!(["weak_ssh_method", "no_post_quantum_key_exchange"]),
        serde_json::json!(["weak_ssh_method_offered"]),
        serde_json::json!([]),
    ];
    assert_eq!(problems, wanted.iter().collect::<Vec<_>>());
    let clients = lines("inventory_client", &files);
    assert_eq!(
        (weak_ssh(&clients[0]), &clients[0]["problems"]),
        (all(false), &serde_json::json!(["weak_ssh_method"]))
    );

    let text = stdout(&[], &files);
    let has = |line: &str| assert!(text.contains(line), "{line}\n{text}");
    // Sentences are wrapped to the width of the screen.
    let words: Vec<&str> = text.split_whitespace().collect();
    let sentence =
        "4 connections of 3 servers, 1 client: 50 % hybrid or post-quantum, 50 % classical, 0 % unknown";
    assert!(words.join(" ").contains(sentence), "{text}");
    let sentence = "weak methods in use: diffie-hellman-group1-sha1 (1 server), 3des-cbc (1 server), hmac-md5 (1 server) and 4 more";
    assert!(words.join(" ").contains(sentence), "{text}");
    has("1 server offered other weak methods");
    has("\nSSH key exchange ");
    has("Servers that need attention: 2 of 3");
    let bom: Value = serde_json::from_str(&stdout(&["--format", "cyclonedx"], &files)).unwrap();
    let mut components = bom["components"].as_array().unwrap().iter();
    let ssh =
        components.find(|component| component["cryptoProperties"]["protocolProperties"]["type"] == "ssh");
    let ssh = ssh.unwrap();
    let properties = ssh["properties"].as_array().unwrap();
    let first = serde_json::json!({"name": "huginn-net:weak_ssh_method", "value": "diffie-hellman-group1-sha1: short_prime"});
    assert_eq!((properties.len(), &properties[0]), (7, &first));
    let suites = ssh["cryptoProperties"]["protocolProperties"]["cipherSuites"].as_array().unwrap();
    let weakest = suites
        .iter()
        .find(|suite| suite["name"] == "diffie-hellman-group1-sha1, ssh-rsa, 3des-cbc, hmac-md5");
    assert_eq!(weakest.unwrap()["algorithms"][0], "crypto/key-exchange/classical/diffie-hellman-group1-sha1");
}

/// Key exchange methods, host key algorithms, ciphers and MACs of both directions.
type Lists<'a> = [&'a str; 4];

/// The first bytes of a peer: its identification and an SSH_MSG_KEXINIT with these lists (RFC 4253, section 7.1).
fn ssh_hello([kex, host_keys, ciphers, macs]: Lists<'_>) -> Vec<u8> {
    let mut payload = vec![20_u8; 17];
    for list in [kex, host_keys, ciphers, ciphers, macs, macs, "none", "none", "", ""] {
        payload.extend((list.len() as u32).to_be_bytes());
        payload.extend(list.as_bytes());
    }
    payload.extend([0_u8; 5]);
    // The packet has a multiple of 8 bytes: five before the payload, and at least four of padding (section 6).
    let padding = 4 + (15 - payload.len() % 8) % 8;
    let mut hello = b"SSH-2.0-example\r\n".to_vec();
    hello.extend((payload.len() as u32 + padding as u32 + 1).to_be_bytes());
    hello.push(padding as u8);
    hello.extend(payload);
    hello.extend(vec![0_u8; padding]);
    hello
}

pub(crate) fn ssh_capture(name: &str, connections: &[(Lists<'_>, Lists<'_>)]) -> PathBuf {
    let hellos = connections.iter().map(|(client, server)| (ssh_hello(*client), ssh_hello(*server)));
    capture_of(name, &hellos.collect::<Vec<_>>())
}

/// Writes a capture of raw IPv4 packets with one connection for the first bytes of each pair of client and server, the first
/// one to port 22, the next one to port 23 and so on, and returns its path.
fn capture_of(name: &str, connections: &[(Vec<u8>, Vec<u8>)]) -> PathBuf {
    let mut file = [0xa1b2_c3d4_u32, 0x0002_0004, 0, 0, 262_144, 101].map(u32::to_be_bytes).concat();
    for (n, (client, server)) in connections.iter().enumerate() {
        let port = 22 + n as u8;
        let after = 1 + client.len() as u32;
        let packets: [(bool, u32, u32, u8, &[u8]); 4] = [
            (true, 0, 0, 0x02, &[]),
            (false, 0, 1, 0x12, &[]),
            (true, 1, 1, 0x18, client),
            (false, 1, after, 0x18, server),
        ];
        for (from_client, seq, ack, flags, payload) in packets {
            let len = 40 + payload.len() as u32;
            file.extend([1_700_000_000, n as u32, len, len].map(u32::to_be_bytes).concat());
            file.extend([0x45, 0, (len >> 8) as u8, len as u8, 0, 0, 0x40, 0, 64, 6, 0, 0]);
            let ends = [([192_u8, 0, 2, 1], [0x9c, 0x40]), ([192, 0, 2, 2], [0, port])];
            let [from, to] = if from_client { ends } else { [ends[1], ends[0]] };
            file.extend([from.0, to.0].concat());
            file.extend([from.1, to.1].concat());
            file.extend([seq, ack].map(u32::to_be_bytes).concat());
            file.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
            file.extend(payload);
        }
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("inventory");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    fs::write(&path, file).unwrap();
    path
}

/// The weak methods of a host: name, weakness, and whether both sides agreed on it.
fn weak_ssh(host: &Value) -> Vec<(&str, &str, bool)> {
    let rows = host["weak_ssh"].as_array().unwrap().iter();
    rows.map(|row| {
        (row["method"].as_str().unwrap(), row["weakness"].as_str().unwrap(), row["agreed"] == true)
    })
    .collect()
}

#[test]
fn failed_ssh_negotiation_has_no_method_in_use() {
    let client = ["diffie-hellman-group1-sha1", "ssh-rsa", "3des-cbc", "hmac-md5"];
    let others = [
        ["diffie-hellman-group1-sha1", "ssh-rsa", "aes128-ctr", "hmac-md5"],
        ["diffie-hellman-group1-sha1", "ssh-rsa", "3des-cbc", "hmac-sha2-256"],
        ["curve25519-sha256", "ssh-rsa", "3des-cbc", "hmac-md5"],
        ["diffie-hellman-group1-sha1", "ssh-ed25519", "3des-cbc", "hmac-md5"],
    ];
    let path = ssh_capture("failed.pcap", &others.map(|server| (client, server)));
    let path = path.to_str().unwrap();
    let servers = lines("inventory_server", &[path]);
    assert_eq!(servers.len(), 4);
    for server in &servers {
        assert_eq!(server["problems"], serde_json::json!(["weak_ssh_method_offered"]), "{server}");
        let weak = weak_ssh(server);
        assert!(!weak.is_empty() && weak.iter().all(|(_, _, agreed)| !agreed), "{server}");
    }
    let text = stdout(&[], &[path]);
    assert!(!text.contains("in use") && !text.contains("SSH key exchange"), "{text}");
    let bom = stdout(&["--format", "cyclonedx"], &[path]);
    assert!(!bom.contains("weak_ssh_method") && !bom.contains("group1-sha1"), "{bom}");
    // Without a failure the same methods are in use.
    let path = ssh_capture("agreed.pcap", &[(client, client)]);
    let servers = lines("inventory_server", &[path.to_str().unwrap()]);
    assert!(weak_ssh(&servers[0]).iter().all(|(_, _, agreed)| *agreed));
    assert_eq!(weak_ssh(&servers[0]).len(), 4);
}

#[test]
fn methods_none_say_what_is_missing() {
    let lists = ["curve25519-sha256", "ssh-ed25519", "none", "none"];
    let path = ssh_capture("none.pcap", &[(lists, lists)]);
    let path = path.to_str().unwrap();
    let servers = lines("inventory_server", &[path]);
    assert_eq!(weak_ssh(&servers[0]), [("none", "no_encryption", true), ("none", "no_mac", true)]);
    let text = stdout(&[], &[path]);
    assert!(text.contains("weak methods in use: no encryption (1 server), no MAC (1 server)\n"), "{text}");
    let row = text.lines().find(|line| line.starts_with("192.0.2.2:22 ")).unwrap();
    assert!(row.contains(" no encryption, no MAC, classical only "), "{row}");
}

/// Names of peers that clear the screen, are long or many.
#[test]
fn ssh_names_from_the_wire_are_printable_and_short() {
    let long = format!("\u{1b}[2J\u{7}\u{202e}{}", "x".repeat(1000));
    let many: Vec<String> = (0..1000).map(|n| format!("own{n}-cbc")).collect();
    let many = many.join(",");
    let lists = [long.as_str(), "ssh-ed25519", many.as_str(), "hmac-sha2-256"];
    let path = ssh_capture("hostile.pcap", &[(lists, lists)]);
    let path = path.to_str().unwrap();
    let text = stdout(&[], &[path]);
    assert!(text.contains("\n\\x1b[2J\\x07\\xe2\\x80\\xaexxx"), "{text}");
    assert!(!text.contains(|c: char| c.is_control() && c != '\n' || c == '\u{202e}'), "{text:?}");
    assert!(text.contains("x…") && text.lines().all(|line| line.chars().count() <= 140), "{text}");
    for host in lines("inventory_server", &[path]).iter().chain(&lines("inventory_client", &[path])) {
        assert!(weak_ssh(host).is_empty(), "{}", host["problems"]);
    }
}

/// A server with a 1024-bit group precedes those with weak ciphers, as one of TLS does.
#[test]
fn ssh_group_of_1024_bits_follows_broken_methods() {
    let rest = ["ssh-ed25519", "aes128-ctr", "hmac-sha2-256"];
    let lists = |kex, cipher| [kex, rest[0], cipher, rest[2]];
    let servers = [
        lists("curve25519-sha256", "3des-cbc"),
        lists("diffie-hellman-group1-sha1", rest[1]),
        lists("curve25519-sha256", "arcfour"),
    ];
    let path = ssh_capture("ranks.pcap", &servers.map(|lists| (lists, lists)));
    let text = stdout(&[], &[path.to_str().unwrap()]);
    let ports = text.lines().filter_map(|line| line.strip_prefix("192.0.2.2:")?.get(..2));
    assert_eq!(ports.collect::<Vec<_>>(), ["24", "23", "22"], "{text}");
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
        "192.0.2.2:4443 TLS 1.0, TLS 1.1, classical only 2 2026-11-21"
    );
}

/// A hello with the lists of OpenSSL 1.0.2 in Node.js 4 to 8.
fn hello_of_openssl_1_0_2() -> Vec<u8> {
    const SUITES: [u16; 55] = [
        0xc030, 0xc02c, 0xc028, 0xc024, 0xc014, 0xc00a, 0x00a5, 0x00a3, 0x00a1, 0x009f, 0x006b, 0x006a,
        0x0069, 0x0068, 0x0039, 0x0038, 0x0037, 0x0036, 0xc032, 0xc02e, 0xc02a, 0xc026, 0xc00f, 0xc005,
        0x009d, 0x003d, 0x0035, 0xc02f, 0xc02b, 0xc027, 0xc023, 0xc013, 0xc009, 0x00a4, 0x00a2, 0x00a0,
        0x009e, 0x0067, 0x0040, 0x003f, 0x003e, 0x0033, 0x0032, 0x0031, 0x0030, 0xc031, 0xc02d, 0xc029,
        0xc025, 0xc00e, 0xc004, 0x009c, 0x003c, 0x002f, 0x00ff,
    ];
    const ALGORITHMS: [u16; 15] = [
        0x0601, 0x0602, 0x0603, 0x0501, 0x0502, 0x0503, 0x0401, 0x0402, 0x0403, 0x0301, 0x0302, 0x0303,
        0x0201, 0x0202, 0x0203,
    ];
    let bytes = |numbers: &[u16]| numbers.iter().flat_map(|number| number.to_be_bytes()).collect::<Vec<u8>>();
    let with_len = |bytes: &[u8]| [&(bytes.len() as u16).to_be_bytes()[..], bytes].concat();
    let lists: [(u16, Vec<u8>); 4] = [
        (11, vec![1, 0]),
        (10, with_len(&[0, 23])),
        (13, with_len(&bytes(&ALGORITHMS))),
        (0x3374, Vec::new()),
    ];
    let extensions = lists.map(|(kind, data)| [&kind.to_be_bytes()[..], &with_len(&data)].concat()).concat();
    let body =
        [vec![3, 3], vec![1; 32], vec![0], with_len(&bytes(&SUITES)), vec![1, 0], with_len(&extensions)];
    let message = [vec![1, 0], with_len(&body.concat())].concat();
    [vec![22, 3, 1], with_len(&message)].concat()
}

#[test]
fn clients_with_old_libraries_are_listed() {
    let capture = capture_of("openssl-1.0.2.pcap", &[(hello_of_openssl_1_0_2(), Vec::new())]);
    let run = |format: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_huginn-net"))
            .args(["inventory", "-q"])
            .args(format)
            .arg(&capture)
            .output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    let text = run(&[]);
    let (_, list) = text.split_once("Clients whose TLS library is no longer released").expect(&text);
    assert!(list.contains("OpenSSL 1.0.2") && list.contains("2015 to 2019"), "{list}");
    let json = run(&["--format", "json"]);
    let want = r#""library":"OpenSSL","series":"1.0.2","first_released":2015,"last_released":2019,"count":1"#;
    assert!(json.contains(want), "{json}");
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
