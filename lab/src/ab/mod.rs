//! Comparison of commands that run in turn.

mod quantities;
mod statistics;

use std::fmt::Write as _;
use std::io::{self, Write};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use clap::Args;
use serde_json::{Map, json};

use quantities::Quantities;
use statistics::{Spread, ratios};

#[derive(Args)]
pub(crate) struct Options {
    /// A name and a shell command, two times or more. The first is the reference for the others
    #[arg(value_name = "NAME COMMAND", num_args = 4.., required = true)]
    commands: Vec<String>,
    /// Number of runs of each command
    #[arg(short = 'n', long, value_name = "N", default_value = "10", value_parser = clap::value_parser!(u16).range(1..))]
    runs: u16,
    /// Run this shell command before each run; it is not measured
    #[arg(long, value_name = "COMMAND")]
    before: Option<String>,
    /// Print every value as a JSON object instead of tables
    #[arg(long)]
    json: bool,
}

/// A command and the quantities of its runs.
struct Side {
    name: String,
    command: String,
    runs: Vec<Quantities>,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let mut sides = sides(&options.commands)?;
    for turn in 1..=options.runs {
        for side in &mut sides {
            writeln!(io::stderr(), "run {turn} of {}: {}", options.runs, side.name)?;
            if let Some(before) = &options.before {
                prepare(before)?;
            }
            side.runs.push(quantities::measure(&side.command)?);
        }
    }
    let text = if options.json { values(&sides).to_string() } else { tables(&sides)? };
    writeln!(io::stdout(), "{}", text.trim_end())?;
    Ok(())
}

fn sides(words: &[String]) -> anyhow::Result<Vec<Side>> {
    let (pairs, rest) = words.as_chunks::<2>();
    if !rest.is_empty() {
        bail!("the last name has no command");
    }
    let side = |[name, command]: &[String; 2]| Side {
        name: name.clone(),
        command: command.clone(),
        runs: Vec::new(),
    };
    Ok(pairs.iter().map(side).collect())
}

fn prepare(command: &str) -> anyhow::Result<()> {
    // Standard output is for the result.
    let status =
        Command::new("sh").args(["-c", command]).stdout(Stdio::null()).status().context("cannot run sh")?;
    if !status.success() {
        bail!("failed ({status}): {command}");
    }
    Ok(())
}

/// Returns the names of the quantities that every run of every side has, in the order of the first run.
fn shared_names(sides: &[Side]) -> Vec<String> {
    let mut runs = sides.iter().flat_map(|side| &side.runs);
    let first = runs.next().map(Quantities::names).unwrap_or_default();
    let mut names: Vec<String> = first.into_iter().map(str::to_owned).collect();
    names.retain(|name| sides.iter().flat_map(|side| &side.runs).all(|run| run.get(name).is_some()));
    names
}

fn column(side: &Side, name: &str) -> Vec<f64> {
    side.runs.iter().filter_map(|run| run.get(name)).collect()
}

fn tables(sides: &[Side]) -> anyhow::Result<String> {
    let mut text = String::new();
    let reference = sides.first().context("nothing to compare")?;
    for name in shared_names(sides) {
        writeln!(
            text,
            "| {name} | median | spread | to {} | spread | |\n|---|--:|--:|--:|--:|---|",
            reference.name
        )?;
        let base = column(reference, &name);
        for side in sides {
            let values = column(side, &name);
            let Spread { median, low, high } = Spread::of(&values);
            write!(text, "| {} | {} | {} .. {} |", side.name, number(median), number(low), number(high))?;
            let ratios = ratios(&values, &base);
            if std::ptr::eq(side, reference) || ratios.is_empty() {
                writeln!(text, " | | |")?;
                continue;
            }
            let Spread { median, low, high } = Spread::of(&ratios);
            let remark = if (low..=high).contains(&1.0) { "no difference" } else { "" };
            writeln!(text, " {median:.3} | {low:.3} .. {high:.3} | {remark} |")?;
        }
        text.push('\n');
    }
    Ok(text)
}

/// Four significant digits.
fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 1000.0 => format!("{value:.0}"),
        size if size >= 100.0 => format!("{value:.1}"),
        size if size >= 10.0 => format!("{value:.2}"),
        size if size >= 1.0 => format!("{value:.3}"),
        _ => format!("{value:.4}"),
    }
}

fn values(sides: &[Side]) -> serde_json::Value {
    let names = shared_names(sides);
    let side = |side: &Side| {
        let quantities: Map<_, _> =
            names.iter().map(|name| (name.clone(), column(side, name).into())).collect();
        json!({ "name": side.name, "command": side.command, "quantities": quantities })
    };
    json!({ "commands": sides.iter().map(side).collect::<Vec<_>>() })
}
