//! The content security policy of the page, and data that cannot become markup.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// A policy that allows this style and this script only, and no request.
pub(super) fn policy(style: &str, script: &str) -> String {
    let [style, script] = [style, script].map(|text| STANDARD.encode(Sha256::digest(text)));
    format!(
        "default-src 'none'; style-src 'sha256-{style}'; script-src 'sha256-{script}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
}

/// JSON for a data block of a page: characters that begin markup or that end lines in scripts are escaped.
pub(super) fn inert_json(json: &str) -> String {
    let mut inert = String::with_capacity(json.len());
    for character in json.chars() {
        match character {
            '<' => inert.push_str("\\u003c"),
            '>' => inert.push_str("\\u003e"),
            '&' => inert.push_str("\\u0026"),
            '\u{2028}' => inert.push_str("\\u2028"),
            '\u{2029}' => inert.push_str("\\u2029"),
            other => inert.push(other),
        }
    }
    inert
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_has_no_markup() {
        let value = "</script><!--\u{2028}&\"x";
        let inert = inert_json(&serde_json::to_string(value).unwrap());
        assert!(!inert.contains(['<', '>', '&', '\u{2028}']), "{inert}");
        assert_eq!(serde_json::from_str::<String>(&inert).unwrap(), value);
    }

    #[test]
    fn policy_has_hash_of_each_text() {
        let policy = policy("", "alert(1)");
        // SHA-256 of nothing.
        assert!(
            policy.contains("style-src 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"),
            "{policy}"
        );
        assert!(policy.starts_with("default-src 'none';") && !policy.contains("unsafe"), "{policy}");
    }
}
