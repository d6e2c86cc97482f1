//! p0f's HTTP signature (p0f's README, section 5: `ver:horder:habsent:expsw`).

mod date;

use std::fmt;
use std::str;

use crate::headers::{Header, Headers};
use crate::http1::is_token;
use crate::limits::{P0F_MAX_PRINTED_VALUE_LEN, TYPICAL_SIGNATURE_LEN};
use crate::{HeaderName as Name, HttpVersion, Request, Response, Role};

/// Headers that say nothing about the software; printed as `?Name`.
const OPTIONAL_IN_REQUESTS: NameSet = NameSet::from_names(&[
    Name::Cookie,
    Name::Referer,
    Name::Origin,
    Name::Range,
    Name::IfModifiedSince,
    Name::IfNoneMatch,
    Name::Via,
    Name::XForwardedFor,
    Name::Authorization,
    Name::ProxyAuthorization,
    Name::CacheControl,
]);
const OPTIONAL_IN_RESPONSES: NameSet = NameSet::from_names(&[
    Name::SetCookie,
    Name::LastModified,
    Name::ETag,
    Name::ContentLength,
    Name::ContentDisposition,
    Name::CacheControl,
    Name::Expires,
    Name::Pragma,
    Name::Location,
    Name::Refresh,
    Name::ContentRange,
    Name::Vary,
]);
/// Headers whose absence is printed.
const COMMON_IN_REQUESTS: &[Name] = &[
    Name::Host,
    Name::UserAgent,
    Name::Connection,
    Name::Accept,
    Name::AcceptEncoding,
    Name::AcceptLanguage,
    Name::AcceptCharset,
    Name::KeepAlive,
];
const COMMON_IN_RESPONSES: &[Name] =
    &[Name::ContentType, Name::Connection, Name::KeepAlive, Name::AcceptRanges, Name::Date];
/// Headers printed without their value.
const BARE_IN_REQUESTS: NameSet = NameSet::from_names(&[Name::Host, Name::UserAgent]);
const BARE_IN_RESPONSES: NameSet = NameSet::from_names(&[Name::Date, Name::ContentType, Name::Server]);

/// A set of header names.
#[derive(Clone, Copy)]
struct NameSet(u64);

impl NameSet {
    const fn from_names(mut names: &[Name]) -> Self {
        let mut set = 0;
        while let [name, others @ ..] = names {
            set |= name.bit();
            names = others;
        }
        Self(set)
    }

    fn contains(self, name: Name) -> bool {
        self.0 & name.bit() != 0
    }
}

/// The HTTP signature of a head, by p0f's rules. Cheap to clone.
///
/// ```
/// use huginn_net_http::{Headers, HttpSignature, HttpVersion, Request};
///
/// let headers: Headers =
///     [("Host", "example.org"), ("User-Agent", "curl/8.5.0"), ("Accept", "*/*")].into_iter().collect();
/// let request = Request::new(HttpVersion::Http11, b"GET", b"/", headers);
/// assert_eq!(
///     HttpSignature::from_request(&request).raw_sig(|_| false).to_string(),
///     "1:Host,User-Agent,Accept=[*/*]:Connection,Accept-Encoding,Accept-Language,Accept-Charset,Keep-Alive:curl/8.5.0"
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpSignature {
    role: Role,
    version: HttpVersion,
    headers: Headers,
}

impl HttpSignature {
    /// Creates the signature of a head with these headers.
    pub fn new(role: Role, version: HttpVersion, headers: Headers) -> Self {
        Self { role, version, headers }
    }

    /// Creates the signature of a request.
    pub fn from_request(request: &Request) -> Self {
        Self { role: Role::Request, version: request.version(), headers: request.headers().clone() }
    }

    /// Creates the signature of a response.
    pub fn from_response(response: &Response) -> Self {
        Self { role: Role::Response, version: response.version(), headers: response.headers().clone() }
    }

    /// The signature that p0f 3.09b prints for a request. `None` unless the request is the first of a connection, a GET
    /// or HEAD within p0f's limits, and complete before the server sends data.
    pub fn p0f_from_request(request: &Request) -> Option<Self> {
        Some(Self { version: request.p0f_version?, ..Self::from_request(request) })
    }

    /// The signature that p0f 3.09b prints for a response. `None` unless the response is the first one after a request
    /// that p0f prints, and within p0f's limits. p0f misses some headers of a response in several segments.
    pub fn p0f_from_response(response: &Response) -> Option<Self> {
        let (version, headers) = response.seen_by_p0f()?;
        Some(Self { role: Role::Response, version, headers })
    }

    /// Parses the text of [`raw_sig`](Self::raw_sig). Values that the text leaves out are empty. `None` if the text is no
    /// such signature, or if a name is not a token (RFC 9110, section 5.6.2).
    ///
    /// ```
    /// use huginn_net_http::{HttpSignature, Role};
    ///
    /// let text = "1:Host,User-Agent,?Cookie,Accept=[a:b,c]:Connection,Accept-Encoding,Accept-Language,Accept-Charset,Keep-Alive:curl/8.5.0";
    /// let signature = HttpSignature::from_raw_sig(Role::Request, text).expect("a signature");
    /// assert_eq!(signature.software(), Some(&b"curl/8.5.0"[..]));
    /// assert_eq!(signature.raw_sig(|_| false).to_string(), text);
    /// assert_eq!(HttpSignature::from_raw_sig(Role::Request, "1:Host"), None);
    /// ```
    pub fn from_raw_sig(role: Role, text: &str) -> Option<Self> {
        let (version, rest) = text.split_once(':')?;
        let version = match version {
            "0" => HttpVersion::Http10,
            "1" => HttpVersion::Http11,
            "2" => HttpVersion::Http2,
            "3" => HttpVersion::Http3,
            _ => return None,
        };
        let (names, rest) = split_outside_brackets(rest, ':')?;
        let (_, software) = rest.split_once(':')?;
        let title = match role {
            Role::Request => Name::UserAgent,
            Role::Response => Name::Server,
        };
        let (mut headers, mut rest) = (Vec::new(), Some(names).filter(|names| !names.is_empty()));
        while let Some(fields) = rest {
            let (field, next) = match split_outside_brackets(fields, ',') {
                Some((field, next)) => (field, Some(next)),
                None => (fields, None),
            };
            let field = field.strip_prefix('?').unwrap_or(field);
            let (name, value) = match field.split_once("=[") {
                Some((name, value)) => (name, value.strip_suffix(']')?),
                None if field.eq_ignore_ascii_case(title.text()) => (field, software),
                None => (field, ""),
            };
            if name.is_empty() || !name.bytes().all(is_token) {
                return None;
            }
            headers.push((name, value));
            rest = next;
        }
        Some(Self { role, version, headers: headers.into_iter().collect() })
    }

    /// Whether the head is a request or a response.
    pub fn role(&self) -> Role {
        self.role
    }

    /// HTTP version.
    pub fn version(&self) -> HttpVersion {
        self.version
    }

    /// Headers in order. Databases match [`Header::p0f_value`].
    pub fn headers(&self) -> &Headers {
        &self.headers
    }

    /// The claimed software: the last User-Agent or Server header that is not empty.
    pub fn software(&self) -> Option<&[u8]> {
        match self.role {
            Role::Request => self.last_value(Name::UserAgent),
            Role::Response => self.last_value(Name::Server),
        }
    }

    /// p0f's name of the language in the last Accept-Language header that is not empty.
    pub fn language(&self) -> &'static str {
        let value = match self.role {
            Role::Request => self.last_value(Name::AcceptLanguage),
            Role::Response => None,
        };
        crate::language::p0f(value)
    }

    /// Whether a Via or X-Forwarded-For header shows that a proxy forwarded the message.
    pub fn is_forwarded(&self) -> bool {
        [Name::Via, Name::XForwardedFor].into_iter().any(|name| self.last_value(name).is_some())
    }

    /// The time of the last Date header, in seconds since 1970.
    pub fn date(&self) -> Option<i64> {
        self.last_value(Name::Date).and_then(date::parse)
    }

    /// Common headers that are absent, in p0f's order.
    pub fn absent(&self) -> impl Iterator<Item = &'static str> + '_ {
        let names = self.headers.iter().filter_map(|header| self.known_name(header));
        let there = NameSet(names.fold(0, |set, name| set | name.bit()));
        let common = match self.role {
            Role::Request => COMMON_IN_REQUESTS,
            Role::Response => COMMON_IN_RESPONSES,
        };
        common.iter().filter(move |name| !there.contains(**name)).map(|name| name.text())
    }

    /// p0f's `raw_sig`. `known` tells which names occur in a signature of the loaded database: p0f cuts their values,
    /// and those of the names that it knows itself, at a `|`.
    pub fn raw_sig<'a>(&'a self, known: impl Fn(&[u8]) -> bool + 'a) -> impl fmt::Display + 'a {
        RawSig { signature: self, known }
    }

    /// Appends the text of [`raw_sig`](Self::raw_sig), which is ASCII.
    pub fn write_raw_sig(&self, known: impl Fn(&[u8]) -> bool, out: &mut Vec<u8>) {
        RawSig { signature: self, known }.write(out);
    }

    fn last_value(&self, name: Name) -> Option<&[u8]> {
        let fields = self.headers.named(name).rev();
        fields.filter(|header| self.known_name(*header).is_some()).find_map(Header::p0f_value)
    }

    /// The header name as p0f knows it. The case matters in HTTP/1, where it identifies software; HTTP/2 and HTTP/3 names are
    /// always lower case.
    fn known_name(&self, header: Header<'_>) -> Option<Name> {
        let name = match self.version {
            HttpVersion::Http2 | HttpVersion::Http3 => header.known_name_ignoring_case(),
            _ => header.known_name(),
        };
        name.filter(|name| name.is_known_to_p0f())
    }
}

/// Splits a text at the first separator that is not between `[` and `]`.
fn split_outside_brackets(text: &str, separator: char) -> Option<(&str, &str)> {
    let mut inside = false;
    let at = text.find(|c| {
        inside = (inside || c == '[') && c != ']';
        c == separator && !inside
    })?;
    let (before, rest) = text.split_at_checked(at)?;
    Some((before, rest.strip_prefix(separator)?))
}

struct RawSig<'a, F> {
    signature: &'a HttpSignature,
    known: F,
}

impl<F: Fn(&[u8]) -> bool> RawSig<'_, F> {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(match self.signature.version {
            HttpVersion::Http09 | HttpVersion::Http10 => b"0:",
            HttpVersion::Http11 => b"1:",
            HttpVersion::Http2 => b"2:",
            HttpVersion::Http3 => b"3:",
        });
        for (index, header) in self.signature.headers.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            self.write_header(header, out);
        }
        out.push(b':');
        for (index, name) in self.signature.absent().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            out.extend_from_slice(name.as_bytes());
        }
        out.push(b':');
        out.extend_from_slice(printed(self.signature.software().unwrap_or_default()));
    }

    fn write_header(&self, header: Header<'_>, out: &mut Vec<u8>) {
        let (optional, bare) = match self.signature.role {
            Role::Request => (OPTIONAL_IN_REQUESTS, BARE_IN_REQUESTS),
            Role::Response => (OPTIONAL_IN_RESPONSES, BARE_IN_RESPONSES),
        };
        let name = self.signature.known_name(header);
        if name.is_some_and(|name| optional.contains(name)) {
            out.push(b'?');
            return out.extend_from_slice(header.name);
        }
        match name {
            Some(_) => out.extend_from_slice(header.name),
            None => write_name(header.name, out),
        }
        if name.is_some_and(|name| bare.contains(name)) {
            return;
        }
        let mut value = printed(header.p0f_value().unwrap_or_default());
        let is_known = |_: &usize| name.is_some() || (self.known)(header.name);
        if let Some(bar) = memchr::memchr(b'|', value).filter(is_known) {
            value = value.get(..bar).unwrap_or_default();
        }
        if !value.is_empty() {
            out.extend_from_slice(b"=[");
            out.extend_from_slice(value);
            out.push(b']');
        }
    }
}

impl<F: Fn(&[u8]) -> bool> fmt::Display for RawSig<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Buffers the text: a formatter call for each small part would cost more.
        let mut text = Vec::with_capacity(TYPICAL_SIGNATURE_LEN);
        self.write(&mut text);
        f.write_str(str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

/// The part of a value that p0f prints.
fn printed(value: &[u8]) -> &[u8] {
    let stops = |byte: &u8| !matches!(byte, 0x20..=0x7f) || *byte == b']';
    let value = value.get(..P0F_MAX_PRINTED_VALUE_LEN).unwrap_or(value);
    // Most values have no byte to stop at, which a vectorised scan confirms quickly.
    if !value.iter().fold(false, |found, byte| found | stops(byte)) {
        return value;
    }
    value.split(stops).next().unwrap_or_default()
}

/// Writes a name that p0f does not know and escapes bytes that are invalid in names.
fn write_name(name: &[u8], out: &mut Vec<u8>) {
    if name.iter().fold(true, |all, byte| all & byte.is_ascii_graphic()) {
        out.extend_from_slice(name);
    } else {
        out.extend(name.escape_ascii());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn http2_names_are_lower_case() {
        let fields = [("user-agent", "curl/8"), ("accept", "*/*"), ("cookie", "a=b"), ("bad\u{e9}", "x")];
        let signature = HttpSignature::new(Role::Request, HttpVersion::Http2, fields.into_iter().collect());
        assert_eq!(
            signature.raw_sig(|_| false).to_string(),
            r"2:user-agent,accept=[*/*],?cookie,bad\xc3\xa9=[x]:Host,Connection,Accept-Encoding,Accept-Language,Accept-Charset,Keep-Alive:curl/8"
        );
    }

    #[test]
    fn malformed_signatures_are_rejected() {
        let parse = |text: &str| HttpSignature::from_raw_sig(Role::Request, text);
        for text in [
            "",
            ":",
            "1",
            "1:",
            "1::",
            "4:::",
            "*:Host::x",
            "1:Host=[a:b:x",
            "1:Host=[a]b::x",
            "1:[:]::",
            "0:,,::",
            "1:a b::",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(parse("1:::curl").map(|signature| signature.headers().len()), Some(0));
    }

    #[test]
    fn reads_proxy_headers_and_date_of_response() {
        let signature = |fields: &[(&str, &str)]| {
            HttpSignature::new(Role::Response, HttpVersion::Http11, fields.iter().copied().collect())
        };
        let via = signature(&[("Via", " 1.1 a"), ("Date", "x"), ("Date", " Sun, 06 Nov 1994 08:49:37 GMT")]);
        assert_eq!((via.is_forwarded(), via.date()), (true, Some(784_111_777)));
        let direct = signature(&[("Via", ""), ("via", " 1.1 a"), ("X-Forwarded-For", " ")]);
        assert_eq!((direct.is_forwarded(), direct.date()), (false, None));
    }
}
