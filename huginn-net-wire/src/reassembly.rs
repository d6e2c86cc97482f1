//! Bytes that come in pieces, put in order in bounded memory.

use std::collections::BTreeMap;

/// Puts the pieces of a byte stream in order: TCP segments, QUIC CRYPTO frames, fragments of a message.
///
/// A piece in order is handed on at once and never copied. One that comes too early is held; of bytes that come
/// twice, those that came first count. Time is linear in the bytes pushed, but for the logarithm of the pieces held.
///
/// ```
/// use huginn_net_wire::Reassembler;
///
/// let (mut stream, mut bytes) = (Reassembler::new(), Vec::new());
/// let mut push = |offset, piece: &[u8]| stream.push(offset, piece, 1000, &mut |piece| bytes.extend_from_slice(piece));
/// assert!(push(0, b"one "));
/// assert!(push(8, b"three"));
/// assert!(push(2, b"e two "));
/// assert_eq!(bytes, b"one two three");
/// ```
#[derive(Debug, Default)]
pub struct Reassembler {
    position: u64,
    /// What came too early, by offset: beyond the position, and without overlaps.
    held: BTreeMap<u64, Box<[u8]>>,
    held_bytes: usize,
}

/// What a held piece costs beside its bytes: its part of a tree node, and what an allocation wastes.
const OVERHEAD: usize = 64;

impl Reassembler {
    /// A stream of which nothing has been seen.
    pub const fn new() -> Self {
        Self { position: 0, held: BTreeMap::new(), held_bytes: 0 }
    }

    /// The offset of the next byte to be delivered.
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// The memory that pieces held back take up, in bytes.
    pub const fn held(&self) -> usize {
        self.held_bytes
    }

    /// Takes the piece that begins at `offset`, and delivers what is now in order, in one call or several.
    ///
    /// Returns false where nothing or not all of it could be kept, which is of no account: the piece begins `window`
    /// bytes or more after the [position](Self::position), or reaches so far, or more than `window` bytes would be
    /// [held](Self::held).
    pub fn push(
        &mut self,
        offset: u64,
        bytes: &[u8],
        window: usize,
        deliver: &mut (impl FnMut(&[u8]) + ?Sized),
    ) -> bool {
        let Some((offset, bytes)) = from(offset, bytes, self.position) else { return true };
        if offset > self.position {
            return self.hold(offset, bytes, window);
        }
        if self.held.is_empty() {
            self.hand_on(bytes, deliver);
        } else {
            self.hand_on_around_held(bytes, deliver);
        }
        true
    }

    /// Moves the position on without delivering bytes. The caller must have seen to it that no piece is held.
    pub fn advance(&mut self, len: usize) {
        self.position = self.position.saturating_add(len as u64);
    }

    /// The offset of the first piece held.
    pub fn first_held(&self) -> Option<u64> {
        self.held.first_key_value().map(|(&offset, _)| offset)
    }

    /// Gives up the bytes that are missing before the first piece held, and delivers what follows them.
    ///
    /// Returns how many bytes were given up; 0 if nothing is held.
    pub fn skip_gap(&mut self, deliver: &mut (impl FnMut(&[u8]) + ?Sized)) -> u64 {
        let Some(first) = self.first_held() else { return 0 };
        let gap = first.saturating_sub(self.position);
        self.position = first;
        self.hand_on_around_held(&[], deliver);
        gap
    }

    fn hand_on(&mut self, bytes: &[u8], deliver: &mut (impl FnMut(&[u8]) + ?Sized)) {
        self.position = self.position.saturating_add(bytes.len() as u64);
        if !bytes.is_empty() {
            deliver(bytes);
        }
    }

    /// Delivers bytes at the position, except where a held piece has the same ones, and the held pieces that join on.
    fn hand_on_around_held(&mut self, mut bytes: &[u8], deliver: &mut (impl FnMut(&[u8]) + ?Sized)) {
        while let Some(next) = self.held.first_entry() {
            let gap = next.key().saturating_sub(self.position);
            let Some((fresh, rest)) = usize::try_from(gap).ok().and_then(|gap| bytes.split_at_checked(gap))
            else {
                break;
            };
            let piece = next.remove();
            self.held_bytes = self.held_bytes.saturating_sub(cost(&piece));
            self.hand_on(fresh, deliver);
            self.hand_on(&piece, deliver);
            bytes = rest.get(piece.len()..).unwrap_or(&[]);
        }
        self.hand_on(bytes, deliver);
    }

    /// Keeps what is not held yet of a piece beyond the position.
    fn hold(&mut self, offset: u64, bytes: &[u8], window: usize) -> bool {
        let ahead = usize::try_from(offset.saturating_sub(self.position)).unwrap_or(usize::MAX);
        let room = window.saturating_sub(ahead).min(bytes.len());
        let whole = room == bytes.len() && offset.checked_add(room as u64).is_some();
        let mut left = Some((offset, bytes.get(..room).unwrap_or(&[])));
        if let Some((&start, piece)) = self.held.range(..=offset).next_back() {
            left = left.and_then(|(offset, bytes)| from(offset, bytes, end(start, piece)));
        }
        while let Some((offset, bytes)) = left {
            let next = self.held.range(offset..).next().map(|(&start, piece)| (start, end(start, piece)));
            let fresh = match next {
                Some((start, _)) => {
                    let gap = usize::try_from(start.saturating_sub(offset)).unwrap_or(usize::MAX);
                    bytes.get(..gap).unwrap_or(bytes)
                }
                None => bytes,
            };
            if !fresh.is_empty() {
                if self.held_bytes.saturating_add(cost(fresh)) > window {
                    return false;
                }
                self.held_bytes = self.held_bytes.saturating_add(cost(fresh));
                self.held.insert(offset, fresh.into());
            }
            left = next.and_then(|(_, end)| from(offset, bytes, end));
        }
        whole
    }
}

/// What of a piece lies at or after a `position`; nothing if it ends there or before.
fn from(offset: u64, bytes: &[u8], position: u64) -> Option<(u64, &[u8])> {
    let old = usize::try_from(position.saturating_sub(offset)).ok()?;
    let rest = bytes.get(old..)?;
    (!rest.is_empty()).then_some((offset.max(position), rest))
}

fn end(start: u64, piece: &[u8]) -> u64 {
    start.saturating_add(piece.len() as u64)
}

const fn cost(piece: &[u8]) -> usize {
    piece.len().saturating_add(OVERHEAD)
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Pushes pieces and returns what was delivered, and whether each piece was kept whole.
    fn joined(pieces: &[(u64, &[u8])], window: usize) -> (Vec<u8>, Vec<bool>) {
        let (mut stream, mut bytes) = (Reassembler::new(), Vec::new());
        let kept = pieces
            .iter()
            .map(|(offset, piece)| {
                stream.push(*offset, piece, window, &mut |piece| bytes.extend_from_slice(piece))
            })
            .collect();
        (bytes, kept)
    }

    #[test]
    fn of_bytes_that_come_twice_the_first_count() {
        let pieces: &[(u64, &[u8])] =
            &[(4, b"EF"), (3, b"defgh"), (0, b"ab"), (1, b"?cde?"), (0, b"????????i")];
        assert_eq!(joined(pieces, 1000).0, b"abcdEFghi");
    }

    #[test]
    fn what_is_too_far_ahead_or_too_much_is_refused_and_the_rest_stays_good() {
        assert_eq!(joined(&[(100, b"x"), (0, b"ab")], 100), (b"ab".to_vec(), vec![false, true]));
        assert_eq!(
            joined(&[(98, b"xyz"), (0, &[b'a'; 98])], 100).1,
            [false, true],
            "cut at the window's end"
        );
        let mut stream = Reassembler::new();
        let refused = (1..=1000).filter(|n| !stream.push(2 * n, b"x", 6500, &mut |_| {})).count();
        assert_eq!((refused, stream.held()), (900, 100 * 65));
        let mut bytes = 0;
        assert!(stream.push(0, &[0; 300], 6500, &mut |piece| bytes += piece.len()));
        assert_eq!((bytes, stream.held()), (300, 0));
    }

    #[test]
    fn offsets_at_the_end_of_the_number_range_do_no_harm() {
        for offset in [u64::MAX, u64::MAX - 1, (1 << 62) - 1] {
            assert_eq!(joined(&[(offset, b"xyz"), (0, b"ab")], usize::MAX).0, b"ab");
        }
    }

    #[test]
    fn a_gap_given_up_frees_what_follows_it() {
        let (mut stream, mut bytes) = (Reassembler::new(), Vec::new());
        for (offset, piece) in [(10, &b"kl"[..]), (12, b"m"), (20, b"u")] {
            stream.push(offset, piece, 1000, &mut |_| panic!("nothing is in order"));
        }
        assert_eq!(stream.skip_gap(&mut |piece| bytes.extend_from_slice(piece)), 10);
        assert_eq!((bytes.as_slice(), stream.position()), (&b"klm"[..], 13));
        assert_eq!(stream.skip_gap(&mut |_| {}), 7);
        assert_eq!((stream.skip_gap(&mut |_| {}), stream.held()), (0, 0));
    }

    proptest! {
        /// Against a byte array that remembers which byte was written first.
        #[test]
        fn any_pieces_in_any_order_give_the_bytes_that_came_first(
            pieces in prop::collection::vec((0_u64..60, prop::collection::vec(any::<u8>(), 0..20)), 0..40)
        ) {
            let mut model: Vec<Option<u8>> = vec![None; 100];
            for (offset, piece) in &pieces {
                for (place, byte) in model.iter_mut().skip(usize::try_from(*offset).unwrap()).zip(piece) {
                    place.get_or_insert(*byte);
                }
            }
            let expected: Vec<u8> = model.into_iter().map_while(|byte| byte).collect();
            let pieces: Vec<(u64, &[u8])> = pieces.iter().map(|(offset, piece)| (*offset, piece.as_slice())).collect();
            let (bytes, kept) = joined(&pieces, 100_000);
            prop_assert!(kept.into_iter().all(|kept| kept));
            prop_assert_eq!(bytes, expected);
        }
    }
}
