//! Counters in the formats that Prometheus reads.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use serde_json::Value;

use super::counters::{
    AlertCounters, CaptureCounters, LatencyCounters, LatencyTotals, LiveCounters, NamedOutputCounters,
    QueueCounters, Times, WatchListCounters,
};
use super::families::{FAMILIES, Family, Kind, Member};

/// Prefix of all metric names.
const PREFIX: &str = "huginn_net";

/// Labels of `build_info`.
const BUILD: [(&str, &str); 4] = [
    ("version", env!("CARGO_PKG_VERSION")),
    ("os", std::env::consts::OS),
    ("arch", std::env::consts::ARCH),
    ("libpcap", if cfg!(feature = "libpcap") { "true" } else { "false" }),
];

/// A format of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// OpenMetrics 1.0: counters have names without `_total`, their values names with it.
    OpenMetrics,
    /// The text format of Prometheus, 0.0.4: both have.
    Text,
}

impl Format {
    /// Selects the format by the `Accept` headers of a request.
    pub(super) fn from_accept<'a>(mut accept: impl Iterator<Item = &'a [u8]>) -> Self {
        const OPEN_METRICS: &[u8] = b"application/openmetrics-text";
        let is_named = |value: &[u8]| value.windows(OPEN_METRICS.len()).any(|text| text == OPEN_METRICS);
        if accept.any(is_named) { Self::OpenMetrics } else { Self::Text }
    }

    pub(super) fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

/// All counters in a format.
pub(super) fn write(counters: &LiveCounters, format: Format) -> Result<String, fmt::Error> {
    let mut registry = Registry::with_prefix(PREFIX);
    registry.register_collector(Box::new(Snapshot::from_counters(counters)?));
    let mut text = String::new();
    encode_registry(&mut text, &registry)?;
    #[cfg(target_os = "linux")]
    {
        let mut registry = Registry::default();
        let started = seconds(counters.times.started / 1000);
        registry.register_collector(Box::new(super::process::ProcessResources::read(started)));
        encode_registry(&mut text, &registry)?;
    }
    encode_eof(&mut text)?;
    Ok(match format {
        Format::OpenMetrics => text,
        Format::Text => as_text_format(&text),
    })
}

/// Converts OpenMetrics to the text format: adds the suffixes of counters and infos to the names in metadata, makes gauges
/// of infos, and removes `# EOF`.
fn as_text_format(open_metrics: &str) -> String {
    let typed = open_metrics.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    let suffixes: HashMap<&str, &str> = typed
        .filter_map(|(name, kind)| match kind {
            "counter" => Some((name, "_total")),
            "info" => Some((name, "_info")),
            _ => None,
        })
        .collect();
    let mut text = String::with_capacity(open_metrics.len().saturating_mul(2));
    for line in open_metrics.lines().filter(|line| *line != "# EOF") {
        let words = line.strip_prefix("# ").and_then(|line| line.split_once(' '));
        let metadata = words.and_then(|(what, rest)| {
            let (name, rest) = rest.split_once(' ')?;
            Some((what, name, *suffixes.get(name)?, rest))
        });
        match metadata {
            Some(("TYPE", name, suffix, "info")) => text.extend(["# TYPE ", name, suffix, " gauge"]),
            Some((what, name, suffix, rest)) => text.extend(["# ", what, " ", name, suffix, " ", rest]),
            None => text.push_str(line),
        }
        text.push('\n');
    }
    text
}

/// The counters at one moment.
#[derive(Debug)]
struct Snapshot {
    /// As `--stats-interval` writes them.
    all: Value,
    counters: LiveCounters,
}

impl Snapshot {
    fn from_counters(counters: &LiveCounters) -> Result<Self, fmt::Error> {
        let all = serde_json::to_value(counters).map_err(|_| fmt::Error)?;
        Ok(Self { all, counters: counters.clone() })
    }
}

impl Collector for Snapshot {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Self { all, counters } = self;
        encoder
            .encode_descriptor("build", "Version of the program", None, MetricType::Info)?
            .encode_info(&BUILD)?;
        for family in FAMILIES {
            encode_family(family, all, &mut encoder)?;
        }
        let by_kind = counters.events_by_kind.iter().map(|(kind, count)| ([("kind", *kind)], *count));
        let metric = ("events_by_kind", "Events reported, by kind", Kind::Counter);
        encode_values(metric, by_kind, &mut encoder)?;
        encode_alerts(&counters.alerts, &mut encoder)?;
        encode_times(&counters.times, &mut encoder)?;
        encode_each(&WATCH_LISTS, "list", &counters.watch_lists, &mut encoder)?;
        encode_each(&OUTPUTS, "output", &counters.outputs, &mut encoder)?;
        encode_failures(&counters.outputs, &mut encoder)?;
        encode_each(&CAPTURE, "interface", &counters.capture, &mut encoder)?;
        encode_workers(&counters.capture, &mut encoder)?;
        let LatencyCounters { capture_to_event_us, own_us } = &counters.latency;
        let help = "Time from the capture of a packet to its event, since the start";
        encode_durations("capture_to_event", help, &capture_to_event_us.total, &mut encoder)?;
        let help = "Time from when a packet was taken from the kernel to its event, since the start";
        encode_durations("own", help, &own_us.total, &mut encoder)
    }
}

fn encode_family(family: &Family, all: &Value, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let Family { name, help, kind, members } = family;
    let mut metric = encoder.encode_descriptor(name, help, None, kind.metric_type())?;
    for Member { path, label } in *members {
        let value = all.pointer(path).and_then(Value::as_u64).ok_or(fmt::Error)?;
        match label {
            None => encode_value(*kind, value, &mut metric)?,
            Some(label) => encode_value(*kind, value, &mut metric.encode_family(&[*label])?)?,
        }
    }
    Ok(())
}

fn encode_value(kind: Kind, value: u64, metric: &mut MetricEncoder<'_>) -> fmt::Result {
    match kind {
        Kind::Counter => metric.encode_counter::<NoLabelSet, _, u64>(&value, None),
        Kind::Gauge => metric.encode_gauge(&value),
    }
}

/// Encodes the values of a metric with its name, its help and its kind. Each value has its labels.
fn encode_values<L: EncodeLabelSet>(
    (name, help, kind): (&str, &str, Kind),
    values: impl Iterator<Item = (L, u64)>,
    encoder: &mut DescriptorEncoder<'_>,
) -> fmt::Result {
    let mut metric = encoder.encode_descriptor(name, help, None, kind.metric_type())?;
    for (labels, value) in values {
        encode_value(kind, value, &mut metric.encode_family(&labels)?)?;
    }
    Ok(())
}

fn encode_alerts(alerts: &AlertCounters, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let help = "Alerts, by kind and severity; again if they become proven or more severe";
    let values = alerts.iter().flat_map(|(kind, counts)| {
        counts.iter().map(move |(severity, count)| ([("kind", *kind), ("severity", *severity)], *count))
    });
    encode_values(("alerts", help, Kind::Counter), values, encoder)
}

fn encode_times(times: &Times, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    for (name, help, nanos) in [
        (
            "last_packet_timestamp_seconds",
            "Time at which the newest packets were taken from the kernel, in seconds since the Unix epoch; 0 before the first",
            times.last_packet,
        ),
        (
            "last_event_timestamp_seconds",
            "Capture time of the packet of the newest event, in seconds since the Unix epoch; 0 before the first",
            times.last_event,
        ),
    ] {
        encoder
            .encode_descriptor(name, help, None, MetricType::Gauge)?
            .encode_gauge(&seconds(nanos / 1000))?;
    }
    Ok(())
}

/// A metric of named counters: its name, its help, its kind, and how to read it.
type Metric<T, V = u64> = (&'static str, &'static str, Kind, fn(&T) -> V);

/// Encodes a value of each metric for each name. `label`: the label that has the name.
fn encode_each<T, V: Into<Option<u64>>>(
    metrics: &[Metric<T, V>],
    label: &str,
    named: &BTreeMap<String, T>,
    encoder: &mut DescriptorEncoder<'_>,
) -> fmt::Result {
    for (name, help, kind, value) in metrics {
        let values =
            named.iter().filter_map(|(of, counters)| Some(([(label, of.as_str())], value(counters).into()?)));
        encode_values((name, help, *kind), values, encoder)?;
    }
    Ok(())
}

/// Metrics of each watch list.
const WATCH_LISTS: [Metric<WatchListCounters>; 3] = [
    ("matches", "Matches of a watch list", Kind::Counter, |list| list.matches),
    ("watch_list_entries", "Entries of a watch list", Kind::Gauge, |list| list.entries),
    (
        "watch_list_loaded_timestamp_seconds",
        "Time at which a watch list was read, in seconds since the Unix epoch",
        Kind::Gauge,
        |list| list.loaded_at / 1_000_000_000,
    ),
];

/// Metrics of each output.
const OUTPUTS: [Metric<NamedOutputCounters>; 9] = [
    ("output_lines_written", "Lines written", Kind::Counter, |output| output.queue.written_lines),
    ("output_bytes_written", "Bytes of lines written", Kind::Counter, |output| output.queue.written_bytes),
    (
        "output_lines_dropped",
        "Lines dropped: the output queue was full, or they could not be written",
        Kind::Counter,
        |output| output.queue.dropped_lines,
    ),
    ("output_bytes_dropped", "Bytes of dropped lines", Kind::Counter, |output| output.queue.dropped_bytes),
    ("output_lines_queued", "Lines waiting to be written", Kind::Gauge, |output| output.queue.queued_lines),
    ("output_bytes_queued", "Bytes of lines waiting to be written", Kind::Gauge, |output| {
        output.queue.queued_bytes
    }),
    ("output_rotations", "Rotated files", Kind::Counter, |output| output.queue.rotations),
    (
        "output_repeats",
        "Events that were not written because they repeat a fingerprint of their host",
        Kind::Counter,
        |output| output.repeats.left_out,
    ),
    (
        "output_repeats_forgotten",
        "Fingerprints of hosts that were forgotten early",
        Kind::Counter,
        |output| output.repeats.forgotten,
    ),
];

type OutputGetter = fn(&NamedOutputCounters) -> u64;

/// Failures of each output.
const OUTPUT_FAILURES: [(&str, OutputGetter); 2] =
    [("write", |output| output.queue.write_errors), ("rotation", |output| output.queue.rotation_errors)];

fn encode_failures(
    outputs: &BTreeMap<String, NamedOutputCounters>,
    encoder: &mut DescriptorEncoder<'_>,
) -> fmt::Result {
    let values = outputs.iter().flat_map(|(output, counters)| {
        OUTPUT_FAILURES.map(|(what, value)| ([("output", output.as_str()), ("what", what)], value(counters)))
    });
    encode_values(("output_failures", "Failed writes and rotations", Kind::Counter), values, encoder)
}

/// Metrics of each interface.
const CAPTURE: [Metric<CaptureCounters, Option<u64>>; 6] = [
    ("capture_received", "Frames taken from the interface", Kind::Counter, |counters| {
        Some(counters.received)
    }),
    (
        "capture_kernel_dropped",
        "Frames that the kernel dropped because its buffer was full",
        Kind::Counter,
        |counters| Some(counters.kernel_dropped),
    ),
    (
        "capture_interface_dropped",
        "Frames that the interface or its driver dropped, and on Linux those that only the sensor wanted",
        Kind::Counter,
        |counters| counters.interface_dropped,
    ),
    ("capture_copies", "Packets left out because another interface had them", Kind::Counter, |counters| {
        counters.copies
    }),
    (
        "capture_read_errors",
        "Failed reads, and frames of interfaces gone before their names were known",
        Kind::Counter,
        |counters| Some(counters.read_errors),
    ),
    ("capture_up", "Whether the interface is up", Kind::Gauge, |counters| {
        Some(u64::from(counters.state == "up"))
    }),
];

/// Metrics of the share of each worker in an interface.
const WORKERS: [Metric<QueueCounters>; 2] = [
    ("capture_worker_received", "Frames taken from the queue of a worker", Kind::Counter, |queue| {
        queue.received
    }),
    (
        "capture_worker_kernel_dropped",
        "Frames that the kernel dropped because the buffer of a worker was full",
        Kind::Counter,
        |queue| queue.kernel_dropped,
    ),
];

fn encode_workers(
    interfaces: &BTreeMap<String, CaptureCounters>,
    encoder: &mut DescriptorEncoder<'_>,
) -> fmt::Result {
    for (name, help, kind, value) in WORKERS {
        let values = interfaces.iter().flat_map(|(interface, counters)| {
            let workers = counters.workers.iter().enumerate();
            workers.map(move |(worker, queue)| {
                ([("interface", interface.clone()), ("worker", worker.to_string())], value(queue))
            })
        });
        encode_values((name, help, kind), values, encoder)?;
    }
    Ok(())
}

fn encode_durations(
    name: &str,
    help: &str,
    total: &LatencyTotals,
    encoder: &mut DescriptorEncoder<'_>,
) -> fmt::Result {
    let LatencyTotals { count, sum, ranges } = total;
    let in_ranges = ranges.iter().fold(0_u64, |sum, (_, count)| sum.saturating_add(*count));
    let mut buckets: Vec<(f64, u64)> = ranges.iter().map(|(end, count)| (seconds(*end), *count)).collect();
    buckets.push((f64::INFINITY, count.saturating_sub(in_ranges)));
    let name_of_all = format!("{name}_seconds");
    let mut metric = encoder.encode_descriptor(&name_of_all, help, None, MetricType::Histogram)?;
    metric.encode_histogram::<NoLabelSet>(seconds(*sum), *count, &buckets, None)
}

#[expect(clippy::cast_precision_loss, reason = "exact to the microsecond for 285 years")]
fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::counters::RepeatCounters;
    use super::*;
    use crate::output::OutputCounters;

    /// Collects the JSON pointers of all numbers below `value`.
    fn numeric_paths(value: &Value, at: &str, found: &mut BTreeSet<String>) {
        match value {
            Value::Object(members) => {
                members.iter().for_each(|(key, value)| numeric_paths(value, &format!("{at}/{key}"), found));
            }
            Value::Number(_) => {
                found.insert(at.to_owned());
            }
            _ => {}
        }
    }

    #[test]
    fn exports_every_counter_and_nothing_else() {
        let mut all = serde_json::to_value(LiveCounters::default()).unwrap();
        all.as_object_mut()
            .unwrap()
            .retain(|key, _| !["capture", "events_by_kind", "latency", "output"].contains(&key.as_str()));
        let mut counted = BTreeSet::new();
        numeric_paths(&all, "", &mut counted);
        let exported = FAMILIES.iter().flat_map(|family| family.members).map(|member| member.path.to_owned());
        let exported = exported.collect::<BTreeSet<_>>();
        // The findings of each kind are alerts, which have their own metric.
        counted.retain(|path| !path.starts_with("/findings/") || exported.contains(path));
        assert_eq!(exported, counted);
        let output = serde_json::to_value(NamedOutputCounters::default()).unwrap();
        let mut counted = BTreeSet::new();
        numeric_paths(&output, "", &mut counted);
        // A metric of each field: the one that shows its number.
        let values: Vec<u64> = (1..).take(counted.len()).collect();
        let [
            written_lines,
            written_bytes,
            dropped_lines,
            dropped_bytes,
            queued_lines,
            queued_bytes,
            rotations,
            rotation_errors,
            write_errors,
            left_out,
            forgotten,
        ] = *values
        else {
            panic!("{counted:?}");
        };
        let queue = OutputCounters {
            written_lines,
            written_bytes,
            dropped_lines,
            dropped_bytes,
            refused_lines: 0,
            lost_lines: 0,
            queued_lines,
            queued_bytes,
            rotations,
            rotation_errors,
            write_errors,
        };
        let numbered = NamedOutputCounters { queue, repeats: RepeatCounters { left_out, forgotten } };
        let shown = OUTPUTS.iter().map(|(name, _, _, value)| (*name, value(&numbered)));
        let failures = OUTPUT_FAILURES.iter().map(|(what, value)| (*what, value(&numbered)));
        let shown: Vec<(&str, u64)> = shown.chain(failures).collect();
        let wanted = [
            ("output_lines_written", written_lines),
            ("output_bytes_written", written_bytes),
            ("output_lines_dropped", dropped_lines),
            ("output_bytes_dropped", dropped_bytes),
            ("output_lines_queued", queued_lines),
            ("output_bytes_queued", queued_bytes),
            ("output_rotations", rotations),
            ("output_repeats", left_out),
            ("output_repeats_forgotten", forgotten),
            ("write", write_errors),
            ("rotation", rotation_errors),
        ];
        assert_eq!(shown, wanted);
    }

    #[test]
    fn names_and_labels_are_unique() {
        let names: BTreeSet<&str> = FAMILIES.iter().map(|family| family.name).collect();
        assert_eq!(names.len(), FAMILIES.len());
        for Family { name, members, .. } in FAMILIES {
            let labels: BTreeSet<_> = members.iter().map(|member| member.label).collect();
            assert_eq!(labels.len(), members.len(), "{name}");
        }
    }

    fn some() -> LiveCounters {
        let mut counters = LiveCounters::default();
        counters.analysis.engine.frames = 7;
        counters.analysis.engine.decode.arp = 3;
        counters.analysis.engine.flows.active = 2;
        let eth0 = CaptureCounters {
            received: 9,
            kernel_dropped: 2,
            interface_dropped: Some(0),
            state: "up".into(),
            workers: vec![QueueCounters::default(), QueueCounters { received: 9, kernel_dropped: 2 }],
            ..Default::default()
        };
        counters.capture.insert("eth0".into(), eth0);
        counters.capture.insert("a\"b".into(), CaptureCounters::default());
        counters.events_by_kind = [("tcp_syn", 5), ("uptime", 4)].into();
        counters.alerts = [("scan", [("high", 1), ("low", 0)].into())].into();
        let list = WatchListCounters { entries: 3, matches: 2, loaded_at: 1_763_900_000_250_000_000 };
        counters.watch_lists.insert("a\"b.csv".into(), list);
        let queue = OutputCounters { written_lines: 6, rotation_errors: 1, ..OutputCounters::default() };
        let repeats = RepeatCounters { left_out: 8, forgotten: 0 };
        counters.outputs.insert("tcp:x:1".into(), NamedOutputCounters { queue, repeats });
        counters.times =
            Times { started: 1_000_000_000, last_packet: 1_763_900_000_250_000_000, last_event: 0 };
        counters.latency.own_us.total =
            LatencyTotals { count: 4, sum: 1_500_300, ranges: vec![(100, 2), (200, 1)] };
        counters
    }

    #[test]
    fn counters_are_written_in_both_formats() {
        let lines =
            |format| -> Vec<String> { write(&some(), format).unwrap().lines().map(str::to_owned).collect() };
        let (text, open_metrics) = (lines(Format::Text), lines(Format::OpenMetrics));
        for line in [
            r#"huginn_net_frames_total 7"#,
            r#"huginn_net_packets_ignored_total{kind="arp"} 3"#,
            r#"huginn_net_flows_active 2"#,
            r#"huginn_net_capture_kernel_dropped_total{interface="eth0"} 2"#,
            r#"huginn_net_capture_worker_received_total{interface="eth0",worker="0"} 0"#,
            r#"huginn_net_capture_worker_kernel_dropped_total{interface="eth0",worker="1"} 2"#,
            r#"huginn_net_capture_up{interface="eth0"} 1"#,
            r#"huginn_net_capture_up{interface="a\"b"} 0"#,
            r#"huginn_net_events_by_kind_total{kind="uptime"} 4"#,
            r#"huginn_net_alerts_total{kind="scan",severity="high"} 1"#,
            r#"huginn_net_alerts_total{kind="scan",severity="low"} 0"#,
            r#"huginn_net_matches_total{list="a\"b.csv"} 2"#,
            r#"huginn_net_output_lines_written_total{output="tcp:x:1"} 6"#,
            r#"huginn_net_output_failures_total{output="tcp:x:1",what="rotation"} 1"#,
            r#"huginn_net_output_repeats_total{output="tcp:x:1"} 8"#,
            r#"huginn_net_watch_list_entries{list="a\"b.csv"} 3"#,
            r#"huginn_net_watch_list_loaded_timestamp_seconds{list="a\"b.csv"} 1763900000"#,
            r#"huginn_net_last_packet_timestamp_seconds 1763900000.25"#,
            r#"huginn_net_last_event_timestamp_seconds 0.0"#,
            concat!(r#"huginn_net_build_info{version=""#, env!("CARGO_PKG_VERSION"), r#"",os=""#),
            r#"huginn_net_own_seconds_sum 1.5003"#,
            r#"huginn_net_own_seconds_count 4"#,
            r#"huginn_net_own_seconds_bucket{le="0.0001"} 2"#,
            r#"huginn_net_own_seconds_bucket{le="0.0002"} 3"#,
            r#"huginn_net_own_seconds_bucket{le="+Inf"} 4"#,
        ] {
            // The labels of build_info depend on the machine.
            let matches = |found: &String| found == line || line.ends_with('"') && found.starts_with(line);
            assert!(text.iter().any(matches), "{line}\n{}", text.join("\n"));
            assert!(open_metrics.iter().any(matches), "{line}");
        }
        assert!(text.contains(&"# TYPE huginn_net_frames_total counter".to_owned()));
        assert!(text.contains(&"# HELP huginn_net_frames_total Frames analysed".to_owned()));
        assert!(text.contains(&"# TYPE huginn_net_flows_active gauge".to_owned()));
        assert!(text.contains(&"# TYPE huginn_net_build_info gauge".to_owned()));
        assert!(open_metrics.contains(&"# TYPE huginn_net_build info".to_owned()));
        assert!(open_metrics.contains(&"# TYPE huginn_net_frames counter".to_owned()));
        assert_eq!(open_metrics.last().map(String::as_str), Some("# EOF"));
        assert_eq!(text.len() + 1, open_metrics.len());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn process_metrics_have_usual_names() {
        for format in [Format::Text, Format::OpenMetrics] {
            let text = write(&some(), format).unwrap();
            for line in [
                "\nprocess_cpu_seconds_total ",
                "\nprocess_resident_memory_bytes ",
                "\nprocess_virtual_memory_bytes ",
                "\nprocess_threads ",
                "\nprocess_open_fds ",
                "\nprocess_max_fds ",
                "\nprocess_start_time_seconds 1.0\n",
            ] {
                assert!(text.contains(line), "{line}\n{text}");
            }
        }
        let text = write(&some(), Format::Text).unwrap();
        assert!(text.contains("\n# TYPE process_cpu_seconds_total counter\n"));
    }

    /// Collects the queries of a dashboard: all members `expr` and `definition`.
    #[cfg(target_os = "linux")]
    fn queries(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(members) => {
                for (key, value) in members {
                    match value.as_str() {
                        Some(query) if ["expr", "definition"].contains(&key.as_str()) => {
                            found.push(query.to_owned());
                        }
                        _ => queries(value, found),
                    }
                }
            }
            Value::Array(values) => values.iter().for_each(|value| queries(value, found)),
            _ => {}
        }
    }

    /// Names of metrics in a query.
    #[cfg(target_os = "linux")]
    fn metric_names(query: &str) -> impl Iterator<Item = &str> {
        let words = query.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        words.filter(|word| word.starts_with("huginn_net_") || word.starts_with("process_"))
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn dashboard_and_rules_name_existing_metrics() {
        let text = write(&some(), Format::Text).unwrap();
        let samples = text.lines().filter(|line| !line.starts_with('#'));
        let exported: BTreeSet<&str> =
            samples.map(|line| line.split(['{', ' ']).next().unwrap_or_default()).collect();
        let dashboard = include_str!("../../../dist/grafana-dashboard.json");
        let mut found = Vec::new();
        queries(&serde_json::from_str(dashboard).unwrap(), &mut found);
        assert!(found.len() > 40, "{found:?}");
        for query in &found {
            assert!(metric_names(query).count() > 0, "{query}");
        }
        let rules = include_str!("../../../dist/prometheus-rules.yml");
        let rules = rules.lines().filter(|line| !line.trim_start().starts_with('#'));
        found.extend(rules.map(str::to_owned));
        for query in &found {
            for name in metric_names(query) {
                assert!(exported.contains(name), "{name} in {query}");
            }
        }
    }

    #[test]
    fn dashboard_panels_have_distinct_ids() {
        let dashboard: Value =
            serde_json::from_str(include_str!("../../../dist/grafana-dashboard.json")).unwrap();
        let panels = dashboard["panels"].as_array().unwrap();
        let ids: BTreeSet<u64> = panels.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
        assert_eq!(ids.len(), panels.len());
    }

    #[test]
    fn selects_format_by_accept_header() {
        let prometheus = b"application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.3";
        for (accept, format) in [
            (&[][..], Format::Text),
            (&[&b"*/*"[..]][..], Format::Text),
            (&[&b"text/html"[..], prometheus][..], Format::OpenMetrics),
        ] {
            assert_eq!(Format::from_accept(accept.iter().copied()), format);
        }
    }
}
