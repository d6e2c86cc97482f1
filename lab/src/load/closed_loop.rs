//! The built-in load: each connection has one request at a time and makes the next when its response is whole.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_rustls::rustls::pki_types::ServerName;

use super::client::{AGENT, Client, Connector};
use super::pacing::Pacing;
use super::report::{Counts, Report};
use super::truth::{Connection, TruthFile, unix_seconds};
use super::{Options, Target, hello, http3};

/// A connection or request that takes longer counts as an error.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Wait after an error, so that a server that refuses connections is not asked in a busy loop.
const ERROR_WAIT: Duration = Duration::from_millis(10);

/// A connection that ended, for the truth file.
struct Ended {
    client: std::net::SocketAddr,
    requests: u64,
    time: f64,
}

/// One of the connections that are open at a time.
struct Slot {
    connector: Connector,
    tls: Option<Arc<tokio_rustls::rustls::ClientConfig>>,
    server: std::net::SocketAddr,
    http: u8,
    local: Option<IpAddr>,
    churn: bool,
    until: Instant,
    pacing: Pacing,
    counts: Counts,
    ended: mpsc::Sender<Ended>,
}

pub(super) fn run(options: &Options, target: &Target) -> anyhow::Result<Report> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(drive(options, target))
}

async fn drive(options: &Options, target: &Target) -> anyhow::Result<Report> {
    let tls = target.tls.then(|| hello::config(target.http)).transpose()?;
    let name = ServerName::try_from(target.host.clone())?;
    let ja4 = tls.as_ref().map(|tls| hello::ja4(tls, &name, target.http)).transpose()?;
    let connector = Connector::new(target, tls.clone().map(|tls| (tls, name)))?;
    let (sender, mut ended) = mpsc::channel(4096);
    let start = Instant::now();
    let until = start
        .checked_add(Duration::from_secs(options.duration.into()))
        .context("the duration is too long")?;
    let mut slots = tokio::task::JoinSet::new();
    for number in 0..options.connections {
        let local =
            options.bind.get(usize::from(number).checked_rem(options.bind.len()).unwrap_or(0)).copied();
        let slot = Slot {
            connector: connector.clone(),
            tls: tls.clone(),
            server: target.address,
            http: target.http,
            local,
            churn: options.churn,
            until,
            pacing: Pacing::new(start, options.rate, options.connections, number),
            counts: Counts::new()?,
            ended: sender.clone(),
        };
        slots.spawn(slot.run());
    }
    drop(sender);
    let mut truth = TruthFile::create(options.truth.as_deref())?;
    while let Some(Ended { client, requests, time }) = ended.recv().await {
        truth.write(&Connection {
            client,
            server: target.address,
            http: target.http,
            tls: target.tls,
            ja4: ja4.as_deref(),
            user_agent: AGENT,
            requests,
            time,
        })?;
    }
    truth.finish()?;
    let seconds = start.elapsed().as_secs_f64();
    let mut counts = Counts::new()?;
    while let Some(slot) = slots.join_next().await {
        counts.add(&slot?)?;
    }
    Ok(counts.report(seconds))
}

impl Slot {
    async fn run(mut self) -> Counts {
        let mut open: Option<(Client, Ended)> = None;
        loop {
            let due = self.pacing.due().await;
            if Instant::now() >= self.until {
                break;
            }
            match self.exchange(open.take()).await {
                Ok(used) => {
                    let micros = u64::try_from(due.elapsed().as_micros()).unwrap_or(u64::MAX);
                    self.counts.requests = self.counts.requests.saturating_add(1);
                    self.counts.latency.saturating_record(micros);
                    if self.churn {
                        self.close(used).await;
                    } else {
                        open = Some(used);
                    }
                }
                Err(_) => {
                    self.counts.errors = self.counts.errors.saturating_add(1);
                    tokio::time::sleep(ERROR_WAIT).await;
                }
            }
        }
        if let Some(used) = open {
            self.close(used).await;
        }
        self.counts
    }

    /// Makes one request, on a new connection if none is open.
    async fn exchange(&mut self, open: Option<(Client, Ended)>) -> anyhow::Result<(Client, Ended)> {
        let (mut client, mut ended) = match open {
            Some(open) => open,
            None => self.connect().await?,
        };
        let result = tokio::time::timeout(TIMEOUT, self.connector.request(&mut client)).await;
        match result.unwrap_or_else(|timeout| Err(timeout.into())) {
            Ok(bytes) => {
                self.counts.bytes = self.counts.bytes.saturating_add(bytes);
                ended.requests = ended.requests.saturating_add(1);
                Ok((client, ended))
            }
            Err(error) => {
                self.close((client, ended)).await;
                Err(error)
            }
        }
    }

    async fn connect(&mut self) -> anyhow::Result<(Client, Ended)> {
        let time = unix_seconds();
        let client = tokio::time::timeout(TIMEOUT, async {
            if self.http == 3 {
                // An endpoint for each connection: each has its own port, as a new client has.
                let tls = self.tls.clone().context("HTTP/3 without TLS")?;
                let endpoint = http3::endpoint(self.server, self.local, tls)?;
                self.connector.connect_quic(&endpoint).await
            } else {
                self.connector.connect(self.local).await
            }
        });
        let client = client.await??;
        self.counts.connections = self.counts.connections.saturating_add(1);
        let ended = Ended { client: client.local, requests: 0, time };
        Ok((client, ended))
    }

    async fn close(&self, (client, ended): (Client, Ended)) {
        // A peer that never closes its side must not hold up the load.
        let _ = tokio::time::timeout(TIMEOUT, client.close()).await;
        // The receiver outlives every slot.
        let _ = self.ended.send(ended).await;
    }
}
