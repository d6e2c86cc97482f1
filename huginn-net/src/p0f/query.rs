//! The queries that p0f 3.09b answers on its socket (README of p0f, section 4), and their answers.
//!
//! Numbers have native byte order: client and server run on the same machine.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str;

use huginn_net_core::Timestamp;
use huginn_net_db::Label;

use crate::hosts::{HostProfile, Mismatch};

const QUERY_MAGIC: u32 = 0x5030_4601;
const ANSWER_MAGIC: u32 = 0x5030_4602;
const BAD_QUERY: u32 = 0x00;
const FOUND: u32 = 0x10;
const NO_MATCH: u32 = 0x20;

/// A query for the host at an address.
///
/// ```
/// use huginn_net::p0f::{P0fAnswer, P0fQuery};
///
/// let bytes = P0fQuery { ip: "192.0.2.1".parse()? }.to_bytes();
/// assert_eq!(P0fQuery::parse(&bytes).map(|query| query.ip.to_string()).as_deref(), Some("192.0.2.1"));
/// assert_eq!(P0fAnswer::parse(&P0fAnswer::NoMatch.to_bytes()), Some(P0fAnswer::NoMatch));
/// # Ok::<_, std::net::AddrParseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct P0fQuery {
    /// The address.
    pub ip: IpAddr,
}

impl P0fQuery {
    /// Length of a query, in bytes.
    pub const LEN: usize = 21;

    /// Parses a query; `None` if p0f does not know the magic or the address type.
    pub fn parse(bytes: &[u8; Self::LEN]) -> Option<Self> {
        let mut fields = Fields(bytes);
        let magic = fields.u32()?;
        let [kind] = fields.take()?;
        let address: [u8; 16] = fields.take()?;
        let ip = match kind {
            4 => IpAddr::V4(Ipv4Addr::from(*address.first_chunk::<4>()?)),
            6 => IpAddr::V6(Ipv6Addr::from(address)),
            _ => return None,
        };
        (magic == QUERY_MAGIC).then_some(Self { ip })
    }

    /// Encodes the query as a client sends it.
    pub fn to_bytes(self) -> [u8; Self::LEN] {
        let mut writer = Writer::<{ Self::LEN }>::new();
        writer.put(&QUERY_MAGIC.to_ne_bytes());
        match self.ip {
            IpAddr::V4(ip) => {
                writer.put(&[4]);
                writer.put(&ip.octets());
            }
            IpAddr::V6(ip) => {
                writer.put(&[6]);
                writer.put(&ip.octets());
            }
        }
        writer.bytes
    }
}

/// The answer to a query.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "answers are made to be sent, one at a time")]
pub enum P0fAnswer {
    /// The query is malformed.
    BadQuery,
    /// The host table has no host with this address.
    NoMatch,
    /// The host with this address.
    Found(P0fHost),
}

/// The host information of an answer. Times are seconds since the Unix epoch, in packet time; 0 means never.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct P0fHost {
    /// Time of the first update of the host.
    pub first_seen: u32,
    /// Time of the last update of the host.
    pub last_seen: u32,
    /// Number of connections: SYNs that the host sent or answered.
    pub total_conn: u32,
    /// Uptime in minutes at the last clock reading; 0 if unknown.
    pub uptime_min: u32,
    /// Days after which the uptime wraps around.
    pub up_mod_days: u32,
    /// Time when the address was last reported as shared.
    pub last_nat: u32,
    /// Time of the last reported change.
    pub last_chg: u32,
    /// Distance in hops; -1 if unknown.
    pub distance: i16,
    /// 1: the User-Agent names another system than TCP shows. 2: the rest of the head does not match its User-Agent or
    /// Server.
    pub bad_sw: u8,
    /// Quality of the system match: 1 for a fuzzy match, 2 for a generic one, 3 for both.
    pub os_match_q: u8,
    /// Operating system; empty if unknown.
    pub os_name: P0fText,
    /// Version of the operating system.
    pub os_flavor: P0fText,
    /// HTTP software; empty if unknown.
    pub http_name: P0fText,
    /// Version of the HTTP software.
    pub http_flavor: P0fText,
    /// Link type; empty if unknown.
    pub link_type: P0fText,
    /// English name of the language; empty if unknown.
    pub language: P0fText,
}

impl P0fAnswer {
    /// Length of an answer, in bytes.
    pub const LEN: usize = 232;

    /// Creates the answer for a host; `NoMatch` without one.
    pub fn from_profile(host: Option<&HostProfile>) -> Self {
        host.map_or(Self::NoMatch, |host| Self::Found(P0fHost::from_profile(host)))
    }

    /// Parses an answer; `None` if p0f does not send such a magic or status.
    pub fn parse(bytes: &[u8; Self::LEN]) -> Option<Self> {
        let mut fields = Fields(bytes);
        match (fields.u32()?, fields.u32()?) {
            (ANSWER_MAGIC, BAD_QUERY) => Some(Self::BadQuery),
            (ANSWER_MAGIC, NO_MATCH) => Some(Self::NoMatch),
            (ANSWER_MAGIC, FOUND) => Some(Self::Found(P0fHost::parse(&mut fields)?)),
            _ => None,
        }
    }

    /// Encodes the answer as a client receives it: zeros follow a status other than "found".
    pub fn to_bytes(&self) -> [u8; Self::LEN] {
        let mut writer = Writer::<{ Self::LEN }>::new();
        writer.put(&ANSWER_MAGIC.to_ne_bytes());
        match self {
            Self::BadQuery => writer.put(&BAD_QUERY.to_ne_bytes()),
            Self::NoMatch => writer.put(&NO_MATCH.to_ne_bytes()),
            Self::Found(host) => {
                writer.put(&FOUND.to_ne_bytes());
                host.write(&mut writer);
            }
        }
        writer.bytes
    }
}

impl P0fHost {
    /// Creates p0f's view of a host profile.
    ///
    /// Three values differ from p0f's: an unknown distance is -1, as the README of p0f says, where p0f sends 255. p0f
    /// updates the times of a host only at SYNs from and to the host. p0f also counts SYNs that the host did not answer.
    pub fn from_profile(host: &HostProfile) -> Self {
        let latest = &host.latest;
        let (system, software) = (latest.system.as_deref(), latest.software.as_deref());
        let flavor = |label: Option<&Label>| P0fText::from(label.and_then(|label| label.flavor.as_deref()));
        Self {
            first_seen: seconds(host.first_seen),
            last_seen: seconds(host.last_seen),
            total_conn: host.as_client.handshakes.saturating_add(host.as_server.handshakes),
            uptime_min: host.uptime.map_or(0, |uptime| uptime.minutes),
            up_mod_days: host.uptime.map_or(0, |uptime| uptime.modulo_days()),
            last_nat: host.sharings.last().map_or(0, seconds),
            last_chg: host.changes.last().map_or(0, seconds),
            distance: latest.distance.map_or(-1, i16::from),
            bad_sw: match latest.mismatch {
                None => 0,
                Some(Mismatch::System) => 1,
                Some(Mismatch::Software) => 2,
            },
            os_match_q: u8::from(latest.fuzzy) | u8::from(system.is_some_and(|label| label.generic)) << 1,
            os_name: P0fText::from(system.map(|label| &*label.name)),
            os_flavor: flavor(system),
            http_name: P0fText::from(software.map(|label| &*label.name)),
            http_flavor: flavor(software),
            link_type: P0fText::from(latest.link.as_deref()),
            language: P0fText::from(latest.language),
        }
    }

    fn parse(fields: &mut Fields<'_>) -> Option<Self> {
        Some(Self {
            first_seen: fields.u32()?,
            last_seen: fields.u32()?,
            total_conn: fields.u32()?,
            uptime_min: fields.u32()?,
            up_mod_days: fields.u32()?,
            last_nat: fields.u32()?,
            last_chg: fields.u32()?,
            distance: i16::from_ne_bytes(fields.take()?),
            bad_sw: u8::from_ne_bytes(fields.take()?),
            os_match_q: u8::from_ne_bytes(fields.take()?),
            os_name: fields.text()?,
            os_flavor: fields.text()?,
            http_name: fields.text()?,
            http_flavor: fields.text()?,
            link_type: fields.text()?,
            language: fields.text()?,
        })
    }

    fn write<const N: usize>(&self, writer: &mut Writer<N>) {
        let Self { first_seen, last_seen, total_conn, uptime_min, up_mod_days, last_nat, last_chg, .. } =
            self;
        for number in [first_seen, last_seen, total_conn, uptime_min, up_mod_days, last_nat, last_chg] {
            writer.put(&number.to_ne_bytes());
        }
        writer.put(&self.distance.to_ne_bytes());
        writer.put(&[self.bad_sw, self.os_match_q]);
        let Self { os_name, os_flavor, http_name, http_flavor, link_type, language, .. } = self;
        for text in [os_name, os_flavor, http_name, http_flavor, link_type, language] {
            writer.put(&text.0);
        }
    }
}

fn seconds(time: Timestamp) -> u32 {
    u32::try_from(time.as_secs()).unwrap_or(u32::MAX)
}

/// A text of at most 31 bytes, in UTF-8, with zeros after it. One that is longer is cut between characters, and one that
/// holds a NUL there.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct P0fText([u8; Self::LEN]);

impl P0fText {
    const LEN: usize = 32;

    /// The text.
    pub fn as_str(&self) -> &str {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(Self::LEN);
        self.0.get(..end).and_then(|text| str::from_utf8(text).ok()).unwrap_or_default()
    }

    /// The longest prefix of the bytes that is such a text.
    fn cut(bytes: &[u8]) -> Self {
        let bytes = bytes.get(..Self::LEN.saturating_sub(1)).unwrap_or(bytes);
        let bytes = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        let end = str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
        let mut text = Self::default();
        text.0.iter_mut().zip(bytes.iter().take(end)).for_each(|(place, byte)| *place = *byte);
        text
    }
}

impl From<&str> for P0fText {
    fn from(text: &str) -> Self {
        Self::cut(text.as_bytes())
    }
}

impl From<Option<&str>> for P0fText {
    fn from(text: Option<&str>) -> Self {
        text.map(Self::from).unwrap_or_default()
    }
}

impl fmt::Debug for P0fText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

/// Reader of a message.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (field, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*field)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_ne_bytes)
    }

    fn text(&mut self) -> Option<P0fText> {
        self.take::<{ P0fText::LEN }>().map(|bytes| P0fText::cut(&bytes))
    }
}

/// Writer of a message of `N` bytes; bytes that are not written stay 0.
struct Writer<const N: usize> {
    bytes: [u8; N],
    at: usize,
}

impl<const N: usize> Writer<N> {
    fn new() -> Self {
        Self { bytes: [0; N], at: 0 }
    }

    fn put(&mut self, field: &[u8]) {
        let end = self.at.saturating_add(field.len());
        if let Some(place) = self.bytes.get_mut(self.at..end) {
            place.copy_from_slice(field);
        }
        self.at = end;
    }
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, clippy::indexing_slicing, clippy::string_slice)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// An answer of p0f 3.09b on x86-64. A Linux host four hops away sent a SYN, and a request with the headers of wget
    /// and another User-Agent.
    #[cfg(target_endian = "little")]
    #[test]
    fn decodes_p0f_answer() {
        let mut bytes = [0; P0fAnswer::LEN];
        let head = [
            0x02, 0x46, 0x30, 0x50, 0x10, 0, 0, 0, 0x5c, 0xd2, 0x01, 0x6b, 0x5c, 0xd2, 0x01, 0x6b, 1, 0, 0, 0,
        ];
        let texts = ["Linux", "3.11 and newer", "wget", "1.x", "Ethernet or modem", "German"];
        bytes[..20].copy_from_slice(&head);
        bytes[36..40].copy_from_slice(&[4, 0, 2, 0]);
        for (place, text) in bytes[40..].chunks_exact_mut(32).zip(texts) {
            place[..text.len()].copy_from_slice(text.as_bytes());
        }
        let host = P0fHost {
            first_seen: 0x6b01_d25c,
            last_seen: 0x6b01_d25c,
            total_conn: 1,
            distance: 4,
            bad_sw: 2,
            os_name: texts[0].into(),
            os_flavor: texts[1].into(),
            http_name: texts[2].into(),
            http_flavor: texts[3].into(),
            link_type: texts[4].into(),
            language: texts[5].into(),
            ..P0fHost::default()
        };
        assert_eq!(P0fAnswer::parse(&bytes), Some(P0fAnswer::Found(host)));
        assert_eq!(P0fAnswer::Found(host).to_bytes(), bytes);
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn encodes_p0f_queries() {
        // README of p0f, section 4.
        let query = |kind: u8, address: [u8; 16]| {
            let mut bytes = [0; P0fQuery::LEN];
            bytes[..4].copy_from_slice(&[0x01, 0x46, 0x30, 0x50]);
            bytes[4] = kind;
            bytes[5..].copy_from_slice(&address);
            bytes
        };
        let mut address = [0; 16];
        address[..4].copy_from_slice(&[192, 0, 2, 1]);
        let ip = |bytes: [u8; P0fQuery::LEN]| P0fQuery::parse(&bytes).map(|query| query.ip.to_string());
        assert_eq!(ip(query(4, address)).as_deref(), Some("192.0.2.1"));
        assert_eq!(ip(query(6, address)).as_deref(), Some("c000:201::"));
        // The bytes after an IPv4 address are ignored.
        address[15] = 1;
        assert_eq!(ip(query(4, address)).as_deref(), Some("192.0.2.1"));
        for kind in [0, 5, 7, 255] {
            assert_eq!(ip(query(kind, address)), None);
        }
        let mut other = query(4, address);
        other[0] = 2;
        assert_eq!(ip(other), None);
    }

    #[test]
    fn truncates_text_between_characters() {
        for (text, cut) in [
            ("", ""),
            ("Linux", "Linux"),
            ("0123456789012345678901234567890", "0123456789012345678901234567890"),
            ("01234567890123456789012345678901", "0123456789012345678901234567890"),
            ("012345678901234567890123456789\u{e4}", "012345678901234567890123456789"),
            ("0123456789012345678901234567\u{20ac}", "0123456789012345678901234567\u{20ac}"),
            ("one\0two", "one"),
        ] {
            assert_eq!(P0fText::from(text).as_str(), cut);
        }
    }

    fn hosts() -> impl Strategy<Value = P0fHost> {
        let numbers = (any::<[u32; 7]>(), any::<i16>(), any::<[u8; 2]>());
        (numbers, any::<[String; 6]>()).prop_map(|((times, distance, [bad_sw, os_match_q]), texts)| {
            let [first_seen, last_seen, total_conn, uptime_min, up_mod_days, last_nat, last_chg] = times;
            let [os_name, os_flavor, http_name, http_flavor, link_type, language] =
                texts.map(|text| P0fText::from(text.as_str()));
            P0fHost {
                first_seen,
                last_seen,
                total_conn,
                uptime_min,
                up_mod_days,
                last_nat,
                last_chg,
                distance,
                bad_sw,
                os_match_q,
                os_name,
                os_flavor,
                http_name,
                http_flavor,
                link_type,
                language,
            }
        })
    }

    proptest! {
        #[test]
        fn answers_round_trip(host in hosts(), ip: IpAddr) {
            let answer = P0fAnswer::Found(host);
            prop_assert_eq!(P0fAnswer::parse(&answer.to_bytes()), Some(answer));
            let query = P0fQuery { ip };
            prop_assert_eq!(P0fQuery::parse(&query.to_bytes()), Some(query));
        }

        #[test]
        fn any_bytes_decode_or_fail(bytes: [u8; P0fAnswer::LEN], found: bool) {
            let mut bytes = bytes;
            if found {
                bytes[..4].copy_from_slice(&ANSWER_MAGIC.to_ne_bytes());
                bytes[4..8].copy_from_slice(&FOUND.to_ne_bytes());
            }
            if let Some(answer) = P0fAnswer::parse(&bytes) {
                prop_assert_eq!(P0fAnswer::parse(&answer.to_bytes()), Some(answer));
            }
        }

        #[test]
        fn text_is_prefix_of_input(text: String) {
            let cut = P0fText::from(text.as_str());
            prop_assert!(text.starts_with(cut.as_str()) && cut.as_str().len() < 32);
            let rest = &text[cut.as_str().len()..];
            let next = rest.chars().next().filter(|next| *next != '\0');
            prop_assert!(next.is_none_or(|next| cut.as_str().len() + next.len_utf8() > 31));
        }
    }
}
