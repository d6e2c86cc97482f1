//! Prints groups: comments, and lines for the databases.

use std::io::{self, Write};
use std::path::PathBuf;

use huginn_net::ClientDatabase;
use huginn_net::core::Amount;
use huginn_net::db::{HttpPattern, TcpPattern};

use super::clues::{Clue, Clues, TextId, Texts};
use super::groups::{Entry, Group, Groups, Kind};
use crate::paths::name_of;

/// Number of texts of one kind that the report shows.
const SHOWN_TEXTS: usize = 4;

/// Columns of a table of this kind, if the built-in database has none.
const SSH_COLUMNS: &str =
    "hassh\tlibrary\tlibrary_version\tapplication\tapplication_version\timitates\tevidence\tdate";

/// Writes all groups. Everything but the lines to paste is a comment of the file that they belong to.
pub(super) fn write(out: &mut impl Write, groups: &Groups, files: &[PathBuf]) -> io::Result<()> {
    if groups.sorted.is_empty() {
        return writeln!(out, "; every fingerprint has a name");
    }
    let mut separator = "";
    for &kind in Kind::ALL {
        let of_kind: Vec<&Group> = groups.sorted.iter().filter(|group| group.kind == kind).collect();
        if of_kind.is_empty() {
            continue;
        }
        let columns = columns(kind);
        write!(out, "{separator}")?;
        separator = "\n";
        write_head(out, kind, columns)?;
        for group in of_kind {
            writeln!(out)?;
            write_comment(out, group, groups)?;
            match &group.entry {
                Entry::Tcp(signature) => write_tcp(out, signature)?,
                Entry::Http(shape) => {
                    if shape.is_weak() {
                        writeln!(out, "; Many programs send these few headers: add others that are absent.")?;
                    }
                    write_http(out, &shape.signature(), group, &groups.texts)?;
                }
                Entry::Row(values) => write_row(out, columns, values, group, &groups.texts, files)?,
            }
        }
    }
    Ok(())
}

/// Writes the section, or the columns.
fn write_head(out: &mut impl Write, kind: Kind, columns: &str) -> io::Result<()> {
    match kind {
        Kind::Syn => writeln!(out, "; Fill in <CLASS>, <NAME> and <VERSION>.\n[tcp:request]"),
        Kind::SynAck => writeln!(out, "; Fill in <CLASS>, <NAME> and <VERSION>.\n[tcp:response]"),
        Kind::HttpRequest => writeln!(out, "; Fill in <NAME>, <VERSION> and <SYSTEMS>.\n[http:request]"),
        Kind::HttpResponse => writeln!(out, "; Fill in <NAME>, <VERSION> and <SYSTEMS>.\n[http:response]"),
        Kind::Tls => write_table_head(out, "TLS clients", columns),
        Kind::Http2 => write_table_head(out, "HTTP/2 clients", columns),
        Kind::Ssh => write_table_head(out, "SSH clients", columns),
    }
}

fn write_table_head(out: &mut impl Write, clients: &str, columns: &str) -> io::Result<()> {
    writeln!(
        out,
        "# {clients}: a table of its own. Fill in <APPLICATION>, <LIBRARY> and, if known, versions.\n{columns}"
    )
}

/// The columns of the built-in tables of a kind; empty for signatures.
fn columns(kind: Kind) -> &'static str {
    let built_in = |key: &str| {
        let lines = ClientDatabase::builtin_tables().iter().filter_map(|(_, text)| text.lines().next());
        lines.filter(|columns| columns.split('\t').next() == Some(key)).max_by_key(|columns| columns.len())
    };
    match kind {
        Kind::Syn | Kind::SynAck | Kind::HttpRequest | Kind::HttpResponse => "",
        Kind::Tls => {
            built_in("ja4_stable").unwrap_or("ja4_stable\tja4\tja3_hash\tlibrary\tapplication\tja4_stable_r")
        }
        Kind::Http2 => built_in("akamai_hash").unwrap_or("akamai_hash\tlibrary\tapplication\takamai"),
        Kind::Ssh => built_in("hassh").unwrap_or(SSH_COLUMNS),
    }
}

/// Writes the counts and the texts of a group.
fn write_comment(out: &mut impl Write, group: &Group, groups: &Groups) -> io::Result<()> {
    let sign = if matches!(group.entry, Entry::Row(_)) { '#' } else { ';' };
    if let Some(program) = group.program {
        let version = program.version.map_or("", |version| groups.texts.get(version));
        let (name, space) = (groups.texts.get(program.name), if version.is_empty() { "" } else { " " });
        writeln!(out, "{sign} {name}{space}{version}, named by {}", program.origin)?;
    }
    let (one, several) = group.kind.observations();
    let observations = if group.count == 1 { one } else { several };
    let hosts = group.host_count(&groups.hosts);
    writeln!(out, "{sign} {} {observations} of {}", group.count, Amount(hosts as u64, "host(s)"))?;
    write_clues(out, sign, &group.own, &groups.texts, |_| true)?;
    let mut others = Clues::default();
    let mut ids: Vec<u32> = group.hosts.iter().copied().collect();
    ids.sort_unstable();
    for id in ids {
        if let Some(host) = usize::try_from(id).ok().and_then(|id| groups.hosts.get(id)) {
            others.add_host(&host.clues);
        }
    }
    let is_other = |clue| !group.own.has(clue);
    if others.by_clue().iter().any(|(clue, _)| is_other(*clue)) {
        writeln!(out, "{sign}   Other layers of the same hosts, with the number of hosts in all files:")?;
    }
    write_clues(out, sign, &others, &groups.texts, is_other)?;
    match &group.sample {
        Some(sample) => writeln!(out, "{sign}   Sample: {sample}"),
        None => Ok(()),
    }
}

fn write_clues(
    out: &mut impl Write,
    sign: char,
    clues: &Clues,
    texts: &Texts,
    wanted: impl Fn(Clue) -> bool,
) -> io::Result<()> {
    for (clue, found) in clues.by_clue() {
        if wanted(clue) {
            let one = |(text, count): &(TextId, u32)| format!("{} ({count})", texts.get(*text));
            let list: Vec<String> = found.iter().take(SHOWN_TEXTS).map(one).collect();
            let more = if found.len() > SHOWN_TEXTS { ", ..." } else { "" };
            writeln!(out, "{sign}   {clue}: {}{more}", list.join(", "))?;
        }
    }
    Ok(())
}

fn write_tcp(out: &mut impl Write, signature: &str) -> io::Result<()> {
    match signature.parse::<TcpPattern>() {
        Ok(_) => writeln!(out, "label = s:<CLASS>:<NAME>:<VERSION>\nsig   = {signature}"),
        Err(error) => writeln!(out, "; No signature can express it: {signature} ({error})"),
    }
}

fn write_http(out: &mut impl Write, signature: &str, group: &Group, texts: &Texts) -> io::Result<()> {
    let text = |id: TextId| Some(texts.get(id)).filter(|text| is_label_text(text));
    let name = group.program.and_then(|program| text(program.name)).unwrap_or("<NAME>");
    let version = group.program.and_then(|program| text(program.version?)).unwrap_or("<VERSION>");
    match signature.parse::<HttpPattern>() {
        Ok(_) => writeln!(out, "label = s:!:{name}:{version}\nsys   = <SYSTEMS>\nsig   = {signature}"),
        Err(error) => writeln!(out, "; No signature can express it: {signature} ({error})"),
    }
}

/// Whether a label can have this text as its name or version.
fn is_label_text(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" .-_+()".contains(&byte))
}

fn write_row(
    out: &mut impl Write,
    columns: &str,
    values: &[(&'static str, String)],
    group: &Group,
    texts: &Texts,
    files: &[PathBuf],
) -> io::Result<()> {
    let evidence = files.get(group.first_at.file).map_or_else(String::new, |path| {
        let name = path.file_name().map_or_else(|| path.clone(), PathBuf::from);
        let program = group.program.map(|program| format!(", program named by {}", program.origin));
        format!("capture {}{}", name_of(&name), program.unwrap_or_default())
    });
    let text = |id: Option<TextId>| id.map_or("", |id| texts.get(id));
    let (year, month, day, ..) = group.first_time.civil();
    let date = format!("{year:04}-{month:02}-{day:02}");
    let value = |column: &str| match column {
        "application" => group.program.map_or("<APPLICATION>", |program| text(Some(program.name))),
        "application_version" => text(group.program.and_then(|program| program.version)),
        "library" if group.kind == Kind::Tls && !values.iter().any(|(name, _)| *name == "library") => {
            "<LIBRARY>"
        }
        "own_settings" if group.kind != Kind::Tls => "yes",
        "evidence" => evidence.as_str(),
        "date" => date.as_str(),
        _ => values.iter().find(|(name, _)| *name == column).map_or("", |(_, value)| value),
    };
    let row: Vec<&str> = columns.split('\t').map(value).collect();
    writeln!(out, "{}", row.join("\t"))
}
