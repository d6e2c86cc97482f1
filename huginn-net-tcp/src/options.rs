//! TCP options: their layout and the values that a signature needs.

use std::ops::RangeInclusive;

use crate::{OptionLayout, Quirks, kind};

/// The largest window scale that RFC 7323, section 2.3, allows.
const MAX_SCALE: u8 = 14;

/// The values of the option bytes of one segment. If an option occurs twice, the later one counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) layout: OptionLayout,
    /// 0 when absent.
    pub(crate) mss: u16,
    /// 0 when absent.
    pub(crate) scale: u8,
    /// 0 when absent.
    pub(crate) timestamp: u32,
    pub(crate) quirks: Quirks,
}

impl Options {
    /// Parses the option bytes with the same leniency towards wrong lengths as p0f.
    ///
    /// `is_syn`: whether the segment is a SYN without ACK, which cannot echo a peer's timestamp.
    #[inline(always)]
    pub(crate) fn parse(bytes: &[u8], is_syn: bool) -> Self {
        let mut options = Self::default();
        let mut rest = bytes;
        while let Some((&kind, body)) = rest.split_first() {
            let after = if options.layout.push(kind) { options.take(kind, body, is_syn) } else { None };
            let Some(after) = after else {
                options.quirks |= Quirks::BAD;
                break;
            };
            rest = after;
        }
        options
    }

    /// Parses one option whose kind precedes `body` and returns the bytes after it. `None` if the remaining options
    /// cannot be delimited.
    #[inline(always)]
    fn take<'a>(&mut self, kind: u8, body: &'a [u8], is_syn: bool) -> Option<&'a [u8]> {
        match kind {
            kind::EOL => {
                self.layout.set_eol_padding(body.len());
                // p0f 3.09b ignores the last byte, and its signatures depend on that.
                let looked_at = body.split_last().map_or(body, |(_, before)| before);
                self.flag(Quirks::AFTER_EOL, looked_at.iter().any(|&byte| byte != 0));
                Some(&[])
            }
            kind::NOP => Some(body),
            kind::MSS => {
                let (&[len, high, low], after) = body.split_first_chunk()?;
                self.expect(len == 4);
                self.mss = u16::from_be_bytes([high, low]);
                Some(after)
            }
            kind::WINDOW_SCALE => {
                let (&[len, scale], after) = body.split_first_chunk()?;
                self.expect(len == 3);
                self.scale = scale;
                self.flag(Quirks::EXCESSIVE_SCALE, scale > MAX_SCALE);
                Some(after)
            }
            kind::SACK_PERMITTED => {
                let (&len, after) = body.split_first()?;
                self.expect(len == 2);
                Some(after)
            }
            kind::SACK => skip(body, 10..=34),
            kind::TIMESTAMP => {
                let (&[len, o0, o1, o2, o3, p0, p1, p2, p3], after) = body.split_first_chunk()?;
                self.expect(len == 10);
                self.timestamp = u32::from_be_bytes([o0, o1, o2, o3]);
                self.flag(Quirks::OWN_TIMESTAMP_ZERO, self.timestamp == 0);
                self.flag(Quirks::PEER_TIMESTAMP_NONZERO, is_syn && [p0, p1, p2, p3] != [0; 4]);
                Some(after)
            }
            _ => skip(body, 2..=40),
        }
    }

    fn expect(&mut self, length_is_right: bool) {
        self.flag(Quirks::BAD, !length_is_right);
    }

    fn flag(&mut self, quirk: Quirks, present: bool) {
        if present {
            self.quirks |= quirk;
        }
    }
}

/// The bytes after an option whose length byte (which counts kind and length) is the first of `body`.
fn skip(body: &[u8], lengths: RangeInclusive<u8>) -> Option<&[u8]> {
    let len = body.first().filter(|len| lengths.contains(len))?;
    body.get(usize::from(*len).checked_sub(1)?..)
}
