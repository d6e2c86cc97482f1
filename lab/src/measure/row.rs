//! One measurement, as a row of a table.

use serde::Serialize;

use super::truth::Verdict;

#[derive(Debug, Serialize)]
pub(super) struct Row {
    pub(super) http: u8,
    /// As in the request: `16k`.
    pub(super) size: String,
    pub(super) mode: &'static str,
    pub(super) sensor: &'static str,
    pub(super) requests_per_second: f64,
    pub(super) handshakes_per_second: f64,
    pub(super) load_errors: u64,
    /// Seconds of load.
    pub(super) seconds: f64,
    /// Packets and bytes on the interface, both directions.
    pub(super) packets: u64,
    pub(super) bytes: u64,
    pub(super) cpu: Option<Cpu>,
    /// Resident memory, one sample a second.
    pub(super) memory_mib: Vec<f64>,
    /// From the packet's time to the arrival of the event, for sensors that print times.
    pub(super) late_ms: Option<Late>,
    /// Dropped packets by place; `None` if the sensor does not say.
    pub(super) drops: Option<Vec<(String, u64)>>,
    /// `None` for sensors without events.
    pub(super) verdict: Option<Verdict>,
}

/// CPU time of the sensor, from the start of the load until the sensor has caught up.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Cpu {
    pub(super) seconds: f64,
    pub(super) ns_per_packet: f64,
    pub(super) seconds_per_gb: f64,
    pub(super) seconds_per_million_packets: f64,
    /// Share of one core, over the seconds of load.
    pub(super) percent: f64,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Late {
    pub(super) p50: f64,
    pub(super) p99: f64,
    pub(super) max: f64,
}

pub(super) const HEAD: &str = "\
| HTTP | size | mode | sensor | requests/s | packets/s | Gbps | CPU, s/M packets | CPU, s/GB | CPU of a core | memory, MiB | late p50/p99, ms | dropped | events | missing | doubled |
|--:|--:|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|";

#[allow(clippy::cast_precision_loss, reason = "rates need no more than 53 bits")]
impl Row {
    pub(super) fn gbps(&self) -> f64 {
        self.bytes as f64 * 8.0 / self.seconds / 1e9
    }

    pub(super) fn cpu(&self, seconds: f64) -> Cpu {
        let packets = self.packets as f64;
        Cpu {
            seconds,
            ns_per_packet: seconds * 1e9 / packets,
            seconds_per_gb: seconds * 1e9 / self.bytes as f64,
            seconds_per_million_packets: seconds * 1e6 / packets,
            percent: seconds * 100.0 / self.seconds,
        }
    }

    pub(super) fn markdown(&self) -> String {
        let Self { http, size, mode, sensor, .. } = self;
        let cpu = |format: fn(&Cpu) -> String| self.cpu.as_ref().map(format).unwrap_or_default();
        let verdict =
            |number: fn(&Verdict) -> u64| self.verdict.as_ref().map(|verdict| number(verdict).to_string());
        let memory = self.memory_mib.iter().copied().reduce(f64::max);
        let drops =
            self.drops.as_ref().map(|drops| drops.iter().map(|(_, count)| *count).sum::<u64>().to_string());
        let cells = [
            http.to_string(),
            size.clone(),
            (*mode).to_owned(),
            (*sensor).to_owned(),
            format!("{:.0}", self.requests_per_second),
            format!("{:.0}", self.packets as f64 / self.seconds),
            format!("{:.3}", self.gbps()),
            cpu(|cpu| format!("{:.3}", cpu.seconds_per_million_packets)),
            cpu(|cpu| format!("{:.2}", cpu.seconds_per_gb)),
            cpu(|cpu| format!("{:.1} %", cpu.percent)),
            memory.map(|memory| format!("{memory:.0}")).unwrap_or_default(),
            self.late_ms.map(|late| format!("{:.1}/{:.1}", late.p50, late.p99)).unwrap_or_default(),
            drops.unwrap_or_default(),
            verdict(|verdict| verdict.found).unwrap_or_default(),
            verdict(|verdict| verdict.missing.saturating_add(verdict.wrong)).unwrap_or_default(),
            verdict(|verdict| verdict.doubled).unwrap_or_default(),
        ];
        format!("| {} |", cells.join(" | "))
    }

    /// Whether nothing was dropped, missing, doubled or wrong, and there were events.
    pub(super) fn is_faultless(&self) -> bool {
        let drops: u64 = self.drops.iter().flatten().map(|(_, count)| *count).sum();
        drops == 0
            && self.verdict.is_some_and(|verdict| {
                verdict.expected > 0 && verdict.missing == 0 && verdict.doubled == 0 && verdict.wrong == 0
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> Row {
        let mut row = Row {
            http: 1,
            size: "1k".to_owned(),
            mode: "churn",
            sensor: "huginn-net",
            requests_per_second: 100.0,
            handshakes_per_second: 100.0,
            load_errors: 0,
            seconds: 2.0,
            packets: 2000,
            bytes: 1_000_000,
            cpu: None,
            memory_mib: vec![10.0, 12.4],
            late_ms: Some(Late { p50: 1.0, p99: 2.5, max: 3.0 }),
            drops: Some(vec![("kernel".to_owned(), 0)]),
            verdict: Some(Verdict { expected: 400, found: 400, ..Verdict::default() }),
        };
        row.cpu = Some(row.cpu(0.004));
        row
    }

    #[test]
    fn row_has_a_cell_for_each_heading() {
        let text = row().markdown();
        let head = HEAD.lines().next().unwrap_or_default();
        assert_eq!(text.matches(" | ").count(), head.matches(" | ").count());
        assert_eq!(
            text,
            "| 1 | 1k | churn | huginn-net | 100 | 1000 | 0.004 | 2.000 | 4.00 | 0.2 % | 12 | 1.0/2.5 | 0 | 400 | 0 | 0 |"
        );
    }

    #[test]
    fn faults_are_found() {
        assert!(row().is_faultless());
        let verdict = row().verdict.unwrap_or_default();
        for verdict in [
            Verdict { missing: 1, ..verdict },
            Verdict { doubled: 1, ..verdict },
            Verdict { wrong: 1, ..verdict },
            Verdict::default(),
        ] {
            assert!(!Row { verdict: Some(verdict), ..row() }.is_faultless());
        }
        assert!(!Row { drops: Some(vec![("kernel".to_owned(), 1)]), ..row() }.is_faultless());
    }
}
