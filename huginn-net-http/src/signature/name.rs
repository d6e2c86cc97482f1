//! The names of headers that p0f knows.

macro_rules! names {
    ($($name:ident: $text:literal,)*) => {
        /// The name of a header in one of p0f's lists.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Name {
            $($name,)*
        }

        impl Name {
            /// The name, as p0f has it.
            pub(super) const fn text(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }

            /// One bit, of its own in a set of names.
            pub(super) const fn bit(self) -> u64 {
                1 << self as u64
            }

            /// The name that these bytes are.
            pub(super) fn of(bytes: &[u8]) -> Option<Self> {
                $(if bytes == $text.as_bytes() {
                    return Some(Self::$name);
                })*
                None
            }

            /// The name that these bytes are, whatever their case.
            pub(super) fn of_any_case(bytes: &[u8]) -> Option<Self> {
                $(if bytes.eq_ignore_ascii_case($text.as_bytes()) {
                    return Some(Self::$name);
                })*
                None
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
}
