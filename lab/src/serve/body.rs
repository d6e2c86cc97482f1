//! Bodies out of one prepared buffer.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

/// The bytes that bodies repeat.
#[derive(Clone)]
pub(super) struct Buffers {
    text: Bytes,
    random: Bytes,
}

impl Buffers {
    /// Makes two buffers of this length: one of numbered lines, one of bytes that no encoder makes smaller.
    pub(super) fn new(length: usize) -> Self {
        let lines = (0..).flat_map(|number: u64| format!("{number:049}\n").into_bytes());
        let mut random = vec![0; length];
        fastrand::fill(&mut random);
        Self { text: lines.take(length).collect(), random: random.into() }
    }

    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    /// Returns a body of `length` bytes; a chunked one has no announced length.
    pub(super) fn body(&self, length: u64, random: bool, chunked: bool) -> ResponseBody {
        let buffer = if random { &self.random } else { &self.text };
        ResponseBody { buffer: buffer.clone(), remaining: length, chunked }
    }
}

/// A body that lends slices of a shared buffer.
pub(super) struct ResponseBody {
    buffer: Bytes,
    remaining: u64,
    chunked: bool,
}

impl ResponseBody {
    pub(super) fn text(text: &'static str) -> Self {
        Self { buffer: Bytes::from_static(text.as_bytes()), remaining: text.len() as u64, chunked: false }
    }

    pub(super) fn next_piece(&mut self) -> Option<Bytes> {
        if self.remaining == 0 {
            return None;
        }
        let length = usize::try_from(self.remaining).unwrap_or(usize::MAX).min(self.buffer.len());
        self.remaining = self.remaining.saturating_sub(length as u64);
        Some(self.buffer.slice(..length))
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.next_piece().map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.remaining == 0 && !self.chunked
    }

    fn size_hint(&self) -> SizeHint {
        if self.chunked { SizeHint::default() } else { SizeHint::with_exact(self.remaining) }
    }
}

#[cfg(test)]
mod tests {
    use super::Buffers;

    #[test]
    fn body_repeats_the_buffer_up_to_its_length() {
        for random in [false, true] {
            let buffers = Buffers::new(1000);
            let mut body = buffers.body(2500, random, false);
            let pieces: Vec<_> = std::iter::from_fn(|| body.next_piece()).collect();
            assert_eq!(pieces.iter().map(bytes::Bytes::len).collect::<Vec<_>>(), [1000, 1000, 500]);
            assert!(pieces[1].starts_with(&pieces[2]));
        }
    }

    #[test]
    fn empty_body_has_no_piece() {
        assert_eq!(Buffers::new(1000).body(0, false, true).next_piece(), None);
    }
}
