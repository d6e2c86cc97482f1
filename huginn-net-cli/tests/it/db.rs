//! Output and exit status of `huginn-net db`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// A small database in the format of p0f.
const DATABASE: &str = "\
classes = unix

[mtu]
label = Ethernet
sig   = 1500

[tcp:request]
label = s:unix:Example:1
sig   = *:64:0:1460:mss*10,7:mss,sok,ts,nop,ws:df,id+:0

[tcp:response]
label = g:unix:Example:
sig   = *:64:0:*:*,*:mss:df:0
";

fn db(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_huginn-net")).arg("db").args(args).output().unwrap()
}

fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

fn database(name: &str, text: &str) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("db");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn stats_counts_signatures_per_section() {
    let output = db(&["stats", &database("stats.fp", DATABASE)]);
    let counts: Vec<Vec<&str>> =
        stdout(&output).lines().map(|line| line.split_whitespace().take(2).collect()).collect();
    for wanted in
        [["classes", "1"], ["mtu", "1"], ["tcp:request", "1"], ["tcp:response", "1"], ["http:request", "0"]]
    {
        assert!(counts.iter().any(|row| *row == wanted), "{wanted:?} in {counts:?}");
    }
    assert!(stdout(&db(&["stats"])).contains("tcp:request"), "the built-in one");
}

#[test]
fn match_prints_database_entry() {
    let path = database("match.fp", DATABASE);
    let of = |args: &[&str]| stdout(&db(&[&["match", "--db", &path], args].concat())).to_owned();
    let request = "4:61+3:0:1460:mss*10,7:mss,sok,ts,nop,ws:df,id+:0";
    let found = of(&[request]);
    for line in
        ["label      Example 1", "class      unix", "kind       specific", "distance   3", "line       9"]
    {
        assert!(found.lines().any(|found| found == line), "{line}\n{found}");
    }
    assert!(found.lines().any(|line| line == format!("file       {path}")), "{found}");
    assert!(of(&["4:61+3:0:1460:mss*10,7:mss,sok,ts,nop,ws:df:0"]).contains("fuzzy      yes"));
    assert_eq!(of(&["--response", request]), "no match\n");
    assert!(of(&["--response", "4:64+0:0:1460:1024,0:mss:df:0"]).contains("kind       generic"));
    let wrong = db(&["match", "4:61+3:0"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(!wrong.stderr.is_empty());
}

#[test]
fn lint_prints_error_with_position() {
    let clean = db(&["lint", &database("clean.fp", DATABASE)]);
    assert_eq!((clean.status.code(), stdout(&clean)), (Some(0), ""));
    let built_in = db(&["lint"]);
    assert_eq!((built_in.status.code(), stdout(&built_in)), (Some(0), ""));

    let wrong = db(&["lint", &database("wrong.fp", &DATABASE.replace("mss*10", "mss*x"))]);
    assert_eq!(wrong.status.code(), Some(1));
    assert!(stdout(&wrong).contains("wrong.fp: error: line 9, column "), "{}", stdout(&wrong));

    let twice = "sig = *:64:0:1460:100,0:mss::0\n";
    let covered = DATABASE.replace("[tcp:response]", &format!("{twice}{twice}[tcp:response]"));
    let covered = db(&["lint", &database("covered.fp", &covered)]);
    assert_eq!(covered.status.code(), Some(1));
    assert!(stdout(&covered).contains("error: line 12: "), "{}", stdout(&covered));

    let empty = DATABASE.replace("[tcp:request]", "[tcp:request]\nlabel = s:unix:Empty:\n");
    let empty = db(&["lint", &database("empty.fp", &empty)]);
    assert_eq!(empty.status.code(), Some(0));
    assert!(stdout(&empty).contains("line 8"), "{}", stdout(&empty));
}

fn signatures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../huginn-net-db/signatures")
}

#[test]
fn match_names_file_and_line_of_builtin_entry() {
    let output = db(&["match", "4:64+0:0:1460:mss*44,7:mss,sok,ts,nop,ws:df,id+:0"]);
    let field = |name: &str| {
        let line = stdout(&output).lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().to_owned()
    };
    let text = fs::read_to_string(signatures().join(field("file"))).unwrap();
    let line = text.lines().nth(field("line").parse::<usize>().unwrap().checked_sub(1).unwrap()).unwrap();
    assert!(line.starts_with("sig") && line.contains("mss,sok,ts,nop,ws"), "{line}");
}

#[test]
fn lint_accepts_each_built_in_file() {
    let files: Vec<String> = fs::read_dir(signatures())
        .unwrap()
        .map(|entry| entry.unwrap().path().display().to_string())
        .collect();
    assert!(files.len() > 10);
    let args: Vec<&str> = ["lint"].into_iter().chain(files.iter().map(String::as_str)).collect();
    let output = db(&args);
    assert_eq!((output.status.code(), stdout(&output)), (Some(0), ""));

    let unknown = "[tcp:request]\nlabel = s:toaster:Example:1\nsig = *:64:0:1460:100,0:mss::0\n";
    let unknown = db(&["lint", &database("unknown-class.fp", unknown)]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(stdout(&unknown).contains("error: line 2"), "{}", stdout(&unknown));
}

/// Returns the standard output of `db export`, which must succeed.
fn export(args: &[&str]) -> String {
    let output = db(&[&["export"], args].concat());
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    stdout(&output).to_owned()
}

const CURL: &str = "t13d3112h2_e8f1e7e78f70_b26ce05bbdd6";

/// Suricata 8.0.8 loads the dataset and the rules; nginx 1.30 and HAProxy 3.2 the maps.
#[test]
fn exported_lists_name_clients() {
    for kind in ["ja4", "ja3", "hassh", "akamai"] {
        let lines = export(&["--to", "suricata-dataset", "--kind", kind]);
        let values: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(values.len() > 10, "{kind}");
        // Suricata stops at a line of 1024 bytes.
        assert!(lines.lines().all(|line| line.len() < 1000), "{kind}");
        for value in &values {
            assert!(
                value[kind].is_string() && !value["candidates"].as_array().unwrap().is_empty(),
                "{value}"
            );
            assert!(!value["evidence"].as_array().unwrap().is_empty(), "{value}");
        }
    }
    let rules = export(&["--to", "suricata-rules", "--first-sid", "7"]);
    let rule = rules.lines().find(|rule| rule.contains(CURL)).unwrap();
    assert!(rule.starts_with(
        r#"alert tls any any -> any any (msg:"huginn-net client libcurl 7.88 and older"; ja4.hash; "#
    ));
    for (rule, sid) in rules.lines().zip(7..) {
        assert!(rule.ends_with(&format!("; sid:{sid}; rev:1;)")), "{rule}");
        assert!(rule.contains(
            "; threshold:type limit, track by_src, count 1, seconds 3600; classtype:misc-activity; "
        ));
        // msg, keyword, content, metadata, threshold, classtype, sid, rev
        assert_eq!((rule.matches(';').count(), rule.matches('"').count()), (8, 4), "{rule}");
    }
    assert!(export(&["--to", "nginx-map"]).contains(&format!("\n{CURL} \"libcurl 7.88 and older\";\n")));
    assert!(export(&["--to", "haproxy-map"]).contains(&format!("\n{CURL} libcurl 7.88 and older\n")));
    let zeek = export(&["--to", "zeek-input"]);
    assert!(zeek.starts_with("#fields\tja4\tclient\tcandidates\tevidence\n"));
    assert!(zeek.lines().all(|line| line.split('\t').count() == 4 || line.starts_with('#')));
    let arkime = export(&["--to", "arkime"]);
    assert!(arkime.starts_with("#field:huginn.client;kind:termfield;"));
    assert!(arkime.contains(&format!("\n{CURL};0=libcurl 7.88 and older;1=")));
    let entries = arkime.lines().filter(|line| !line.starts_with('#'));
    assert!(entries.clone().count() > 10 && entries.clone().all(|line| line.matches(';').count() == 2));
    for (kind, of_type) in [("ja3", "ja3-fingerprint-md5"), ("hassh", "hassh-md5")] {
        let event: Value = serde_json::from_str(&export(&["--to", "misp", "--kind", kind])).unwrap();
        let attributes = event["Event"]["Attribute"].as_array().unwrap();
        assert!(attributes.len() > 10 && attributes.iter().all(|attribute| attribute["type"] == of_type));
    }
    let event: Value = serde_json::from_str(&export(&["--to", "misp"])).unwrap();
    let objects = event["Event"]["Object"].as_array().unwrap();
    let curl = objects.iter().find(|object| object["Attribute"][1]["value"] == CURL).unwrap();
    assert_eq!(curl["Attribute"][2]["value"], "libcurl 7.88 and older");
    assert!(curl["comment"].as_str().unwrap().starts_with("libcurl 7.88 and older: "));
    let ndpi = export(&["--to", "ndpi"]);
    assert!(ndpi.contains(&format!("\nja4:{CURL}@libcurl_7.88_and_older\n")));
    // nDPI 5.0 takes these, and no quotation marks.
    let is_rule = |line: &str| {
        let rule = line.strip_prefix("ja4:").and_then(|rule| rule.split_once('@'));
        rule.is_some_and(|(ja4, name)| {
            ja4.len() == 36 && !name.contains(['@', '=', ',', ' ']) && !name.is_empty()
        })
    };
    assert!(ndpi.lines().all(|line| line.starts_with("# ") || is_rule(line)));
    assert!(
        export(&["--to", "csv"])
            .contains(&format!("\n{CURL},libcurl 7.88 and older,OpenSSL,libcurl,7.88 and older,exact,"))
    );
}

/// p0f 3.09b loads the list.
#[test]
fn exported_tcp_signatures_name_systems() {
    let signature = "*:64:0:*:mss*44,*:mss,sok,ts,nop,ws:df,id+,flow:0";
    let csv = export(&["--to", "csv", "--kind", "tcp"]);
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("signature,packet,label,source,evidence"));
    let first = lines.next().unwrap();
    let start = format!("\"{signature}\",syn,Linux 4.20 or newer,20-linux.fp:");
    assert!(first.starts_with(&start) && first.contains("Recorded on Linux 6.18"), "{first}");
    assert!(csv.contains(",syn_ack,"));
    let event: Value = serde_json::from_str(&export(&["--to", "misp", "--kind", "tcp"])).unwrap();
    let attributes = event["Event"]["Attribute"].as_array().unwrap();
    assert_eq!(attributes.len(), csv.lines().count() - 1);
    assert_eq!(attributes[0]["value"], signature);

    let p0f = export(&["--to", "p0f", "--kind", "tcp"]);
    assert!(!p0f.contains("[http:") && p0f.contains("[tcp:response]") && p0f.contains("classes ="));
    let stats = db(&["stats", &database("exported.fp", &p0f)]);
    let count = |output: &str, name: &str| {
        let line = output.lines().find(|line| line.starts_with(name)).map(str::to_owned);
        line.unwrap_or_else(|| panic!("{name}: {output}"))
    };
    let builtin = db(&["stats"]);
    for name in ["tcp:request", "tcp:response", "mtu"] {
        assert_eq!(count(stdout(&stats), name), count(stdout(&builtin), name));
    }
}

#[test]
fn exports_refuse_what_a_list_cannot_have() {
    let rules = ["export", "--to", "suricata-rules"];
    for options in [
        &["--kind", "akamai"][..],
        &["--first-sid", "0"],
        &["--first-sid", "4294967290"],
        &["--to", "csv", "--first-sid", "5"],
        &["--to", "misp", "--kind", "akamai"],
        &["--to", "arkime", "--kind", "akamai"],
        &["--to", "ndpi", "--kind", "ja3"],
        &["--to", "zeek-input", "--kind", "tcp"],
        &["--kind", "tcp"],
        &["--kind", "ja4", "--to", "p0f"],
    ] {
        let output = db(&[&rules[..if options.len() == 4 { 1 } else { 3 }], options].concat());
        assert_eq!(output.status.code(), Some(2), "{options:?}");
    }
}

/// Applications that differ in ALPN values or signature algorithms share a JA3.
#[test]
fn ja3_names_libraries_alone() {
    let lines = export(&["--to", "suricata-dataset", "--kind", "ja3"]);
    assert!(lines.lines().all(|line| line.contains(r#""application":null,"versions":null"#)));
    assert!(lines.contains(r#""client":"OpenSSL","library":"OpenSSL""#));
}
