//! Parses any text as JA4 and as raw JA4: accepted text is written back unchanged, and errors name the position.
#![no_main]

use huginn_net_tls::{Ja4, Ja4Head, Ja4ParseError, Ja4Raw};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    check(text, text.parse::<Ja4Head>().map(|head| head.to_string()));
    check(text, text.parse::<Ja4>().map(|ja4| ja4.to_string()));
    check(text, text.parse::<Ja4Raw>().map(|raw| raw.to_string()));
    if let Ok(raw) = text.parse::<Ja4Raw>() {
        assert_eq!(raw.ja4().head(), raw.head());
        assert_eq!(raw.clone().sorted().sorted(), raw.sorted());
    }
});

fn check(text: &str, read: Result<String, Ja4ParseError>) {
    match read {
        Ok(written) => assert_eq!(written, text),
        Err(error) => assert!(text.is_char_boundary(error.offset()), "{error}"),
    }
}
