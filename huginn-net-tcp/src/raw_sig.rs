//! `raw_sig`, the text of an observed signature:
//! `ver:ttl+dist:olen:mss:win,scale:olayout:quirks:pclass` (p0f's README, section 5).

use std::fmt;
use std::str::FromStr;

use crate::kind;
use crate::signature::SENDSYN_MSS;
use crate::window::Units;
use crate::{
    Handshake, IpVersion, MAX_DISTANCE, OptionLayout, ParseError, Quirks, TcpField, TcpSignature,
    WindowMultiple,
};

impl TcpSignature {
    /// Writes the same text as [`Display`](fmt::Display), without the overhead of a [`Formatter`](fmt::Formatter).
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn write_to(&self, out: &mut impl fmt::Write) -> fmt::Result {
        let mut digits = itoa::Buffer::new();
        self.version.write_to(out)?;
        out.write_str(":")?;
        out.write_str(digits.format(self.ttl))?;
        out.write_str("+")?;
        match self.distance() {
            distance if distance > MAX_DISTANCE => out.write_str("?")?,
            distance => out.write_str(digits.format(distance))?,
        }
        out.write_str(":")?;
        out.write_str(digits.format(self.ip_options_len))?;
        out.write_str(":")?;
        // A server that echoes the unusual MSS of p0f-sendsyn does not reveal its own.
        if self.handshake == Handshake::SynAck && self.mss == SENDSYN_MSS {
            out.write_str("*")?;
        } else {
            out.write_str(digits.format(self.mss))?;
        }
        out.write_str(":")?;
        match self.window_multiple {
            Some(multiple) => multiple.write_to(out)?,
            None => out.write_str(digits.format(self.window))?,
        }
        out.write_str(",")?;
        out.write_str(digits.format(self.scale))?;
        out.write_str(":")?;
        self.layout.write_to(out)?;
        out.write_str(":")?;
        self.quirks.write_to(out)?;
        out.write_str(if self.has_payload { ":+" } else { ":0" })
    }
}

impl fmt::Display for TcpSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_to(f)
    }
}

/// Parses a `raw_sig`.
///
/// The result is a SYN unless the MSS is `*`, which p0f prints for a SYN+ACK that echoes the MSS of `p0f-sendsyn`; set
/// [`TcpSignature::handshake`] if you know better. The distance after the TTL is optional and not checked against the
/// TTL. A window multiple is converted to bytes, and a window in bytes becomes a multiple if an observed window would.
impl FromStr for TcpSignature {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let fields: Vec<&str> = text.split(':').collect();
        let &[version, ttl, ip_options_len, mss, window_and_scale, layout, quirks, payload] =
            fields.as_slice()
        else {
            return Err(ParseError::FieldCount { found: fields.len() });
        };
        let (window, scale) =
            window_and_scale.split_once(',').ok_or_else(|| TcpField::Window.error(window_and_scale))?;
        let (handshake, mss) = match mss {
            "*" => (Handshake::SynAck, SENDSYN_MSS),
            _ => (Handshake::Syn, number(TcpField::Mss, mss)?),
        };
        let version = match version {
            "4" => IpVersion::V4,
            "6" => IpVersion::V6,
            _ => return Err(TcpField::Version.error(version)),
        };
        let mut signature = Self {
            handshake,
            version,
            ttl: parse_ttl(ttl)?,
            ip_options_len: number(TcpField::IpOptionsLen, ip_options_len)?,
            mss,
            window: 0,
            window_multiple: None,
            scale: number(TcpField::Scale, scale)?,
            layout: OptionLayout::from_str(layout)?,
            quirks: Quirks::from_str(quirks)?,
            has_payload: match payload {
                "0" => false,
                "+" => true,
                _ => return Err(TcpField::Payload.error(payload)),
            },
            traffic_class: 0,
            timestamp: 0,
        };
        match parse_multiple(window) {
            Some(multiple) => {
                let units = signature.units();
                signature.window = units.window_from_multiple(multiple);
                signature.window_multiple = Some(multiple);
            }
            None => {
                signature.window = number(TcpField::Window, window)?;
                signature.window_multiple = signature.units().divide(signature.window);
            }
        }
        Ok(signature)
    }
}

impl TcpSignature {
    /// The candidate units of its window that the text contains.
    fn units(&self) -> Units {
        let ip_header: u16 = match self.version {
            IpVersion::V4 => 20,
            IpVersion::V6 => 40,
        };
        Units {
            version: self.version,
            mss: self.mss,
            has_timestamp: self.layout.kinds().contains(&kind::TIMESTAMP)
                && !self.quirks.contains(Quirks::OWN_TIMESTAMP_ZERO),
            header_bytes: ip_header
                .saturating_add(self.ip_options_len)
                .saturating_add(20)
                .saturating_add(self.layout.min_bytes()),
            peer_mss: 0,
        }
    }
}

/// `64`, `60+4` or `80+?`.
fn parse_ttl(text: &str) -> Result<u8, ParseError> {
    let (ttl, distance) = text.split_once('+').unwrap_or((text, "?"));
    if distance != "?" && decimal::<u8>(distance).is_none() {
        return Err(TcpField::Ttl.error(text));
    }
    decimal(ttl).ok_or_else(|| TcpField::Ttl.error(text))
}

/// `mss*N` or `mtu*N`, N not 0.
fn parse_multiple(text: &str) -> Option<WindowMultiple> {
    let factor = |digits| decimal(digits).filter(|&factor| factor != 0);
    match text.strip_prefix("mss*") {
        Some(digits) => factor(digits).map(WindowMultiple::Mss),
        None => text.strip_prefix("mtu*").and_then(factor).map(WindowMultiple::Mtu),
    }
}

fn number<T: FromStr>(field: TcpField, text: &str) -> Result<T, ParseError> {
    decimal(text).ok_or_else(|| field.error(text))
}

/// Parses a number of ASCII digits; `FromStr` of integers would accept a sign.
pub(crate) fn decimal<T: FromStr>(text: &str) -> Option<T> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}

impl IpVersion {
    fn write_to(self, out: &mut impl fmt::Write) -> fmt::Result {
        out.write_str(match self {
            Self::V4 => "4",
            Self::V6 => "6",
        })
    }
}

impl fmt::Display for IpVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_to(f)
    }
}
