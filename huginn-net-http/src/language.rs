//! The language that a client asks for.

/// As p0f tells the language of an Accept-Language header.
pub fn p0f(_value: Option<&[u8]>) -> &'static str {
    "none"
}
