//! `huginn-net db export`: names of clients, and TCP signatures, as lists of other tools.

mod tcp;

use std::io::{self, BufWriter, Write};
use std::num::NonZeroU32;
use std::sync::Arc;

use huginn_net::ClientDatabase;
use huginn_net::core::md5_digits;
use huginn_net::db::ClientMatch;
use huginn_net::record::csv_text;
use serde::Serialize;
use serde_json::{Value, json};

use crate::args::{DatabaseArguments, ExportArguments, ExportKind, ExportTarget};
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::plan::read_databases;

/// Signature id of the first rule, unless one is given: from a million on they are local.
const FIRST_SID: u32 = 1_000_001;

pub(super) fn run(args: &ExportArguments) -> Result<Outcome, Failure> {
    if args.first_sid.is_some() && !matches!(args.to, ExportTarget::SuricataRules) {
        return Err(Failure::Usage("--first-sid needs --to suricata-rules".into()));
    }
    if args.kind == ExportKind::Tcp {
        if !args.clients.is_empty() {
            return Err(Failure::Usage("--clients has no effect on --kind tcp".into()));
        }
        let mut out = BufWriter::new(io::stdout().lock());
        tcp::write(&mut out, args.to)?;
        out.flush()?;
        return Ok(Outcome::Complete);
    }
    let databases = DatabaseArguments { db: None, clients: args.clients.clone() };
    let clients = read_databases(&databases)?.clients;
    let rows = rows(clients.as_deref().unwrap_or(ClientDatabase::builtin()), args.kind);
    let mut out = BufWriter::new(io::stdout().lock());
    write(&mut out, args, &rows)?;
    out.flush()?;
    Ok(Outcome::Complete)
}

/// A fingerprint and the software that sends it.
struct Row {
    value: String,
    found: ClientMatch,
}

impl Row {
    /// The name; `None` if the clients with the fingerprint have nothing in common.
    fn name(&self) -> Option<String> {
        let software = &self.found.software;
        let is_named = software.application.is_some() || software.library.is_some();
        is_named.then(|| software.to_string())
    }

    fn candidates(&self) -> String {
        self.found.software.candidates.join("; ")
    }

    fn evidence(&self) -> String {
        self.found.software.evidence.join("; ")
    }
}

/// A line of a dataset. The key of the value is that of its kind.
#[derive(Serialize)]
struct Context<'a> {
    client: Option<String>,
    library: Option<&'a str>,
    application: Option<&'a str>,
    versions: Option<&'a str>,
    r#match: &'a str,
    candidates: Vec<&'a str>,
    evidence: Vec<&'a str>,
    /// Number of entries that a line has no room for.
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence_left_out: Option<usize>,
}

/// Maximum length of a line of a dataset, in bytes: Suricata 8.0 takes lines of 1024, and stops reading at a longer one.
const MAX_DATASET_LINE: usize = 1000;

fn rows(clients: &ClientDatabase, kind: ExportKind) -> Vec<Row> {
    let row = |value: String, found: Option<ClientMatch>| Some(Row { value, found: found? });
    let hex = |hash| String::from_utf8_lossy(&md5_digits(hash)).into_owned();
    match kind {
        ExportKind::Ja4 => clients
            .recorded_ja4()
            .into_iter()
            .filter_map(|ja4| row(ja4.to_string(), clients.match_ja4(ja4)))
            .collect(),
        ExportKind::Ja3 => clients
            .recorded_ja3()
            .into_iter()
            .filter_map(|ja3| row(hex(ja3.0), clients.match_ja3(ja3)))
            .collect(),
        ExportKind::Hassh => clients
            .recorded_hassh()
            .into_iter()
            .filter_map(|hash| row(hex(hash), clients.match_hassh(hash)))
            .collect(),
        ExportKind::Akamai => clients
            .recorded_akamai()
            .into_iter()
            .filter_map(|hash| row(hex(hash.0), clients.match_akamai(hash)))
            .collect(),
        ExportKind::Tcp => Vec::new(),
    }
}

const fn key(kind: ExportKind) -> &'static str {
    match kind {
        ExportKind::Ja4 => "ja4",
        ExportKind::Ja3 => "ja3",
        ExportKind::Hassh => "hassh",
        ExportKind::Akamai => "akamai",
        ExportKind::Tcp => "tcp",
    }
}

fn write(out: &mut impl Write, args: &ExportArguments, rows: &[Row]) -> Result<(), Failure> {
    let key = key(args.kind);
    match args.to {
        ExportTarget::SuricataDataset => rows.iter().try_for_each(|row| write_context(out, key, row))?,
        ExportTarget::SuricataRules => write_rules(out, args, rows)?,
        ExportTarget::ZeekInput => {
            writeln!(out, "#fields\t{key}\tclient\tcandidates\tevidence")?;
            for row in rows {
                let name = row.name().unwrap_or_else(|| "-".into());
                let texts = [row.candidates(), row.evidence()].map(|text| text.replace('\t', " "));
                writeln!(out, "{}\t{name}\t{}\t{}", row.value, texts[0], texts[1])?;
            }
        }
        ExportTarget::NginxMap => {
            for (row, name) in named(rows) {
                writeln!(
                    out,
                    "# {}; {}\n{} \"{}\";",
                    row.candidates(),
                    row.evidence(),
                    row.value,
                    name.replace(['"', '\\', '$'], "_")
                )?;
            }
        }
        ExportTarget::HaproxyMap => {
            for (row, name) in named(rows) {
                writeln!(out, "# {}; {}\n{} {name}", row.candidates(), row.evidence(), row.value)?;
            }
        }
        ExportTarget::Arkime => write_arkime(out, args.kind, rows)?,
        ExportTarget::Misp => write_misp(out, args.kind, rows)?,
        ExportTarget::Ndpi => write_ndpi(out, args.kind, rows)?,
        ExportTarget::P0f => return Err(Failure::Usage("--to p0f needs --kind tcp".into())),
        ExportTarget::Csv => write_csv(out, key, rows)?,
    }
    Ok(())
}

/// The rows with a name.
fn named(rows: &[Row]) -> impl Iterator<Item = (&Row, String)> {
    rows.iter().filter_map(|row| Some((row, row.name()?)))
}

fn write_context(out: &mut impl Write, key: &str, row: &Row) -> io::Result<()> {
    let software = &row.found.software;
    let mut context = Context {
        client: row.name(),
        library: software.library.as_deref(),
        application: software.application.as_deref(),
        versions: software.versions.as_deref(),
        r#match: row.found.kind.name(),
        candidates: software.candidates.iter().map(|name| &**name).collect(),
        evidence: software.evidence.iter().map(|text| &**text).collect(),
        evidence_left_out: None,
    };
    loop {
        let text = serde_json::to_string(&context)?;
        let line = format!("{{\"{key}\":\"{}\",{}", row.value, text.strip_prefix('{').unwrap_or_default());
        if line.len() < MAX_DATASET_LINE || context.evidence.pop().is_none() {
            return writeln!(out, "{line}");
        }
        context.evidence_left_out = Some(context.evidence_left_out.unwrap_or(0).saturating_add(1));
    }
}

fn write_rules(out: &mut impl Write, args: &ExportArguments, rows: &[Row]) -> Result<(), Failure> {
    let keyword = match args.kind {
        ExportKind::Ja4 => "ja4.hash",
        ExportKind::Ja3 => "ja3.hash",
        ExportKind::Hassh => "ssh.hassh",
        ExportKind::Akamai | ExportKind::Tcp => {
            return Err(Failure::Usage("Suricata has no Akamai fingerprint: choose another --kind".into()));
        }
    };
    let first = args.first_sid.map_or(FIRST_SID, NonZeroU32::get);
    let sids = first..=u32::MAX;
    let count = named(rows).count();
    if sids.clone().nth(count.saturating_sub(1)).is_none() {
        return Err(Failure::Usage(format!("--first-sid {first} leaves no ids for {count} rules").into()));
    }
    for ((row, name), sid) in named(rows).zip(sids) {
        let protocol = match args.kind {
            ExportKind::Hassh => "ssh",
            _ if row.value.starts_with('q') => "quic",
            _ => "tls",
        };
        // Commas separate metadata, and the other characters are the syntax of rules.
        let plain = |text: &str| text.replace(['"', ';', '\\', ':'], " ");
        let in_metadata = |text: &str| plain(text).replace(',', " ");
        let candidates =
            row.found.software.candidates.iter().map(|name| format!("candidate {}", in_metadata(name)));
        let candidates = candidates.collect::<Vec<_>>().join(", ");
        let (message, client, evidence) = (plain(&name), in_metadata(&name), in_metadata(&row.evidence()));
        writeln!(
            out,
            "alert {protocol} any any -> any any (msg:\"huginn-net client {message}\"; {keyword}; content:\"{}\"; \
             metadata:client {client}, {candidates}, evidence {evidence}; threshold:type limit, track by_src, count 1, seconds 3600; classtype:misc-activity; \
             sid:{sid}; rev:1;)",
            row.value
        )?;
    }
    Ok(())
}

/// Writes custom protocols of nDPI. A name is at most some words: nDPI takes spaces, and `@`, `=` and `,` are the syntax of rules.
fn write_ndpi(out: &mut impl Write, kind: ExportKind, rows: &[Row]) -> Result<(), Failure> {
    if kind != ExportKind::Ja4 {
        return Err(Failure::Usage("nDPI has rules for JA4 alone: leave out --kind".into()));
    }
    for (row, name) in named(rows) {
        let name: Vec<&str> =
            name.split(|letter: char| !letter.is_ascii_alphanumeric() && !"._+-".contains(letter)).collect();
        let name = name.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join("_");
        writeln!(out, "# {}; {}\nja4:{}@{name}", row.candidates(), row.evidence(), row.value)?;
    }
    Ok(())
}

/// The fields of ours in Arkime: the name, and all recorded clients.
const ARKIME_FIELDS: &str = "\
#field:huginn.client;kind:termfield;friendly:Client;db:huginn.client;help:Client by its fingerprint;shortcut:0
#field:huginn.candidates;kind:termfield;friendly:Candidates;db:huginn.candidates;help:Recorded clients with the fingerprint;shortcut:1
";

fn write_arkime(out: &mut impl Write, kind: ExportKind, rows: &[Row]) -> Result<(), Failure> {
    if matches!(kind, ExportKind::Akamai) {
        return Err(Failure::Usage("Arkime has no Akamai fingerprint: choose another --kind".into()));
    }
    out.write_all(ARKIME_FIELDS.as_bytes())?;
    // Semicolons separate fields.
    let plain = |text: &str| text.replace(';', ",");
    for (row, name) in named(rows) {
        writeln!(out, "# {}", plain(&row.evidence()))?;
        writeln!(out, "{};0={};1={}", row.value, plain(&name), plain(&row.candidates()))?;
    }
    Ok(())
}

/// An event of MISP. Names of clients are context, and no indicators: `to_ids` is false.
fn write_misp(out: &mut impl Write, kind: ExportKind, rows: &[Row]) -> Result<(), Failure> {
    let attribute_type = match kind {
        ExportKind::Ja4 => None,
        ExportKind::Ja3 => Some("ja3-fingerprint-md5"),
        ExportKind::Hassh => Some("hassh-md5"),
        ExportKind::Akamai | ExportKind::Tcp => {
            return Err(Failure::Usage("MISP has no Akamai fingerprint: choose another --kind".into()));
        }
    };
    let entries = named(rows).map(|(row, name)| {
        let comment = format!("{name}: {}; {}", row.candidates(), row.evidence());
        match attribute_type {
            Some(of_type) => json!({
                "type": of_type, "category": "Network activity", "to_ids": false, "value": row.value, "comment": comment,
            }),
            // The object that MISP has for JA4.
            None => json!({
                "name": "ja4-plus",
                "meta-category": "network",
                "template_uuid": "2c15c75e-e7db-4b62-8d17-633e7571818f",
                "template_version": "2",
                "comment": comment,
                "Attribute": [
                    {"type": "text", "object_relation": "ja4-type", "value": "JA4", "to_ids": false},
                    {"type": "text", "object_relation": "ja4-fingerprint", "value": row.value, "to_ids": false},
                    {"type": "text", "object_relation": "description", "value": name, "to_ids": false},
                ],
            }),
        }
    });
    let entries: Vec<Value> = entries.collect();
    let list = if attribute_type.is_some() { "Attribute" } else { "Object" };
    let info = format!("Clients by {}, of huginn-net", key(kind));
    let event = json!({"Event": {"info": info, "analysis": "2", "threat_level_id": "4", "distribution": "0", list: entries}});
    serde_json::to_writer(&mut *out, &event).map_err(io::Error::from)?;
    writeln!(out)?;
    Ok(())
}

fn write_csv(out: &mut impl Write, key: &str, rows: &[Row]) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record([
        key,
        "client",
        "library",
        "application",
        "versions",
        "match",
        "candidates",
        "evidence",
    ])?;
    for row in rows {
        let software = &row.found.software;
        let text = |text: &Option<Arc<str>>| text.as_deref().unwrap_or_default().to_owned();
        let cells = [
            row.value.clone(),
            row.name().unwrap_or_default(),
            text(&software.library),
            text(&software.application),
            text(&software.versions),
            row.found.kind.name().to_owned(),
            row.candidates(),
            row.evidence(),
        ];
        writer.write_record(cells.map(|cell| csv_text(&cell).into_owned()))?;
    }
    writer.flush()
}
