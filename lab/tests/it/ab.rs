use std::process::{Command, Output};

use serde_json::Value;

use crate::LAB;

fn ab(arguments: &[&str]) -> Output {
    Command::new(LAB).arg("ab").args(arguments).output().unwrap()
}

#[test]
fn commands_run_in_turn() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let echo = |text: &str| format!("echo {text} >> {}", log.display());
    let output = ab(&["-n", "3", "--before", &echo("before"), "A", &echo("a"), "B", &echo("b")]);
    assert!(output.status.success());
    let order = std::fs::read_to_string(&log).unwrap();
    assert_eq!(order.split_whitespace().collect::<String>(), "beforeabeforeb".repeat(3));
}

#[test]
fn table_says_whether_there_is_a_difference() {
    let output =
        ab(&["-n", "5", "A", "echo '{\"x\":10}'", "same", "echo '{\"x\":10}'", "more", "echo '{\"x\":25}'"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("| x | median | spread | to A | spread | |"), "{text}");
    assert!(text.contains("| A | 10.00 | 10.00 .. 10.00 | | | |"), "{text}");
    assert!(
        text.contains("| same | 10.00 | 10.00 .. 10.00 | 1.000 | 1.000 .. 1.000 | no difference |"),
        "{text}"
    );
    assert!(text.contains("| more | 25.00 | 25.00 .. 25.00 | 2.500 | 2.500 .. 2.500 |  |"), "{text}");
}

#[test]
fn json_has_every_value() {
    let output = ab(&["-n", "2", "--json", "A", "echo '{\"x\":1}'", "B", "echo '{\"x\":2}'"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["commands"][1]["name"], "B");
    assert_eq!(report["commands"][1]["quantities"]["x"], serde_json::json!([2.0, 2.0]));
    assert_eq!(report["commands"][0]["quantities"]["time, s"].as_array().unwrap().len(), 2);
}

#[test]
fn failed_command_ends_the_comparison() {
    let output = ab(&["A", "true", "B", "false"]);
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("false"));
    assert!(!ab(&["A", "true", "B"]).status.success());
}
