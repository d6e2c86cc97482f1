//! `huginn-net db`: signature databases.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use huginn_net::Database;
use huginn_net::tcp::{Handshake, TcpSignature};

use crate::args::DbCommand;
use crate::commands::database;
use crate::failure::{self, FAILED, Failure};

pub(crate) fn run(command: DbCommand) -> Result<ExitCode, Failure> {
    match command {
        DbCommand::Stats { file } => stats(&*database(file.as_deref())?),
        DbCommand::Lint { files } => lint(&files),
        DbCommand::Match { signature, response, db } => {
            look_up(&signature, response, &*database(db.as_deref())?)
        }
    }
}

fn stats(database: &Database) -> Result<ExitCode, Failure> {
    let stats = database.stats();
    let rows = [
        ("classes", stats.classes, "of systems"),
        ("labels", stats.labels, "of systems and software"),
        ("mtu", stats.mtu, "transmission units"),
        ("tcp:request", stats.tcp_request, "signatures of SYNs"),
        ("tcp:response", stats.tcp_response, "signatures of SYN+ACKs"),
        ("http:request", stats.http_request, "signatures of HTTP requests"),
        ("http:response", stats.http_response, "signatures of HTTP responses"),
    ];
    let mut out = io::stdout().lock();
    for (name, count, what) in rows {
        writeln!(out, "{name:14}{count:6} {what}")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Errors make it fail; remarks are but remarks.
fn lint(files: &[PathBuf]) -> Result<ExitCode, Failure> {
    let mut out = io::stdout().lock();
    let mut failed = false;
    let built_in = files.is_empty().then_some(None);
    for path in files.iter().map(|path| Some(path.as_path())).chain(built_in) {
        let name = path.map_or_else(|| "built-in".to_owned(), |path| path.display().to_string());
        match database(path) {
            Ok(database) => {
                for remark in database.lint() {
                    writeln!(out, "{name}: {remark}")?;
                }
            }
            Err(Failure::Database { source, .. }) => {
                writeln!(out, "{name}: error: {source}")?;
                failed = true;
            }
            Err(failure) => {
                failure::report(&failure);
                failed = true;
            }
        }
    }
    Ok(if failed { ExitCode::from(FAILED) } else { ExitCode::SUCCESS })
}

fn look_up(text: &str, response: bool, database: &Database) -> Result<ExitCode, Failure> {
    let parsed = text.parse::<TcpSignature>();
    let mut signature = parsed.map_err(|source| Failure::Signature { text: text.to_owned(), source })?;
    let mut out = io::stdout().lock();
    let found = if response {
        signature.handshake = Handshake::SynAck;
        database.match_syn_ack(&signature)
    } else {
        database.match_syn(&signature)
    };
    let Some(found) = found else {
        writeln!(out, "no match")?;
        return Ok(ExitCode::SUCCESS);
    };
    let label = &found.label;
    writeln!(out, "label      {label}")?;
    writeln!(out, "class      {}", label.class.as_deref().unwrap_or("!"))?;
    writeln!(out, "kind       {}", if label.generic { "generic" } else { "specific" })?;
    writeln!(out, "fuzzy      {}", if found.fuzzy { "yes" } else { "no" })?;
    writeln!(out, "distance   {}", found.distance)?;
    writeln!(out, "line       {}", found.line)?;
    Ok(ExitCode::SUCCESS)
}
