//! `huginn-net explain`: descriptions of fingerprints.

mod alpn;
mod compare;
mod head;
mod lists;
mod search;
mod value;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Subcommand;
use huginn_net::tls::{Ja4, Ja4Hash, Ja4Raw, names};

use crate::commands::explain::value::{Ja4Form, Value};
use crate::failure::Failure;

#[derive(Debug, Subcommand)]
pub(crate) enum ExplainCommand {
    /// Describe a JA4; with two, list the differences and their possible reasons
    Ja4 {
        /// A JA4 with hashes (ja4, ja4_o, ja4_s1) or with its lists (ja4_r, ja4_ro, ja4_s1r)
        #[arg(value_name = "VALUE")]
        value: Value,
        /// A second JA4 to compare with the first
        #[arg(value_name = "OTHER")]
        other: Option<Value>,
    },
}

pub(crate) fn run(command: ExplainCommand) -> Result<ExitCode, Failure> {
    let ExplainCommand::Ja4 { value, other } = command;
    let mut out = io::stdout().lock();
    match other {
        None => explain(&mut out, &value)?,
        Some(other) => compare::write(&mut out, &value, &other)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The truncated SHA-256 of empty input, which some tools use for an empty list.
const EMPTY_HASH: &str = "e3b0c44298fc";

fn explain(out: &mut impl Write, value: &Value) -> io::Result<()> {
    head::write(out, value.head())?;
    match value.form() {
        Ja4Form::Hashed(ja4) => hashes(out, ja4)?,
        Ja4Form::Raw(raw) => {
            all_lists(out, raw)?;
            writeln!(out, "\nwith hashes  {}", raw.ja4())?;
            if lists::is_original(raw) {
                writeln!(out, "sorted       {}", raw.clone().sorted().ja4())?;
            }
        }
    }
    let remarks = value.remarks();
    if !remarks.is_empty() {
        writeln!(out, "\nNot by the definition of JA4:")?;
        for remark in remarks {
            writeln!(out, "  it {remark}")?;
        }
    }
    Ok(())
}

fn hashes(out: &mut impl Write, ja4: &Ja4) -> io::Result<()> {
    let rows =
        [(ja4.cipher_hash(), "cipher suites"), (ja4.extension_hash(), "extensions and signature algorithms")];
    for (hash, of) in rows {
        if hash == Ja4Hash::EMPTY {
            writeln!(out, "{hash}  no {of}")?;
        } else {
            writeln!(out, "{hash}  hash of the {of}")?;
        }
    }
    Ok(())
}

fn all_lists(out: &mut impl Write, raw: &Ja4Raw) -> io::Result<()> {
    let extensions = if lists::is_original(raw) {
        "extensions, in the order of the wire"
    } else {
        "extensions, without server_name and ALPN"
    };
    list(out, "cipher suites", raw.cipher_suites(), names::cipher_suite)?;
    list(out, extensions, raw.extensions(), names::extension)?;
    list(out, "signature algorithms", raw.signature_algorithms(), names::signature_scheme)
}

/// Looks up the name of a number.
type Name = fn(u16) -> Option<&'static str>;

fn list(out: &mut impl Write, title: &str, numbers: &[u16], name: Name) -> io::Result<()> {
    writeln!(out, "\n{} {title}", numbers.len())?;
    for number in numbers {
        writeln!(out, "  {}", lists::named(*number, name))?;
    }
    Ok(())
}
