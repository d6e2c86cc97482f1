use std::collections::HashSet;
use std::process::Command;

use serde_json::Value;

use crate::{LAB, Server};

fn load(url: &str, options: &[&str]) -> Value {
    let output =
        Command::new(LAB).args(["load", url, "-d", "1", "-c", "4", "--json"]).args(options).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn truth(url: &str, options: &[&str]) -> (Value, Vec<Value>) {
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().to_str().unwrap();
    let report = load(url, &[options, &["--truth", path]].concat());
    let text = std::fs::read_to_string(path).unwrap();
    (report, text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

#[test]
fn churn_makes_a_connection_for_each_request() {
    let server = Server::start(&[]);
    for (http, tls) in [("1", false), ("1", true), ("2", false), ("2", true), ("3", true)] {
        let (report, connections) = truth(&server.url(tls, "/?s=1k"), &["--http", http, "--churn"]);
        let requests = report["requests"].as_u64().unwrap();
        assert!(requests > 10, "HTTP/{http}: {report}");
        assert_eq!(report["errors"], 0, "HTTP/{http}: {report}");
        assert_eq!(report["connections"], requests);
        assert_eq!(connections.len() as u64, requests);
        assert!(connections.iter().all(|connection| connection["requests"] == 1));
        assert!(connections.iter().all(|connection| connection["ja4"].is_string() == tls));
    }
}

#[test]
fn keep_alive_makes_all_requests_on_one_connection_each() {
    let server = Server::start(&["--threads", "2"]);
    for (http, tls) in [("1", false), ("2", true), ("3", true)] {
        let (report, connections) = truth(&server.url(tls, "/?s=300k"), &["--http", http]);
        let clients: HashSet<_> =
            connections.iter().map(|connection| connection["client"].to_string()).collect();
        assert_eq!((connections.len(), clients.len()), (4, 4), "HTTP/{http}");
        let made: u64 = connections.iter().map(|connection| connection["requests"].as_u64().unwrap()).sum();
        assert_eq!(report["requests"], made);
        assert_eq!(report["errors"], 0, "HTTP/{http}: {report}");
    }
}

#[test]
fn rate_limits_the_requests() {
    let server = Server::start(&[]);
    let report = load(&server.url(false, "/"), &["--rate", "50"]);
    let requests = report["requests"].as_u64().unwrap();
    assert!((30..=50).contains(&requests), "{report}");
}

#[test]
fn bad_status_is_an_error() {
    let server = Server::start(&[]);
    let output = Command::new(LAB)
        .args(["load", &server.url(false, "/?r=500"), "-d", "1", "--json"])
        .output()
        .unwrap();
    assert!(!output.status.success());
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["requests"], 0);
    assert!(report["errors"].as_u64().unwrap() > 0);
}

#[test]
#[ignore = "needs h2load (Debian: nghttp2-client)"]
fn h2load_reports_the_same_quantities() {
    let server = Server::start(&[]);
    for (http, tls) in [("1", false), ("2", false), ("2", true)] {
        let report = load(&server.url(tls, "/?s=16k"), &["--http", http, "--tool", "h2load"]);
        assert!(report["requests"].as_u64().unwrap() > 10, "HTTP/{http}: {report}");
        assert!(report["gbps"].as_f64().unwrap() > 0.0);
    }
}
