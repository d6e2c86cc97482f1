use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use super::*;

const STARTED: &str = "HUGINN_NET_TEST_SIGNALS";

fn start(test: &str) -> (Child, impl Iterator<Item = String>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([&format!("signals::tests::{test}"), "--exact", "--ignored", "--nocapture"])
        .env(STARTED, "1")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    (child, lines.map(|line| line.unwrap()).filter(|line| line.starts_with("told ")))
}

fn kill(child: &Child, signal: i32) {
    let (signal, process) = (format!("-{signal}"), child.id().to_string());
    assert!(Command::new("kill").args([signal, process]).status().unwrap().success());
}

#[test]
fn reports_signals_and_exits_on_second_stop() {
    let (mut child, mut told) = start("child_that_hangs");
    assert_eq!(told.next().as_deref(), Some("told nothing yet"));
    kill(&child, SIGHUP);
    assert_eq!(told.next().as_deref(), Some("told Reopen"), "though it came before anybody watched");
    for (signal, wanted) in [
        (SIGUSR1, "told Dump"),
        (SIGHUP, "told Reopen"),
        (SIGTERM, "told Stop"),
        (SIGTERM, "told Stop"),
        (SIGINT, "told Stop"),
    ] {
        kill(&child, signal);
        assert_eq!(told.next().as_deref(), Some(wanted));
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
fn child_that_hangs() {
    if std::env::var_os(STARTED).is_none() {
        return;
    }
    let tell = |text: &str| writeln!(io::stdout(), "told {text}").unwrap();
    let pending_signals = PendingSignals::new().unwrap();
    tell("nothing yet");
    thread::sleep(Duration::from_millis(300));
    let _watch = pending_signals.watch(move |signal| tell(&format!("{signal:?}"))).unwrap();
    thread::sleep(Duration::from_secs(60));
}

#[test]
fn a_stop_before_anybody_watches_ends_at_once() {
    // SIGINT may be ignored, as it is by what a shell starts in the background.
    let (mut child, mut told) = start("child_that_never_watches");
    assert_eq!(told.next().as_deref(), Some("told nothing yet"));
    kill(&child, SIGHUP);
    kill(&child, SIGTERM);
    assert_eq!(child.wait().unwrap().signal(), Some(SIGTERM));
}

#[test]
#[ignore = "started by another test"]
fn child_that_never_watches() {
    if std::env::var_os(STARTED).is_none() {
        return;
    }
    let _caught = PendingSignals::new().unwrap();
    writeln!(io::stdout(), "told nothing yet").unwrap();
    thread::sleep(Duration::from_secs(60));
}

#[test]
fn a_watch_that_is_dropped_ends_its_thread() {
    let (tell, told) = mpsc::channel::<Signal>();
    drop(PendingSignals::new().unwrap().watch(move |signal| tell.send(signal).unwrap()).unwrap());
    assert!(told.recv().is_err());
}
