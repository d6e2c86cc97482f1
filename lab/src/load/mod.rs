//! The load generator.

mod client;
mod closed_loop;
mod external;
mod hello;
mod http3;
mod pacing;
mod report;
mod truth;

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use http::Uri;

#[derive(Args)]
pub(crate) struct Options {
    /// URL of every request; https for TLS, and for HTTP/3
    #[arg(value_name = "URL")]
    url: Uri,
    /// Version of HTTP
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u8).range(1..=3))]
    http: u8,
    /// Number of connections open at a time, each with one request at a time
    #[arg(short, long, value_name = "N", default_value = "16", value_parser = clap::value_parser!(u16).range(1..=10_000))]
    connections: u16,
    /// Duration, in seconds
    #[arg(short, long, value_name = "SECONDS", default_value = "5", value_parser = clap::value_parser!(u32).range(1..=86_400))]
    duration: u32,
    /// Make a new connection, with a new handshake, for every request
    #[arg(long)]
    churn: bool,
    /// Requests per second; latency then counts from the time at which a request was due [default: as many as complete]
    #[arg(long, value_name = "R")]
    rate: Option<f64>,
    /// Connect from these addresses in turn
    #[arg(long, value_name = "ADDR", value_delimiter = ',')]
    bind: Vec<IpAddr>,
    /// Write a JSON line for each connection made: its addresses, time, number of requests and fingerprint
    #[arg(long, value_name = "FILE")]
    truth: Option<PathBuf>,
    /// Print the report as a JSON object
    #[arg(long)]
    json: bool,
    /// Program that makes the requests
    #[arg(long, value_enum, default_value = "builtin")]
    tool: Tool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Tool {
    /// This program: a closed loop
    Builtin,
    /// h2load of nghttp2, as installed: HTTP/1 and HTTP/2, and HTTP/3 if built with it
    H2load,
    /// oha, as installed: HTTP/1 and HTTP/2, and HTTP/3 if built with the feature http3
    Oha,
}

/// A request and its server.
#[derive(Clone, Debug)]
struct Target {
    uri: Uri,
    address: SocketAddr,
    host: String,
    tls: bool,
    http: u8,
}

impl Target {
    fn new(options: &Options) -> anyhow::Result<Self> {
        let uri = options.url.clone();
        let tls = match uri.scheme_str() {
            Some("http") if options.http == 3 => bail!("HTTP/3 needs an https URL"),
            Some("http") => false,
            Some("https") => true,
            _ => bail!("the URL must begin with http:// or https://"),
        };
        let host = uri.host().context("the URL has no host")?.trim_matches(['[', ']']).to_owned();
        let port = uri.port_u16().unwrap_or(if tls { 443 } else { 80 });
        let mut addresses =
            (host.as_str(), port).to_socket_addrs().with_context(|| format!("no such host: {host}"))?;
        let address = addresses.next().with_context(|| format!("no address for {host}"))?;
        Ok(Self { uri, address, host, tls, http: options.http })
    }
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    if options.rate.is_some_and(|rate| !(rate.is_finite() && rate > 0.0)) {
        bail!("the rate must be positive");
    }
    let report = match options.tool {
        Tool::Builtin => closed_loop::run(options, &Target::new(options)?)?,
        Tool::H2load | Tool::Oha if options.truth.is_some() || !options.bind.is_empty() => {
            bail!("--truth and --bind need the built-in tool")
        }
        Tool::H2load => external::h2load(options)?,
        Tool::Oha => external::oha(options)?,
    };
    report.print(options.json)?;
    if report.requests == 0 {
        bail!("no request succeeded");
    }
    Ok(())
}
