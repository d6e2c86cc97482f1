//! What `huginn-net live` refuses, which needs no rights; `ci/live` has the rest.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::process::Command;

/// The exit status and what is said of it.
fn live(args: &[&str]) -> (i32, String) {
    let program = env!("CARGO_BIN_EXE_huginn-net");
    let output = Command::new(program).arg("live").args(args).output().unwrap();
    assert!(output.stdout.is_empty());
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn wrong_usage_is_named_and_ends_with_2() {
    for (args, named) in [
        (&[][..], "--interface"),
        (&["-i", "no-such-iface"], "no-such-iface: there is no such interface; there are: "),
        (&["-i", "lo", "--rotate-size", "1G"], "--output"),
        (&["-i", "lo", "-o", "x", "--rotate-keep", "3"], "--rotate-size"),
        (&["-i", "lo", "-o", "x", "--rotate-size", "1G", "--rotate-keep", "0"], "a number from 1"),
        (&["-i", "lo", "-o", "x", "--rotate-size", "0"], "100M"),
        (&["-i", "lo", "--stats-interval", "0"], "from one second"),
        (&["-i", "lo", "--metrics", "nowhere"], "[::1]:9100"),
        (&["-i", "lo", "--p0f-socket", "x", "--p0f-socket-mode", "888"], "in octal"),
        (&["-i", "lo", "--snaplen", "1"], "--snaplen"),
        (&["-i", "lo", "--filter", "tcp", "tcp"], "cannot be used with"),
    ] {
        let (status, said) = live(args);
        assert!(status == 2 && said.contains(named), "{args:?}: {status}, {said}");
    }
}

#[cfg(not(feature = "libpcap"))]
#[test]
fn an_expression_needs_libpcap_which_is_said_with_the_way_to_get_it() {
    for args in [&["-i", "lo", "tcp", "port", "80"][..], &["-i", "lo", "--backend", "libpcap"]] {
        let (status, said) = live(args);
        assert!(status == 2 && said.contains("--features libpcap"), "{args:?}: {status}, {said}");
    }
}

#[cfg(feature = "libpcap")]
#[test]
fn a_wrong_expression_is_named() {
    for backend in ["packet", "libpcap"] {
        let (status, said) = live(&["-i", "lo", "--backend", backend, "tcp", "prot", "80"]);
        // Without rights libpcap says of these first.
        assert!(
            status == 2 && said.contains("tcp prot 80") || status == 1 && said.contains("setcap"),
            "{said}"
        );
    }
}
