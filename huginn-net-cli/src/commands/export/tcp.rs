//! TCP signatures of the built-in database as lists.

use std::io::{self, Write};

use huginn_net::Database;
use serde_json::{Value, json};

use crate::args::ExportTarget;
use crate::failure::Failure;

/// A signature and the system that sends it.
struct Row<'t> {
    signature: &'t str,
    /// The packet that has it: `syn` or `syn_ack`.
    packet: &'static str,
    label: String,
    /// File and line.
    source: String,
    evidence: String,
}

pub(super) fn write(out: &mut impl Write, target: ExportTarget) -> Result<(), Failure> {
    match target {
        ExportTarget::Csv => write_csv(out)?,
        ExportTarget::Misp => write_misp(out)?,
        ExportTarget::P0f => write_p0f(out)?,
        _ => {
            return Err(Failure::Usage("TCP signatures have wildcards: choose --to csv, misp or p0f".into()));
        }
    }
    Ok(())
}

fn rows() -> impl Iterator<Item = Row<'static>> {
    let database = Database::builtin();
    let lines: Vec<&'static str> = Database::builtin_text().lines().collect();
    let entries = |packet, entries: &[huginn_net::db::Entry<_>]| {
        let found = entries.iter().map(|entry| (packet, entry.label.to_string(), entry.line));
        found.collect::<Vec<_>>()
    };
    let all = [entries("syn", database.tcp_request()), entries("syn_ack", database.tcp_response())];
    all.into_iter().flatten().filter_map(move |(packet, label, line)| {
        let above = lines.get(..usize::try_from(line).ok()?)?;
        let (last, above) = above.split_last()?;
        let (_, signature) = last.split_once('=')?;
        let source = Database::builtin_source(line)?.to_string();
        Some(Row { signature: signature.trim(), packet, label, source, evidence: evidence(above) })
    })
}

/// The comment above a signature, perhaps with other entries between, of the same paragraph.
fn evidence(above: &[&str]) -> String {
    let is_comment = |line: &&&str| line.starts_with(';');
    let paragraph = above.iter().rev().take_while(|line| !line.is_empty());
    let mut comment: Vec<&str> = paragraph
        .skip_while(|line| !is_comment(line))
        .take_while(is_comment)
        .map(|line| line.trim_start_matches(';').trim())
        .collect();
    comment.reverse();
    comment.join(" ")
}

fn write_csv(out: &mut impl Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(["signature", "packet", "label", "source", "evidence"])?;
    for row in rows() {
        writer.write_record([row.signature, row.packet, &row.label, &row.source, &row.evidence])?;
    }
    writer.flush()
}

fn write_misp(out: &mut impl Write) -> io::Result<()> {
    let attributes: Vec<Value> = rows()
        .map(|row| {
            let comment = format!("{} ({}): {}; {}", row.label, row.packet, row.source, row.evidence);
            json!({
                "type": "text", "category": "Network activity", "to_ids": false, "value": row.signature, "comment": comment,
            })
        })
        .collect();
    let event = json!({"Event": {
        "info": "Systems by TCP signature, of huginn-net", "analysis": "2", "threat_level_id": "4", "distribution": "0",
        "Attribute": attributes,
    }});
    serde_json::to_writer(&mut *out, &event)?;
    writeln!(out)
}

/// Writes the sections for MTU and TCP, with their comments.
fn write_p0f(out: &mut impl Write) -> io::Result<()> {
    let mut is_written = true;
    // Comments belong to what follows.
    let mut comments: Vec<&str> = Vec::new();
    for line in Database::builtin_text().lines() {
        if line.is_empty() || line.starts_with(';') {
            comments.push(line);
            continue;
        }
        if line.starts_with('[') {
            is_written = !line.starts_with("[http:");
        }
        if is_written {
            comments.iter().try_for_each(|line| writeln!(out, "{line}"))?;
            writeln!(out, "{line}")?;
        }
        comments.clear();
    }
    Ok(())
}
