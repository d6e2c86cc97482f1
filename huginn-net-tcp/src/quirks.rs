//! Quirks: the oddities of TCP/IP headers that p0f reports.

use huginn_net_wire::quoted;
use std::fmt;
use std::str::FromStr;

use bitflags::bitflags;

use crate::IpVersion;

bitflags! {
    /// A set of quirks (p0f's README, section 5, field `quirks`).
    ///
    /// [`Display`](fmt::Display) and [`FromStr`] use p0f's names, joined by commas, in p0f's order; the empty set
    /// is the empty text.
    ///
    /// ```
    /// use huginn_net_tcp::Quirks;
    ///
    /// let quirks: Quirks = "id+,df".parse()?;
    /// assert_eq!(quirks, Quirks::DF | Quirks::ID_NONZERO);
    /// assert_eq!(quirks.to_string(), "df,id+");
    /// # Ok::<(), huginn_net_tcp::UnknownQuirk>(())
    /// ```
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct Quirks: u32 {
        /// `df`: "don't fragment" set (IPv4).
        const DF = 1;
        /// `id+`: "don't fragment" set, yet an identification that is not zero (IPv4).
        const ID_NONZERO = 1 << 1;
        /// `id-`: "don't fragment" clear, yet an identification of zero (IPv4).
        const ID_ZERO = 1 << 2;
        /// `ecn`: explicit congestion notification in the IP or the TCP header.
        const ECN = 1 << 3;
        /// `0+`: the reserved flag set (IPv4).
        const RESERVED = 1 << 4;
        /// `flow`: a flow label that is not zero (IPv6).
        const FLOW_LABEL = 1 << 5;
        /// `seq-`: sequence number zero.
        const SEQ_ZERO = 1 << 6;
        /// `ack+`: an acknowledgement number that is not zero without the ACK flag. (p0f 3.09b looks at one bit of it
        /// only.)
        const ACK_NONZERO = 1 << 7;
        /// `ack-`: an acknowledgement number of zero with the ACK flag.
        const ACK_ZERO = 1 << 8;
        /// `uptr+`: an urgent pointer that is not zero without the URG flag.
        const URGENT_NONZERO = 1 << 9;
        /// `urgf+`: the URG flag.
        const URG = 1 << 10;
        /// `pushf+`: the PSH flag.
        const PUSH = 1 << 11;
        /// `ts1-`: own timestamp zero.
        const OWN_TIMESTAMP_ZERO = 1 << 12;
        /// `ts2+`: peer timestamp not zero on a SYN.
        const PEER_TIMESTAMP_NONZERO = 1 << 13;
        /// `opt+`: bytes that are not zero after the end of the options; the last of them does not count, as in
        /// p0f.
        const AFTER_EOL = 1 << 14;
        /// `exws`: window scale over 14 (the limit of RFC 7323, section 2.3).
        const EXCESSIVE_SCALE = 1 << 15;
        /// `bad`: malformed options.
        const BAD = 1 << 16;
    }
}

impl Quirks {
    /// The quirks that cannot occur in this IP version, because their fields belong to the other version's header.
    pub const fn foreign_to(version: IpVersion) -> Self {
        match version {
            IpVersion::V4 => Self::FLOW_LABEL,
            IpVersion::V6 => Self::DF.union(Self::ID_NONZERO).union(Self::ID_ZERO).union(Self::RESERVED),
        }
    }

    /// Returns the quirk with this name in p0f's spelling.
    pub fn named(name: &str) -> Option<Self> {
        NAMES.iter().find(|(_, known)| *known == name).map(|(quirk, _)| *quirk)
    }
}

/// p0f's names in p0f's order.
const NAMES: [(Quirks, &str); 17] = [
    (Quirks::DF, "df"),
    (Quirks::ID_NONZERO, "id+"),
    (Quirks::ID_ZERO, "id-"),
    (Quirks::ECN, "ecn"),
    (Quirks::RESERVED, "0+"),
    (Quirks::FLOW_LABEL, "flow"),
    (Quirks::SEQ_ZERO, "seq-"),
    (Quirks::ACK_NONZERO, "ack+"),
    (Quirks::ACK_ZERO, "ack-"),
    (Quirks::URGENT_NONZERO, "uptr+"),
    (Quirks::URG, "urgf+"),
    (Quirks::PUSH, "pushf+"),
    (Quirks::OWN_TIMESTAMP_ZERO, "ts1-"),
    (Quirks::PEER_TIMESTAMP_NONZERO, "ts2+"),
    (Quirks::AFTER_EOL, "opt+"),
    (Quirks::EXCESSIVE_SCALE, "exws"),
    (Quirks::BAD, "bad"),
];

impl Quirks {
    pub(crate) fn write_to(self, out: &mut impl fmt::Write) -> fmt::Result {
        let mut separator = "";
        for (_, name) in NAMES.iter().filter(|(quirk, _)| self.contains(*quirk)) {
            out.write_str(separator)?;
            out.write_str(name)?;
            separator = ",";
        }
        Ok(())
    }
}

impl fmt::Display for Quirks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_to(f)
    }
}

impl FromStr for Quirks {
    type Err = UnknownQuirk;

    fn from_str(text: &str) -> Result<Self, UnknownQuirk> {
        let mut quirks = Self::empty();
        if text.is_empty() {
            return Ok(quirks);
        }
        let mut offset = 0_usize;
        for name in text.split(',') {
            let Some(quirk) = Self::named(name) else {
                return Err(UnknownQuirk { name: quoted(name), offset });
            };
            quirks |= quirk;
            offset = offset.saturating_add(name.len()).saturating_add(1);
        }
        Ok(quirks)
    }
}

/// A name in a list of quirks that p0f does not define.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{name}' is not a quirk")]
#[non_exhaustive]
pub struct UnknownQuirk {
    /// The name.
    pub name: Box<str>,
    /// Offset of the name in the list, in bytes.
    pub offset: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quirk_names_follow_bit_order() {
        let bits: Vec<u32> = NAMES.iter().map(|(quirk, _)| quirk.bits()).collect();
        assert!(bits.iter().all(|b| b.is_power_of_two()) && bits.is_sorted());
        assert_eq!(bits.iter().sum::<u32>(), Quirks::all().bits());
    }

    #[test]
    fn display_and_parse_are_inverse() {
        // The complete list as p0f 3.09b prints it.
        let all = "df,id+,id-,ecn,0+,flow,seq-,ack+,ack-,uptr+,urgf+,pushf+,ts1-,ts2+,opt+,exws,bad";
        assert_eq!(Quirks::all().to_string(), all);
        assert_eq!(all.parse(), Ok(Quirks::all()));
        assert_eq!("".parse(), Ok(Quirks::empty()));
        assert_eq!(Quirks::empty().to_string(), "");
    }

    #[test]
    fn errors_name_quirk_and_offset() {
        for (text, name, offset) in [("df,xx", "xx", 3), ("df,,id+", "", 3), ("df,", "", 3), ("DF", "DF", 0)]
        {
            assert_eq!(text.parse::<Quirks>(), Err(UnknownQuirk { name: name.into(), offset }));
        }
    }
}
