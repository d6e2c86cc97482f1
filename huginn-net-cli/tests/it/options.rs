//! Options together: runs the command lines of docs/options.md.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::captures;

fn run(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_huginn-net")).args(args).output().unwrap()
}

/// A command line of the page, without the program, and what the page says of it.
fn rows(section: &str) -> Vec<(Vec<String>, &str)> {
    let page = include_str!("../../../docs/options.md");
    let (_, section) = page.split_once(&format!("## {section}\n")).unwrap();
    let rows = section.lines().take_while(|line| !line.starts_with("## "));
    let rows = rows.filter_map(|line| line.strip_prefix("| `")?.strip_suffix(" |")?.split_once("` | "));
    // The heading has the name of the program.
    let rows = rows.filter(|(command, _)| *command != "huginn-net");
    rows.map(|(command, text)| (command.split(' ').map(word).collect(), text)).collect()
}

/// Replaces a placeholder.
fn word(typed: &str) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("options");
    fs::create_dir_all(&folder).unwrap();
    let file = |name: &str, content: &str| {
        let path = folder.join(name);
        fs::write(&path, content).unwrap();
        path.display().to_string()
    };
    match typed {
        "FILE" => captures::path("tls-curl.pcap").display().to_string(),
        "LIST" => file("list.csv", "ja4,label\nt13d3112h2_e8f1e7e78f70_b26ce05bbdd6,test\n"),
        "BASELINE" => file("baseline.jsonl", "{\"huginn_net_baseline\":2,\"first\":null,\"last\":null}\n"),
        "DB" => file("db.fp", "classes = unix\n"),
        "TABLE" => concat!(env!("CARGO_MANIFEST_DIR"), "/../huginn-net-db/clients/utls.tsv").to_owned(),
        "IFACE" => "no-such-interface".to_owned(),
        other => other.to_owned(),
    }
}

#[test]
fn page_says_what_is_refused() {
    let rows = rows("Refused");
    for (args, advice) in &rows {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let output = run(&args);
        let printed = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {printed}");
        assert!(printed.contains(advice), "{args:?}: {printed}");
        assert!(output.stdout.is_empty(), "{args:?}");
    }
    assert!(rows.len() > 50, "{}", rows.len());
}

#[test]
fn page_says_what_is_accepted() {
    let rows = rows("Accepted");
    for (args, _) in &rows {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let output = run(&args);
        let printed = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}: {printed}");
        let writes = !output.stdout.is_empty();
        assert!(writes || args.contains(&"learn"), "{args:?}: {printed}");
    }
    assert!(rows.len() > 10, "{}", rows.len());
}

#[test]
fn quiet_blocks_print_nothing_else() {
    let capture = captures::path("tls-curl.pcap").display().to_string();
    let output = run(&["pcap", "-q", "-v", &capture]);
    let events = String::from_utf8(output.stdout).unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
    assert!(events.contains("\n\n"), "{events}");
}

#[test]
fn capture_without_command_names_the_command() {
    for path in ["capture.pcap", "/tmp"] {
        let output = run(&[path]);
        let printed = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(printed.contains("'huginn-net pcap FILE'"), "{printed}");
    }
}
