//! Descriptions of fingerprints in text: of JA4, JA3, JA3S, HASSH, QUIC clients, Akamai's fingerprint of HTTP/2, and p0f's
//! signatures. Of TLS hellos in hexadecimal digits, too.
//!
//! ```
//! use huginn_net::explain::Fingerprint;
//! use huginn_net::{ClientDatabase, Database};
//!
//! let ja4: Fingerprint = "t13d3112h2_e8f1e7e78f70_b26ce05bbdd6".parse()?;
//! let mut text = Vec::new();
//! ja4.describe(&mut text, ClientDatabase::builtin(), Database::builtin())?;
//! assert!(String::from_utf8(text)?.contains("cipher suites, without GREASE"));
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```

mod alpn;
mod compare;
pub mod enrich;
mod fingerprint;
mod head;
mod hello;
mod lists;
mod quic;
mod search;
mod session_forms;
mod software;
mod value;

use std::io::{self, Write};

use huginn_net_db::{ClientDatabase, Database};
use huginn_net_http::http2::AkamaiHash;
use huginn_net_http::{HttpSignature, Role};
use huginn_net_ssh::Hassh;
use huginn_net_tcp::{Handshake, TcpSignature};
use huginn_net_tls::{Ja3Hash, Ja4, Ja4Hash, Ja4Raw, names};

pub use self::fingerprint::{Fingerprint, FingerprintError};

use self::fingerprint::Kind;
use self::value::{Ja4Form, Value};

impl Fingerprint {
    /// Writes what a fingerprint is made of, and the software that has it; or every field of a hello.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn describe(
        &self,
        out: &mut impl Write,
        clients: &ClientDatabase,
        database: &Database,
    ) -> io::Result<()> {
        match &self.0 {
            Kind::Ja4(value) => {
                explain(out, value)?;
                software::of_ja4(out, value, clients)
            }
            Kind::Ja3(text) => {
                let hash = Ja3Hash::from_text(text);
                writeln!(out, "JA3 of a ClientHello")?;
                writeln!(out, "ja3_hash      {hash}")?;
                software::of_match(out, clients.match_ja3(hash).as_ref())
            }
            Kind::Ja3s(text) => {
                writeln!(out, "JA3S of a ServerHello: it depends on the client, and names no software")?;
                writeln!(out, "ja3s_hash     {}", Ja3Hash::from_text(text))
            }
            Kind::Akamai(text) => {
                let hash = AkamaiHash::from_text(text);
                writeln!(out, "Akamai's fingerprint of an HTTP/2 client")?;
                writeln!(out, "akamai_hash   {hash}")?;
                software::of_match(out, clients.match_akamai(hash).as_ref())
            }
            Kind::Http3(text) => {
                writeln!(out, "a fingerprint of an HTTP/3 client")?;
                software::of_match(out, clients.match_http3(text).as_ref())
            }
            Kind::Hash(hash) => software::of_hash(out, *hash, clients),
            Kind::HasshAlgorithms(text) => {
                let hash = Hassh::from_text(text);
                writeln!(out, "algorithms of an SSH client or server")?;
                writeln!(out, "hassh         {hash}")?;
                software::of_match(out, clients.match_hassh(hash.0).as_ref())
            }
            Kind::Quic(quic, text) => quic.describe(out, text),
            Kind::Tcp(signature) => explain_tcp(out, **signature, database),
            Kind::Http(signatures) => explain_http(out, signatures, database),
            Kind::Hello(hello) => hello.describe(out, clients),
        }
    }

    /// Whether this is a p0f signature, which a [`Database`] names; a [`ClientDatabase`] names the others.
    pub fn is_signature(&self) -> bool {
        matches!(self.0, Kind::Tcp(_) | Kind::Http(_))
    }

    /// Writes the differences of two JA4 and their possible reasons. `None` if either is no JA4.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn compare(&self, out: &mut impl Write, other: &Self) -> Option<io::Result<()>> {
        match (&self.0, &other.0) {
            (Kind::Ja4(one), Kind::Ja4(other)) => Some(compare::write(out, one, other)),
            _ => None,
        }
    }
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
                write!(out, "{title:<14}{}", found.name())?;
                if let Some(distance) = found.distance.in_words() {
                    write!(out, ", {distance} away")?;
                }
                if let Some(reason) = found.fuzzy {
                    write!(out, "; {}", reason.words())?;
                }
                writeln!(out)?;
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
    let rows = [
        ("as request", Role::Request, database.match_request(request)),
        ("as response", Role::Response, database.match_response(response)),
    ];
    for (title, role, found) in rows {
        match found {
            None => writeln!(out, "{title:<14}unknown")?,
            Some(found) => {
                writeln!(out, "{title:<14}{}", found.name(role))?;
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
