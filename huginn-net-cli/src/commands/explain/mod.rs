//! `huginn-net explain`: descriptions of fingerprints.

mod alpn;
mod compare;
mod fingerprint;
mod head;
mod lists;
mod search;
mod software;
mod value;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use huginn_net::http::HttpSignature;
use huginn_net::http::http2::AkamaiHash;
use huginn_net::ssh::Hassh;
use huginn_net::tcp::{Handshake, TcpSignature};
use huginn_net::tls::{Ja3Hash, Ja4, Ja4Hash, Ja4Raw, names};
use huginn_net::{ClientDatabase, Database};

use self::fingerprint::Fingerprint;
use crate::commands;
use crate::commands::explain::value::{Ja4Form, Value};
use crate::failure::Failure;

#[derive(Args, Debug)]
pub(crate) struct ExplainArguments {
    /// JA4 with hashes (ja4, ja4_o, ja4_s1) or with its lists (ja4_r, ja4_ro, ja4_s1r), JA3 or JA3S, the MD5 of either, HASSH
    /// or its algorithms, Akamai's fingerprint of HTTP/2 or its MD5, or a p0f signature of TCP or HTTP
    #[arg(value_name = "FINGERPRINT", allow_hyphen_values = true)]
    fingerprint: Fingerprint,

    /// A second JA4: list the differences and their possible reasons
    #[arg(value_name = "OTHER")]
    other: Option<Value>,

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
    let own;
    let clients = if clients.is_empty() {
        ClientDatabase::builtin()
    } else {
        own = commands::clients(&clients)?;
        &own
    };
    match (fingerprint, other) {
        (Fingerprint::Ja4(value), None) => {
            explain(&mut out, &value)?;
            software::of_ja4(&mut out, &value, clients)?;
        }
        (Fingerprint::Ja4(value), Some(other)) => compare::write(&mut out, &value, &other)?,
        (_, Some(_)) => return Err(Failure::OnlyJa4Compares),
        (Fingerprint::Ja3(text), None) => {
            let hash = Ja3Hash::from_text(&text);
            writeln!(out, "JA3 of a ClientHello")?;
            writeln!(out, "ja3_hash      {hash}")?;
            software::of_match(&mut out, clients.match_ja3(hash).as_ref())?;
        }
        (Fingerprint::Ja3s(text), None) => {
            writeln!(out, "JA3S of a ServerHello: it depends on the client, and names no software")?;
            writeln!(out, "ja3s_hash     {}", Ja3Hash::from_text(text))?;
        }
        (Fingerprint::Akamai(text), None) => {
            let hash = AkamaiHash::from_text(&text);
            writeln!(out, "Akamai's fingerprint of an HTTP/2 client")?;
            writeln!(out, "akamai_hash   {hash}")?;
            software::of_match(&mut out, clients.match_akamai(hash).as_ref())?;
        }
        (Fingerprint::Hash(hash), None) => software::of_hash(&mut out, hash, clients)?,
        (Fingerprint::HasshAlgorithms(text), None) => {
            let hash = Hassh::from_text(&text);
            writeln!(out, "algorithms of an SSH client or server")?;
            writeln!(out, "hassh         {hash}")?;
            software::of_match(&mut out, clients.match_hassh(hash.0).as_ref())?;
        }
        (Fingerprint::Tcp(signature), None) => {
            explain_tcp(&mut out, *signature, &*commands::database(db.as_deref())?)?;
        }
        (Fingerprint::Http(signatures), None) => {
            explain_http(&mut out, &signatures, &*commands::database(db.as_deref())?)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the systems that send this signature as SYN or as SYN+ACK.
fn explain_tcp(out: &mut impl Write, mut signature: TcpSignature, database: &Database) -> io::Result<()> {
    writeln!(out, "TCP signature of p0f")?;
    for (handshake, title) in [(Handshake::Syn, "as SYN"), (Handshake::SynAck, "as SYN+ACK")] {
        signature.handshake = handshake;
        let found = match handshake {
            Handshake::Syn => database.match_syn(&signature),
            Handshake::SynAck => database.match_syn_ack(&signature),
        };
        match found {
            None => writeln!(out, "{title:<14}unknown")?,
            Some(found) => {
                let fuzzy = if found.fuzzy { ", fuzzy" } else { "" };
                writeln!(out, "{title:<14}{}{fuzzy}, {} hops away", found.label, found.distance)?;
            }
        }
    }
    Ok(())
}

/// Writes the software that sends this signature in a request or in a response.
fn explain_http(
    out: &mut impl Write,
    [request, response]: &[HttpSignature; 2],
    database: &Database,
) -> io::Result<()> {
    writeln!(out, "HTTP signature of p0f")?;
    let rows =
        [("as request", database.match_request(request)), ("as response", database.match_response(response))];
    for (title, found) in rows {
        match found {
            None => writeln!(out, "{title:<14}unknown")?,
            Some(found) => {
                let dishonest = if found.dishonest { ", dishonest" } else { "" };
                writeln!(out, "{title:<14}{}{dishonest}", found.label)?;
            }
        }
    }
    Ok(())
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
