use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use super::*;

/// Environment variable that makes the child tests run.
const IS_CHILD: &str = "HUGINN_NET_TEST_SIGNALS";

fn start(test: &str) -> (Child, impl Iterator<Item = String>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([&format!("signals::tests::{test}"), "--exact", "--ignored", "--nocapture"])
        .env(IS_CHILD, "1")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    (child, lines.map(|line| line.unwrap()).filter(|line| line.starts_with("signal: ")))
}

fn kill(child: &Child, signal: i32) {
    let (signal, process) = (format!("-{signal}"), child.id().to_string());
    assert!(Command::new("kill").args([signal, process]).status().unwrap().success());
}

#[test]
fn reports_signals_and_exits_on_second_stop() {
    let (mut child, mut lines) = start("child_that_prints_signals");
    assert_eq!(lines.next().as_deref(), Some("signal: nothing yet"));
    kill(&child, SIGHUP);
    assert_eq!(lines.next().as_deref(), Some("signal: Reopen"), "sent before the signal thread started");
    kill(&child, SIGUSR2);
    for (signal, wanted) in [
        (SIGUSR1, "signal: Dump"),
        (SIGHUP, "signal: Reopen"),
        (SIGTERM, "signal: Stop"),
        (SIGTERM, "signal: Stop"),
        (SIGINT, "signal: Stop"),
    ] {
        kill(&child, signal);
        assert_eq!(lines.next().as_deref(), Some(wanted));
    }
    thread::sleep(REPEATED_STOP_WINDOW);
    while child.try_wait().unwrap().is_none() {
        kill(&child, SIGTERM);
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(child.wait().unwrap().signal(), Some(SIGTERM));
}

#[test]
#[ignore = "started by another test"]
fn child_that_prints_signals() {
    if std::env::var_os(IS_CHILD).is_none() {
        return;
    }
    let print = |text: &str| writeln!(io::stdout(), "signal: {text}").unwrap();
    let pending_signals = PendingSignals::new().unwrap();
    print("nothing yet");
    thread::sleep(Duration::from_millis(300));
    let _watch = pending_signals.watch(move |signal| print(&format!("{signal:?}"))).unwrap();
    thread::sleep(Duration::from_secs(60));
}

#[test]
fn stop_before_watch_exits_immediately() {
    // The test sends no SIGINT, because background processes of a shell ignore it.
    let (mut child, mut lines) = start("child_that_handles_no_signal");
    assert_eq!(lines.next().as_deref(), Some("signal: nothing yet"));
    kill(&child, SIGHUP);
    kill(&child, SIGTERM);
    assert_eq!(child.wait().unwrap().signal(), Some(SIGTERM));
}

#[test]
#[ignore = "started by another test"]
fn child_that_handles_no_signal() {
    if std::env::var_os(IS_CHILD).is_none() {
        return;
    }
    let _pending_signals = PendingSignals::new().unwrap();
    writeln!(io::stdout(), "signal: nothing yet").unwrap();
    thread::sleep(Duration::from_secs(60));
}

#[test]
fn dropping_signal_thread_joins_it() {
    let (sender, receiver) = mpsc::channel::<Signal>();
    drop(PendingSignals::new().unwrap().watch(move |signal| sender.send(signal).unwrap()).unwrap());
    assert!(receiver.recv().is_err());
}
