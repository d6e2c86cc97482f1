//! `huginn-net db`: signature databases.

use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use huginn_net::Database;
use huginn_net::db::DatabaseError;
use huginn_net::tcp::{Handshake, TcpSignature};

use super::{export, learn};
use crate::args::DbCommand;
use crate::failure::Failure;
use crate::limits::MAX_DATABASE_BYTES;
use crate::outcome::Outcome;
use crate::paths::name_of;
use crate::plan::signatures;
use crate::read::read_file;
use crate::stderr;

pub(super) fn run(command: DbCommand) -> Result<Outcome, Failure> {
    match command {
        DbCommand::Stats { file } => stats(&*signatures(file.as_deref())?),
        DbCommand::Lint { files } => lint(&files),
        DbCommand::Match { signature, response, db } => look_up(&signature, response, db.as_deref()),
        DbCommand::Learn(args) => learn::run(*args),
        DbCommand::Export(args) => export::run(&args),
    }
}

fn stats(database: &Database) -> Result<Outcome, Failure> {
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
    Ok(Outcome::Complete)
}

/// Prints errors and remarks. Only errors fail.
fn lint(files: &[PathBuf]) -> Result<Outcome, Failure> {
    let mut out = io::stdout().lock();
    let mut failed = false;
    if files.is_empty() {
        write_remarks(&mut out, "built-in", Database::builtin())?;
    }
    for path in files {
        let name = name_of(path);
        match read(path) {
            Ok(text) => match parse(&text) {
                Ok(database) => write_remarks(&mut out, name, &database)?,
                Err(error) => {
                    writeln!(out, "{name}: error: {error}")?;
                    failed = true;
                }
            },
            Err(failure) => {
                stderr::report(&failure);
                failed = true;
            }
        }
    }
    Ok(if failed { Outcome::Failed } else { Outcome::Complete })
}

fn read(path: &Path) -> Result<String, Failure> {
    Ok(String::from_utf8_lossy(&read_file(path, MAX_DATABASE_BYTES)?).into_owned())
}

/// Parses a database, or a file without `classes` as a part of the built-in database.
fn parse(text: &str) -> Result<Database, DatabaseError> {
    let lists_classes = text.lines().any(|line| line.trim_start().starts_with("classes"));
    if lists_classes { Database::parse(text) } else { Database::parse_fragment(text, Database::builtin()) }
}

fn write_remarks(out: &mut impl Write, name: impl fmt::Display, database: &Database) -> io::Result<()> {
    database.lint().iter().try_for_each(|remark| writeln!(out, "{name}: {remark}"))
}

/// Prints the match of a signature with the database in `file`, or with the built-in one.
fn look_up(text: &str, response: bool, file: Option<&Path>) -> Result<Outcome, Failure> {
    let database = signatures(file)?;
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
        return Ok(Outcome::Complete);
    };
    let label = &found.label;
    writeln!(out, "label      {label}")?;
    writeln!(out, "class      {}", label.class.as_deref().unwrap_or("!"))?;
    writeln!(out, "kind       {}", if label.generic { "generic" } else { "specific" })?;
    match found.fuzzy {
        Some(reason) => writeln!(out, "fuzzy      yes: {}", reason.words())?,
        None => writeln!(out, "fuzzy      no")?,
    }
    writeln!(out, "distance   {}", found.distance)?;
    let (file, line) = match (file, Database::builtin_source(found.line)) {
        (None, Some(source)) => (source.file.to_owned(), source.line),
        (file, _) => (file.map_or_else(String::new, name_of), found.line),
    };
    writeln!(out, "file       {file}")?;
    writeln!(out, "line       {line}")?;
    Ok(Outcome::Complete)
}
