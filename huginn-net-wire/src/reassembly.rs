//! An out-of-order buffer for any numbered byte stream.

use std::collections::BTreeMap;

use crate::limits::CHUNK_OVERHEAD;

/// Reassembles a byte stream from chunks: TCP segments, QUIC CRYPTO frames, fragments of a message.
///
/// A chunk in order is delivered at once without a copy. An out-of-order chunk is buffered. The first copy of a byte
/// wins. Time is linear in the bytes pushed, times the logarithm of the chunks buffered.
///
/// ```
/// use huginn_net_wire::Reassembler;
///
/// let (mut stream, mut bytes) = (Reassembler::new(), Vec::new());
/// let mut push = |offset, chunk: &[u8]| stream.push(offset, chunk, 1000, &mut |chunk| bytes.extend_from_slice(chunk));
/// assert!(push(0, b"one "));
/// assert!(push(8, b"three"));
/// assert!(push(2, b"e two "));
/// assert_eq!(bytes, b"one two three");
/// ```
///
/// Each chunk may carry a tag, such as the packet that it came in; see [`push_tagged`](Self::push_tagged).
#[derive(Debug, Default)]
pub struct Reassembler<T = ()> {
    position: u64,
    /// Out-of-order chunks by offset, after the position and without overlaps.
    buffered: BTreeMap<u64, Chunk<T>>,
    buffered_bytes: usize,
}

/// A buffered chunk and its tag.
#[derive(Debug)]
struct Chunk<T> {
    bytes: Box<[u8]>,
    tag: T,
}

/// How much a [`Reassembler`] may buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReassemblyLimits {
    /// Maximum distance between the [position](Reassembler::position) and the end of a chunk, in bytes.
    pub distance: u64,
    /// Maximum memory of buffered chunks, in bytes.
    pub buffered_bytes: usize,
}

impl Reassembler {
    /// Adds the chunk at `offset`, and delivers the bytes that are now in order, in one call or several.
    ///
    /// Returns false if the buffer refused the chunk or a part of it: the chunk reaches `window` bytes or more beyond the
    /// [position](Self::position), or more than `window` bytes would be [buffered](Self::buffered_bytes). The stream stays
    /// usable.
    pub fn push(
        &mut self,
        offset: u64,
        bytes: &[u8],
        window: usize,
        deliver: &mut (impl FnMut(&[u8]) + ?Sized),
    ) -> bool {
        let limits = ReassemblyLimits { distance: window as u64, buffered_bytes: window };
        self.push_tagged(offset, bytes, (), limits, &mut |bytes, ()| deliver(bytes))
    }
}

impl<T: Copy> Reassembler<T> {
    /// Creates an empty stream at offset 0.
    pub const fn new() -> Self {
        Self { position: 0, buffered: BTreeMap::new(), buffered_bytes: 0 }
    }

    /// Returns the offset of the next byte to be delivered.
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// Returns the memory used by buffered chunks, in bytes.
    pub const fn buffered_bytes(&self) -> usize {
        self.buffered_bytes
    }

    /// Does the same as [`push`](Reassembler::push) for a chunk with a tag: `deliver` receives bytes with the tag of their
    /// chunk. Returns false if the `limits` refused the chunk or a part of it.
    pub fn push_tagged(
        &mut self,
        offset: u64,
        bytes: &[u8],
        tag: T,
        limits: ReassemblyLimits,
        deliver: &mut (impl FnMut(&[u8], T) + ?Sized),
    ) -> bool {
        let Some((offset, bytes)) = from(offset, bytes, self.position) else { return true };
        if offset > self.position {
            return self.buffer(offset, bytes, tag, limits);
        }
        if self.buffered.is_empty() {
            self.advance(bytes, tag, deliver);
        } else {
            self.advance_through_buffer(bytes, tag, deliver);
        }
        true
    }

    /// Returns the buffered chunks that overlap the range from `offset` to `end`, with their offsets.
    pub fn overlapping(&self, offset: u64, end: u64) -> impl Iterator<Item = (u64, &[u8])> {
        let before = self.buffered.range(..offset).next_back();
        let later = self.buffered.range(offset..end.max(offset));
        before.into_iter().chain(later).map(|(&start, chunk)| (start, &*chunk.bytes))
    }

    /// Moves the position back to an earlier byte, so that the bytes after it are delivered again.
    pub fn rewind(&mut self, position: u64) {
        self.position = self.position.min(position);
    }

    /// Advances the position over bytes that the caller does not read. No buffered chunk may overlap them.
    pub fn skip(&mut self, len: usize) {
        self.position = self.position.saturating_add(len as u64);
    }

    /// Returns the offset of the first buffered chunk.
    pub fn first_buffered(&self) -> Option<u64> {
        self.buffered.first_key_value().map(|(&offset, _)| offset)
    }

    /// Returns the tag of the first buffered chunk.
    pub fn first_tag(&self) -> Option<T> {
        self.buffered.first_key_value().map(|(_, chunk)| chunk.tag)
    }

    /// Skips the gap before the first buffered chunk, and delivers the bytes after it.
    ///
    /// Returns the length of the gap; 0 if nothing is buffered.
    pub fn skip_gap(&mut self, deliver: &mut (impl FnMut(&[u8], T) + ?Sized)) -> u64 {
        let Some((&first, chunk)) = self.buffered.first_key_value() else { return 0 };
        let (gap, tag) = (first.saturating_sub(self.position), chunk.tag);
        self.position = first;
        self.advance_through_buffer(&[], tag, deliver);
        gap
    }

    fn advance(&mut self, bytes: &[u8], tag: T, deliver: &mut (impl FnMut(&[u8], T) + ?Sized)) {
        self.position = self.position.saturating_add(bytes.len() as u64);
        if !bytes.is_empty() {
            deliver(bytes, tag);
        }
    }

    /// Delivers bytes at the position, and the buffered chunks that follow them. A buffered chunk wins over `bytes`.
    fn advance_through_buffer(
        &mut self,
        mut bytes: &[u8],
        tag: T,
        deliver: &mut (impl FnMut(&[u8], T) + ?Sized),
    ) {
        while let Some(next) = self.buffered.first_entry() {
            let gap = next.key().saturating_sub(self.position);
            let Some((new_bytes, rest)) =
                usize::try_from(gap).ok().and_then(|gap| bytes.split_at_checked(gap))
            else {
                break;
            };
            let chunk = next.remove();
            self.buffered_bytes = self.buffered_bytes.saturating_sub(cost(&chunk.bytes));
            self.advance(new_bytes, tag, deliver);
            self.advance(&chunk.bytes, chunk.tag, deliver);
            bytes = rest.get(chunk.bytes.len()..).unwrap_or(&[]);
        }
        self.advance(bytes, tag, deliver);
    }

    /// Buffers the bytes of an out-of-order chunk that are not buffered yet.
    fn buffer(&mut self, offset: u64, bytes: &[u8], tag: T, limits: ReassemblyLimits) -> bool {
        let ahead = offset.saturating_sub(self.position);
        let room =
            usize::try_from(limits.distance.saturating_sub(ahead)).unwrap_or(usize::MAX).min(bytes.len());
        let is_complete = room == bytes.len() && offset.checked_add(room as u64).is_some();
        let mut left = Some((offset, bytes.get(..room).unwrap_or(&[])));
        if let Some((&start, chunk)) = self.buffered.range(..=offset).next_back() {
            left = left.and_then(|(offset, bytes)| from(offset, bytes, end(start, &chunk.bytes)));
        }
        while let Some((offset, bytes)) = left {
            let next =
                self.buffered.range(offset..).next().map(|(&start, chunk)| (start, end(start, &chunk.bytes)));
            let new_bytes = match next {
                Some((start, _)) => {
                    let gap = usize::try_from(start.saturating_sub(offset)).unwrap_or(usize::MAX);
                    bytes.get(..gap).unwrap_or(bytes)
                }
                None => bytes,
            };
            if !new_bytes.is_empty() {
                if self.buffered_bytes.saturating_add(cost(new_bytes)) > limits.buffered_bytes {
                    return false;
                }
                self.buffered_bytes = self.buffered_bytes.saturating_add(cost(new_bytes));
                self.buffered.insert(offset, Chunk { bytes: new_bytes.into(), tag });
            }
            left = next.and_then(|(_, end)| from(offset, bytes, end));
        }
        is_complete
    }
}

/// Returns the part of a chunk at or after `position`, if any.
fn from(offset: u64, bytes: &[u8], position: u64) -> Option<(u64, &[u8])> {
    let old = usize::try_from(position.saturating_sub(offset)).ok()?;
    let rest = bytes.get(old..)?;
    (!rest.is_empty()).then_some((offset.max(position), rest))
}

fn end(start: u64, chunk: &[u8]) -> u64 {
    start.saturating_add(chunk.len() as u64)
}

const fn cost(chunk: &[u8]) -> usize {
    chunk.len().saturating_add(CHUNK_OVERHEAD)
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Pushes chunks and returns what was delivered, and whether each chunk was kept completely.
    fn joined(chunks: &[(u64, &[u8])], window: usize) -> (Vec<u8>, Vec<bool>) {
        let (mut stream, mut bytes) = (Reassembler::new(), Vec::new());
        let kept = chunks
            .iter()
            .map(|(offset, chunk)| {
                stream.push(*offset, chunk, window, &mut |chunk| bytes.extend_from_slice(chunk))
            })
            .collect();
        (bytes, kept)
    }

    #[test]
    fn first_copy_wins_on_overlap() {
        let chunks: &[(u64, &[u8])] =
            &[(4, b"EF"), (3, b"defgh"), (0, b"ab"), (1, b"?cde?"), (0, b"????????i")];
        assert_eq!(joined(chunks, 1000).0, b"abcdEFghi");
    }

    #[test]
    fn refuses_chunks_beyond_window() {
        assert_eq!(joined(&[(100, b"x"), (0, b"ab")], 100), (b"ab".to_vec(), vec![false, true]));
        assert_eq!(
            joined(&[(98, b"xyz"), (0, &[b'a'; 98])], 100).1,
            [false, true],
            "truncated at the end of the window"
        );
        let mut stream = Reassembler::new();
        let refused = (1..=1000).filter(|n| !stream.push(2 * n, b"x", 6500, &mut |_| {})).count();
        assert_eq!((refused, stream.buffered_bytes()), (900, 100 * 65));
        let mut bytes = 0;
        assert!(stream.push(0, &[0; 300], 6500, &mut |chunk| bytes += chunk.len()));
        assert_eq!((bytes, stream.buffered_bytes()), (300, 0));
    }

    #[test]
    fn accepts_offsets_near_u64_max() {
        for offset in [u64::MAX, u64::MAX - 1, (1 << 62) - 1] {
            assert_eq!(joined(&[(offset, b"xyz"), (0, b"ab")], usize::MAX).0, b"ab");
        }
    }

    #[test]
    fn skip_gap_delivers_buffered_chunks() {
        let (mut stream, mut bytes) = (Reassembler::new(), Vec::new());
        for (offset, chunk) in [(10, &b"kl"[..]), (12, b"m"), (20, b"u")] {
            stream.push(offset, chunk, 1000, &mut |_| panic!("nothing is in order"));
        }
        assert_eq!(stream.skip_gap(&mut |chunk, ()| bytes.extend_from_slice(chunk)), 10);
        assert_eq!((bytes.as_slice(), stream.position()), (&b"klm"[..], 13));
        assert_eq!(stream.skip_gap(&mut |_, ()| {}), 7);
        assert_eq!((stream.skip_gap(&mut |_, ()| {}), stream.buffered_bytes()), (0, 0));
    }

    proptest! {
        /// Compares with a byte array that keeps the first copy of each byte.
        #[test]
        fn any_order_gives_first_copy_of_bytes(
            chunks in prop::collection::vec((0_u64..60, prop::collection::vec(any::<u8>(), 0..20)), 0..40)
        ) {
            let mut model: Vec<Option<u8>> = vec![None; 100];
            for (offset, chunk) in &chunks {
                for (place, byte) in model.iter_mut().skip(usize::try_from(*offset).unwrap()).zip(chunk) {
                    place.get_or_insert(*byte);
                }
            }
            let expected: Vec<u8> = model.into_iter().map_while(|byte| byte).collect();
            let chunks: Vec<(u64, &[u8])> = chunks.iter().map(|(offset, chunk)| (*offset, chunk.as_slice())).collect();
            let (bytes, kept) = joined(&chunks, 100_000);
            prop_assert!(kept.into_iter().all(|kept| kept));
            prop_assert_eq!(bytes, expected);
        }
    }
}
