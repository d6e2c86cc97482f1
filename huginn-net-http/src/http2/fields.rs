//! A field list, and the head that it is.

use super::{PseudoHeader, PseudoHeaders};
use crate::{Headers, HttpVersion, Request, Response};

/// The fields of a block: pseudo-header fields apart from the others (RFC 9113, section 8.3).
#[derive(Debug, Default)]
pub(super) struct Fields {
    pub(super) pseudo_headers: PseudoHeaders,
    method: Option<Box<[u8]>>,
    path: Box<[u8]>,
    authority: Option<Box<[u8]>>,
    status: Option<Box<[u8]>>,
    headers: Headers,
}

impl Fields {
    pub(super) fn push(&mut self, name: &[u8], value: &[u8]) {
        if !name.starts_with(b":") {
            return self.headers.push(name, value);
        }
        match PseudoHeader::of(name) {
            Some(pseudo_header) => {
                self.pseudo_headers.push(pseudo_header);
                match pseudo_header {
                    PseudoHeader::Method => self.method = Some(value.into()),
                    PseudoHeader::Path => self.path = value.into(),
                    PseudoHeader::Authority => self.authority = Some(value.into()),
                    PseudoHeader::Scheme => {}
                }
            }
            None if name == b":status" => self.status = Some(value.into()),
            None => {}
        }
    }

    /// A request; `None` if there is no method, as in trailers.
    pub(super) fn into_request(self) -> Option<Request> {
        let request = Request::new(HttpVersion::Http2, &self.method?, &self.path, self.headers);
        Some(match self.authority {
            Some(authority) => request.with_authority(&authority),
            None => request,
        })
    }

    /// A response; `None` if there is no status, as in trailers.
    pub(super) fn into_response(self) -> Option<Response> {
        let status = std::str::from_utf8(&self.status?).ok()?.parse().unwrap_or_default();
        Some(Response::new(HttpVersion::Http2, status, b"", self.headers))
    }
}
