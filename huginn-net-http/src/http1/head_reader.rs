//! Reads a head from pieces.

use std::mem;

use huginn_net_wire::{Parsed, Progress};

use super::head::{self, Lines};
use super::head_buffer::{HeadBuffer, Scan};
use crate::limits::MAX_HEAD;
use crate::{HttpError, Request, Response, Role};

/// Reads the head at the start of a stream of HTTP/1 from pieces of any size.
///
/// Time is linear in the bytes pushed. At most [`MAX_HEAD`] bytes are buffered, and none if a head comes in one piece.
///
/// ```
/// use huginn_net_http::http1::HeadReader;
/// use huginn_net_http::{Parsed, Progress};
///
/// let bytes = b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\nbody";
/// let (first, rest) = bytes.split_at(20);
/// let mut reader = HeadReader::request();
/// assert_eq!(reader.push(first)?, Progress::NeedMore);
/// let Progress::Done(Parsed { value, consumed }) = reader.push(rest)? else { panic!("the head is complete") };
/// assert_eq!(value.host(), Some(&b"example.org"[..]));
/// assert_eq!(rest[consumed..], *b"body");
/// # Ok::<(), huginn_net_http::HttpError>(())
/// ```
#[derive(Debug)]
pub struct HeadReader<T> {
    state: State<T>,
}

#[derive(Debug)]
enum State<T> {
    Reading(HeadBuffer),
    /// The empty line has a CR, which an LF may follow.
    AfterCr {
        message: T,
        /// Bytes of its head.
        len: usize,
    },
    Read,
    Failed(HttpError),
}

/// A message with a head: [`Request`] or [`Response`].
pub trait Message: Sized {
    /// The sender.
    #[doc(hidden)]
    const ROLE: Role;

    /// Parses a complete head.
    #[doc(hidden)]
    fn from_lines(head: Lines<'_>) -> Result<Self, HttpError>;
}

impl Message for Request {
    const ROLE: Role = Role::Request;

    fn from_lines(head: Lines<'_>) -> Result<Self, HttpError> {
        head::request(head, true)
    }
}

impl Message for Response {
    const ROLE: Role = Role::Response;

    fn from_lines(head: Lines<'_>) -> Result<Self, HttpError> {
        head::response(head, true)
    }
}

impl HeadReader<Request> {
    /// Creates a reader for the first byte of a request.
    pub fn request() -> Self {
        Self::new()
    }
}

impl HeadReader<Response> {
    /// Creates a reader for the first byte of a response.
    pub fn response() -> Self {
        Self::new()
    }
}

impl<T: Message> HeadReader<T> {
    fn new() -> Self {
        Self { state: State::Reading(HeadBuffer::default()) }
    }

    /// Parses the next bytes. Returns the message once, when its head is complete; later bytes are not read. A head whose
    /// empty line ends with a CR is complete with the next byte, which may be an LF. A control character after an unknown method
    /// is an error unless the first line is complete in one piece.
    ///
    /// # Errors
    /// [`HttpError`] if the bytes are not such a head, or if the head exceeds a limit. Later calls return the same error.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Progress<T>, HttpError> {
        let outcome = self.read(bytes);
        match &outcome {
            Ok(Progress::NeedMore) => {}
            Ok(Progress::Done(_)) => self.state = State::Read,
            Err(error) => self.state = State::Failed(*error),
        }
        outcome
    }

    fn read(&mut self, bytes: &[u8]) -> Result<Progress<T>, HttpError> {
        let (message, consumed) = match &mut self.state {
            State::Read => return Ok(Progress::NeedMore),
            State::Failed(error) => return Err(*error),
            State::AfterCr { .. } => {
                let Some(next) = bytes.first() else { return Ok(Progress::NeedMore) };
                let State::AfterCr { message, .. } = mem::replace(&mut self.state, State::Read) else {
                    return Ok(Progress::NeedMore);
                };
                (message, usize::from(*next == b'\n'))
            }
            State::Reading(buffer) => {
                let Scan::Complete { head, taken } = buffer.push(T::ROLE, bytes)? else {
                    return Ok(Progress::NeedMore);
                };
                if head.is_too_long {
                    return Err(HttpError::HeadTooLong { max: MAX_HEAD });
                }
                let may_have_lf = head.blank_has_cr && !head.is_http09();
                let len = head.lines.len();
                // What p0f reads of a head depends on the pieces that TCP delivered, which these are not.
                let message = T::from_lines(Lines { cuts: Vec::new(), ..head })?;
                match bytes.get(taken) {
                    Some(b'\n') if may_have_lf => (message, taken.saturating_add(1)),
                    None if may_have_lf => {
                        self.state = State::AfterCr { message, len };
                        return Ok(Progress::NeedMore);
                    }
                    _ => (message, taken),
                }
            }
        };
        Ok(Progress::Done(Parsed::new(message, consumed)))
    }

    /// Heap memory in bytes.
    pub fn buffered_bytes(&self) -> usize {
        match &self.state {
            State::Reading(buffer) => buffer.buffered_bytes(),
            State::AfterCr { len, .. } => *len,
            State::Read | State::Failed(_) => 0,
        }
    }
}
