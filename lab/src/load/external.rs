//! Loads made by h2load and oha.

use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use serde_json::Value;

use super::Options;
use super::report::{Latency, Report};

pub(super) fn h2load(options: &Options) -> anyhow::Result<Report> {
    if options.churn || options.rate.is_some() {
        bail!(
            "h2load makes no new connection for each request and has no constant rate; use the built-in tool"
        );
    }
    let mut command = Command::new("h2load");
    command.args(["-c", &options.connections.to_string(), "-D", &options.duration.to_string()]);
    match options.http {
        1 => command.arg("--h1"),
        2 => &mut command,
        _ => command.args(["--npn-list", "h3"]),
    };
    parse_h2load(&output(command.arg(options.url.to_string()))?)
}

pub(super) fn oha(options: &Options) -> anyhow::Result<Report> {
    let mut command = Command::new("oha");
    command.args(["--no-tui", "--insecure", "--output-format", "json"]);
    command.args(["-c", &options.connections.to_string(), "-z", &format!("{}s", options.duration)]);
    let version = match options.http {
        1 => "1.1",
        2 => "2",
        _ => "3",
    };
    command.args(["--http-version", version]);
    if options.churn {
        command.arg("--disable-keepalive");
    }
    if let Some(rate) = options.rate {
        command.args(["-q", &rate.to_string()]);
    }
    parse_oha(&output(command.arg(options.url.to_string()))?)
}

fn output(command: &mut Command) -> anyhow::Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot run {name}; is it installed?"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        bail!("{name} failed: {}{text}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(text)
}

/// Parses the report of h2load 1.x.
fn parse_h2load(text: &str) -> anyhow::Result<Report> {
    let line = |start: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(start))
            .with_context(|| format!("h2load printed no '{start}'"))
    };
    let finished: Vec<&str> = line("finished in ")?.split(", ").collect();
    let [seconds, rate, bytes] = finished.as_slice() else { bail!("unknown line of h2load: {finished:?}") };
    let seconds = micros(seconds)? / 1e6;
    let count = |name: &str| -> anyhow::Result<u64> {
        let counts =
            line("requests: ")?.split(", ").find_map(|count| count.strip_suffix(name)).map(str::trim);
        Ok(counts.with_context(|| format!("h2load printed no number of{name}"))?.parse()?)
    };
    let requests = count(" succeeded")?;
    // min, max, mean, sd, +/- sd
    let times: Vec<&str> = line("time for request:")?.split_whitespace().collect();
    let [_, max, mean, ..] = times.as_slice() else { bail!("unknown line of h2load: {times:?}") };
    Ok(Report {
        requests,
        errors: count(" failed")?,
        connections: None,
        seconds,
        requests_per_second: rate.trim_end_matches(" req/s").parse()?,
        handshakes_per_second: None,
        gbps: bytes_per_second(bytes)? * 8.0 / 1e9,
        // It prints the mean instead of quantiles.
        latency_us: Latency { p50: micros(mean)?, p90: f64::NAN, p99: f64::NAN, max: micros(max)? },
    })
}

/// Parses a time of h2load, as `1.02s`, `17.5ms` and `312us`.
fn micros(text: &str) -> anyhow::Result<f64> {
    let (number, unit) =
        text.split_at_checked(text.find(char::is_alphabetic).unwrap_or(text.len())).unwrap_or((text, ""));
    let factor = match unit {
        "us" => 1.0,
        "ms" => 1e3,
        "s" => 1e6,
        "m" => 60e6,
        _ => bail!("unknown time of h2load: '{text}'"),
    };
    Ok(number.parse::<f64>()? * factor)
}

/// Parses a rate of h2load, as `1.35GB/s`; its units are powers of 1024.
fn bytes_per_second(text: &str) -> anyhow::Result<f64> {
    let number = text.trim_end_matches("B/s");
    let (number, factor) = match number.strip_suffix(['K', 'M', 'G']) {
        Some(rest) if number.ends_with('K') => (rest, 1024.0),
        Some(rest) if number.ends_with('M') => (rest, 1024.0 * 1024.0),
        Some(rest) => (rest, 1024.0 * 1024.0 * 1024.0),
        None => (number, 1.0),
    };
    Ok(number.parse::<f64>().with_context(|| format!("unknown rate of h2load: '{text}'"))? * factor)
}

fn parse_oha(text: &str) -> anyhow::Result<Report> {
    let report: Value = serde_json::from_str(text).context("oha printed no JSON")?;
    let number = |path: &str| {
        report.pointer(path).and_then(Value::as_f64).with_context(|| format!("oha's report lacks {path}"))
    };
    let counts = |path: &str, wanted: fn(&str) -> bool| -> u64 {
        let counts = report.pointer(path).and_then(Value::as_object);
        counts
            .into_iter()
            .flatten()
            .filter(|(key, _)| wanted(key))
            .filter_map(|(_, count)| count.as_u64())
            .sum()
    };
    let is_success = |status: &str| status.starts_with(['2', '3']);
    let requests = counts("/statusCodeDistribution", is_success);
    let statuses = counts("/statusCodeDistribution", |_| true);
    // Requests that the end of the run cuts short are not errors.
    let errors = counts("/errorDistribution", |error| !error.contains("deadline"));
    let micros = |path: &str| Ok::<_, anyhow::Error>(number(path)? * 1e6);
    Ok(Report {
        requests,
        errors: errors.saturating_add(statuses.saturating_sub(requests)),
        connections: None,
        seconds: number("/summary/total")?,
        requests_per_second: number("/summary/requestsPerSec")?,
        handshakes_per_second: None,
        gbps: number("/summary/sizePerSec")? * 8.0 / 1e9,
        latency_us: Latency {
            p50: micros("/latencyPercentiles/p50")?,
            p90: micros("/latencyPercentiles/p90")?,
            p99: micros("/latencyPercentiles/p99")?,
            max: micros("/summary/slowest")?,
        },
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    /// h2load 1.52.0.
    const H2LOAD: &str = "\
finished in 2.01s, 8921.50 req/s, 2.18GB/s
requests: 17843 total, 17859 started, 17843 done, 17840 succeeded, 3 failed, 0 errored, 0 timeout
status codes: 17843 2xx, 0 3xx, 0 4xx, 0 5xx
traffic: 4.36GB (4678656513) total, 2.33MB (2444491) headers (space savings 0.00%), 4.36GB (4673503232) data
                     min         max         mean         sd        +/- sd
time for request:      312us     15.47ms      1.78ms       601us    85.21%
";

    #[test]
    fn h2load_report_is_parsed() {
        let report = parse_h2load(H2LOAD).unwrap();
        assert_eq!((report.requests, report.errors), (17_840, 3));
        assert!((report.seconds - 2.01).abs() < 1e-9);
        assert!((report.requests_per_second - 8921.5).abs() < 1e-9);
        assert!((report.gbps - 2.18 * 8.589_934_592).abs() < 1e-9);
        assert!((report.latency_us.max - 15_470.0).abs() < 1e-6);
    }

    #[test]
    fn unknown_reports_are_errors() {
        assert!(parse_h2load("finished in a while\n").is_err());
        assert!(parse_oha("{}").is_err());
    }
}
