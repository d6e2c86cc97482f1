//! What a sensor says about itself among its events: statistics, and what was lost.

use std::io::Write;

use serde_json::{Map, Value, json};

use super::{EventFormat, OwnFields, values, writer};
use crate::Timestamp;
use crate::record::VERSION;

/// Kinds of records of a sensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SensorRecordKind {
    /// All counters.
    Statistics,
    /// What was lost since the last record of a loss.
    Loss,
}

impl SensorRecordKind {
    /// The name in the field `event`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Statistics => "statistics",
            Self::Loss => "loss",
        }
    }
}

/// Packets in some time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketTotals {
    /// The time, in seconds.
    pub seconds: u64,
    /// Received from the kernel.
    pub received: u64,
    /// Dropped by the kernel.
    pub kernel_dropped: u64,
    /// Analysed.
    pub analyzed: u64,
}

/// A record of a sensor.
#[derive(Clone, Debug)]
pub struct SensorRecord {
    /// What it says.
    pub kind: SensorRecordKind,
    /// When.
    pub ts: Timestamp,
    /// Since the start.
    pub total: PacketTotals,
    /// Since the last record of the kind.
    pub interval: PacketTotals,
    /// The capture loss of the interval in per cent, if bytes were expected.
    pub capture_loss: Option<f64>,
    /// What our JSON has beside the version, the time and the kind.
    pub fields: Map<String, Value>,
}

impl SensorRecord {
    /// Appends our JSON, without a newline.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        // Writing to memory does not fail.
        let _ = write!(out, "{{\"v\":{VERSION},\"ts\":\"{}\",\"event\":\"{}\"", self.ts, self.kind.name());
        for (name, value) in &self.fields {
            let _ = write!(out, ",\"{name}\":{value}");
        }
        out.push(b'}');
    }

    /// Appends the object of a format, without a newline; nothing in OCSF, which has no class for it. `sensor`: its name, if it has one.
    pub fn write_to(
        &self,
        format: EventFormat,
        sensor: Option<&str>,
        own_fields: Option<&OwnFields>,
        out: &mut Vec<u8>,
    ) {
        let mut fields = self.values(format, sensor.unwrap_or("huginn-net"));
        if fields.is_empty() {
            return;
        }
        fields.push(("huginn.v", VERSION.to_string()));
        fields.push(("huginn.event", format!("\"{}\"", self.kind.name())));
        let own: Vec<(String, String)> =
            self.fields.iter().map(|(name, value)| (format!("huginn.{name}"), value.to_string())).collect();
        fields.extend(own.iter().map(|(path, value)| (path.as_str(), value.clone())));
        writer::write_values(format, &fields, own_fields, out);
    }

    /// What the format has for it.
    fn values(&self, format: EventFormat, peer: &str) -> Vec<(&str, String)> {
        let Self { kind, total, interval, .. } = self;
        let text = |text: &str| Value::from(text).to_string();
        match (format, kind) {
            (EventFormat::Eve, SensorRecordKind::Statistics) => {
                let stats = json!({
                    "uptime": total.seconds,
                    "capture": {
                        "kernel_packets": total.received.saturating_add(total.kernel_dropped),
                        "kernel_drops": total.kernel_dropped,
                    },
                    "decoder": {"pkts": total.analyzed},
                });
                vec![
                    ("timestamp", self.time(values::iso_offset)),
                    ("event_type", text("stats")),
                    ("stats", stats.to_string()),
                ]
            }
            (EventFormat::Eve, SensorRecordKind::Loss) => {
                vec![("timestamp", self.time(values::iso_offset)), ("event_type", text("huginn"))]
            }
            (EventFormat::Zeek, SensorRecordKind::Statistics) => {
                let link = interval.received.saturating_add(interval.kernel_dropped);
                vec![
                    ("_path", text("stats")),
                    ("ts", self.time(values::epoch)),
                    ("peer", text(peer)),
                    ("pkts_proc", interval.analyzed.to_string()),
                    ("pkts_dropped", interval.kernel_dropped.to_string()),
                    ("pkts_link", link.to_string()),
                ]
            }
            (EventFormat::Zeek, SensorRecordKind::Loss) => {
                let mut fields = vec![
                    ("_path", text("capture_loss")),
                    ("ts", self.time(values::epoch)),
                    ("ts_delta", format!("{}.0", interval.seconds)),
                    ("peer", text(peer)),
                ];
                fields.extend(self.capture_loss.map(|loss| ("percent_lost", Value::from(loss).to_string())));
                fields
            }
            (EventFormat::Ecs, _) => {
                let dataset = format!("huginn-net.{}", kind.name());
                vec![
                    ("@timestamp", self.time(values::iso)),
                    ("ecs.version", text("9.4.0")),
                    ("event.module", text("huginn-net")),
                    ("event.dataset", text(&dataset)),
                    ("event.kind", text("metric")),
                    ("event.category", "[\"network\"]".to_owned()),
                    ("event.type", "[\"info\"]".to_owned()),
                ]
            }
            (EventFormat::Ocsf, _) => Vec::new(),
        }
    }

    fn time(&self, write: fn(Timestamp, &mut Vec<u8>) -> bool) -> String {
        let mut text = Vec::new();
        write(self.ts, &mut text);
        String::from_utf8(text).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: SensorRecordKind) -> SensorRecord {
        let interval = PacketTotals { seconds: 60, received: 90, kernel_dropped: 10, analyzed: 80 };
        let fields = [("interval".to_owned(), json!({"kernel_dropped": 10}))].into_iter().collect();
        SensorRecord {
            kind,
            ts: Timestamp::new(1_795_247_027, 931_309_000, 6),
            total: PacketTotals { seconds: 3600, received: 900, kernel_dropped: 100, analyzed: 800 },
            interval,
            capture_loss: Some(2.5),
            fields,
        }
    }

    fn written(kind: SensorRecordKind, format: EventFormat) -> String {
        let own = OwnFields::new(format, Some("a"), [("site", "b")]).with_sequence(format, "7");
        let mut out = Vec::new();
        record(kind).write_to(format, Some("a"), Some(&own), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn records_have_the_names_of_each_format() {
        use SensorRecordKind::{Loss, Statistics};
        let mut out = Vec::new();
        record(Loss).write_json(&mut out);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            r#"{"v":1,"ts":"2026-11-21T07:43:47.931309Z","event":"loss","interval":{"kernel_dropped":10}}"#
        );
        for (kind, format, wanted) in [
            (
                Statistics,
                EventFormat::Eve,
                r#"{"timestamp":"2026-11-21T07:43:47.931309+0000","event_type":"stats","stats":{"capture":{"kernel_drops":100,"kernel_packets":1000},"decoder":{"pkts":800},"uptime":3600},"host":"a","huginn":{"v":1,"event":"statistics","interval":{"kernel_dropped":10},"site":"b","seq":7}}"#,
            ),
            (
                Loss,
                EventFormat::Eve,
                r#"{"timestamp":"2026-11-21T07:43:47.931309+0000","event_type":"huginn","host":"a","huginn":{"v":1,"event":"loss","interval":{"kernel_dropped":10},"site":"b","seq":7}}"#,
            ),
            (
                Statistics,
                EventFormat::Zeek,
                r#"{"_path":"stats","ts":1795247027.931309,"peer":"a","pkts_proc":80,"pkts_dropped":10,"pkts_link":100,"huginn.v":1,"huginn.event":"statistics","huginn.interval":{"kernel_dropped":10},"huginn.sensor":"a","huginn.site":"b","huginn.seq":7}"#,
            ),
            (
                Loss,
                EventFormat::Zeek,
                r#"{"_path":"capture_loss","ts":1795247027.931309,"ts_delta":60.0,"peer":"a","percent_lost":2.5,"huginn.v":1,"huginn.event":"loss","huginn.interval":{"kernel_dropped":10},"huginn.sensor":"a","huginn.site":"b","huginn.seq":7}"#,
            ),
            (Loss, EventFormat::Ocsf, ""),
        ] {
            assert_eq!(written(kind, format), wanted);
        }
        let ecs: Value = serde_json::from_str(&written(Loss, EventFormat::Ecs)).unwrap();
        assert_eq!(ecs["@timestamp"], "2026-11-21T07:43:47.931309Z");
        let event = json!({
            "module": "huginn-net", "dataset": "huginn-net.loss", "kind": "metric", "category": ["network"], "type": ["info"],
            "sequence": 7,
        });
        assert_eq!(ecs["event"], event);
        assert_eq!((&ecs["observer"]["name"], &ecs["labels"]["site"]), (&"a".into(), &"b".into()));
        assert_eq!(ecs["huginn"], json!({"v": 1, "event": "loss", "interval": {"kernel_dropped": 10}}));
    }
}
