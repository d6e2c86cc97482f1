//! HTTP signatures without values that occur once.

use std::fmt::{self, Display};

/// Headers whose values differ in each message, or are secret, in lower case.
const UNIQUE_HEADERS: [&str; 19] = [
    "authorization",
    "proxy-authorization",
    "cookie",
    "set-cookie",
    "content-length",
    "content-range",
    "range",
    "date",
    "expires",
    "last-modified",
    "if-modified-since",
    "if-none-match",
    "etag",
    "location",
    "sec-websocket-key",
    "sec-websocket-accept",
    "traceparent",
    "x-forwarded-for",
    "x-request-id",
];

/// Minimum length of a token, in bytes. Versions and names of formats with digits are shorter.
const MIN_TOKEN_LEN: usize = 16;

/// A signature in p0f's form without the values of these headers, and without tokens: the same client then sends the same text again.
pub(crate) struct Repeatable<T>(pub(crate) T);

impl<T: Display> Display for Repeatable<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.to_string();
        let mut rest = text.as_str();
        while let Some((before, after)) = rest.split_once("=[") {
            let Some((value, next)) = after.split_once(']') else { break };
            let name = before.rsplit([',', ':', '?']).next().unwrap_or_default();
            f.write_str(before)?;
            if !is_unique(name, value) {
                write!(f, "=[{value}]")?;
            }
            rest = next;
        }
        f.write_str(rest)
    }
}

fn is_unique(name: &str, value: &str) -> bool {
    UNIQUE_HEADERS.iter().any(|unique| name.eq_ignore_ascii_case(unique))
        || value.contains("boundary=")
        || is_token(value)
}

/// Whether a value is an identifier, a key or a hash: one long word of letters and digits.
fn is_token(value: &str) -> bool {
    value.len() >= MIN_TOKEN_LEN
        && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=_-".contains(&byte))
        && value.bytes().any(|byte| byte.is_ascii_digit())
        && value.bytes().any(|byte| byte.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_out_values_that_occur_once() {
        for (signature, wanted) in [
            (
                "1:Host,Upgrade=[websocket],Sec-WebSocket-Key=[dGhlIHNhbXBsZSBub25jZQ==],Sec-WebSocket-Version=[13]:Accept:",
                "1:Host,Upgrade=[websocket],Sec-WebSocket-Key,Sec-WebSocket-Version=[13]:Accept:",
            ),
            ("0:authorization=[Basic dTpw],Accept=[*/*]::", "0:authorization,Accept=[*/*]::"),
            ("1:Content-Length=[928],?Cookie:Accept:a=[b", "1:Content-Length,?Cookie:Accept:a=[b"),
            ("1:X-Id=[550e8400-e29b-41d4-a716-446655440000]::", "1:X-Id::"),
            ("1:Content-Type=[multipart/form-data; boundary=--1]::", "1:Content-Type::"),
            (
                "1:Content-Type=[application/x-www-form-urlencoded],Accept-Encoding=[gzip, deflate, br]::curl/8",
                "1:Content-Type=[application/x-www-form-urlencoded],Accept-Encoding=[gzip, deflate, br]::curl/8",
            ),
        ] {
            assert_eq!(Repeatable(signature).to_string(), wanted);
        }
    }
}
