//! `huginn-net explain`: descriptions of fingerprints.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use huginn_net::ClientDatabase;
use huginn_net::explain::Fingerprint;

use crate::commands;
use crate::failure::Failure;

#[derive(Args, Debug)]
pub(crate) struct ExplainArguments {
    /// JA4 with hashes (ja4, ja4_o, ja4_s1) or with its lists (ja4_r, ja4_ro, ja4_s1r), JA3 or JA3S, the MD5 of either, HASSH
    /// or its algorithms, Akamai's fingerprint of HTTP/2 or its MD5, or a p0f signature of TCP or HTTP
    #[arg(value_name = "FINGERPRINT", allow_hyphen_values = true)]
    fingerprint: Fingerprint,

    /// A second JA4: list the differences and their possible reasons
    #[arg(value_name = "OTHER")]
    other: Option<Fingerprint>,

    /// Table of clients, instead of the built-in ones of its kind (TLS, HTTP/2, SSH); may be repeated
    #[arg(long, value_name = "FILE")]
    clients: Vec<PathBuf>,

    /// Database of p0f signatures, instead of the built-in one
    #[arg(long, value_name = "FILE")]
    db: Option<PathBuf>,
}

pub(crate) fn run(args: ExplainArguments) -> Result<ExitCode, Failure> {
    let ExplainArguments { fingerprint, other, clients, db } = args;
    let mut out = io::stdout().lock();
    if let Some(other) = other {
        fingerprint.compare(&mut out, &other).ok_or(Failure::OnlyJa4Compares)??;
        return Ok(ExitCode::SUCCESS);
    }
    let database = commands::database(db.as_deref())?;
    if clients.is_empty() {
        fingerprint.describe(&mut out, ClientDatabase::builtin(), &database)?;
    } else {
        fingerprint.describe(&mut out, &commands::clients(&clients)?, &database)?;
    }
    Ok(ExitCode::SUCCESS)
}
