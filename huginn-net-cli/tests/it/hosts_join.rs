//! `huginn-net hosts join`, of states that `live` writes.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use huginn_net::core::NextFrame;
use huginn_net::{CaptureReader, Source};
use serde_json::Value;

use crate::captures;

fn program(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_huginn-net"));
    command.args(args).env_remove("CLICOLOR_FORCE").env_remove("COLUMNS").output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Lets a sensor read a capture, and returns the path of its state.
fn state(folder: &Path, name: &str, capture: &str, options: &[&str]) -> String {
    let capture = captures::path(capture);
    let spool = folder.join(format!("{name}.spool"));
    fs::create_dir(&spool).unwrap();
    fs::copy(&capture, spool.join("1.pcap")).unwrap();
    let mut reader = CaptureReader::open(&capture).unwrap();
    let mut packets = 0;
    while let Ok(NextFrame::Frame(_)) = Source::next_frame(&mut reader) {
        packets += 1;
    }
    let state = folder.join(format!("{name}.jsonl")).display().to_string();
    let (spool, packets) = (format!("file:{}", spool.display()), packets.to_string());
    let args = ["live", "-q", "-i", &spool, "-c", &packets, "-o", "/dev/null", "--state", &state];
    let output = program(&[&args[..], options].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    state
}

fn hosts(args: &[&str]) -> Vec<Value> {
    let output = program(&[&["hosts", "join", "-q", "--format", "json"], args].concat());
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
    text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn of_site(site: &str) -> [&str; 4] {
    ["--format", "json", "--site", site]
}

#[test]
fn states_of_a_site_are_joined_as_captures_are() {
    let folder = tempfile::tempdir().unwrap();
    let named = |sensor| [&of_site("berlin")[..], &["--sensor-name", sensor]].concat();
    let one = state(folder.path(), "one", "hosts-ua.pcap", &named("berlin-1"));
    let two = state(folder.path(), "two", "hosts-nat.pcap", &named("berlin-2"));
    let mut joined = hosts(&[&one, &two]);
    let sensors = |host: &Value| -> Vec<String> {
        let sensors = host["sensors"].as_array().unwrap().iter();
        sensors.map(|view| view["sensor"].as_str().unwrap().to_owned()).collect()
    };
    assert!(joined.iter().all(|host| host["site"] == "berlin"), "{joined:?}");
    assert_eq!(sensors(&joined[0]), ["berlin-1", "berlin-2"], "{joined:?}");
    for host in &mut joined {
        for field in ["site", "sensors", "disagreement"] {
            host.as_object_mut().unwrap().remove(field);
        }
    }
    let captures = ["hosts-ua.pcap", "hosts-nat.pcap"].map(|name| captures::path(name).display().to_string());
    let merged = program(&["hosts", "--merge", "--format", "json", &captures[0], &captures[1]]);
    let merged: Vec<Value> =
        text(&merged.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(joined, merged);
}

#[test]
fn equal_addresses_at_two_sites_are_two_hosts() {
    let folder = tempfile::tempdir().unwrap();
    let states =
        ["paris", "berlin", "rome"].map(|site| state(folder.path(), site, "hosts-ua.pcap", &of_site(site)));
    let joined = hosts(&states.each_ref().map(String::as_str));
    let keys: Vec<String> = joined.iter().map(|host| format!("{} {}", host["ip"], host["site"])).collect();
    let wanted = ["192.0.2.1", "192.0.2.2"]
        .map(|ip| ["berlin", "paris", "rome"].map(|site| format!("\"{ip}\" \"{site}\"")));
    assert_eq!(keys, wanted.concat());
    // A sensor without a name is called as its file.
    assert_eq!(joined[0]["sensors"][0]["sensor"], *states[1]);
    let table = program(&["hosts", "join", &states[0], &states[1]]);
    let (table, messages) = (text(&table.stdout), text(&table.stderr));
    assert!(table.starts_with("address") && table.lines().next().unwrap().contains("  site  "), "{table}");
    assert!(table.contains("\n192.0.2.1 at berlin\n"), "contradictions name the site: {table}");
    assert_eq!(messages, "huginn-net: 2 states of 2 sites: 4 hosts\n");
}

#[test]
fn sensors_that_name_different_systems_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let named = |sensor| [&of_site("berlin")[..], &["--sensor-name", sensor]].concat();
    let one = state(folder.path(), "one", "hosts-ua.pcap", &named("berlin-1"));
    // The connection of one of the two hosts behind the address.
    let of_one = [&named("berlin-2")[..], &["--port", "38900"]].concat();
    let two = state(folder.path(), "two", "hosts-nat.pcap", &of_one);
    let joined = hosts(&[&one, &two]);
    assert_eq!(joined[0]["disagreement"], "berlin-1 says Linux, berlin-2 says Windows");
    let table = program(&["hosts", "join", &one, &two]);
    let sentence = "192.0.2.1 at berlin\n";
    let table = text(&table.stdout);
    assert!(
        table.contains(sentence) && table.contains("  sensors disagree: berlin-1 says Linux, "),
        "{table}"
    );
}

#[test]
fn files_that_are_not_states_are_named_and_others_joined() {
    let folder = tempfile::tempdir().unwrap();
    let named = |sensor| ["--format", "json", "--sensor-name", sensor];
    let good = state(folder.path(), "good", "hosts-ua.pcap", &named("a"));
    let same = state(folder.path(), "same", "hosts-ua.pcap", &named("a"));
    let path = |name: &str| folder.path().join(name).display().to_string();
    let lines = fs::read_to_string(&good).unwrap();
    fs::write(path("cut"), lines.split_at(lines.len() / 2).0).unwrap();
    fs::write(path("known"), "{\"huginn_net_baseline\":2,\"first\":null,\"last\":null}\n").unwrap();
    let capture = captures::path("hosts-ua.pcap").display().to_string();
    let output = program(&[
        "hosts",
        "join",
        "--format",
        "json",
        &path("cut"),
        &path("absent"),
        &path("known"),
        &capture,
        &good,
    ]);
    let messages = text(&output.stderr);
    for wanted in [
        "cut: damaged: a line is cut or too long",
        "absent: no such file",
        "known: a baseline, not a state of 'live'",
        "hosts-ua.pcap: not a state of 'live'",
    ] {
        assert!(messages.contains(wanted), "{messages}");
    }
    assert_eq!((output.status.code(), text(&output.stdout).lines().count()), (Some(1), 2), "{messages}");

    let output = program(&["hosts", "join", &good, &same]);
    let messages = text(&output.stderr);
    for wanted in ["are both of the sensor 'a'", "good.jsonl and 1 other file: without a site"] {
        assert!(messages.contains(wanted), "{messages}");
    }
    for (args, wanted) in [
        (&[&*good, &*good][..], "is named twice"),
        (&[&*good, "-o", &*good], "input and output are the same file"),
    ] {
        let output = program(&[&["hosts", "join"], args].concat());
        assert!(output.status.code() == Some(2) && text(&output.stderr).contains(wanted), "{output:?}");
    }
}

/// The site is of the whole sensor, also of one that writes only text; its name may be that of one output.
#[test]
fn sensor_name_in_state_with_several_outputs() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::create_dir(path("spool")).unwrap();
    fs::copy(captures::path("hosts-ua.pcap"), path("spool/1.pcap")).unwrap();
    let text = format!(
        "interface = ['file:{}']\ncount = 10\nstate = '{}'\nsite = 'berlin'\n\
         [[output]]\noutput = '{}'\nformat = 'human'\n\
         [[output]]\noutput = '{}'\nformat = 'json'\nsensor-name = 'berlin-1'\n",
        path("spool"),
        path("state"),
        path("events.txt"),
        path("events.json")
    );
    fs::write(path("live.toml"), text).unwrap();
    let output = program(&["live", "-q", "--config", &path("live.toml")]);
    assert!(output.status.success(), "{}", self::text(&output.stderr));
    let header: Value =
        serde_json::from_str(fs::read_to_string(path("state")).unwrap().lines().next().unwrap()).unwrap();
    assert_eq!((&header["site"], &header["sensor"]), (&"berlin".into(), &"berlin-1".into()));
    let events = fs::read_to_string(path("events.json")).unwrap();
    assert!(
        events.lines().next().unwrap().contains("\"sensor\":\"berlin-1\",\"site\":\"berlin\""),
        "{events}"
    );
    assert!(!fs::read_to_string(path("events.txt")).unwrap().contains("berlin"));
}
