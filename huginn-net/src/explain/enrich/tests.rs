//! Checks lines of other tools.

use proptest::prelude::*;

use super::Enricher;
use crate::{ClientDatabase, Database};

#[test]
fn ja4_in_capitals_is_known() {
    let (out, named) = enriched(None, &format!("{{\"ja4\":\"{}\"}}", CURL.to_ascii_uppercase()));
    assert!(out.contains("libcurl 7.88 and older") && named == 1, "{out}");
}

/// The lines of an input with names, and how many got one.
fn enriched(column: Option<&str>, input: &str) -> (String, u64) {
    let signatures = Database::builtin();
    let mut enricher = Enricher::new(ClientDatabase::builtin(), signatures, column);
    let mut out = Vec::new();
    input.split_inclusive('\n').for_each(|line| enricher.line(line.as_bytes(), &mut out));
    (String::from_utf8(out).unwrap(), enricher.named())
}

const CURL: &str = "t13d3112h2_e8f1e7e78f70_b26ce05bbdd6";
const CURL_JA3: &str = "0149f47eabf9a20d0893e2a44e5a6323";
const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0";

#[test]
fn json_of_other_tools_gets_names() {
    let lines = [
        format!(r#"{{"event_type":"tls","tls":{{"version":"TLS 1.3","ja4":"{CURL}"}}}}"#),
        format!(r#"{{"event_type":"tls","tls":{{"ja3":{{"hash":"{CURL_JA3}","string":"771"}}}}}}"#),
        format!(r#"{{"_path":"ssl","ja4":"{CURL}","id.orig_h":"192.0.2.1"}}"#),
        format!(r#"{{"@timestamp":"x","tls":{{"client":{{"ja3":"{CURL_JA3}"}}}}}}"#),
        format!(r#"{{"tls.client.ja3":"{CURL_JA3}"}}"#),
        format!(
            r#"{{"class_uid":4001,"ja4_fingerprint_list":[{{"type_id":2,"value":"x"}},{{"type_id":1,"value":"{CURL}"}}]}}"#
        ),
        format!(r#"{{"class_uid":4001,"tls":{{"ja3_hash":{{"algorithm_id":1,"value":"{CURL_JA3}"}}}}}}"#),
        format!(r#"{{"my":{{"print":"{CURL}"}}}}"#),
        format!(r#"{{"my.print":"{CURL_JA3}"}}"#),
    ];
    for line in lines {
        let (out, named) = enriched(Some("my.print"), &format!("{line}\r\n"));
        assert_eq!(named, 1, "{line}");
        let kept = line.strip_suffix('}').unwrap();
        assert!(out.starts_with(kept) && out.ends_with("}}\r\n"), "{out}");
        let json: serde_json::Value = serde_json::from_str(&out).unwrap();
        // JA3 names a library alone.
        let name = if line.contains(CURL) { "libcurl 7.88 and older" } else { "OpenSSL" };
        assert_eq!(json["huginn"]["name"], name);
        assert_eq!(json["huginn"]["software"]["match"], "exact");
        assert!(json["huginn"]["contradiction"].is_null());
    }
}

#[test]
fn unknown_lines_stay_as_they_are() {
    let lines = [
        "{\"ja4\":\"t13d1517h2_000000000001_000000000002\"}\n".to_owned(),
        format!("{{\"ja4\":\"{CURL}\"\n"),
        format!("{{\"ja4\":\"{CURL}\"}} trailing}}\n"),
        format!("{{\"ja3\":[\"{CURL}\"]}}\n"),
        format!("{{\"other\":\"{CURL}\"}}"),
        format!("{{\"huginn\":{{\"event\":\"tls_client\"}},\"ja4\":\"{CURL}\"}}\n"),
        "{\"ja4\":7,\"ja3\":null,\"hassh\":{\"a\":[{}]}}\n".to_owned(),
        "words\nja4\n\n".to_owned(),
        String::new(),
    ];
    for line in lines {
        assert_eq!(enriched(None, &line), (line.clone(), 0));
    }
}

#[test]
fn user_agents_that_contradict_tls_are_noted() {
    let line = format!(r#"{{"user_agent":"{FIREFOX}","ja4":"{CURL}"}}"#);
    let json: serde_json::Value = serde_json::from_str(&enriched(None, &line).0).unwrap();
    assert_eq!(
        json["huginn"]["contradiction"],
        "User-Agent says Firefox 128 on Linux; TLS is libcurl 7.88 and older"
    );
    let line = format!(r#"{{"user_agent":"curl/7.88.1","ja4":"{CURL}"}}"#);
    assert!(!enriched(None, &line).0.contains("contradiction"));
}

#[test]
fn each_format_notes_contradictions() {
    let lines = [
        // An alert of Suricata has both objects.
        format!(
            r#"{{"event_type":"alert","tls":{{"ja4":"{CURL}"}},"http":{{"http_user_agent":"{FIREFOX}"}}}}"#
        ),
        format!(r#"{{"_path":"http","user_agent":"{FIREFOX}","ja4":"{CURL}"}}"#),
        format!(r#"{{"tls":{{"client":{{"ja4":"{CURL}"}}}},"user_agent":{{"original":"{FIREFOX}"}}}}"#),
        format!(r#"{{"tls.client.ja4":"{CURL}","user_agent.original":"{FIREFOX}"}}"#),
        format!(
            r#"{{"class_uid":4002,"http_request":{{"user_agent":"{FIREFOX}"}},"ja4_fingerprint_list":[{{"type_id":1,"value":"{CURL}"}}]}}"#
        ),
        format!("#fields\tja4\tuser_agent\n{CURL}\t{FIREFOX}\n"),
        format!("ja4,user_agent\n{CURL},{FIREFOX}\n"),
        format!("tls.client.ja4\thttp.http_user_agent\n{CURL}\t{FIREFOX}\n"),
    ];
    for input in lines {
        let out = enriched(None, &input).0;
        assert!(out.contains("User-Agent says Firefox 128 on Linux; TLS is libcurl 7.88 and older"), "{out}");
        let curl = enriched(None, &input.replace(FIREFOX, "curl/7.88.1")).0;
        assert!(curl.contains("libcurl 7.88 and older") && !curl.contains("says"), "{curl}");
    }
}

const UNKNOWN: &str = "t13d1517h2_000000000001_000000000002";

#[test]
fn counts_are_those_so_far_or_of_a_first_reading() {
    let signatures = Database::builtin();
    let mut enricher = Enricher::new(ClientDatabase::builtin(), signatures, None).with_counts();
    let lines = [CURL, UNKNOWN, CURL].map(|ja4| format!("{{\"ja4\":\"{ja4}\",\"ja3\":\"{CURL_JA3}\"}}\n"));
    let without = "{\"ja4\":\"-\"}\n".to_owned();
    let read = |enricher: &mut Enricher<'_>| {
        let counts = lines.iter().chain([&without]).map(|line| {
            let mut out = Vec::new();
            enricher.line(line.as_bytes(), &mut out);
            let json: serde_json::Value = serde_json::from_slice(&out).unwrap();
            ["seen", "lines"].map(|field| json["huginn"][field].as_u64())
        });
        counts.collect::<Vec<_>>()
    };
    assert_eq!(read(&mut enricher), [[Some(1), Some(1)], [Some(1), Some(2)], [Some(2), Some(3)], [None; 2]]);
    enricher.begin_second_reading();
    assert_eq!(read(&mut enricher), [[Some(2), Some(3)], [Some(1), Some(3)], [Some(2), Some(3)], [None; 2]]);
    // JA3 names the library of the unknown JA4.
    assert_eq!((enricher.named(), enricher.uncounted()), (3, 0));
    let mut out = Vec::new();
    enricher.line(format!("{{\"hassh\":\"{CURL_JA3}\"}}").as_bytes(), &mut out);
    assert_eq!((out, enricher.uncounted()), (format!("{{\"hassh\":\"{CURL_JA3}\"}}").into_bytes(), 1));
}

#[test]
fn counts_are_columns() {
    let signatures = Database::builtin();
    let mut enricher = Enricher::new(ClientDatabase::builtin(), signatures, None).with_counts();
    let mut out = Vec::new();
    for line in ["#fields\tja4\n", "#types\tstring\n", &format!("{CURL}\n"), &format!("{UNKNOWN}\n"), "-\n"] {
        enricher.line(line.as_bytes(), &mut out);
    }
    let want = format!(
        "#fields\tja4\thuginn_software\thuginn_match\thuginn_variant\thuginn_contradiction\thuginn_seen\thuginn_lines\n\
         #types\tstring\tstring\tstring\tstring\tstring\tcount\tcount\n\
         {CURL}\tlibcurl 7.88 and older\texact\t-\t-\t1\t1\n{UNKNOWN}\t-\t-\t-\t-\t1\t2\n-\t-\t-\t-\t-\t-\t-\n"
    );
    assert_eq!(String::from_utf8(out).unwrap(), want);
}

#[test]
fn zeek_tsv_gets_columns() {
    let head = "#separator \\x09\n#set_separator\t,\n#path\tssl\n";
    let input = format!(
        "{head}#fields\tts\tja4\tja3\n#types\ttime\tstring\tstring\n1.0\t{CURL}\t-\n2.0\t-\t-\nshort\n#close\t2026\n"
    );
    let want = format!(
        "{head}#fields\tts\tja4\tja3\thuginn_software\thuginn_match\thuginn_variant\thuginn_contradiction\n\
         #types\ttime\tstring\tstring\tstring\tstring\tstring\tstring\n\
         1.0\t{CURL}\t-\tlibcurl 7.88 and older\texact\t-\t-\n2.0\t-\t-\t-\t-\t-\t-\nshort\n#close\t2026\n"
    );
    assert_eq!(enriched(None, &input), (want, 1));
}

#[test]
fn csv_gets_columns() {
    let input = format!("time,\"print\",user_agent\n1,{CURL},\"{FIREFOX}\"\n2,\"x,\"\"y\",\n3,\"open,\n");
    let (out, named) = enriched(Some("print"), &input);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(
        lines[0],
        "time,\"print\",user_agent,huginn_software,huginn_match,huginn_variant,huginn_contradiction"
    );
    assert_eq!(
        lines[1].rsplit(',').next(),
        Some("User-Agent says Firefox 128 on Linux; TLS is libcurl 7.88 and older")
    );
    assert_eq!((lines[2], lines[3], named), ("2,\"x,\"\"y\",,,,,", "3,\"open,", 1));
}

#[test]
fn added_csv_cell_is_not_a_formula() {
    let (_, table) = ClientDatabase::builtin_tables().iter().find(|(name, _)| *name == "bun.tsv").unwrap();
    let clients = ClientDatabase::parse(&table.replace("\tBun\t", "\t=Bun\t")).unwrap();
    let signatures = Database::builtin();
    let mut enricher = Enricher::new(&clients, signatures, None);
    let mut out = Vec::new();
    for line in ["ja4,n\n", "t13d1815h1_e8a523a41297_e8ed158c4d85,=1\n"] {
        enricher.line(line.as_bytes(), &mut out);
    }
    let out = String::from_utf8(out).unwrap();
    assert!(out.contains(",=1,'=Bun 1.0 and older"), "{out}");
}

const ADDED: &str = "huginn_software,huginn_match,huginn_variant,huginn_contradiction";

#[test]
fn quoted_values_over_lines_stay_as_they_are() {
    let record = format!("1,\"a\n{{\"\"ja4\"\":\"\"{CURL}\"\"}}\nb,{CURL}\nend\",{CURL}\n");
    let input = format!("n,text,ja4\n{record}2,5\" wide,{CURL}\n");
    let signatures = Database::builtin();
    let mut enricher = Enricher::new(ClientDatabase::builtin(), signatures, None);
    let mut out = Vec::new();
    input.split_inclusive('\n').for_each(|line| enricher.line(line.as_bytes(), &mut out));
    let want = format!("n,text,ja4,{ADDED}\n{record}2,5\" wide,{CURL},libcurl 7.88 and older,exact,,\n");
    assert_eq!(String::from_utf8(out).unwrap(), want);
    assert_eq!((enricher.named(), enricher.multiline()), (1, 4));
    // Headings without a fingerprint, or over lines.
    for heading in ["n,text,other\n", "n,\"te\nxt\",ja4\n"] {
        let input = format!("{heading}1,\"a\n{{\"ja4\":\"{CURL}\"}}\nb\",{CURL}\n");
        assert_eq!(enriched(None, &input), (input.clone(), 0));
    }
}

#[test]
fn empty_last_columns_are_counted() {
    for separator in [",", "\t"] {
        let input = format!("ja4,note,\r\n{CURL},,\r\n").replace(',', separator);
        let want = format!("ja4,note,,{ADDED}\r\n{CURL},,,libcurl 7.88 and older,exact,,\r\n")
            .replace(',', separator);
        assert_eq!(enriched(None, &input), (want, 1));
    }
}

#[test]
fn each_line_shows_its_form() {
    let json = format!("{{\"ja4\":\"{CURL}\"}}\n");
    for first in ["# comment\n", "null\n", "{\"ja4\":\n", "broken\"}\n", "n,ja4\n", "\u{feff}"] {
        assert_eq!(enriched(None, &format!("{first}{json}")).1, 1, "{first}");
        let zeek = format!("{first}\n#fields\tja4\n{CURL}\n");
        assert_eq!(enriched(None, &zeek).1, 1, "{first}");
    }
    for first in ["# comment\n", "null\n", "\n", "{\"ja4\":\n", "\u{feff}"] {
        assert_eq!(enriched(None, &format!("{first}ja4,n\n{CURL},1\n")).1, 1, "{first}");
    }
}

#[test]
fn named_columns_stay_as_they_are() {
    let inputs = [format!("n,ja4\n1,{CURL}\n"), format!("#fields\tn\tja4\n#types\tint\tstring\n1\t{CURL}\n")];
    for input in inputs {
        let once = enriched(None, &input).0;
        assert_ne!(once, input);
        assert_eq!(enriched(None, &once), (once.clone(), 0));
    }
}

proptest! {
    /// Every line keeps its bytes, and gets something only at its end.
    #[test]
    fn any_line_keeps_its_bytes(lines: Vec<Vec<u8>>, first in 0..4_usize) {
        let signatures = Database::builtin();
        let mut enricher = Enricher::new(ClientDatabase::builtin(), signatures, Some("c"));
        let heads: [&[u8]; 4] = [b"{}\n", b"#separator \\x09\n", b"a,c\n", b"\n"];
        enricher.line(heads[first], &mut Vec::new());
        for line in lines {
            let mut out = Vec::new();
            enricher.line(&line, &mut out);
            let text = line.strip_suffix(b"\n").unwrap_or(&line);
            let text = text.strip_suffix(b"\r").unwrap_or(text);
            let text = text.trim_ascii_end();
            let text = text.strip_suffix(b"}").unwrap_or(text);
            prop_assert!(out.starts_with(text));
        }
    }
}
