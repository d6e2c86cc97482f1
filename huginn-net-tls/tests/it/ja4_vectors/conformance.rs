//! The hellos of `docs/ja4-vectors.jsonl`. `captures/tools/ja4_vectors.py` computed their values from the definition.

use huginn_net_tls::{ClientHello, Transport};
use serde_json::Value;

const VECTORS: &str = include_str!("../../../../docs/ja4-vectors.jsonl");
const PAGE: &str = include_str!("../../../../docs/ja4-conformance.md");

fn vectors() -> Vec<Value> {
    VECTORS.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn text<'a>(vector: &'a Value, field: &str) -> &'a str {
    vector[field].as_str().unwrap()
}

fn hello(vector: &Value) -> ClientHello<'static> {
    let transport = match text(vector, "transport") {
        "tcp" => Transport::Tls,
        "quic" => Transport::Quic,
        "dtls" => Transport::Dtls,
        other => panic!("transport {other}"),
    };
    let digits = text(vector, "hello");
    let message: Vec<u8> =
        (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect();
    ClientHello::from_message(&message, transport).unwrap().unwrap().value.into_owned()
}

#[test]
fn every_form_has_the_value_of_the_vector() {
    let vectors = vectors();
    assert!(vectors.len() > 30, "{}", vectors.len());
    for vector in &vectors {
        let hello = hello(vector);
        let forms = [
            ("ja4", hello.ja4().to_string()),
            ("ja4_r", hello.ja4_r().to_string()),
            ("ja4_o", hello.ja4_o().to_string()),
            ("ja4_ro", hello.ja4_ro().to_string()),
            ("ja4_stable", hello.ja4_stable().to_string()),
            ("ja4_stable_r", hello.ja4_stable_r().to_string()),
        ];
        for (form, value) in forms {
            assert_eq!(value, text(vector, form), "{form} of {}", text(vector, "name"));
        }
    }
}

#[test]
fn page_has_a_row_for_each_vector() {
    for vector in vectors() {
        let row = format!("| `{}` |", text(&vector, "name"));
        let value = format!("`{}`", text(&vector, "ja4"));
        assert!(PAGE.lines().any(|line| line.starts_with(&row) && line.contains(&value)), "{row}");
    }
}

#[test]
fn deviations_differ_from_the_definition() {
    for vector in vectors() {
        for deviation in vector["deviations"].as_array().unwrap() {
            assert_ne!(text(deviation, "value"), text(&vector, "ja4"), "{}", text(&vector, "name"));
        }
    }
}
