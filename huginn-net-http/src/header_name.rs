//! Header names that signatures and message framing refer to.

macro_rules! names {
    ($($name:ident: $text:literal,)*) => {
        /// A header name that p0f knows, or that determines the message framing.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[repr(u8)]
        pub enum HeaderName {
            $(#[doc = concat!("`", $text, "`")] $name,)*
        }

        impl HeaderName {
            /// All names, in the order of their numbers.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The name in p0f's spelling, which is the usual one.
            pub const fn text(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

names! {
    Accept: "Accept",
    AcceptCharset: "Accept-Charset",
    AcceptEncoding: "Accept-Encoding",
    AcceptLanguage: "Accept-Language",
    AcceptRanges: "Accept-Ranges",
    Authorization: "Authorization",
    CacheControl: "Cache-Control",
    Connection: "Connection",
    ContentDisposition: "Content-Disposition",
    ContentLength: "Content-Length",
    ContentRange: "Content-Range",
    ContentType: "Content-Type",
    Cookie: "Cookie",
    Date: "Date",
    ETag: "ETag",
    Expires: "Expires",
    Host: "Host",
    IfModifiedSince: "If-Modified-Since",
    IfNoneMatch: "If-None-Match",
    KeepAlive: "Keep-Alive",
    LastModified: "Last-Modified",
    Location: "Location",
    Origin: "Origin",
    Pragma: "Pragma",
    ProxyAuthorization: "Proxy-Authorization",
    Range: "Range",
    Referer: "Referer",
    Refresh: "Refresh",
    Server: "Server",
    SetCookie: "Set-Cookie",
    UserAgent: "User-Agent",
    Vary: "Vary",
    Via: "Via",
    XForwardedFor: "X-Forwarded-For",
    Http2Settings: "HTTP2-Settings",
    TransferEncoding: "Transfer-Encoding",
    Upgrade: "Upgrade",
}

/// Slots of the hash table of names.
const HASH_SLOTS: usize = 128;

/// Each name and its text in its [slot](place). The hash is perfect: no two names share a slot.
#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
static BY_HASH: [Option<(HeaderName, &[u8])>; HASH_SLOTS] = {
    let mut by_place = [None; HASH_SLOTS];
    let mut number = 0;
    while number < HeaderName::ALL.len() {
        let name = HeaderName::ALL[number];
        let text = name.text().as_bytes();
        if let Some(place) = place(text) {
            assert!(by_place[place].is_none());
            by_place[place] = Some((name, text));
        }
        number += 1;
    }
    by_place
};

/// Hashes a name by its length, its first and its last letters, ignoring case. The factors avoid collisions between the
/// known names.
const fn place(name: &[u8]) -> Option<usize> {
    let (Some(&first), Some(&last)) = (name.first(), name.last()) else { return None };
    let sum = (first as usize & 0x1f).wrapping_mul(4).wrapping_add((last as usize & 0x1f).wrapping_mul(24));
    Some(sum.wrapping_add(name.len()) % HASH_SLOTS)
}

impl HeaderName {
    /// Looks up a name, ignoring case (RFC 9110, section 5.1), and returns whether its spelling is the usual one.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<(Self, bool)> {
        let (name, text) = (*BY_HASH.get(place(bytes)?)?)?;
        let is_usual = text == bytes;
        (is_usual || text.eq_ignore_ascii_case(bytes)).then_some((name, is_usual))
    }

    /// Whether p0f knows the name.
    pub(crate) const fn is_known_to_p0f(self) -> bool {
        !matches!(self, Self::Http2Settings | Self::TransferEncoding | Self::Upgrade)
    }

    /// The bit of this name in a set of names.
    pub(crate) const fn bit(self) -> u64 {
        1 << self as u64
    }
}

const _: () = assert!(HeaderName::ALL.len() <= u64::BITS as usize, "a set has a bit for each name");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lookup_ignores_case_and_rejects_other_names() {
        for (number, &name) in HeaderName::ALL.iter().enumerate() {
            let text = name.text();
            assert_eq!(name as usize, number, "{text}");
            for spelling in [text, &text.to_ascii_lowercase(), &text.to_ascii_uppercase()] {
                assert_eq!(
                    HeaderName::from_bytes(spelling.as_bytes()),
                    Some((name, spelling == text)),
                    "{spelling}"
                );
            }
            for other in
                [text.split_at(1).1, &format!("{text}s"), &text.replacen(['a', 'e', 'i', 'o'], "_", 1)]
            {
                assert_eq!(HeaderName::from_bytes(other.as_bytes()), None, "{other}");
            }
        }
    }
}
