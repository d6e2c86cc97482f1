//! TCP signatures of a database.

use std::fmt;
use std::str::FromStr;

use huginn_net_tcp::{IpVersion, OptionLayout, Quirks, WindowMultiple};

use crate::DatabaseError;
use crate::syntax::Part;

/// A TCP signature of a database, which may contain wildcards.
///
/// [`Display`](fmt::Display) and [`FromStr`] use the syntax of p0f's README, section 5:
/// `ver:ittl:olen:mss:wsize,scale:olayout:quirks:pclass`.
///
/// ```
/// use huginn_net_db::{TcpPattern, WindowPattern};
/// use huginn_net_tcp::WindowMultiple;
///
/// let text = "*:64:0:*:mss*20,7:mss,sok,ts,nop,ws:df,id+:0";
/// let pattern: TcpPattern = text.parse()?;
/// assert_eq!(pattern.mss, None);
/// assert_eq!(pattern.window, WindowPattern::Multiple(WindowMultiple::Mss(20)));
/// assert_eq!(pattern.to_string(), text);
/// # Ok::<(), huginn_net_db::DatabaseError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TcpPattern {
    /// IP version; `None` for both. It only selects the quirks to compare, as in p0f.
    pub version: Option<IpVersion>,
    /// Initial time to live.
    pub ttl: TtlPattern,
    /// Bytes of IPv4 options, or of IPv6 extension headers.
    pub ip_options_len: u8,
    /// Maximum segment size in bytes (0: the option is absent); `None` for any.
    pub mss: Option<u16>,
    /// Window.
    pub window: WindowPattern,
    /// Window scale (0: the option is absent or zero); `None` for any.
    pub scale: Option<u8>,
    /// Options in their order.
    pub layout: OptionLayout,
    /// Quirks of the headers.
    pub quirks: Quirks,
    /// Whether the segment has a payload; `None` for either.
    pub payload: Option<bool>,
}

/// The initial time to live of a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TtlPattern {
    /// The initial value.
    pub initial: u8,
    /// Whether the system randomises the value up to [`Self::initial`] (written `64-`).
    pub random: bool,
}

/// The window condition of a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WindowPattern {
    /// `*`: any window.
    Any,
    /// A number of bytes.
    Bytes(u16),
    /// `%N`: a multiple of this many bytes.
    Modulo(u16),
    /// `mss*N` or `mtu*N`.
    Multiple(WindowMultiple),
}

impl TcpPattern {
    /// The quirks required of a packet of this IP version. A pattern for both versions omits the quirks that the
    /// version cannot have, except `0+`, which p0f keeps.
    pub(crate) fn quirks_for(&self, version: IpVersion) -> Quirks {
        match self.version {
            Some(_) => self.quirks,
            None => self.quirks.difference(Quirks::foreign_to(version).difference(Quirks::RESERVED)),
        }
    }
}

impl FromStr for TcpPattern {
    type Err = DatabaseError;

    fn from_str(text: &str) -> Result<Self, DatabaseError> {
        Self::parse(Part::line(text)).map_err(|error| error.in_line(1, text))
    }
}

impl fmt::Display for TcpPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ttl, ip_options_len, window, layout, quirks, .. } = self;
        write!(f, "{}:{ttl}:{ip_options_len}:{}:", OrAny(self.version), OrAny(self.mss))?;
        let payload = OrAny(self.payload.map(|payload| if payload { '+' } else { '0' }));
        write!(f, "{window},{}:{layout}:{quirks}:{payload}", OrAny(self.scale))
    }
}

impl fmt::Display for TtlPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.initial, if self.random { "-" } else { "" })
    }
}

impl fmt::Display for WindowPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("*"),
            Self::Bytes(bytes) => bytes.fmt(f),
            Self::Modulo(bytes) => write!(f, "%{bytes}"),
            Self::Multiple(multiple) => multiple.fmt(f),
        }
    }
}

/// A value, or the wildcard.
pub(crate) struct OrAny<T>(pub(crate) Option<T>);

impl<T: fmt::Display> fmt::Display for OrAny<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(value) => value.fmt(f),
            None => f.write_str("*"),
        }
    }
}
