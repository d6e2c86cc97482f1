//! Parses TCP signatures of a database.

use huginn_net_tcp::{IpVersion, OptionLayout, Quirks, TcpField, WindowMultiple};
use huginn_net_wire::quoted;

use super::pattern::{TcpPattern, TtlPattern, WindowPattern};
use crate::Fault;
use crate::limits::MAX_WINDOW_FACTOR;
use crate::syntax::{Part, SyntaxError, number};

impl TcpPattern {
    pub(crate) fn parse(text: Part<'_>) -> Result<Self, SyntaxError> {
        let fields: Vec<Part<'_>> = text.split(':').collect();
        let &[version, ttl, ip_options_len, mss, window_and_scale, layout, quirks, payload] =
            fields.as_slice()
        else {
            return Err(text.error(Fault::TcpFieldCount { found: fields.len() }));
        };
        let version = read(TcpField::Version, version, parse_version)?;
        let (window, scale) =
            window_and_scale.split_once(',').ok_or_else(|| unreadable(TcpField::Window, window_and_scale))?;
        Ok(Self {
            version,
            ttl: read(TcpField::Ttl, ttl, parse_ttl)?,
            ip_options_len: read(TcpField::IpOptionsLen, ip_options_len, number)?,
            mss: read(TcpField::Mss, mss, |text| or_wildcard(text, number))?,
            window: read(TcpField::Window, window, parse_window)?,
            scale: read(TcpField::Scale, scale, |text| or_wildcard(text, number))?,
            layout: parse_layout(layout)?,
            quirks: parse_quirks(quirks, version)?,
            payload: read(TcpField::Payload, payload, |text| or_wildcard(text, parse_payload))?,
        })
    }
}

fn read<T>(field: TcpField, text: Part<'_>, parse: impl Fn(&str) -> Option<T>) -> Result<T, SyntaxError> {
    parse(text.text).ok_or_else(|| unreadable(field, text))
}

fn unreadable(field: TcpField, text: Part<'_>) -> SyntaxError {
    text.error(Fault::TcpField { field, value: quoted(text.text) })
}

/// Parses `*`, or calls `parse`.
fn or_wildcard<T>(text: &str, parse: impl Fn(&str) -> Option<T>) -> Option<Option<T>> {
    if text == "*" { Some(None) } else { parse(text).map(Some) }
}

fn parse_version(text: &str) -> Option<Option<IpVersion>> {
    or_wildcard(text, |text| match text {
        "4" => Some(IpVersion::V4),
        "6" => Some(IpVersion::V6),
        _ => None,
    })
}

/// Parses `64`, `64-`, or `54+10` as p0f prints it for a packet, which means the sum.
fn parse_ttl(text: &str) -> Option<TtlPattern> {
    let (initial, random) = match (text.split_once('+'), text.strip_suffix('-')) {
        (Some((ttl, distance)), _) => (number::<u8>(ttl)?.checked_add(number(distance)?)?, false),
        (None, Some(greatest)) => (number(greatest)?, true),
        (None, None) => (number(text)?, false),
    };
    (initial != 0).then_some(TtlPattern { initial, random })
}

fn parse_window(text: &str) -> Option<WindowPattern> {
    let factor = |digits| number(digits).filter(|factor| (1..=MAX_WINDOW_FACTOR).contains(factor));
    Some(if text == "*" {
        WindowPattern::Any
    } else if let Some(digits) = text.strip_prefix('%') {
        WindowPattern::Modulo(number(digits).filter(|&bytes| bytes >= 2)?)
    } else if let Some(digits) = text.strip_prefix("mss*") {
        WindowPattern::Multiple(WindowMultiple::Mss(factor(digits)?))
    } else if let Some(digits) = text.strip_prefix("mtu*") {
        WindowPattern::Multiple(WindowMultiple::Mtu(factor(digits)?))
    } else {
        WindowPattern::Bytes(number(text)?)
    })
}

fn parse_layout(text: Part<'_>) -> Result<OptionLayout, SyntaxError> {
    text.text
        .parse()
        .map_err(|error: huginn_net_tcp::LayoutError| text.error_at(error.offset(), Fault::Layout(error)))
}

fn parse_quirks(text: Part<'_>, version: Option<IpVersion>) -> Result<Quirks, SyntaxError> {
    let quirks: Quirks = text
        .text
        .parse()
        .map_err(|error: huginn_net_tcp::UnknownQuirk| text.error_at(error.offset, Fault::Quirks(error)))?;
    if let Some(version) = version {
        let foreign = |name: Part<'_>| {
            Quirks::named(name.text).filter(|&quirk| Quirks::foreign_to(version).contains(quirk))
        };
        if let Some((name, quirk)) = text.split(',').find_map(|name| Some((name, foreign(name)?))) {
            return Err(name.error(Fault::QuirkOfOtherVersion { quirk, version }));
        }
    }
    Ok(quirks)
}

fn parse_payload(text: &str) -> Option<bool> {
    match text {
        "0" => Some(false),
        "+" => Some(true),
        _ => None,
    }
}
