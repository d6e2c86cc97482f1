//! Numbers with a suffix, as in `256k`.

use anyhow::{Context, bail};

/// Parses a number with an optional suffix `k`, `m` or `g` (powers of 1024, in either case).
///
/// # Errors
///
/// Fails if the text has no digits, another suffix, or a value above `u64::MAX`.
pub(crate) fn parse_size(text: &str) -> anyhow::Result<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: u64 = digits.parse().with_context(|| format!("not a size: '{text}' (use 0, 16k, 1m)"))?;
    let suffix = text.strip_prefix(digits).unwrap_or_default();
    let unit: u64 = match suffix.to_ascii_lowercase().as_str() {
        "" => 1,
        "k" => 1 << 10,
        "m" => 1 << 20,
        "g" => 1 << 30,
        _ => bail!("unknown suffix '{suffix}' in '{text}' (use k, m or g)"),
    };
    number.checked_mul(unit).with_context(|| format!("too large: '{text}'"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::parse_size;

    #[test]
    fn suffixes_are_powers_of_1024() {
        for (text, size) in [("0", 0), ("17", 17), ("16k", 16_384), ("1M", 1 << 20), ("2g", 2 << 30)] {
            assert_eq!(parse_size(text).unwrap(), size, "{text}");
        }
    }

    #[test]
    fn malformed_sizes_are_errors() {
        for text in ["", "k", "1x", "-1", "1.5k", "99999999999999999999", "18446744073709551615k"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }
}
