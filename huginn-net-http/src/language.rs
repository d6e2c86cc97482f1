//! The preferred language of a client.

use std::sync::LazyLock;

use crate::headers::trim_blanks;

/// The preferred language range of an Accept-Language header (RFC 9110, section 12.5.4): the first one with the highest
/// quality value. `*` and ranges with `q=0` are ignored.
///
/// ```
/// use huginn_net_http::language;
///
/// let tag = language::preferred(b"fr;q=0.5, de-CH, en;q=0.9");
/// assert_eq!(tag, Some("de-CH"));
/// assert_eq!(tag.and_then(language::name), Some("German"));
/// ```
pub fn preferred(accept_language: &[u8]) -> Option<&str> {
    let mut best: Option<(u16, &str)> = None;
    for item in accept_language.split(|&byte| byte == b',') {
        let mut parts = item.split(|&byte| byte == b';').map(trim_blanks);
        let Some(tag) = parts.next().and_then(language_range) else { continue };
        let quality = parts.find_map(quality).unwrap_or(1000);
        if quality > best.map_or(0, |(best, _)| best) {
            best = Some((quality, tag));
        }
    }
    best.map(|(_, tag)| tag)
}

/// The English name (ISO 639-1) of the language of a tag, ignoring case. `None` if the language has no two-letter code
/// or is unknown.
pub fn name(tag: &str) -> Option<&'static str> {
    let language = tag.split(['-', '_']).next()?.to_ascii_lowercase();
    by_code(language.as_bytes())
}

/// The English name that equals this text. `None` if [`name`] returns no such name.
pub fn known(text: &str) -> Option<&'static str> {
    NAMES.iter().map(|(_, name)| *name).find(|name| *name == text)
}

/// The text that p0f prints for an Accept-Language header: the name of the language with the first two letters as its
/// code, unless a third letter follows. `none` if the header is missing or starts otherwise, `???` if the code is
/// unknown or in upper case.
pub fn p0f(accept_language: Option<&[u8]>) -> &'static str {
    match accept_language.unwrap_or_default() {
        [a, b, rest @ ..]
            if a.is_ascii_alphabetic()
                && b.is_ascii_alphabetic()
                && !rest.first().is_some_and(u8::is_ascii_alphabetic) =>
        {
            by_code(&[*a, *b]).unwrap_or("???")
        }
        _ => "none",
    }
}

/// Matches `1*8ALPHA *("-" 1*8alphanum)` (RFC 4647, section 2.1). Some clients send an underscore for the hyphen.
fn language_range(tag: &[u8]) -> Option<&str> {
    let tag = std::str::from_utf8(tag).ok()?;
    let mut subtags = tag.split(['-', '_']);
    let is_subtag = |subtag: &str| {
        (1..=8).contains(&subtag.len()) && subtag.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    let first = subtags.next()?;
    let is_range =
        is_subtag(first) && !first.bytes().any(|byte| byte.is_ascii_digit()) && subtags.all(is_subtag);
    is_range.then_some(tag)
}

/// Parses `q=0.5` to thousandths (RFC 9110, section 12.4.2); an invalid value is 0.
fn quality(parameter: &[u8]) -> Option<u16> {
    let [b'q' | b'Q', rest @ ..] = parameter else { return None };
    let value = trim_blanks(trim_blanks(rest).strip_prefix(b"=")?);
    let thousandths = |digits: &[u8]| {
        let digits = digits.iter().chain(std::iter::repeat(&b'0')).take(3);
        digits.fold(0_u16, |value, digit| value.saturating_mul(10).saturating_add(u16::from(digit & 0xf)))
    };
    Some(match value {
        [b'1'] => 1000,
        [b'1', b'.', rest @ ..] if rest.len() <= 3 && rest.iter().all(|&digit| digit == b'0') => 1000,
        [b'0'] => 0,
        // Some clients omit a zero before the decimal point.
        [b'0', b'.', digits @ ..] | [b'.', digits @ ..]
            if digits.len() <= 3 && digits.iter().all(u8::is_ascii_digit) =>
        {
            thousandths(digits)
        }
        _ => 0,
    })
}

fn by_code(code: &[u8]) -> Option<&'static str> {
    let place = NAMES.binary_search_by_key(&code, |(code, _)| code.as_bytes()).ok()?;
    NAMES.get(place).map(|(_, name)| *name)
}

/// The ISO 639-1 codes that p0f knows, in order, with p0f's names.
static NAMES: LazyLock<Vec<(&str, &str)>> =
    LazyLock::new(|| include_str!("languages.txt").lines().filter_map(|line| line.split_once(' ')).collect());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_sorted() {
        assert!(NAMES.is_sorted_by(|a, b| a.0 < b.0));
        assert_eq!(NAMES.len(), 185);
    }

    #[test]
    fn prefers_first_range_of_highest_quality() {
        let table: &[(&str, Option<&str>)] = &[
            // Examples of RFC 9110, section 12.5.4.
            ("da, en-gb;q=0.8, en;q=0.7", Some("da")),
            ("en;q=0.7, da;q=0.8, sv;q=0.8", Some("da")),
            ("fr;q=0.1,de;q=0.11,it;q=0.111", Some("it")),
            ("en-US,en;q=0.9", Some("en-US")),
            ("*, de;q=0.1", Some("de")),
            ("de;q=0", None),
            ("de; Q = 0.2 , en;level=1;q=.5", Some("en")),
            ("fr;q=1.000,de", Some("fr")),
            ("de;q=x, en;q=0.001", Some("en")),
            ("de;q=1.5, en;q=0.1", Some("en")),
            ("en_US", Some("en_US")),
            ("", None),
            (",,;q=1, ,hu", Some("hu")),
            ("a1, toolongasubtag, *", None),
        ];
        for (header, best) in table {
            assert_eq!(preferred(header.as_bytes()), *best, "{header}");
        }
    }

    #[test]
    fn names_ignore_case_and_region() {
        assert_eq!(
            [name("EN-us"), name("pt_BR"), name("zh-Hant-TW")].map(Option::unwrap),
            ["English", "Portuguese", "Chinese"]
        );
        assert_eq!((name("eng"), name(""), name("xx")), (None, None, None));
    }

    /// Values of Accept-Language and the `lang` that p0f 3.09b printed for them.
    #[test]
    fn p0f_reads_two_lower_case_letters() {
        let table: &[(&[u8], &str)] = &[
            (b"en", "English"),
            (b"EN-us", "???"),
            (b"e", "none"),
            (b"eng", "none"),
            (b"xx", "???"),
            (b" en", "none"),
            (b"en_US", "English"),
            (b"*", "none"),
            (b"e1", "none"),
            (b"fr;q=1, de", "French"),
            (b"n\xe9", "none"),
        ];
        for (header, language) in table {
            assert_eq!(p0f(Some(header)), *language, "{}", header.escape_ascii());
        }
        assert_eq!(p0f(None), "none");
    }
}
