//! The values of lists: their types, and the keys that find them.

use std::net::{IpAddr, SocketAddr};

use huginn_net_core::{IpNet, quoted};
use huginn_net_http::http2::AkamaiHash;
use huginn_net_tcp::TcpSignature;
use huginn_net_tls::{Ja4, Ja4Raw};
use sha2::{Digest, Sha256};

use super::error::WatchListFault;
use crate::limits::MAX_HOST_BYTES;
use crate::observation::IndicatorType;

/// The type that a list states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Declared {
    /// None: it is recognised.
    Any,
    Type(IndicatorType),
    /// A host name, and those below it.
    Domain,
    /// An address, perhaps with a port.
    Endpoint,
    /// A URL, which packets do not show.
    Url,
}

impl Declared {
    /// Whether lists write a value of this type defanged, as `evil[.]example`.
    pub(super) fn is_defanged(self, value: &str) -> bool {
        use IndicatorType as T;
        let has_points = matches!(
            self,
            Self::Any | Self::Domain | Self::Endpoint | Self::Url | Self::Type(T::Host | T::Address)
        );
        has_points && (value.contains("[.]") || value.contains("[:]"))
    }

    /// The type with a name; `-` and `_` are the same.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        use IndicatorType as T;
        let name = name.trim().to_ascii_lowercase().replace(['-', ' ', '.'], "_");
        Some(match &*name {
            "ja4" | "ja4_fingerprint" | "ja4_hash" => Self::Type(T::Ja4),
            "ja4_stable" | "ja4_s1" => Self::Type(T::Ja4Stable),
            "ja4_r" | "ja4_raw" | "ja4_stable_r" | "ja4_s1r" => Self::Type(T::Ja4Raw),
            "ja3" | "ja3_hash" | "ja3_md5" | "ja3_fingerprint_md5" | "ja3_fingerprint" => Self::Type(T::Ja3),
            "ja3s" | "ja3s_hash" | "ja3s_md5" => Self::Type(T::Ja3s),
            "hassh" | "hassh_md5" => Self::Type(T::Hassh),
            "hassh_server" | "hasshserver" | "hasshserver_md5" => Self::Type(T::HasshServer),
            "akamai" | "akamai_hash" => Self::Type(T::Akamai),
            "sig" | "tcp_sig" | "tcp_syn" | "raw_sig" => Self::Type(T::Signature),
            "host" | "hostname" | "sni" | "server_name" | "fqdn" | "domain" | "domain_name" => {
                Self::Type(T::Host)
            }
            "certificate_sha256" | "cert_sha256" | "x509_fingerprint_sha256" => {
                Self::Type(T::CertificateSha256)
            }
            "certificate_sha1" | "cert_sha1" | "x509_fingerprint_sha1" => Self::Type(T::CertificateSha1),
            "ip" | "ip_address" | "address" | "addr" | "network" | "net" | "cidr" | "dst_ip" | "dstip"
            | "src_ip" | "srcip" | "ip_dst" | "ip_src" | "ipv4" | "ipv6" => Self::Type(T::Address),
            "ip:port" | "ip_port" | "ip_dst|port" | "ip_src|port" => Self::Endpoint,
            "url" | "uri" => Self::Url,
            "user_agent" | "useragent" | "http_user_agent" => Self::Type(T::UserAgent),
            _ => return None,
        })
    }
}

/// What distinguishes keys with the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Kind {
    Of(IndicatorType),
    /// The MD5 of a fingerprint of any kind.
    Md5,
    /// A host and those below it.
    Suffix,
    /// The hosts below a name.
    Below,
    /// A network of IPv4 with this length of its prefix.
    Net4(u8),
    Net6(u8),
    Endpoint,
}

/// What finds an entry: a value itself, or 128 bits of its SHA-256.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) kind: Kind,
    pub(super) bytes: [u8; 16],
}

impl Key {
    pub(super) fn new(kind: Kind, bytes: [u8; 16]) -> Self {
        Self { kind, bytes }
    }

    /// The key of a text.
    pub(super) fn text(kind: Kind, text: &[u8]) -> Self {
        Self::new(kind, first_16(&Sha256::digest(text)))
    }

    /// The key of a SHA-1 or SHA-256.
    pub(super) fn hash(kind: Kind, hash: &[u8]) -> Self {
        Self::new(kind, first_16(hash))
    }

    /// The key of the network of an address.
    pub(super) fn network(address: IpAddr, prefix_len: u8) -> Option<Self> {
        let network = IpNet::new(address, prefix_len).ok()?.network();
        Some(match network {
            IpAddr::V4(v4) => Self::new(Kind::Net4(prefix_len), v4.to_ipv6_mapped().octets()),
            IpAddr::V6(v6) => Self::new(Kind::Net6(prefix_len), v6.octets()),
        })
    }

    /// The key of an address with a port.
    pub(super) fn endpoint(endpoint: SocketAddr) -> Self {
        Self::text(Kind::Endpoint, endpoint.to_string().as_bytes())
    }
}

fn first_16(bytes: &[u8]) -> [u8; 16] {
    bytes.first_chunk().copied().unwrap_or_default()
}

/// A value of a list.
pub(super) enum Value {
    Key(Key),
    /// A User-Agent with `*`.
    Pattern(Box<str>),
}

impl Value {
    /// Reads a value. A `port` belongs to an address.
    pub(super) fn parse(declared: Declared, text: &str, port: Option<u16>) -> Result<Self, WatchListFault> {
        let key = match declared {
            Declared::Any => recognised(text)
                .map(Value::Key)
                .ok_or_else(|| WatchListFault::Unknown { value: quoted(text) }),
            Declared::Type(kind) => of_type(kind, text).ok_or_else(|| wrong(text, kind.name())),
            Declared::Domain => host(text)
                .map(|(_, name)| Self::Key(Key::text(Kind::Suffix, name.as_bytes())))
                .ok_or_else(|| wrong(text, "host")),
            Declared::Url => Err(wrong(text, "url")),
            Declared::Endpoint => {
                endpoint(text).map(Self::Key).ok_or_else(|| wrong(text, "address and port"))
            }
        }?;
        match (port, &key) {
            (Some(port), Self::Key(Key { kind: Kind::Net4(32) | Kind::Net6(128), .. })) => {
                let address: IpAddr = text.parse().map_err(|_| wrong(text, "ip"))?;
                Ok(Self::Key(Key::endpoint(SocketAddr::new(address.to_canonical(), port))))
            }
            _ => Ok(key),
        }
    }

    /// The type of the value; `None` for an MD5 of any kind.
    pub(super) fn indicator_type(&self) -> Option<IndicatorType> {
        use IndicatorType as T;
        let Self::Key(key) = self else { return Some(T::UserAgent) };
        Some(match key.kind {
            Kind::Of(kind) => kind,
            Kind::Md5 => return None,
            Kind::Suffix | Kind::Below => T::Host,
            Kind::Net4(_) | Kind::Net6(_) | Kind::Endpoint => T::Address,
        })
    }
}

fn wrong(text: &str, expected: &'static str) -> WatchListFault {
    WatchListFault::Value { value: quoted(text), expected }
}

/// Recognises the type of a value by its form. A User-Agent may be any text.
pub(super) fn recognised(text: &str) -> Option<Key> {
    use IndicatorType as T;
    if Declared::Any.is_defanged(text) {
        return recognised(&refanged(text));
    }
    let hash = || {
        Some(match text.len() {
            32 => Key::new(Kind::Md5, text.parse::<AkamaiHash>().ok()?.0),
            40 => Key::hash(Kind::Of(T::CertificateSha1), &hex(text)?),
            64 => Key::hash(Kind::Of(T::CertificateSha256), &hex(text)?),
            _ => return None,
        })
    };
    let of = |kind| match of_type(kind, text) {
        Some(Value::Key(key)) => Some(key),
        _ => None,
    };
    hash()
        .or_else(|| [T::Ja4, T::Ja4Raw, T::Akamai, T::Address].into_iter().find_map(of))
        .or_else(|| endpoint(text))
        .or_else(|| [T::Signature, T::Ja3].into_iter().find_map(of))
        // A word alone may be anything.
        .or_else(|| of(T::Host).filter(|key| key.kind != Kind::Of(T::Host) || text.contains('.')))
}

/// A value as it is used: `evil.example` for `evil[.]example`.
pub(super) fn refanged(text: &str) -> String {
    text.replace("[.]", ".").replace("[:]", ":")
}

fn of_type(kind: IndicatorType, text: &str) -> Option<Value> {
    use IndicatorType as T;
    let of = Kind::Of(kind);
    let md5 = || text.parse().ok().map(|AkamaiHash(md5)| Key::new(of, md5));
    let md5_of = |text| Key::new(of, AkamaiHash::from_text(text).0);
    let key = match kind {
        T::Ja4 | T::Ja4Stable => {
            let ja4: Ja4 = text.parse().or_else(|_| text.to_ascii_lowercase().parse()).ok()?;
            Key::text(of, ja4.to_string().as_bytes())
        }
        T::Ja4Raw => {
            let raw: Ja4Raw = text.parse().or_else(|_| text.to_ascii_lowercase().parse()).ok()?;
            Key::text(of, raw.as_str().as_bytes())
        }
        T::Ja3 => md5().or_else(|| is_ja3(text).then(|| md5_of(text)))?,
        T::Akamai => md5().or_else(|| is_akamai(text).then(|| md5_of(text)))?,
        T::Ja3s | T::Hassh | T::HasshServer => md5()?,
        T::Signature => {
            let signature: TcpSignature = text.parse().ok()?;
            Key::text(of, at_sender(&signature.to_string()).as_bytes())
        }
        T::Host => {
            let (kind, name) = host(text)?;
            Key::text(kind, name.as_bytes())
        }
        T::CertificateSha256 => hex(text).filter(|hash| hash.len() == 32).map(|hash| Key::hash(of, &hash))?,
        T::CertificateSha1 => hex(text).filter(|hash| hash.len() == 20).map(|hash| Key::hash(of, &hash))?,
        T::Address => {
            let network: IpNet =
                text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from))?;
            let (address, prefix_len) = without_mapping(network);
            Key::network(address, prefix_len)?
        }
        T::UserAgent if text.is_empty() => return None,
        T::UserAgent if text.contains('*') => return Some(Value::Pattern(text.into())),
        T::UserAgent => Key::text(of, text.as_bytes()),
    };
    Some(Value::Key(key))
}

fn endpoint(text: &str) -> Option<Key> {
    let text = text.replace('|', ":");
    let endpoint: SocketAddr = text.parse().ok()?;
    Some(Key::endpoint(SocketAddr::new(endpoint.ip().to_canonical(), endpoint.port())))
}

/// The address and the prefix length of a network; those of IPv4 for IPv4-mapped IPv6 addresses (RFC 4291, 2.5.5.2).
fn without_mapping(network: IpNet) -> (IpAddr, u8) {
    let (address, prefix_len) = (network.addr(), network.prefix_len());
    match (address.to_canonical(), prefix_len.checked_sub(96)) {
        (IpAddr::V4(v4), Some(prefix_len)) if address.is_ipv6() => (v4.into(), prefix_len),
        _ => (address, prefix_len),
    }
}

/// The bytes of hexadecimal digits, perhaps with colons between them.
fn hex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b':').collect();
    digits
        .chunks(2)
        .map(|pair| {
            let pair =
                std::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2 && !pair.starts_with('+'))?;
            u8::from_str_radix(pair, 16).ok()
        })
        .collect()
}

/// Reads the name of a host, `.name` for it and those below, or `*.name` for those below. Returns it in lower case.
fn host(text: &str) -> Option<(Kind, String)> {
    let (kind, name) = match (text.strip_prefix("*."), text.strip_prefix('.')) {
        (Some(name), _) => (Kind::Below, name),
        (None, Some(name)) => (Kind::Suffix, name),
        (None, None) => (Kind::Of(IndicatorType::Host), text),
    };
    let name = normal_name(name.as_bytes())?;
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
    };
    let last = name.rsplit('.').next()?;
    let is_name = name.split('.').all(is_label) && !last.bytes().all(|byte| byte.is_ascii_digit());
    is_name.then_some((kind, name))
}

/// A host name in lower case, without the point of the root. `None` for what no list can have.
pub(super) fn normal_name(name: &[u8]) -> Option<String> {
    let name = name.strip_suffix(b".").unwrap_or(name);
    let name =
        std::str::from_utf8(name).ok().filter(|name| name.len() <= MAX_HOST_BYTES && name.is_ascii())?;
    Some(name.to_ascii_lowercase())
}

/// A signature with the initial TTL of its sender instead of TTL and distance: `64` for `57+7`.
pub(super) fn at_sender(signature: &str) -> String {
    let Some((version, rest)) = signature.split_once(':') else { return signature.to_owned() };
    let Some((ttl, rest)) = rest.split_once(':') else { return signature.to_owned() };
    let sum = ttl.split_once('+').and_then(|(left, distance)| {
        let [left, distance] = [left, distance].map(|part| part.parse::<u16>().ok());
        Some(left?.saturating_add(distance?))
    });
    match sum {
        Some(initial) => format!("{version}:{initial}:{rest}"),
        None => signature.to_owned(),
    }
}

/// Whether a text has the form of a JA3: five parts of decimal numbers with dashes.
fn is_ja3(text: &str) -> bool {
    let parts: Vec<&str> = text.split(',').collect();
    let is_part = |part: &&str| part.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    parts.len() == 5 && parts.iter().all(is_part) && parts.first().is_some_and(|version| !version.is_empty())
}

/// Whether a text has the form of an Akamai fingerprint: four parts, and the last one names several pseudo-header fields, as
/// every request has them. The start of an unquoted one in CSV has one.
fn is_akamai(text: &str) -> bool {
    let parts: Vec<&str> = text.split('|').collect();
    let [settings, window_update, priorities, pseudo_headers] = &*parts else { return false };
    let are_numbers = [settings, window_update, priorities]
        .iter()
        .all(|part| part.bytes().all(|byte| byte.is_ascii_digit() || b":;,".contains(&byte)));
    let is_name = |name: &str| name.len() == 1 && name.bytes().all(|byte| byte.is_ascii_lowercase());
    are_numbers && pseudo_headers.contains(',') && pseudo_headers.split(',').all(is_name)
}
