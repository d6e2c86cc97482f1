//! Output of `huginn-net interfaces`. Every Linux machine has the interface `lo`.

use std::process::Command;

use serde_json::Value;

fn interfaces(format: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_huginn-net"))
        .args(["interfaces", "--format", format])
        .output()
        .unwrap();
    assert!(output.status.success() && output.stderr.is_empty());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn json_has_an_object_for_each_interface() {
    let text = interfaces("json");
    let list: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let lo = list.iter().find(|interface| interface["name"] == "lo").unwrap();
    assert_eq!((&lo["index"], &lo["loopback"], &lo["mac"]), (&1.into(), &true.into(), &Value::Null));
    assert!(["up", "down"].contains(&lo["state"].as_str().unwrap()));
    assert!(lo["addresses"].is_array() && lo["mtu"].is_number());
    let any = list.last().unwrap();
    assert_eq!((any["name"].as_str(), &any["index"], &any["mac"]), (Some("any"), &0.into(), &Value::Null));
}

#[test]
fn human_format_is_table() {
    let text = interfaces("human");
    let row = text.lines().find(|line| line.trim_start().starts_with("lo ")).unwrap();
    assert!(row.contains(" 1 "), "{text}");
}
