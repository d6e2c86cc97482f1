//! The order of TCP options in a segment.

use huginn_net_wire::quoted;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use crate::kind;
use crate::raw_sig::decimal;

/// The kinds of the TCP options of one segment in their order, and the bytes after the end of the list.
///
/// [`Display`](fmt::Display) and [`FromStr`] use the grammar of p0f's README, section 5, field `olayout`: `mss`,
/// `nop`, `ws`, `sok`, `sack`, `ts`, `?N` for any other kind `N`, and `eol+N`, which ends the list, for an explicit
/// end followed by `N` bytes.
///
/// ```
/// use huginn_net_tcp::OptionLayout;
///
/// let layout: OptionLayout = "mss,nop,?34,eol+2".parse()?;
/// assert_eq!(layout.kinds(), [2, 1, 34, 0]);
/// assert_eq!(layout.eol_padding(), 2);
/// assert_eq!(layout.to_string(), "mss,nop,?34,eol+2");
/// # Ok::<(), huginn_net_tcp::LayoutError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct OptionLayout {
    /// Zero from `len` on, so that equal layouts have equal bytes. Stored as words, so that the compiler builds them in
    /// registers; storing single bytes and then loading larger words would stall the load.
    kinds: [[u8; 8]; 3],
    len: u8,
    eol_padding: u8,
}

impl OptionLayout {
    /// Maximum number of options; a segment with more is malformed (as in p0f).
    pub const MAX_OPTIONS: usize = 24;

    /// The layout without options.
    pub const EMPTY: Self = Self { kinds: [[0; 8]; 3], len: 0, eol_padding: 0 };

    /// The option kinds (IANA numbers) in their order, including an explicit end of the list.
    pub fn kinds(&self) -> &[u8] {
        self.kinds.as_flattened().get(..usize::from(self.len)).unwrap_or(&[])
    }

    /// Bytes after an explicit end of the list; 0 without one.
    pub fn eol_padding(&self) -> u8 {
        self.eol_padding
    }

    /// Whether a middlebox may have made this layout of the one that was `sent`: "SACK permitted" and timestamps are there,
    /// or as many NOPs as they have bytes. Firewalls that clear options write NOPs (RFC 9293, section 3.2), so that no other
    /// byte moves.
    ///
    /// ```
    /// use huginn_net_tcp::OptionLayout;
    ///
    /// let layout: OptionLayout = "mss,nop,ws,nop,nop,nop,nop".parse()?;
    /// assert!(layout.may_be_cleared_from(&"mss,nop,ws,nop,nop,sok".parse()?));
    /// assert!(!layout.may_be_cleared_from(&"mss,nop,ws,sok,eol+1".parse()?));
    /// # Ok::<(), huginn_net_tcp::LayoutError>(())
    /// ```
    pub fn may_be_cleared_from(&self, sent: &Self) -> bool {
        let mut rest = self.kinds();
        for kind in sent.kinds() {
            let nops = match *kind {
                kind::SACK_PERMITTED => 2,
                kind::TIMESTAMP => 10,
                _ => usize::MAX,
            };
            rest = match (rest.split_first(), rest.split_at_checked(nops)) {
                (Some((first, after)), _) if first == kind => after,
                (_, Some((cleared, after))) if cleared.iter().all(|kind| *kind == kind::NOP) => after,
                _ => return false,
            };
        }
        rest.is_empty() && self.eol_padding == sent.eol_padding
    }

    /// Adds an option. Returns false if the layout already has [`Self::MAX_OPTIONS`] options.
    #[must_use]
    #[inline(always)]
    pub(crate) fn push(&mut self, kind: u8) -> bool {
        let put = |word: &mut [u8; 8]| {
            let bits = u64::from(kind).wrapping_shl(u32::from(self.len).wrapping_mul(8));
            *word = (u64::from_le_bytes(*word) | bits).to_le_bytes();
        };
        let [first, second, third] = &mut self.kinds;
        match self.len {
            0..8 => put(first),
            8..16 => put(second),
            16..24 => put(third),
            _ => return false,
        }
        self.len = self.len.saturating_add(1);
        true
    }

    #[cfg(feature = "packets")]
    pub(crate) fn set_eol_padding(&mut self, bytes: usize) {
        self.eol_padding = u8::try_from(bytes).unwrap_or(u8::MAX);
    }

    /// The minimum number of option bytes of a header with these options.
    pub(crate) fn min_bytes(&self) -> u16 {
        let bytes = self.kinds().iter().fold(u16::from(self.eol_padding), |bytes, &kind| {
            bytes.saturating_add(match kind {
                kind::EOL | kind::NOP => 1,
                kind::MSS => 4,
                kind::WINDOW_SCALE => 3,
                kind::SACK | kind::TIMESTAMP => 10,
                _ => 2,
            })
        });
        bytes.next_multiple_of(4)
    }
}

impl Default for OptionLayout {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl OptionLayout {
    /// The layout as two numbers. Equal numbers mean equal layouts. The second number uses only its lowest 80 bits.
    pub fn words(&self) -> [u128; 2] {
        let [first, second, third] = self.kinds.map(|word| u128::from(u64::from_le_bytes(word)));
        let lengths = u16::from_le_bytes([self.len, self.eol_padding]);
        [second << 64 | first, u128::from(lengths) << 64 | third]
    }
}

impl Hash for OptionLayout {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.words().into_iter().for_each(|word| state.write_u128(word));
    }
}

/// p0f's name of a kind.
const fn name(kind: u8) -> Option<&'static str> {
    Some(match kind {
        kind::NOP => "nop",
        kind::MSS => "mss",
        kind::WINDOW_SCALE => "ws",
        kind::SACK_PERMITTED => "sok",
        kind::SACK => "sack",
        kind::TIMESTAMP => "ts",
        _ => return None,
    })
}

impl OptionLayout {
    pub(crate) fn write_to(&self, out: &mut impl fmt::Write) -> fmt::Result {
        for (index, kind) in self.kinds().iter().enumerate() {
            if index > 0 {
                out.write_str(",")?;
            }
            match name(*kind) {
                Some(name) => out.write_str(name)?,
                None if *kind == kind::EOL => write!(out, "eol+{}", self.eol_padding)?,
                None => write!(out, "?{kind}")?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for OptionLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_to(f)
    }
}

impl fmt::Debug for OptionLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OptionLayout({self})")
    }
}

impl FromStr for OptionLayout {
    type Err = LayoutError;

    fn from_str(text: &str) -> Result<Self, LayoutError> {
        let mut layout = Self::EMPTY;
        if text.is_empty() {
            return Ok(layout);
        }
        let mut offset = 0_usize;
        let mut ended = false;
        for name in text.split(',') {
            if ended {
                return Err(LayoutError::AfterEol { name: quoted(name), offset });
            }
            let unknown = || LayoutError::UnknownOption { name: quoted(name), offset };
            let kind = if let Some(padding) = name.strip_prefix("eol+") {
                layout.eol_padding = decimal(padding).ok_or_else(unknown)?;
                ended = true;
                kind::EOL
            } else if let Some(number) = name.strip_prefix('?') {
                decimal(number).filter(|&kind| kind != kind::EOL).ok_or_else(unknown)?
            } else {
                (kind::NOP..=kind::TIMESTAMP)
                    .find(|kind| self::name(*kind) == Some(name))
                    .ok_or_else(unknown)?
            };
            if !layout.push(kind) {
                return Err(LayoutError::TooMany { offset });
            }
            offset = offset.saturating_add(name.len()).saturating_add(1);
        }
        Ok(layout)
    }
}

/// Why a text is not an option layout. Offsets are in bytes from its start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LayoutError {
    /// An unknown option.
    #[error("'{name}' is none of nop, mss, ws, sok, sack, ts, ?N and eol+N with N up to 255")]
    UnknownOption {
        /// The text of the option.
        name: Box<str>,
        /// Offset of the option.
        offset: usize,
    },
    /// An option after `eol+N`.
    #[error("'{name}' stands after the end of the options")]
    AfterEol {
        /// The text of the option.
        name: Box<str>,
        /// Offset of the option.
        offset: usize,
    },
    /// More than [`OptionLayout::MAX_OPTIONS`] options.
    #[error("more than {max} options", max = OptionLayout::MAX_OPTIONS)]
    TooMany {
        /// Offset of the first option beyond the limit.
        offset: usize,
    },
}

impl LayoutError {
    /// Offset of the error in the text, in bytes.
    pub fn offset(&self) -> usize {
        match self {
            Self::UnknownOption { offset, .. } | Self::AfterEol { offset, .. } | Self::TooMany { offset } => {
                *offset
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_and_parse_are_inverse() {
        for text in ["", "mss", "mss,sok,ts,nop,ws", "nop,eol+255", "sack,?0255,?6,eol+0", "?8"] {
            let layout: OptionLayout = text.parse().unwrap();
            assert_eq!(layout.to_string().parse(), Ok(layout));
        }
        assert_eq!("?8,?0255".parse::<OptionLayout>().unwrap().to_string(), "ts,?255");
        let full = vec!["nop"; 24].join(",");
        assert_eq!(full.parse::<OptionLayout>().unwrap().to_string(), full);
    }

    #[test]
    fn cleared_options_are_as_many_nops() {
        let nops = |count: usize| vec!["nop"; count].join(",");
        let linux = "mss,sok,ts,nop,ws";
        let apple = "mss,nop,ws,nop,nop,ts,sok,eol+1";
        for (layout, sent, want) in [
            (linux.to_owned(), linux, true),
            (format!("mss,sok,{},ws", nops(11)), linux, true),
            (format!("mss,{},ts,nop,ws", nops(2)), linux, true),
            (format!("mss,{},ws", nops(13)), linux, true),
            (format!("mss,{},ws", nops(12)), linux, false),
            (format!("mss,{},ws", nops(14)), linux, false),
            (format!("mss,sok,ts,{}", nops(4)), linux, false),
            ("mss,sok,ts,nop".to_owned(), linux, false),
            (format!("{linux},nop"), linux, false),
            (format!("mss,nop,ws,{},sok,eol+1", nops(12)), apple, true),
            (format!("mss,nop,ws,{},eol+1", nops(14)), apple, true),
            (format!("mss,nop,ws,{},eol+2", nops(14)), apple, false),
            (String::new(), linux, false),
        ] {
            let [layout, sent]: [OptionLayout; 2] = [&*layout, sent].map(|text| text.parse().unwrap());
            assert_eq!(layout.may_be_cleared_from(&sent), want, "{layout} {sent}");
        }
    }

    #[test]
    fn errors_name_option_and_offset() {
        // p0f 3.09b rejects all of these except `?0`, `?` (read as number 0) and the trailing comma (ignored).
        for (text, name, offset) in [
            ("mss,xx", "xx", 4),
            ("mss,,ws", "", 4),
            ("mss,", "", 4),
            ("eol", "eol", 0),
            ("eol+256", "eol+256", 0),
            ("eol++1", "eol++1", 0),
            ("nop,?256", "?256", 4),
            ("?", "?", 0),
            ("?0", "?0", 0),
            ("?-1", "?-1", 0),
            ("MSS", "MSS", 0),
            ("mss, ws", " ws", 4),
        ] {
            let error = LayoutError::UnknownOption { name: name.into(), offset };
            assert_eq!(text.parse::<OptionLayout>(), Err(error), "{text}");
        }
        let error = LayoutError::AfterEol { name: "mss".into(), offset: 6 };
        assert_eq!("eol+0,mss".parse::<OptionLayout>(), Err(error));
        let error = vec!["nop"; 25].join(",").parse::<OptionLayout>().unwrap_err();
        assert_eq!((error.offset(), error.to_string()), (96, "more than 24 options".into()));
    }
}
