//! The one exchange of a connection that p0f reads.

/// The head that p0f reads next in a reassembled connection: the first request, then the first response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Exchange {
    /// The request.
    #[default]
    Request,
    /// The response.
    Response,
    /// None.
    Done,
}

impl Exchange {
    /// Takes notice of a request.
    pub(crate) fn on_request(&mut self, is_read: bool) {
        if *self == Self::Request {
            *self = if is_read { Self::Response } else { Self::Done };
        }
    }

    /// Takes notice of bytes of the server: p0f takes no server that speaks before the request.
    pub(crate) fn on_server_bytes(&mut self) {
        if *self == Self::Request {
            *self = Self::Done;
        }
    }

    /// Takes notice of an end, for p0f: a response, a gap, a FIN or RST.
    pub(crate) fn end(&mut self) {
        *self = Self::Done;
    }
}
