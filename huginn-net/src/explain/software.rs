//! The software that a fingerprint names.

use std::io::{self, Write};

use huginn_net_db::{ClientDatabase, ClientMatch, MatchKind, NearestClient};
use huginn_net_http::http2::AkamaiHash;
use huginn_net_tls::Ja3Hash;

use super::value::{Ja4Form, Value};

/// Evidence lines that `explain` prints for a fingerprint: enough to judge it, and few enough to read.
const MAX_SHOWN_EVIDENCE: usize = 5;

/// Writes the software of a JA4 of any form, and the nearest known fingerprint of lists that none has.
pub(super) fn of_ja4(out: &mut impl Write, value: &Value, clients: &ClientDatabase) -> io::Result<()> {
    let (found, lists) = match value.form() {
        Ja4Form::Hashed(ja4) => (clients.match_ja4(*ja4), None),
        Ja4Form::Raw(raw) => (clients.match_ja4(raw.clone().sorted().ja4()), Some(raw)),
    };
    let is_known = found.as_ref().is_some_and(|found| found.kind != MatchKind::Structural);
    let nearest = lists.filter(|_| !is_known).and_then(|raw| clients.nearest(raw));
    writeln!(out)?;
    match (found, lists) {
        (Some(found), _) => write(out, &found)?,
        (None, Some(_)) => writeln!(out, "software      unknown")?,
        (None, None) => writeln!(
            out,
            "software      unknown; the lists (ja4_r, ja4_stable_r) would show the nearest known client"
        )?,
    }
    nearest.map_or(Ok(()), |nearest| write_nearest(out, &nearest))
}

/// Writes what an MD5 may be, and the software behind it.
pub(super) fn of_hash(out: &mut impl Write, hash: [u8; 16], clients: &ClientDatabase) -> io::Result<()> {
    let kinds = [
        ("JA3, the MD5 of a ClientHello", clients.match_ja3(Ja3Hash(hash))),
        ("Akamai's fingerprint of an HTTP/2 client, as MD5", clients.match_akamai(AkamaiHash(hash))),
        ("HASSH, the MD5 of an SSH client's algorithms", clients.match_hassh(hash)),
    ];
    let known: Vec<_> = kinds.iter().filter_map(|(kind, found)| Some((kind, found.as_ref()?))).collect();
    if known.is_empty() {
        writeln!(out, "an MD5: JA3, JA3S, HASSH, HASSHServer or Akamai's fingerprint")?;
        return writeln!(out, "software      unknown");
    }
    for (kind, found) in known {
        writeln!(out, "{kind}")?;
        write(out, found)?;
    }
    Ok(())
}

/// Writes the software of a match; one line for a fingerprint without one.
pub(super) fn of_match(out: &mut impl Write, found: Option<&ClientMatch>) -> io::Result<()> {
    match found {
        Some(found) => write(out, found),
        None => writeln!(out, "software      unknown"),
    }
}

fn write(out: &mut impl Write, found: &ClientMatch) -> io::Result<()> {
    let software = &found.software;
    write!(out, "software      {software}")?;
    match &software.recorded_to {
        Some(recorded) => writeln!(out, ", recorded to {recorded}")?,
        None => writeln!(out)?,
    }
    match (&software.library, &software.library_age) {
        (Some(library), Some(age)) => writeln!(out, "library       {library} {age}")?,
        (Some(library), None) if software.application.is_some() => writeln!(out, "library       {library}")?,
        _ => {}
    }
    write!(out, "match         {}", found.kind)?;
    match found.variant {
        Some(variant) => writeln!(out, ": {variant}")?,
        None => writeln!(out)?,
    }
    if software.or_imitation && !software.evidence.is_empty() {
        writeln!(out, "remark        not recorded itself: known from programs that imitate it")?;
    }
    if !software.candidates.is_empty() {
        writeln!(out, "candidates    {}", software.candidates.join(", "))?;
    }
    for (index, evidence) in software.evidence.iter().take(MAX_SHOWN_EVIDENCE).enumerate() {
        let title = if index == 0 { "evidence" } else { "" };
        writeln!(out, "{title:<14}{evidence}")?;
    }
    let more = software.evidence.len().saturating_sub(MAX_SHOWN_EVIDENCE);
    if more > 0 {
        writeln!(out, "{:<14}and {more} more", "")?;
    }
    Ok(())
}

/// Writes the nearest known fingerprint, and the difference.
pub(super) fn write_nearest(out: &mut impl Write, nearest: &NearestClient) -> io::Result<()> {
    writeln!(out, "nearest       {}: {}", nearest.ja4_stable, nearest.software)?;
    writeln!(out, "difference    {}", nearest.difference)
}
