//! The result of a load.

use std::io::{self, Write};

use hdrhistogram::Histogram;
use serde::Serialize;

/// Microseconds; longer ones count as this.
const MAX_LATENCY: u64 = 3_600_000_000;

/// Requests, connections and latencies of one run.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    /// Requests with a whole response of status 2xx or 3xx.
    pub(super) requests: u64,
    /// Failed connections, and requests without a whole response or with another status.
    pub(super) errors: u64,
    /// Connections made; `None` if the tool does not count them.
    pub(super) connections: Option<u64>,
    pub(super) seconds: f64,
    pub(super) requests_per_second: f64,
    pub(super) handshakes_per_second: Option<f64>,
    /// Bytes of bodies; what h2load and oha report may contain heads.
    pub(super) gbps: f64,
    pub(super) latency_us: Latency,
}

/// Microseconds from a request, with its connection if that is new, to the end of its response.
#[derive(Debug, Default, Serialize)]
pub(super) struct Latency {
    pub(super) p50: f64,
    pub(super) p90: f64,
    pub(super) p99: f64,
    pub(super) max: f64,
}

/// Counts of a load that runs.
pub(super) struct Counts {
    pub(super) requests: u64,
    pub(super) errors: u64,
    pub(super) connections: u64,
    pub(super) bytes: u64,
    /// Microseconds.
    pub(super) latency: Histogram<u64>,
}

impl Counts {
    pub(super) fn new() -> anyhow::Result<Self> {
        Ok(Self {
            requests: 0,
            errors: 0,
            connections: 0,
            bytes: 0,
            latency: Histogram::new_with_bounds(1, MAX_LATENCY, 3)?,
        })
    }

    pub(super) fn add(&mut self, other: &Self) -> anyhow::Result<()> {
        self.requests = self.requests.saturating_add(other.requests);
        self.errors = self.errors.saturating_add(other.errors);
        self.connections = self.connections.saturating_add(other.connections);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.latency.add(&other.latency)?;
        Ok(())
    }

    #[allow(clippy::cast_precision_loss, reason = "rates need no more than 53 bits")]
    pub(super) fn report(&self, seconds: f64) -> Report {
        let quantile = |q| self.latency.value_at_quantile(q) as f64;
        Report {
            requests: self.requests,
            errors: self.errors,
            connections: Some(self.connections),
            seconds,
            requests_per_second: self.requests as f64 / seconds,
            handshakes_per_second: Some(self.connections as f64 / seconds),
            gbps: self.bytes as f64 * 8.0 / seconds / 1e9,
            latency_us: Latency {
                p50: quantile(0.5),
                p90: quantile(0.9),
                p99: quantile(0.99),
                max: self.latency.max() as f64,
            },
        }
    }
}

impl Report {
    pub(super) fn print(&self, json: bool) -> anyhow::Result<()> {
        let mut out = io::stdout().lock();
        if json {
            serde_json::to_writer(&mut out, self)?;
            writeln!(out)?;
            return Ok(());
        }
        let latency = &self.latency_us;
        writeln!(out, "{} requests in {:.2} s, {} errors", self.requests, self.seconds, self.errors)?;
        write!(out, "{:.1} requests/s, ", self.requests_per_second)?;
        if let Some(rate) = self.handshakes_per_second {
            write!(out, "{rate:.1} handshakes/s, ")?;
        }
        writeln!(out, "{:.3} Gbps", self.gbps)?;
        let [p50, p90, p99, max] = [latency.p50, latency.p90, latency.p99, latency.max].map(|us| us / 1e3);
        writeln!(out, "latency, ms: p50 {p50:.3}, p90 {p90:.3}, p99 {p99:.3}, max {max:.3}")?;
        Ok(())
    }
}
