//! Texts and file names that attack terminals, spreadsheets and readers, in each format.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A text that clears the screen, reorders its line, hides text and ends in C1 and DEL.
const HOSTILE: &str = "\u{1b}[2J\u{7}\u{202e}\u{2066}\u{200b}\u{feff}\u{61c}\u{e0041}\u{9b}\u{7f}";

/// Writes a capture of raw IPv4 packets, each payload from its own client, and returns its path.
pub(crate) fn capture(name: &str, payloads: &[Vec<u8>]) -> PathBuf {
    let exchanges: Vec<[&[u8]; 2]> = payloads.iter().map(|payload| [&payload[..], &[]]).collect();
    exchanges_capture(name, &exchanges)
}

/// Writes a capture in which each client sends one payload, and its server answers with the other.
pub(crate) fn exchanges_capture(name: &str, exchanges: &[[&[u8]; 2]]) -> PathBuf {
    let mut file = [0xa1b2_c3d4_u32, 0x0002_0004, 0, 0, 262_144, 101].map(u32::to_be_bytes).concat();
    for (client, [request, response]) in exchanges.iter().enumerate() {
        let client_end = [192, 0, 2, 10 + client as u8, 0x9c, 0x40];
        let server_end = [192, 0, 2, 2, 0, 80];
        let (to_server, to_client) = ([client_end, server_end], [server_end, client_end]);
        let answer = [(0, 0x12, &[][..], to_client), (1, 0x18, response, to_client)];
        let packets = [(0_u32, 0x02, &[][..], to_server), (1, 0x18, request, to_server)];
        let answer = answer.into_iter().filter(|_| !response.is_empty());
        for (seq, flags, payload, [from, to]) in packets.into_iter().chain(answer) {
            let len = 40 + payload.len() as u32;
            file.extend([1_700_000_000, client as u32, len, len].map(u32::to_be_bytes).concat());
            file.extend([0x45, 0, (len >> 8) as u8, len as u8, 0, 0, 0x40, 0, 64, 6, 0, 0]);
            file.extend([&from[..4], &to[..4], &from[4..], &to[4..]].concat());
            file.extend(seq.to_be_bytes());
            file.extend([0, 0, 0, 0, 0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
            file.extend(payload);
        }
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hostile_texts");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    fs::write(&path, file).unwrap();
    path
}

/// A hello, a request and a banner, each with a text that begins with `start`.
pub(crate) fn payloads(start: &str) -> Vec<Vec<u8>> {
    let text = format!("{start}{HOSTILE}");
    let mut hello = include_bytes!("../../../huginn-net-tls/hellos/curl-openssl.bin").to_vec();
    let name = huginn_net::tls::ClientHello::from_records(&hello).unwrap().unwrap().value;
    let name = name.server_name().unwrap().to_vec();
    let at = hello.windows(name.len()).position(|bytes| bytes == name).unwrap();
    let part: String = [start, "\u{1b}\u{202e}"].concat().chars().take(name.len()).collect();
    let end = at + part.len().min(name.len());
    hello[at..end].copy_from_slice(&part.as_bytes()[..end - at]);
    let request =
        format!("GET /{text} HTTP/1.1\r\nHost: {text}\r\nUser-Agent: {text}\r\nAccept: */*\r\n\r\n");
    vec![hello, request.into_bytes(), format!("SSH-2.0-{text} {text}\r\n").into_bytes()]
}

fn run(args: &[&str], path: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_huginn-net"));
    command.args(args).arg(path).env_remove("CLICOLOR_FORCE").output().unwrap()
}

/// Checks that a terminal shows each character of a text as itself.
pub(crate) fn check(bytes: &[u8], what: &str) {
    let text = std::str::from_utf8(bytes).unwrap();
    let bad = text.chars().find(|c| !huginn_net::core::is_printable(*c) && !matches!(c, '\n' | '\t'));
    assert_eq!(bad, None, "{what}: {text:?}");
}

#[test]
fn output_for_people_and_spreadsheets_is_printable() {
    let path = capture("texts.pcap", &payloads("=x"));
    let fields = "event,sni,user_agent,banner,host,sig";
    for args in [
        &["pcap", "--format", "human"][..],
        &["pcap", "--format", "human", "-v"],
        &["pcap", "--format", "human", "--local-time"],
        &["hosts"],
        &["fingerprints", "--top", "9"],
        &["fingerprints", "--top", "9", "--format", "csv"],
        &["pcap", "--format", "p0f"],
        &["pcap", "--format", "csv", "--fields", fields],
        &["pcap", "--format", "tsv", "--fields", fields],
    ] {
        let output = run(args, &path);
        assert!(output.status.success() && !output.stdout.is_empty(), "{args:?}: {output:?}");
        check(&output.stdout, &args.join(" "));
    }
    // The texts are there, and escaped.
    let human = String::from_utf8(run(&["pcap", "--format", "human", "-v"], &path).stdout).unwrap();
    assert!(
        human.contains(
            r"=x\x1b[2J\x07\xe2\x80\xae\xe2\x81\xa6\xe2\x80\x8b\xef\xbb\xbf\xd8\x9c\xf3\xa0\x81\x81"
        )
    );
}

/// p0f's signatures have values of headers, in which p0f keeps DEL.
#[test]
fn signatures_are_printable_in_views() {
    let request = b"GET / HTTP/1.1\r\nHost: a\r\nAccept-Language: \x7fdel\r\n\r\n".to_vec();
    let path = capture("signatures.pcap", &[request]);
    for args in [
        &["pcap", "--format", "human", "-v"][..],
        &["fingerprints", "--top", "9"],
        &["fingerprints", "--rare", "9"],
    ] {
        let output = run(args, &path);
        check(&output.stdout, &args.join(" "));
        assert!(String::from_utf8_lossy(&output.stdout).contains(r"Accept-Language=[\x7fdel]"), "{args:?}");
    }
}

#[test]
fn no_cell_is_a_formula() {
    for start in ["=cmd|", "+1+", "-1+", "@SUM"] {
        let path = capture("formulas.pcap", &payloads(start));
        for (options, separator, count) in [
            (&["pcap", "--format", "csv", "--fields", "user_agent,sni"][..], ',', 2),
            (&["pcap", "--format", "tsv", "--fields", "user_agent,sni"], '\t', 2),
            (&["fingerprints", "--format", "csv", "--top", "9", "--kinds", "user_agent"], ',', 1),
        ] {
            let output = run(options, &path);
            let text = String::from_utf8(output.stdout).unwrap();
            let cells: Vec<_> = text.lines().flat_map(|line| line.split(separator)).collect();
            assert_eq!(
                cells.iter().filter(|cell| cell.starts_with(&format!("'{start}"))).count(),
                count,
                "{text}"
            );
            assert!(!cells.iter().any(|cell| cell.trim_start_matches('"').starts_with(start)), "{text}");
        }
    }
}

#[cfg(unix)]
#[test]
fn file_names_are_printable_in_messages() {
    let name = format!("a\n{HOSTILE}.pcap");
    let path = capture(&name, &payloads("x"));
    let missing = path.with_file_name(format!("missing{HOSTILE}\n"));
    let damaged = capture(&format!("b{HOSTILE}.pcap"), &[]);
    fs::write(&damaged, "no capture").unwrap();
    let under = damaged.join("c");
    for (args, path, status) in [
        (&["pcap", "--stats"][..], &path, 0),
        (&["pcap", "-v"], &path, 0),
        (&["pcap"], &missing, 1),
        (&["pcap"], &damaged, 1),
        (&["pcap", "-o", under.to_str().unwrap()], &path, 2),
        (&["pcap", "--db", damaged.to_str().unwrap()], &path, 2),
        (&["pcap", "--clients", missing.to_str().unwrap()], &path, 2),
        (&["pcap", "--fingerprints", missing.to_str().unwrap()], &path, 2),
        (&["pcap", HOSTILE, "--format", HOSTILE], &path, 2),
        (&["db", "lint"], &damaged, 1),
        (&["db", "lint"], &missing, 1),
    ] {
        let output = run(args, path);
        assert_eq!(output.status.code(), Some(status), "{args:?}: {output:?}");
        check(&output.stderr, &format!("{args:?}"));
        check(&output.stdout, &format!("{args:?}"));
        let messages = String::from_utf8(output.stderr).unwrap();
        assert!(!messages.contains("a\n\\x1b"), "{args:?}: {messages}");
    }
}
