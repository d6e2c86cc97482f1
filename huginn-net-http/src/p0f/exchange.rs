//! The only exchange of a connection that p0f reads.

/// The head that p0f reads next in a reassembled connection: the first request, then the first response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Exchange {
    /// The request.
    #[default]
    Request,
    /// The response.
    Response,
    /// No further head.
    Done,
}

impl Exchange {
    /// Records a request.
    pub(crate) fn on_request(&mut self, is_read: bool) {
        if *self == Self::Request {
            *self = if is_read { Self::Response } else { Self::Done };
        }
    }

    /// Records bytes of the server: p0f ignores a connection whose server sends before the request.
    pub(crate) fn on_server_bytes(&mut self) {
        if *self == Self::Request {
            *self = Self::Done;
        }
    }

    /// Records the end for p0f: a response, a gap, a FIN or RST.
    pub(crate) fn end(&mut self) {
        *self = Self::Done;
    }
}
