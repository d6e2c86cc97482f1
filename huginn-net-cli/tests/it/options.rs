//! Options together: runs the command lines of docs/options.md.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::captures;

fn run(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_huginn-net")).args(args).output().unwrap()
}

/// The words of a command line, with files in place of the names in capitals.
fn words(line: &str) -> Vec<String> {
    line.split(' ').map(word).collect()
}

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

/// Checks that a command line is refused, and returns why.
fn refusal(line: &str) -> String {
    let args = words(line);
    let output = run(&args.iter().map(String::as_str).collect::<Vec<_>>());
    let printed = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{line}: {printed}");
    assert!(output.stdout.is_empty(), "{line}");
    printed
}

#[test]
fn page_says_what_is_refused() {
    let page = include_str!("../../../docs/options.md");
    let (_, section) = page.split_once("## Refused\n").unwrap();
    let rows =
        section.lines().filter_map(|line| line.strip_prefix("| `")?.strip_suffix(" |")?.split_once("` | "));
    // The heading has the name of the program.
    let rows: Vec<_> = rows.filter(|(line, _)| *line != "huginn-net").collect();
    assert!(rows.len() > 20, "{}", rows.len());
    for (line, advice) in rows {
        let printed = refusal(line);
        // The names are those of the example.
        let mut rest = &*printed;
        for part in advice.split('…') {
            let found = rest.split_once(part);
            (_, rest) = found.unwrap_or_else(|| panic!("{line}: {part}: {printed}"));
        }
    }
}

#[test]
fn command_line_excludes_what_makes_no_sense() {
    for (line, reason) in [
        ("FILE", "'huginn-net pcap FILE'"),
        ("pcap -r FILE", "capture files need no option: 'huginn-net pcap FILE'"),
        ("pcap -R FILE", "directories need no option: 'huginn-net pcap DIR'"),
        ("pcap --format zeek-tsv FILE", "--zeek-dir <DIR>"),
        ("pcap --only-matches FILE", "--fingerprints"),
        ("pcap --only-matches --events tls_client --fingerprints LIST FILE", "--only-matches"),
        ("pcap --events no_event FILE", "expected one of tcp_syn"),
        ("pcap --from noon FILE", "expected a time in UTC, such as '2022-03-17'"),
        ("pcap --summary FILE", "unexpected argument '--summary'"),
        ("follow 192.0.2.1", "name a capture, too: 'huginn-net follow 192.0.2.1 FILE'"),
        ("follow --server a --fingerprint b FILE", "cannot be used with"),
        ("follow --format json --local-time 192.0.2.1 FILE", "--local-time is for --format human"),
        ("diff - -", "standard input can be read only once"),
        ("fingerprints --top 3 --rare 3 FILE", "cannot be used with"),
        ("hosts --format csv FILE", "[possible values: human, json]"),
        ("hosts --where sni!=null FILE", "unexpected argument '--where'"),
        ("inventory --keylog LIST FILE", "unexpected argument '--keylog'"),
        ("inventory --db DB FILE", "unexpected argument '--db'"),
        ("inventory --format json --top 3 FILE", "--top is for --format human"),
        ("top --protocols tls --keylog LIST FILE", "--keylog reports the HTTP inside TLS"),
        ("report -o page.html --connections FILE", "unexpected argument '--connections'"),
        ("extract FILE", "--output"),
        ("extract -o x.pcapng --annotate --handshakes FILE", "cannot be used with"),
        ("extract -o x.pcapng --events match FILE", "the event 'match' needs --fingerprints"),
        (
            "explain t13d3112h2_e8f1e7e78f70_b26ce05bbdd6 t13d3112h2_e8f1e7e78f70_b26ce05bbdd6 --db DB",
            "cannot be used with",
        ),
        ("p0f -r FILE -s SOCKET", "cannot be used with"),
    ] {
        let printed = refusal(line);
        assert!(printed.contains(reason), "{line}: {printed}");
    }
    for (line, reason) in [
        ("live -i IFACE --tui --stats-interval 60s", "cannot be used with"),
        ("live -i IFACE --pin 0,0", "processor 0 is named twice"),
        ("live -i IFACE --format arrow", "invalid value 'arrow'"),
        ("live -i IFACE --rotate-size 1M", "--output"),
        ("live -i IFACE -o events.json --rotate-keep 3", "--rotate-size"),
        ("live -i IFACE -o tcp:localhost:9000 --rotate-size 1M", "only a file can be rotated"),
        ("live -i IFACE -o tcp:9000", "tcp:9000: expected tcp:HOST:PORT"),
        ("live -i IFACE --extract x.pcapng", "--where <CONDITION>"),
        ("live -i IFACE --p0f-socket-mode 660", "--p0f-socket"),
        ("live -i IFACE --filter tcp udp", "cannot be used with"),
        ("live -i IFACE --no-pager", "unexpected argument '--no-pager'"),
        ("watch --count 3 DIR", "unexpected argument '--count'"),
        ("watch --format zeek-tsv DIR", "invalid value 'zeek-tsv'"),
    ] {
        let printed = refusal(line);
        assert!(cfg!(not(unix)) || printed.contains(reason), "{line}: {printed}");
    }
}

#[test]
fn options_with_an_effect_are_accepted() {
    for line in [
        "pcap -q -v FILE",
        "pcap --format json -v FILE",
        "pcap --format json -q -v FILE",
        "pcap --format csv FILE",
        "pcap --format json --fields ts,client.ip,ja4 FILE",
        "pcap --format json --sensor-name s --add-field site=berlin FILE",
        "pcap --site berlin --write-baseline BASELINE FILE",
        "pcap --format json --certificates once FILE",
        "pcap --connections --events connection FILE",
        "pcap --events connection FILE",
        "pcap --events finding FILE",
        "pcap --events finding --baseline BASELINE FILE",
        "pcap --events tcp_syn --write-baseline BASELINE FILE",
        "pcap --baseline BASELINE --write-baseline BASELINE FILE",
        "pcap --beacon-count 5 FILE",
        "pcap --connections --format csv --fields subject,community_id FILE",
        "pcap --where sni!=null --from 2020-01-01 FILE",
        "pcap --where duration>0.01 FILE",
        "pcap --color never --format json FILE",
        "pcap --no-pager --format json FILE",
        "pcap --format json -o - FILE",
        "pcap --protocols tls --clients TABLE FILE",
        "hosts --merge FILE FILE",
        "hosts --local-time FILE",
        "fingerprints --where sni!=null FILE",
        "fingerprints --top 3 FILE",
        "fingerprints --kinds ja4 FILE",
        "extract -o - FILE",
        "extract -o - --annotate --events tls_client FILE",
        "report -o - FILE",
        "report -o - --beacon-count 10 FILE",
        "explain t13d3112h2_e8f1e7e78f70_b26ce05bbdd6 --clients TABLE",
        "db learn FILE FILE",
    ] {
        let args = words(line);
        let output = run(&args.iter().map(String::as_str).collect::<Vec<_>>());
        let printed = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{line}: {printed}");
        let only_flags = line.contains("--events finding") || line.starts_with("db learn");
        assert!(only_flags || !output.stdout.is_empty(), "{line}: {printed}");
    }
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
