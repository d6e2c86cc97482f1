//! Comparison of a sensor's events with the connections that were made.

use std::collections::HashMap;
use std::io::BufRead;
use std::net::SocketAddr;

use anyhow::Context;
use serde::{Deserialize, Serialize};

use super::events::{Event, Kind};

/// A line of the file that `load --truth` writes.
#[derive(Debug, Deserialize)]
struct Connection {
    client: SocketAddr,
    tls: bool,
    http: u8,
    ja4: Option<String>,
    user_agent: String,
    requests: u64,
}

/// Counts of one fact of one client address: a port that is used again counts again.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    made: u64,
    found: u64,
}

/// The facts of all connections. Memory is bounded by the addresses and ports of the clients.
#[derive(Debug, Default)]
pub(super) struct Truth {
    counts: HashMap<(SocketAddr, Kind), Count>,
    /// Values are the same for all connections of a run.
    values: HashMap<Kind, String>,
    wrong: u64,
}

/// The result of a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Verdict {
    /// Facts of connections that the sensor can report at all.
    pub(super) expected: u64,
    pub(super) found: u64,
    /// Facts without an event.
    pub(super) missing: u64,
    /// Events without a fact: repeated, or of a connection that was not made.
    pub(super) doubled: u64,
    /// Events with another value than the fact.
    pub(super) wrong: u64,
}

impl Truth {
    /// Reads a truth file; facts of other kinds than these are left out. `every_request` makes each cleartext request of
    /// a connection a fact of its own, instead of the first only.
    pub(super) fn read(file: impl BufRead, kinds: &[Kind], every_request: bool) -> anyhow::Result<Self> {
        let mut truth = Self::default();
        for line in file.lines() {
            let made: Connection = serde_json::from_str(&line?).context("malformed truth file")?;
            let (kind, value) = match made.ja4 {
                Some(ja4) => (Kind::Hello, ja4),
                None => (Kind::Request, made.user_agent),
            };
            let has_syn = !(made.tls && made.http == 3);
            for kind in
                has_syn.then_some(Kind::Syn).into_iter().chain([kind]).filter(|kind| kinds.contains(kind))
            {
                let count = truth.counts.entry((made.client, kind)).or_default();
                let times = match kind {
                    Kind::Request if every_request => made.requests,
                    Kind::Request => made.requests.min(1),
                    Kind::Syn | Kind::Hello => 1,
                };
                count.made = count.made.saturating_add(times);
            }
            truth.values.entry(kind).or_insert(value);
        }
        Ok(truth)
    }

    pub(super) fn add(&mut self, event: &Event) {
        let expected = self.values.get(&event.kind);
        if event.value.as_ref().is_some_and(|value| Some(value) != expected) {
            self.wrong = self.wrong.saturating_add(1);
        }
        let count = self.counts.entry((event.client, event.kind)).or_default();
        count.found = count.found.saturating_add(1);
    }

    pub(super) fn verdict(&self) -> Verdict {
        let mut verdict = Verdict { wrong: self.wrong, ..Verdict::default() };
        for count in self.counts.values() {
            verdict.expected = verdict.expected.saturating_add(count.made);
            verdict.found = verdict.found.saturating_add(count.found);
            verdict.missing = verdict.missing.saturating_add(count.made.saturating_sub(count.found));
            verdict.doubled = verdict.doubled.saturating_add(count.found.saturating_sub(count.made));
        }
        verdict
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    const FILE: &str = concat!(
        r#"{"client":"10.0.0.1:1","tls":true,"http":2,"ja4":"t","user_agent":"a","requests":1}"#,
        "\n",
        r#"{"client":"10.0.0.1:1","tls":true,"http":2,"ja4":"t","user_agent":"a","requests":1}"#,
        "\n",
        r#"{"client":"10.0.0.1:2","tls":true,"http":2,"ja4":"t","user_agent":"a","requests":1}"#,
        "\n",
    );

    fn event(kind: Kind, port: u16, value: Option<&str>) -> Event {
        let client = SocketAddr::new([10, 0, 0, 1].into(), port);
        Event { kind, client, value: value.map(str::to_owned), time: None }
    }

    #[test]
    fn every_fact_once_is_right() {
        let mut truth = Truth::read(FILE.as_bytes(), &[Kind::Syn, Kind::Hello], true).unwrap();
        for port in [1, 1, 2] {
            truth.add(&event(Kind::Syn, port, None));
            truth.add(&event(Kind::Hello, port, Some("t")));
        }
        assert_eq!(truth.verdict(), Verdict { expected: 6, found: 6, ..Verdict::default() });
    }

    #[test]
    fn lost_repeated_and_wrong_events_are_counted() {
        let mut truth = Truth::read(FILE.as_bytes(), &[Kind::Hello], true).unwrap();
        truth.add(&event(Kind::Hello, 1, Some("t")));
        truth.add(&event(Kind::Hello, 2, Some("other")));
        truth.add(&event(Kind::Hello, 2, Some("t")));
        truth.add(&event(Kind::Hello, 3, Some("t")));
        assert_eq!(truth.verdict(), Verdict { expected: 3, found: 4, missing: 1, doubled: 2, wrong: 1 });
    }

    #[test]
    fn quic_has_no_syn_and_cleartext_has_requests() {
        let quic = r#"{"client":"10.0.0.1:1","tls":true,"http":3,"ja4":"q","user_agent":"a","requests":1}"#;
        let clear =
            r#"{"client":"10.0.0.1:1","tls":false,"http":1,"ja4":null,"user_agent":"a","requests":3}"#;
        let kinds = [Kind::Syn, Kind::Request, Kind::Hello];
        assert_eq!(Truth::read(quic.as_bytes(), &kinds, true).unwrap().verdict().missing, 1);
        assert_eq!(Truth::read(clear.as_bytes(), &kinds, false).unwrap().verdict().missing, 2);
        assert_eq!(Truth::read(clear.as_bytes(), &kinds, true).unwrap().verdict().missing, 4);
    }
}
