//! The quantities of one run of a command.

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, bail};
use serde_json::Value;
use wait4::Wait4;

/// Numbers with names, in the order in which they were found.
#[derive(Debug, Default)]
pub(super) struct Quantities(Vec<(String, f64)>);

impl Quantities {
    pub(super) fn names(&self) -> Vec<&str> {
        self.0.iter().map(|(name, _)| name.as_str()).collect()
    }

    pub(super) fn get(&self, name: &str) -> Option<f64> {
        self.0.iter().find(|(found, _)| found == name).map(|(_, value)| *value)
    }

    fn add(&mut self, name: impl Into<String>, value: f64) {
        self.0.push((name.into(), value));
    }
}

/// Runs a shell command. Besides time, CPU time and peak memory, its quantities are the rows of a bench's table and the
/// numbers of JSON objects that it prints, one a line.
pub(super) fn measure(command: &str) -> anyhow::Result<Quantities> {
    let start = Instant::now();
    let mut child =
        Command::new("sh").args(["-c", command]).stdout(Stdio::piped()).spawn().context("cannot run sh")?;
    let mut bytes = Vec::new();
    if let Some(mut output) = child.stdout.take() {
        output.read_to_end(&mut bytes)?;
    }
    let ended = child.wait4()?;
    let seconds = start.elapsed().as_secs_f64();
    if !ended.status.success() {
        bail!("failed ({}): {command}", ended.status);
    }
    let mut quantities = Quantities::default();
    let cpu = ended.rusage.utime.saturating_add(ended.rusage.stime);
    quantities.add("time, s", seconds);
    quantities.add("CPU, s", cpu.as_secs_f64());
    #[allow(clippy::cast_precision_loss, reason = "memory needs no more than 53 bits")]
    quantities.add("peak memory, MiB", ended.rusage.maxrss as f64 / f64::from(1 << 20));
    for line in String::from_utf8_lossy(&bytes).lines() {
        bench_row(line, &mut quantities);
        json_line(line, &mut quantities);
    }
    Ok(quantities)
}

/// Adds a row `| operation | mode | ns | CPU ns | packets/s | ... |` of a bench's table.
fn bench_row(line: &str, quantities: &mut Quantities) {
    let Some(row) = line.strip_prefix("| ").and_then(|line| line.strip_suffix(" |")) else { return };
    let columns: Vec<&str> = row.split(" | ").map(str::trim).collect();
    let [operation, mode, nanos, cpu, rate, _, _, _] = columns.as_slice() else { return };
    // The table's head has no numbers.
    if let (Ok(nanos), Ok(rate)) = (nanos.parse(), rate.replace(',', "").parse()) {
        quantities.add(format!("{operation}, {mode}: ns a packet"), nanos);
        if let Ok(cpu) = cpu.parse() {
            quantities.add(format!("{operation}, {mode}: CPU ns a packet"), cpu);
        }
        quantities.add(format!("{operation}, {mode}: packets/s"), rate);
    }
}

/// Adds the numbers of a JSON object, those of objects inside it with the path as their name.
fn json_line(line: &str, quantities: &mut Quantities) {
    if line.starts_with('{')
        && let Ok(value) = serde_json::from_str(line)
    {
        add_numbers("", &value, quantities);
    }
}

/// The recursion is as deep as the JSON, which serde_json limits to 128 levels.
fn add_numbers(path: &str, value: &Value, quantities: &mut Quantities) {
    match value {
        Value::Number(number) => {
            if let Some(number) = number.as_f64() {
                quantities.add(path, number);
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                add_numbers(&path, value, quantities);
            }
        }
        Value::Null | Value::Bool(_) | Value::String(_) | Value::Array(_) => {}
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    #[test]
    fn rows_of_bench_tables_are_quantities() {
        let mut quantities = Quantities::default();
        for line in [
            "| operation | mode | ns a packet | CPU ns | packets/s | at 1 Gbps | at 10 Gbps | events |",
            "|---|---|--:|--:|--:|--:|--:|--:|",
            "| full analysis | sequential | 20.3 | 20.5 | 49,261,083 | 0.16 % | 1.65 % | 17 |",
            "| full analysis | 2 workers | 11.5 | ? | 1,000 | 0.16 % | 1.65 % | 17 |",
        ] {
            bench_row(line, &mut quantities);
        }
        assert_eq!(quantities.names().len(), 5);
        assert_eq!(quantities.get("full analysis, sequential: packets/s"), Some(49_261_083.0));
        assert_eq!(quantities.get("full analysis, 2 workers: ns a packet"), Some(11.5));
        assert_eq!(quantities.get("full analysis, 2 workers: CPU ns a packet"), None);
    }

    #[test]
    fn numbers_of_json_lines_are_quantities() {
        let mut quantities = Quantities::default();
        json_line(r#"{"requests":5,"name":"x","latency_us":{"p50":1.5},"list":[1]}"#, &mut quantities);
        json_line("{ not JSON", &mut quantities);
        assert_eq!(quantities.names(), ["latency_us.p50", "requests"]);
        assert_eq!(quantities.get("latency_us.p50"), Some(1.5));
    }

    #[test]
    fn command_has_time_memory_and_output() {
        let quantities = measure("echo '{\"answer\": 42}'; sleep 0.05").unwrap();
        assert_eq!(quantities.get("answer"), Some(42.0));
        assert!(quantities.get("time, s").unwrap() >= 0.05);
        assert!(quantities.get("CPU, s").unwrap() < 1.0);
        assert!(quantities.get("peak memory, MiB").unwrap() > 0.1);
        assert!(measure("exit 3").is_err());
    }
}
