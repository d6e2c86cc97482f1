//! Converts field lists to heads.

use super::{PseudoHeader, PseudoHeaders};
use crate::headers::{Draft, Span};
use crate::message::{RequestParts, ResponseParts, SeenByP0f, status_code};
use crate::{HttpVersion, Request, Response};

/// The fields of a block, with pseudo-header fields separate (RFC 9113, section 8.3).
#[derive(Debug, Default)]
pub(crate) struct Fields {
    pub(crate) pseudo_headers: PseudoHeaders,
    method: Option<Span>,
    path: Span,
    authority: Option<Span>,
    /// The status code, if there is a status.
    status: Option<Option<u16>>,
    head: Draft<'static>,
}

impl Fields {
    pub(crate) fn push(&mut self, name: &[u8], value: &[u8]) {
        if !name.starts_with(b":") {
            return self.head.push(name, value);
        }
        match PseudoHeader::from_name(name) {
            Some(pseudo_header) => {
                if !self.pseudo_headers.push(pseudo_header) {
                    return self.head.cut();
                }
                if self.pseudo_headers.iter().filter(|known| *known == pseudo_header).count() > 1 {
                    return self.head.repeat_pseudo_header();
                }
                match pseudo_header {
                    PseudoHeader::Method => self.method = Some(self.head.append(value)),
                    PseudoHeader::Path => self.path = self.head.append(value),
                    PseudoHeader::Authority => self.authority = Some(self.head.append(value)),
                    PseudoHeader::Scheme => {}
                }
            }
            None if name == b":status" && self.status.is_some() => self.head.repeat_pseudo_header(),
            None if name == b":status" => self.status = Some(status_code(value)),
            None => {}
        }
    }

    /// Memory of the fields, in bytes.
    pub(crate) fn buffered_bytes(&self) -> usize {
        self.head.buffered_bytes().saturating_add(self.pseudo_headers.iter().len())
    }

    /// Marks the list as cut: fields are missing.
    pub(crate) fn cut(&mut self) {
        self.head.cut();
    }

    /// Whether fields are missing, because the list exceeded a limit of its size or number.
    pub(crate) fn is_cut(&self) -> bool {
        self.head.is_cut()
    }

    /// Converts to a request; `None` without a method, as in trailers.
    pub(crate) fn into_request(self, version: HttpVersion) -> Option<Request> {
        let Self { method, path: target, authority, head, .. } = self;
        let parts = RequestParts { version, method: method?, target, authority };
        Some(Request::from_parts(parts, head, None))
    }

    /// Converts to a response; `None` without a status, as in trailers.
    pub(crate) fn into_response(self, version: HttpVersion) -> Option<Response> {
        let reason = Span::default();
        let parts = ResponseParts { version, p0f_version: version, status: self.status?, reason };
        Some(Response::from_parts(parts, self.head, SeenByP0f::None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Headers;

    #[test]
    fn first_repeated_pseudo_header_counts() {
        let mut fields = Fields::default();
        for n in 0..3 {
            fields.push(b":path", format!("/{n}").as_bytes());
            fields.push(b"cookie", format!("a={n}").as_bytes());
            fields.push(b":method", [b"GET", &b"POST"[..], b"PUT"][n]);
            fields.push(b":authority", format!("{n}.example").as_bytes());
        }
        let headers: Headers = (0..3).map(|n| ("cookie", format!("a={n}"))).collect();
        let want = Request::new(HttpVersion::Http2, b"GET", b"/0", headers).with_authority(b"0.example");
        let request = fields.into_request(HttpVersion::Http2).unwrap();
        assert!(request.headers().repeats_pseudo_headers());
        assert_eq!(request, want);

        let mut fields = Fields::default();
        for status in ["100", "404"] {
            fields.push(b":status", status.as_bytes());
        }
        let response = fields.into_response(HttpVersion::Http2).unwrap();
        assert_eq!((response.status(), response.headers().repeats_pseudo_headers()), (Some(100), true));
    }

    #[test]
    fn status_that_is_not_three_digits_is_none() {
        for status in ["", "20", "+20", "2000", "abc"] {
            let mut fields = Fields::default();
            fields.push(b":status", status.as_bytes());
            let response = fields.into_response(HttpVersion::Http2).unwrap();
            assert_eq!(response.status(), None, "{status}");
        }
        assert_eq!(Fields::default().into_response(HttpVersion::Http2), None, "trailers");
    }
}
