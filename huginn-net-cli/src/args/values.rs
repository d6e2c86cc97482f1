//! Types of values, and their parsers.

#[cfg(unix)]
use std::collections::HashSet;
#[cfg(unix)]
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
#[cfg(unix)]
use std::time::Duration;

#[cfg(unix)]
use bytesize::ByteSize;
use clap::ValueEnum;
use huginn_net::core::IpNet;
use huginn_net::record::EVENT_NAMES;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProtocolArgument {
    /// Operating system, link type and distance from TCP SYN and SYN+ACK segments
    Tcp,
    /// Browsers and servers from cleartext HTTP/1 and HTTP/2
    Http,
    /// TLS clients and servers from hellos over TCP, QUIC and DTLS: JA4, JA3
    Tls,
    /// SSH clients and servers from identification strings and algorithms: HASSH
    Ssh,
}

/// Number of worker threads.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Workers {
    Count(NonZeroUsize),
    Auto,
}

/// Numbers of processors, each once.
#[cfg(unix)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Processors(pub(crate) Vec<usize>);

/// A limit; `None` removes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limit(Option<u32>);

impl Limit {
    pub(crate) fn get(self) -> Option<u32> {
        self.0
    }
}

/// Seed of the flow table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SeedArgument {
    Number(u64),
    Random,
}

/// Parses a number of rows.
pub(super) fn parse_number(text: &str) -> Result<usize, &'static str> {
    text.parse().ok().filter(|number| *number > 0).ok_or("expected a positive number")
}

/// Parses the name of an event.
pub(super) fn parse_event(text: &str) -> Result<&'static str, String> {
    let known = EVENT_NAMES.iter().copied().find(|name| *name == text);
    known.ok_or_else(|| format!("expected one of {}", EVENT_NAMES.join(", ")))
}

pub(super) fn parse_workers(text: &str) -> Result<Workers, String> {
    if text == "auto" {
        return Ok(Workers::Auto);
    }
    text.parse().map(Workers::Count).map_err(|_| "expected a number of at least 1, or 'auto'".to_owned())
}

/// Parses numbers and ranges of processors, as cpuset(7) lists them: 0,2-5.
#[cfg(unix)]
pub(super) fn parse_processors(text: &str) -> Result<Processors, String> {
    const EXPECTED: &str = "expected numbers and ranges of processors, such as 0,2-5";
    let number = |text: &str| text.parse::<u16>().map(usize::from).map_err(|_| EXPECTED.to_owned());
    let (mut processors, mut named) = (Vec::new(), HashSet::new());
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let range = number(first)?..=number(last)?;
        if range.is_empty() {
            return Err(EXPECTED.to_owned());
        }
        for processor in range {
            if !named.insert(processor) {
                return Err(format!("processor {processor} is named twice"));
            }
            processors.push(processor);
        }
    }
    Ok(Processors(processors))
}

/// Parses a limit.
pub(super) fn parse_limit(text: &str) -> Result<Limit, String> {
    if text == "none" {
        return Ok(Limit(None));
    }
    let limit: u32 = text.parse().map_err(|_| format!("expected a number up to {}, or none", u32::MAX))?;
    Ok(Limit(Some(limit).filter(|limit| *limit > 0)))
}

/// Parses a network in CIDR notation, or one address.
pub(super) fn parse_net(text: &str) -> Result<IpNet, String> {
    let address = || text.parse().map(|address: std::net::IpAddr| IpNet::from(address));
    text.parse()
        .or_else(|_| address())
        .map_err(|_| "expected a network such as 192.0.2.0/24, or an address".to_owned())
}

/// Parses a seed.
pub(super) fn parse_seed(text: &str) -> Result<SeedArgument, String> {
    if text == "random" {
        return Ok(SeedArgument::Random);
    }
    text.parse().map(SeedArgument::Number).map_err(|_| "expected a number or 'random'".to_owned())
}

/// Parses `ADDR:PORT`, or a port on the loopback address.
#[cfg(unix)]
pub(super) fn parse_address(text: &str) -> Result<SocketAddr, String> {
    let port = || text.parse().map(|port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    text.parse()
        .or_else(|_| port())
        .map_err(|_| "expected ADDR:PORT such as [::1]:9100, or a port".to_owned())
}

/// Parses a number of files, at least 1: the newest is always kept.
#[cfg(unix)]
pub(super) fn parse_keep(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|keep| *keep > 0).ok_or_else(|| "expected a number of at least 1".to_owned())
}

/// Parses octal permissions as `chmod` does.
#[cfg(unix)]
pub(super) fn parse_mode(text: &str) -> Result<u32, String> {
    u32::from_str_radix(text, 8)
        .ok()
        .filter(|mode| *mode <= 0o777)
        .ok_or_else(|| "expected octal permissions such as 660".to_owned())
}

/// Parses a size of at least 1 byte, such as `100M`, `1G` or `64MiB`.
#[cfg(unix)]
pub(super) fn parse_size(text: &str) -> Result<u64, String> {
    match text.parse::<ByteSize>() {
        Ok(size) if size.0 > 0 => Ok(size.0),
        _ => Err("expected a size such as 100M (million bytes), 1G or 64MiB".to_owned()),
    }
}

/// A field that the user adds to events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnField {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// Parses a field such as `site=berlin`.
pub(super) fn parse_own_field(text: &str) -> Result<OwnField, &'static str> {
    let (name, text) = text.split_once('=').ok_or("expected a name, '=' and a text, such as site=berlin")?;
    let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.chars().all(|character| character.is_ascii_alphanumeric() || character == '_');
    if is_name {
        Ok(OwnField { name: name.to_owned(), text: text.to_owned() })
    } else {
        Err("the name of a field has letters, digits and '_', and begins with a letter")
    }
}

/// Parses a time of at least one second, such as `30m`, `1h` or `1d`; a bare number is seconds.
#[cfg(unix)]
pub(super) fn parse_interval(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().map(Duration::from_secs).ok();
    match seconds.or_else(|| humantime::parse_duration(text).ok()) {
        Some(every) if every >= Duration::from_secs(1) => Ok(every),
        _ => Err("expected a time from one second such as 30s, 15m, 1h or 1d".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn parses_sizes_and_intervals() {
        for (text, wanted) in [
            ("1", Some(1)),
            ("100M", Some(100_000_000)),
            ("1G", Some(1_000_000_000)),
            ("64MiB", Some(64 << 20)),
            ("1.5kB", Some(1500)),
            ("0", None),
            ("-1", None),
            ("M", None),
            ("1X", None),
            ("", None),
        ] {
            assert_eq!(parse_size(text).ok(), wanted, "{text}");
        }
        for (text, wanted) in [
            ("1", Some(1)),
            ("3600", Some(3600)),
            ("30s", Some(30)),
            ("15m", Some(900)),
            ("1h", Some(3600)),
            ("1h 30m", Some(5400)),
            ("1d", Some(86_400)),
            ("0", None),
            ("10ms", None),
            ("-1h", None),
            ("hour", None),
            ("", None),
            ("99999999999999999999y", None),
        ] {
            assert_eq!(parse_interval(text).ok(), wanted.map(Duration::from_secs), "{text}");
        }
    }

    #[test]
    fn seed_is_number_or_random() {
        assert_eq!(parse_seed("17"), Ok(SeedArgument::Number(17)));
        assert_eq!(parse_seed("random"), Ok(SeedArgument::Random));
        assert!(parse_seed("-1").is_err() && parse_seed("x").is_err() && parse_seed("").is_err());
    }
}
