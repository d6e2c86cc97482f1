//! Exact output of SSH events.

use std::process::Command;

use crate::captures;

/// Runs `huginn-net pcap` on a capture.
fn stdout(capture: &str, args: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_huginn-net"));
    command.arg("pcap").args(args).env_remove("CLICOLOR_FORCE");
    String::from_utf8(command.arg(captures::path(capture)).output().unwrap().stdout).unwrap()
}

/// Returns the name and the SSH fields of each event, without the common fields.
fn json(capture: &str) -> Vec<String> {
    let lines = stdout(capture, &["--format", "json", "--protocols", "ssh"]);
    let fields = |line: &str| {
        let (_, event) = line.split_once(r#""event":""#).unwrap();
        let (name, rest) = event.split_once('"').unwrap();
        let first = if name == "ssh_handshake" { r#""kex""# } else { r#""protocol_version""# };
        let (_, fields) = rest.split_once(first).unwrap();
        format!("{name} {first}{fields}")
    };
    lines.lines().map(fields).collect()
}

#[test]
fn json_has_banner_and_hassh() {
    let events = json("ssh-dropbear.pcap");
    assert_eq!(events.len(), 9);
    let algorithms = "curve25519-sha256,curve25519-sha256@libssh.org,ecdh-sha2-nistp521,ecdh-sha2-nistp384,\
        ecdh-sha2-nistp256,diffie-hellman-group14-sha256,diffie-hellman-group14-sha1,kexguess2@matt.ucc.asn.au,\
        ext-info-c,kex-strict-c-v00@openssh.com;";
    let start = format!(
        r#"ssh_client "protocol_version":"2.0","banner":"SSH-2.0-dropbear_2022.83","hassh":"16574631849ea8d13c926c9905839928","hassh_algorithms":"{algorithms}"#
    );
    assert_eq!(events[0].get(..start.len()), Some(start.as_str()));
    assert!(
        events[1].starts_with(r#"ssh_server "protocol_version":"2.0","banner":"SSH-2.0-dropbear_2022.83""#)
    );
}

/// The values are those of tshark's lists by the rule of RFC 4253, section 7.1, and of `ssh -vvv`.
#[test]
fn json_has_agreed_algorithms() {
    let events = json("ssh-dropbear.pcap");
    assert_eq!(
        events[2],
        r#"ssh_handshake "kex":"curve25519-sha256","host_key":"ssh-ed25519","client_cipher":"chacha20-poly1305@openssh.com","server_cipher":"chacha20-poly1305@openssh.com","client_mac":"<implicit>","server_mac":"<implicit>","client_compression":"zlib@openssh.com","server_compression":"zlib@openssh.com","post_quantum":false,"strict_kex":true,"guess":"right"}"#
    );
    let events: Vec<_> =
        json("ssh-negotiation.pcap").into_iter().filter(|event| event.starts_with("ssh_handshake")).collect();
    assert!(events[3].contains(r#""client_cipher":null,"server_cipher":null,"#), "{}", events[3]);
    assert!(
        events[6].starts_with(r#"ssh_handshake "kex":"mlkem768x25519-sha256","#)
            && events[6].ends_with(r#""post_quantum":true,"strict_kex":true,"guess":null}"#),
        "{}",
        events[6]
    );
}

#[test]
fn json_is_null_without_kex_init() {
    let null = r#""hassh":null,"hassh_algorithms":null"#;
    let events = json("ssh-endings.pcap");
    let clients: Vec<_> = events.iter().filter(|event| event.starts_with("ssh_client")).collect();
    assert_eq!(
        clients,
        [
            &format!(
                r#"ssh_client "protocol_version":"1.5","banner":"SSH-1.5-huginn",{null},"software":null}}"#
            ),
            &format!(
                r#"ssh_client "protocol_version":"2.0","banner":"SSH-2.0-huginn scan",{null},"software":null}}"#
            ),
            &format!(
                r#"ssh_client "protocol_version":"2.0","banner":"SSH-2.0-caf\\xe9_\\xff \\x5cx41",{null},"software":null}}"#
            ),
        ]
    );
    assert_eq!(events.iter().filter(|event| event.contains(null)).count(), 6);
}

#[test]
fn human_blocks_name_software_and_hassh() {
    let blocks = stdout("ssh-openssh.pcap", &["-v", "--protocols", "ssh"]);
    let first: Vec<_> = blocks.lines().take(6).skip(1).collect();
    assert_eq!(
        first,
        [
            "  client     192.0.2.1",
            "  protocol   SSH 2.0",
            "  software   OpenSSH_9.2p1",
            "  comments   Debian-2+deb12u10",
            "  hassh      472b5de333ad665af5cbf10ff892c4df",
        ]
    );
}

/// The values are those of `ssh -vvv`.
#[test]
fn human_formats_name_agreed_algorithms() {
    let blocks = stdout("ssh-negotiation.pcap", &["-v", "--events", "ssh_handshake"]);
    let blocks: Vec<Vec<&str>> = blocks.split("\n\n").map(|block| block.lines().skip(2).collect()).collect();
    assert_eq!(
        blocks[1],
        [
            "  kex        sntrup761x25519-sha512 (post-quantum)",
            "  host key   ssh-ed25519",
            "  to server  aes256-ctr, MAC umac-128-etm@openssh.com, compression zlib@openssh.com",
            "  to client  aes256-ctr, MAC umac-128-etm@openssh.com, compression zlib@openssh.com",
            "  strict kex yes",
        ]
    );
    assert_eq!(blocks[3][2], "  to server  no match, MAC umac-64-etm@openssh.com, compression none");
    assert_eq!(blocks[3][5], "  fails      no match in encryption_algorithms_client_to_server");
    let lines = stdout("ssh-negotiation.pcap", &["-q", "--events", "ssh_handshake"]);
    let lines: Vec<_> = lines.lines().filter_map(|line| line.split_once("  SSH       ")).collect();
    let [second, fourth, fifth] = [1, 3, 4].map(|index| lines[index].1);
    assert_eq!(second, "sntrup761x25519-sha512, post-quantum, ssh-ed25519, aes256-ctr");
    assert_eq!(
        (fourth, fifth),
        ("no match in encryption_algorithms_client_to_server", "ecdh-sha2-nistp256, ssh-ed25519, aes128-ctr")
    );
    let guesses = stdout("ssh-guesses.pcap", &["-v", "--events", "ssh_handshake"]);
    assert_eq!(
        guesses.matches("\n  guess      wrong: the first packet of the key exchange is ignored\n").count(),
        2
    );
}

#[test]
fn p0f_format_has_no_ssh() {
    assert_eq!(stdout("ssh-openssh.pcap", &["--format", "p0f", "--protocols", "ssh"]), "");
    let others = stdout("ssh-openssh.pcap", &["--format", "json", "--protocols", "tcp,http,tls"]);
    assert!(!others.is_empty() && !others.contains("\"ssh_"));
}
