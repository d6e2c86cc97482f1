//! Reading a TCP signature of the database.

use huginn_net_tcp::{IpVersion, OptionLayout, Quirks, TcpField, WindowMultiple};

use crate::syntax::{Part, Trouble, number};
use crate::{Fault, TcpPattern, TtlPattern, WindowPattern};

/// The greatest factor of a window multiple (as in p0f).
const MAX_FACTOR: u16 = 1_000;

impl TcpPattern {
    pub(crate) fn parse(text: Part<'_>) -> Result<Self, Trouble> {
        let fields: Vec<Part<'_>> = text.split(':').collect();
        let &[version, ttl, ip_options_len, mss, window_and_scale, layout, quirks, payload] =
            fields.as_slice()
        else {
            return Err(text.trouble(Fault::TcpFieldCount { found: fields.len() }));
        };
        let version = read(TcpField::Version, version, parse_version)?;
        let (window, scale) =
            window_and_scale.split_once(',').ok_or_else(|| unreadable(TcpField::Window, window_and_scale))?;
        Ok(Self {
            version,
            ttl: read(TcpField::Ttl, ttl, parse_ttl)?,
            ip_options_len: read(TcpField::IpOptionsLen, ip_options_len, number)?,
            mss: read(TcpField::Mss, mss, |text| or_any(text, number))?,
            window: read(TcpField::Window, window, parse_window)?,
            scale: read(TcpField::Scale, scale, |text| or_any(text, number))?,
            layout: parse_layout(layout)?,
            quirks: parse_quirks(quirks, version)?,
            payload: read(TcpField::Payload, payload, |text| or_any(text, parse_payload))?,
        })
    }
}

fn read<T>(field: TcpField, text: Part<'_>, parse: impl Fn(&str) -> Option<T>) -> Result<T, Trouble> {
    parse(text.text).ok_or_else(|| unreadable(field, text))
}

fn unreadable(field: TcpField, text: Part<'_>) -> Trouble {
    text.trouble(Fault::TcpField { field, value: text.text.into() })
}

/// `*`, or what `parse` reads.
fn or_any<T>(text: &str, parse: impl Fn(&str) -> Option<T>) -> Option<Option<T>> {
    if text == "*" { Some(None) } else { parse(text).map(Some) }
}

fn parse_version(text: &str) -> Option<Option<IpVersion>> {
    or_any(text, |text| match text {
        "4" => Some(IpVersion::V4),
        "6" => Some(IpVersion::V6),
        _ => None,
    })
}

/// `64`, `64-`, or `54+10` as p0f prints it of a packet, where the sum is meant.
fn parse_ttl(text: &str) -> Option<TtlPattern> {
    let (initial, random) = match (text.split_once('+'), text.strip_suffix('-')) {
        (Some((ttl, distance)), _) => (number::<u8>(ttl)?.checked_add(number(distance)?)?, false),
        (None, Some(greatest)) => (number(greatest)?, true),
        (None, None) => (number(text)?, false),
    };
    (initial != 0).then_some(TtlPattern { initial, random })
}

fn parse_window(text: &str) -> Option<WindowPattern> {
    let factor = |digits| number(digits).filter(|factor| (1..=MAX_FACTOR).contains(factor));
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

fn parse_layout(text: Part<'_>) -> Result<OptionLayout, Trouble> {
    text.text
        .parse()
        .map_err(|error: huginn_net_tcp::LayoutError| text.trouble_at(error.offset(), Fault::Layout(error)))
}

fn parse_quirks(text: Part<'_>, version: Option<IpVersion>) -> Result<Quirks, Trouble> {
    let quirks: Quirks = text
        .text
        .parse()
        .map_err(|error: huginn_net_tcp::UnknownQuirk| text.trouble_at(error.offset, Fault::Quirks(error)))?;
    if let Some(version) = version {
        let foreign = |name: Part<'_>| {
            Quirks::named(name.text).filter(|&quirk| Quirks::foreign_to(version).contains(quirk))
        };
        if let Some((name, quirk)) = text.split(',').find_map(|name| Some((name, foreign(name)?))) {
            return Err(name.trouble(Fault::ForeignQuirk { quirk, version }));
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
