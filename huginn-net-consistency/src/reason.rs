//! The reasons for a conclusion.

use std::fmt;
use std::sync::Arc;

use huginn_net_db::{BrowserImitation, Software};
use huginn_net_http::http2::PseudoHeaders;
use huginn_net_wire::{Joined, Quoted};

/// The claim of a client, or what one of its layers shows instead.
///
/// [`Display`](fmt::Display) writes a clause: `TLS is libcurl`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConsistencyReason {
    /// The browser and the system that the User-Agent claims.
    Claim {
        /// The browser.
        browser: ClaimedBrowser,
        /// Its major version, if the User-Agent has one.
        version: Option<u32>,
        /// The name of the system in the database, if it is known.
        system: Option<Arc<str>>,
    },
    /// The value of Sec-CH-UA, which names other brands.
    Brands(Box<[u8]>),
    /// The value of Sec-CH-UA-Platform, which names another system.
    Platform(Box<[u8]>),
    /// TLS imitates a browser.
    TlsImitates(BrowserImitation),
    /// TLS is that of this software.
    Tls(Box<Software>),
    /// HTTP/2 is that of this software.
    Http2(Box<Software>),
    /// The order of the pseudo-header fields of HTTP/2, which is that of another browser.
    PseudoHeaders(PseudoHeaders),
    /// The headers are those of this software.
    Headers(Arc<str>),
    /// The order of the headers is not that of the browser.
    HeaderOrder,
    /// The request lacks headers.
    Missing(MissingHeaders),
    /// The operating system that TCP shows.
    System(Arc<str>),
    /// A proxy is between client and server.
    Proxy,
}

/// A browser that a User-Agent claims, by the network library that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ClaimedBrowser {
    /// Chromium and browsers based on it.
    Chromium,
    /// Firefox.
    Firefox,
    /// Safari, and every browser of iOS.
    Safari,
}

huginn_net_wire::named! {
    /// Headers that the claimed browser always sends.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum MissingHeaders {
        /// All of Accept, Accept-Language and Accept-Encoding.
        Accept = "Accept, Accept-Language and Accept-Encoding",
        /// Those that begin with Sec-Fetch.
        SecFetch = "Sec-Fetch",
    }
}

impl fmt::Display for ConsistencyReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Claim { browser, version, system } => {
                write!(f, "User-Agent says {browser:?}")?;
                if let Some(version) = version {
                    write!(f, " {version}")?;
                }
                match system {
                    Some(system) => write!(f, " on {system}"),
                    None => Ok(()),
                }
            }
            Self::Brands(brands) => write!(f, "Sec-CH-UA says {}", Quoted(brands)),
            Self::Platform(platform) => write!(f, "Sec-CH-UA-Platform says {}", Quoted(platform)),
            Self::TlsImitates(imitation) => write!(f, "TLS imitates {imitation}"),
            Self::Tls(software) => write!(f, "TLS is {software}"),
            Self::Http2(software) => match &*software.candidates {
                candidates @ [_, _, ..] if software.application.is_none() => {
                    write!(f, "HTTP/2 is one of {}", Joined(candidates, ", "))
                }
                _ => write!(f, "HTTP/2 is {software}"),
            },
            Self::PseudoHeaders(order) => write!(f, "the order of HTTP/2 pseudo-headers is {order}"),
            Self::Headers(software) => write!(f, "the headers are those of {software}"),
            Self::HeaderOrder => f.write_str("the order of the headers is not that of the browser"),
            Self::Missing(headers) => write!(f, "the headers lack {headers}"),
            Self::System(system) => write!(f, "TCP says {system}"),
            Self::Proxy => f.write_str("a proxy is between client and server"),
        }
    }
}
