use huginn_net_core::Timestamp;
use proptest::prelude::*;

use super::check::{Check, Comparison, Operand, Value};
use super::*;
use crate::record::EventRecord;
use crate::{Configure, HuginnNet, Observers};

/// The events of the captures of this project, with their JSON.
fn events() -> Vec<(Event, serde_json::Value)> {
    let mut events = Vec::new();
    for path in crate::captures::with_extension(&["pcap", "pcapng"]) {
        let Ok(capture) = crate::CaptureReader::open(&path) else { continue };
        let observers = Observers::default().handshakes(true).connections(true);
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
    check(&events, "alpn == \"h2\"", |json| {
        json["alpn"].as_array().is_some_and(|names| names.iter().any(|name| name == "h2"))
    });
    check(
        &events,
        "certificates.not_after > '2030-01-01' and certificates.not_after <= '2036-11-18T07:43:47Z'",
        |json| {
            let in_time = |end: &str| ("2030-01-01".."2036-11-18T07:43:48").contains(&end);
            json["certificates"].as_array().is_some_and(|found| {
                found.iter().any(|found| found["not_after"].as_str().is_some_and(in_time))
            })
        },
    );
    check(&events, "certificates.key_bits < 2048", |json| {
        json["certificates"].as_array().is_some_and(|found| {
            found.iter().any(|found| found["key_bits"].as_u64().is_some_and(|bits| bits < 2048))
        })
    });
    for absent in ["software == null", "software is null", "not software is not null"] {
        check(&events, absent, |json| json["software"].is_null());
    }
    for present in ["ech != null", "ech is not null", "ech IS NOT NULL"] {
        check(&events, present, |json| json["ech"].is_object());
    }
    check(&events, "event not in ('tls_client', 'tcp_syn')", |json| {
        json["event"] != "tls_client" && json["event"] != "tcp_syn"
    });
    check(&events, "user_agent contains 'CURL/'", |json| text(json, "user_agent").contains("curl/"));
    check(&events, "event == 'http_request' and user_agent not contains 'curl'", |json| {
        json["event"] == "http_request" && !text(json, "user_agent").contains("curl")
    });
    check(&events, "akamai contains '|m,' or akamai contains '*'", |json| {
        text(json, "akamai").contains("|m,")
    });
    // The case of names and the form of versions are those of the JSON.
    check(&events, "version == '12' or version in ('1.1', '13')", |json| {
        ["12", "1.1", "13"].contains(&&*text(json, "version"))
    });
    check(&events, "retry == true", |json| json["retry"] == true);
    check(&events, "ts >= '2026-11-01' and ts < '2100-01-01T00:00:00.5Z'", |json| {
        text(json, "ts").as_str() >= "2026-11"
    });
}

#[test]
fn seconds_before_the_epoch_are_before_all_times() {
    let condition = |comparison| Check::Compare(comparison, Operand::Time(Timestamp::new(0, 0, 0)));
    let (less, greater) = (condition(Comparison::Less), condition(Comparison::Greater));
    for (seconds, expected) in
        [(i64::MIN, (true, false)), (-1, (true, false)), (0, (false, false)), (1, (false, true))]
    {
        let value = Value::Seconds(seconds);
        assert_eq!((less.holds(value), greater.holds(value)), expected, "{seconds}");
    }
}

#[test]
fn ip_and_port_are_those_of_either_side() {
    let events = events();
    let sides = |json: &serde_json::Value, name: &str| {
        [json["client"][name].to_string(), json["server"][name].to_string()]
    };
    check(&events, "port == 443", |json| sides(json, "port").contains(&"443".to_owned()));
    check(&events, "port not in (443, 80)", |json| {
        sides(json, "port").iter().all(|port| port != "443" && port != "80")
    });
    check(&events, "port < 100", |json| {
        sides(json, "port").iter().any(|port| port.parse::<u64>().unwrap() < 100)
    });
    for address in ["192.0.2.2", "192.0.2.2/32", "'192.0.2.2'"] {
        let is_side = |json: &serde_json::Value| sides(json, "ip").contains(&"\"192.0.2.2\"".to_owned());
        check(&events, &format!("ip == {address}"), is_side);
        check(&events, &format!("ip in {address}"), is_side);
        check(&events, &format!("ip != {address}"), |json| !is_side(json));
    }
}

/// Whatever is written is a value that conditions allow.
#[test]
fn values_of_events_are_allowed() {
    for (event, json) in events() {
        let name = json["event"].as_str().unwrap();
        let add = |paths: &mut Vec<(String, String)>, path: String, value: &serde_json::Value| match value {
            serde_json::Value::String(text) if !text.contains('\'') => {
                paths.push((path, format!("'{text}'")))
            }
            serde_json::Value::Number(_) | serde_json::Value::Bool(_)
                if !value.to_string().contains('e') || value.is_boolean() =>
            {
                paths.push((path, value.to_string()))
            }
            _ => {}
        };
        let mut paths = Vec::new();
        let mut pending = vec![(String::new(), json.clone())];
        while let Some((path, value)) = pending.pop() {
            let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
            match &value {
                serde_json::Value::Object(fields) => {
                    pending.extend(fields.iter().map(|(key, value)| (below(key), value.clone())));
                }
                serde_json::Value::Array(elements) => {
                    pending.extend(elements.iter().take(4).map(|element| (path.clone(), element.clone())));
                }
                value => add(&mut paths, path, value),
            }
        }
        for (path, value) in paths {
            let is_known = crate::record::fields_of_event(name).unwrap().iter().any(|field| {
                field.name == path.split('.').next().unwrap()
                    && field.value_type != crate::record::ValueType::Time
            });
            if !is_known || path == "start" {
                continue;
            }
            let condition = format!("event == '{name}' and {path} == {value}");
            let selection: Selection =
                condition.parse().unwrap_or_else(|error| panic!("{condition}: {error}"));
            assert!(selection.selects(&event, None, None), "{condition}");
        }
    }
}

#[test]
fn comparisons_want_the_kinds_that_they_can_hold_in() {
    let wanted = |condition: &str| condition.parse::<Selection>().unwrap().wanted_kinds();
    assert_eq!(wanted("finding == 'scan'"), [["finding"]]);
    assert_eq!(wanted("event in ('match', 'connection')"), [["connection"], ["match"]]);
    assert_eq!(wanted("not (event == 'match' or sni == 'x')"), [[""; 0]; 0]);
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
    assert_eq!(possible("transport == 'udp'"), crate::record::EVENT_NAMES);
    assert_eq!(
        possible("protocol in ('dtls', 'quic') and sni is null"),
        ["tls_client", "tls_server", "tls_handshake", "tls_certificates"]
    );
    assert_eq!(possible("sni != 'x'").len(), crate::record::EVENT_NAMES.len());
}

#[test]
fn errors_name_the_place() {
    for (condition, message) in [
        ("", "at character 1: the condition ends, expected a field, such as sni"),
        ("snni == 'a'", "at character 1: unknown field 'snni'"),
        ("sni = 'a'", "at character 5: found \"=\", expected ==, as in: sni == 'www.example'"),
        ("sni matches 'a'", "at character 5: found \"matches\", expected ~, as in: sni ~ '*.example'"),
        ("sni contains a", "at character 14: found \"a\", expected a 'text' in quotes"),
        (
            "sni is 'a'",
            "at character 8: found \"'\", expected null or not null; values are compared by ==, as in: sni == 'www.example'",
        ),
        ("sni LIKE 'a'", "at character 5: found \"LIKE\", expected ~, as in: sni ~ '*.example'"),
        (
            "sni not ~ 'a'",
            "at character 9: found \"~\", expected in or contains, as in: sni not in ('a', 'b')",
        ),
        ("sni 'a'", "at character 5: found \"'\", expected ==, !=, <, <=, >, >=, in, contains, ~ or is null"),
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
            "at character 1: 'client.ip' is compared by ==, != or in with an address, 10.0.0.1, or a network, 10.0.0.0/8",
        ),
        (
            "sni ~ '.*\\.ru'",
            "at character 7: regular expressions are not read: in a pattern '*' is any text, as in '*.example'",
        ),
        (
            "client.ip == '192.168.100'",
            "at character 1: 'client.ip' is compared by ==, != or in with an address, 10.0.0.1, or a network, 10.0.0.0/8",
        ),
        (
            "ip < '10.0.0.1'",
            "at character 1: 'client.ip' is compared by ==, != or in with an address, 10.0.0.1, or a network, 10.0.0.0/8",
        ),
        (
            "tls_version == '1.0'",
            "at character 1: 'tls_version' is never '1.0': it is written '13', '12', '11', '10', 's3', 's2', 'd1', 'd2', 'd3', '00'",
        ),
        (
            "event == 'tls_client' and version ~ '1.2'",
            "at character 27: 'version' is never '*1.2*': it is written '0.9', '1.0', '1.1', '2', '3'",
        ),
        (
            "tls_version < '12'",
            "at character 1: 'tls_version' is compared by ==, !=, in or ~: its values have no order",
        ),
        (
            "tls_version in ('12', '1.3')",
            "at character 1: 'tls_version' is never '1.3': it is written '13', '12', '11', '10', 's3', 's2', 'd1', 'd2', 'd3', '00'",
        ),
        (
            "subject == 'sender'",
            "at character 1: 'subject' is never 'sender': it is written 'client', 'server'",
        ),
        (
            "subject == 10.0.0.1",
            "at character 1: 'subject' is never 10.0.0.1/32: it is written 'client', 'server'",
        ),
        (
            "cipher == 'TLS_AES_128_GCM_SHA256'",
            "at character 1: 'cipher' is never 'TLS_AES_128_GCM_SHA256': it is written as 4 hexadecimal digits in lower case",
        ),
        (
            "certificates.sha1 contains ':'",
            "at character 1: 'certificates.sha1' is never '*:*': it is written as 40 hexadecimal digits in lower case",
        ),
        (
            "ja4 == 'x'",
            "at character 1: 'ja4' is never 'x': it is written as in 't13d1516h2_8daaf6152771_02713d6af862'",
        ),
        ("port == 70000", "at character 1: 'client.port' is never 70000: it is a whole number up to 65535"),
        (
            "client.port == 1.5",
            "at character 1: 'client.port' is never 1.5: it is a whole number up to 65535",
        ),
        (
            "decrypted == false",
            "at character 1: 'decrypted' is never false: it is true or has no value: compare it with true or null",
        ),
        (
            "tls_version == 10",
            "at character 1: 'tls_version' is never 10: it is written '13', '12', '11', '10', 's3', 's2', 'd1', 'd2', 'd3', '00'",
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
        assert_eq!(parse_time(text).map(|time| time.to_string()).as_deref(), Some(expected));
    }
    for text in ["", "2022-13-17", "2022-03-17 25:00", "08:38", "2022-03-17 08"] {
        assert_eq!(parse_time(text), None, "{text}");
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
        let check = Check::Like(Pattern::new(&pattern));
        prop_assert_eq!(check.holds(Value::Text(&text)), expected, "{} {}", pattern, text);
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
