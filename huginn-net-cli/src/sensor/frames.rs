//! The texts of an event for several outputs, one after the other.

/// The text of an event for one output, among those for other outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    /// The output.
    pub(super) id: u32,
    /// Length of the text after the head; 0 for the text of the frame before.
    pub(super) len: usize,
    /// What `--once` remembers of the event; 0 if nothing.
    pub(super) key: u64,
    /// Whether its [latency](super::latency::is_late) means nothing.
    pub(super) is_late: bool,
}

impl Frame {
    pub(super) const HEAD_BYTES: usize = 17;

    pub(super) fn head(self) -> [u8; Self::HEAD_BYTES] {
        let mut head = [0; Self::HEAD_BYTES];
        let len = u32::try_from(self.len).unwrap_or(u32::MAX);
        let bytes = self.id.to_le_bytes().into_iter().chain(len.to_le_bytes()).chain(self.key.to_le_bytes());
        let bytes = bytes.chain([u8::from(self.is_late)]);
        head.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
        head
    }

    /// Splits the first frame off.
    pub(super) fn split(text: &[u8]) -> Option<(Self, &[u8], &[u8])> {
        let (id, rest) = text.split_first_chunk()?;
        let (len, rest) = rest.split_first_chunk()?;
        let (key, rest) = rest.split_first_chunk()?;
        let (is_late, rest) = rest.split_first()?;
        let len = usize::try_from(u32::from_le_bytes(*len)).ok()?;
        let (text, rest) = rest.split_at_checked(len)?;
        let (id, key) = (u32::from_le_bytes(*id), u64::from_le_bytes(*key));
        Some((Self { id, len, key, is_late: *is_late != 0 }, text, rest))
    }
}

/// Whether the latency of a [rendered](super::outputs::OutputReader::render) event counts.
pub(super) fn has_latency(frames: &[u8]) -> bool {
    Frame::split(frames).is_some_and(|(frame, ..)| !frame.is_late)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_split_as_they_were_written() {
        let frames = [
            Frame { id: 7, len: 3, key: u64::MAX - 1, is_late: false },
            Frame { id: 8, len: 0, key: 0, is_late: true },
            Frame { id: u32::MAX, len: 2, key: 5, is_late: false },
        ];
        let mut text = Vec::new();
        for (frame, line) in frames.iter().zip([&b"abc"[..], b"", b"de"]) {
            text.extend_from_slice(&frame.head());
            text.extend_from_slice(line);
        }
        let mut rest = &text[..];
        let mut found = Vec::new();
        while let Some((frame, line, after)) = Frame::split(rest) {
            found.push((frame, String::from_utf8(line.to_vec()).unwrap()));
            rest = after;
        }
        assert!(rest.is_empty());
        let wanted = frames.into_iter().zip(["abc", "", "de"].map(str::to_owned));
        assert_eq!(found, wanted.collect::<Vec<_>>());
        assert_eq!(Frame::split(&text[..text.len() - 1]).map(|(frame, ..)| frame), Some(frames[0]));
        assert_eq!(Frame::split(&text[..18]), None);
    }
}
