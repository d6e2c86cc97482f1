use proptest::prelude::*;

use super::*;
use crate::record::EventRecord;
use crate::{HuginnNet, Observers};

/// The events of the captures of this project, with their JSON.
fn events() -> Vec<(Event, serde_json::Value)> {
    let mut events = Vec::new();
    for path in crate::captures::with_extension(&["pcap", "pcapng"]) {
        let Ok(capture) = crate::CaptureReader::open(&path) else { continue };
        let observers = Observers::default().handshakes(true);
        let _ = HuginnNet::builder_with(observers).build().analyze(capture, &mut |event: Event| {
            let json = serde_json::to_value(EventRecord::from_event(&event)).unwrap();
            events.push((event, json));
        });
    }
    events
}

/// Counts the events that a condition selects, and those whose JSON is as `expected` says.
fn check(
    events: &[(Event, serde_json::Value)],
    condition: &str,
    expected: impl Fn(&serde_json::Value) -> bool,
) {
    let selection: Selection = condition.parse().unwrap_or_else(|error| panic!("{condition}: {error}"));
    let mut selected = 0;
    for (event, json) in events {
        let is_selected = selection.selects(event, None, None);
        assert_eq!(is_selected, expected(json), "{condition}: {json}");
        selected += u32::from(is_selected);
    }
    assert!(selected > 0, "{condition} selects nothing");
}

#[test]
fn conditions_select_what_the_json_says() {
    let events = events();
    let text = |json: &serde_json::Value, name: &str| json[name].as_str().unwrap_or_default().to_owned();
    check(&events, "event == 'tls_client'", |json| json["event"] == "tls_client");
    check(&events, "event in ('tls_client','ssh_client')", |json| {
        json["event"] == "tls_client" || json["event"] == "ssh_client"
    });
    check(&events, "sni ~ '*.example' and not (software.library == 'NSS')", |json| {
        text(json, "sni").ends_with(".example") && json["software"]["library"] != "NSS"
    });
    check(&events, "user_agent ~ 'CURL/'", |json| text(json, "user_agent").contains("curl/"));
    check(&events, "server.port == 443 && subject != 'server'", |json| {
        json["server"]["port"] == 443 && json["subject"] != "server"
    });
    check(&events, "client.port >= 40000 or server.port < 100", |json| {
        json["client"]["port"].as_u64() >= Some(40000) || json["server"]["port"].as_u64() < Some(100)
    });
    check(&events, "client.ip in (10.0.0.0/8, ::/0)", |json| {
        let ip: std::net::IpAddr = json["client"]["ip"].as_str().unwrap().parse().unwrap();
        ip.is_ipv6() || ip.to_string().starts_with("10.")
    });
    for quoted in [
        "client.ip in '192.0.2.0/24'",
        "client.ip in ('192.0.2.0/24', 192.0.2.1)",
        "client.ip == \"192.0.2.0/24\"",
    ] {
        check(&events, quoted, |json| text(&json["client"], "ip").starts_with("192.0.2."));
    }
    check(&events, "alpn == \"h2\"", |json| match &json["alpn"] {
        serde_json::Value::Array(names) => names.iter().any(|name| name == "h2"),
        name => name == "h2",
    });
    check(&events, "certificates.key_bits < 2048", |json| {
        json["certificates"].as_array().is_some_and(|found| {
            found.iter().any(|found| found["key_bits"].as_u64().is_some_and(|bits| bits < 2048))
        })
    });
    check(&events, "software == null", |json| json["software"].is_null());
    check(&events, "ech != null", |json| json["ech"].is_object());
    check(&events, "retry == true", |json| json["retry"] == true);
    check(&events, "ts >= '2026-11-01' and ts < '2100-01-01T00:00:00.5Z'", |json| {
        text(json, "ts").as_str() >= "2026-11"
    });
}

#[test]
fn comparisons_want_the_kinds_that_they_can_hold_in() {
    let wanted = |condition: &str| condition.parse::<Selection>().unwrap().wanted_kinds();
    assert_eq!(wanted("finding == 'scan'"), [["finding"]]);
    assert_eq!(wanted("event in ('match', 'connection')"), [["connection"], ["match"]]);
    assert_eq!(wanted("not (event == 'match' or ja4 == 'x')"), [[""; 0]; 0]);
    assert_eq!(wanted("not (event != 'match')"), [["match"]]);
    // A pattern names no kind for sure.
    assert_eq!(wanted("event ~ 'tls_client*'"), [["tls_client"]]);
    assert!(wanted("event ~ '*'").iter().all(|kinds| kinds.len() > 10));
    assert!(wanted("sni ~ 'x' and client.ip == 10.0.0.1").iter().all(|kinds| kinds.contains(&"tls_client")));
}

#[test]
fn condition_can_hold_in_kinds_with_its_fields() {
    let possible = |condition: &str| condition.parse::<Selection>().unwrap().possible_kinds();
    for (condition, kinds) in [
        ("finding == 'scan'", &["finding"][..]),
        ("finding == 'scan' or alpn == 'h2'", &["finding", "tls_client", "tls_server", "tls_handshake"]),
        ("finding == 'scan' and alpn == 'h2'", &[]),
        ("event == 'tls_client' and user_agent ~ 'x'", &[]),
        ("event == 'tls_client' and not user_agent ~ 'x'", &["tls_client"]),
        ("event == 'tls_client' and user_agent == null", &["tls_client"]),
        ("not (event != 'match')", &["match"]),
        ("not (event == 'match' or event != 'match')", &[]),
    ] {
        assert_eq!(possible(condition), kinds, "{condition}");
    }
    assert_eq!(possible("sni != 'x'").len(), crate::record::EVENT_NAMES.len());
}

#[test]
fn errors_name_the_place() {
    for (condition, message) in [
        ("", "at character 1: the condition ends, expected a field, such as sni"),
        ("snni == 'a'", "at character 1: unknown field 'snni'"),
        ("sni = 'a'", "at character 5: found \"=\", expected ==, as in: sni == 'www.example'"),
        ("sni contains 'a'", "at character 5: found \"contains\", expected ~, as in: sni ~ '*.example'"),
        ("sni LIKE 'a'", "at character 5: found \"LIKE\", expected ~, as in: sni ~ '*.example'"),
        (
            "sni not in ('a')",
            "at character 5: found \"not\", expected not before the field, as in: not sni in ('a', 'b')",
        ),
        ("sni 'a'", "at character 5: found \"'\", expected ==, !=, <, <=, >, >=, in or ~"),
        (
            "ts >= 2022-03-17",
            "at character 7: found \"2022\", expected a time in quotes, such as '2022-03-17 08:38'",
        ),
        (
            "sni == a",
            "at character 8: found \"a\", expected a 'text' in quotes, a number, an address or network, true or false",
        ),
        ("sni == 'a", "at character 8: the text has no closing quote"),
        ("(sni == 'a'", "at character 12: the condition ends, expected )"),
        ("sni == 'a' sni", "at character 12: found \"sni\", expected 'and', 'or' or the end"),
        ("sni == 7", "at character 1: 'sni' is a text: write 'text', or a network such as 10.0.0.0/8"),
        ("client.port == '7'", "at character 1: 'client.port' is a number: write 443"),
        ("ts > 'noon'", "at character 1: 'ts' is a time: write '2022-03-17 08:38', in UTC"),
        (
            "client == '::1'",
            "at character 1: 'client' is an object: name one of its fields, or compare it with null",
        ),
        ("retry > true", "at character 1: 'retry' is true or false: write == true or == false"),
        ("client.port ~ '44'", "at character 1: 'client.port' is not a text: ~ is for texts"),
        (
            "client.ip < 10.0.0.0/8",
            "at character 1: 'client.ip' is compared with an address or network by ==, != or in",
        ),
        (
            "sni ~ '.*\\.ru'",
            "at character 7: regular expressions are not read: in a pattern '*' is any text, as in '*.example'",
        ),
        (
            "client.ip == '192.168.100'",
            "at character 1: 'client.ip' is an address: write 10.0.0.1, or a network such as 10.0.0.0/8",
        ),
        ("event == 'tls'", "at character 1: unknown event 'tls'"),
        ("finding in ('scan', 'sacn')", "at character 1: unknown finding 'sacn'"),
        ("sni == 'ü' and x == 1", "at character 16: unknown field 'x'"),
    ] {
        assert_eq!(condition.parse::<Selection>().unwrap_err().to_string(), message, "{condition}");
    }
    let deep = format!("{}sni == 'a'", "not ".repeat(100));
    assert!(deep.parse::<Selection>().unwrap_err().to_string().contains("more than 64"));
    let long = ["sni == 'a'"; 129].join(" or ");
    assert!(long.parse::<Selection>().unwrap_err().to_string().contains("more than 128"));
    assert!(["sni == 'a'"; 128].join(" or ").parse::<Selection>().is_ok());
}

#[test]
fn times_are_read_to_any_precision() {
    for (text, expected) in [
        ("2022-03-17", "2022-03-17T00:00:00Z"),
        ("2022-03-17 08:38", "2022-03-17T08:38:00Z"),
        ("2022-03-17T08:38:09Z", "2022-03-17T08:38:09Z"),
        ("2022-03-17 08:38:09.25", "2022-03-17T08:38:09.25Z"),
    ] {
        assert_eq!(check::time(text).map(|time| time.to_string()).as_deref(), Some(expected));
    }
    for text in ["", "2022-13-17", "2022-03-17 25:00", "08:38", "2022-03-17 08"] {
        assert_eq!(check::time(text), None, "{text}");
    }
}

proptest! {
    /// Patterns match as a regular expression would, by a slow definition.
    #[test]
    fn patterns_match_by_their_definition(pattern in "[ab*]{0,6}", text in "[abB]{0,8}") {
        fn slow(pattern: &[u8], text: &[u8]) -> bool {
            match (pattern, text) {
                ([], []) => true,
                ([b'*', rest @ ..], _) if slow(rest, text) => true,
                ([b'*', ..], [_, text @ ..]) => slow(pattern, text),
                ([first, rest @ ..], [byte, text @ ..]) => *first == byte.to_ascii_lowercase() && slow(rest, text),
                _ => false,
            }
        }
        let whole = if pattern.contains('*') { pattern.clone() } else { format!("*{pattern}*") };
        let expected = slow(whole.as_bytes(), text.as_bytes());
        let check = check::Check::Like(Pattern::new(&pattern));
        prop_assert_eq!(check.holds(check::Value::Text(&text)), expected, "{} {}", pattern, text);
    }

    /// Any text is a condition or an error with a place in it.
    #[test]
    fn any_text_is_read(text in "[a-z=!<>~()'\"0-9 ,.&|]{0,40}") {
        if let Err(error) = text.parse::<Selection>() {
            prop_assert!(error.position <= text.chars().count());
            prop_assert!(!error.to_string().is_empty());
        }
    }
}
