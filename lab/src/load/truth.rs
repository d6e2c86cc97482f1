//! The connections made, one JSON line each.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::time::SystemTime;

use anyhow::Context;
use serde::Serialize;

/// A connection, with what a sensor must find in it.
#[derive(Serialize)]
pub(super) struct Connection<'a> {
    pub(super) client: SocketAddr,
    pub(super) server: SocketAddr,
    pub(super) http: u8,
    pub(super) tls: bool,
    pub(super) ja4: Option<&'a str>,
    pub(super) user_agent: &'a str,
    pub(super) requests: u64,
    /// Unix time of connect(2), in seconds.
    pub(super) time: f64,
}

pub(super) struct TruthFile(Option<BufWriter<File>>);

impl TruthFile {
    pub(super) fn create(path: Option<&Path>) -> anyhow::Result<Self> {
        let Some(path) = path else { return Ok(Self(None)) };
        let file = File::create(path).with_context(|| format!("cannot create {}", path.display()))?;
        Ok(Self(Some(BufWriter::new(file))))
    }

    pub(super) fn write(&mut self, connection: &Connection<'_>) -> anyhow::Result<()> {
        if let Some(file) = &mut self.0 {
            serde_json::to_writer(&mut *file, connection)?;
            file.write_all(b"\n")?;
        }
        Ok(())
    }

    pub(super) fn finish(&mut self) -> anyhow::Result<()> {
        self.0.as_mut().map(Write::flush).transpose()?;
        Ok(())
    }
}

pub(super) fn unix_seconds() -> f64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}
