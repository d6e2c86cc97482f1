//! From the TLS record of a ClientHello to its JA4 and JA4_r as text: this project's `huginn-net-tls` and 2.2.1 of the
//! crate of that name on crates.io, in turn, over the hellos of `captures`.
//!
//! `cargo bench --manifest-path benches/peers/Cargo.toml --bench ja4`

#[path = "../../../captures/tools/captures.rs"]
mod captures;
#[path = "../../hellos.rs"]
mod hellos;

use std::fmt::Write;
use std::hint::black_box;
use std::time::Instant;

use huginn_net_peers::median;
use huginn_net_tls::{ClientHello, Transport};

/// Passes over all hellos in a measurement, and measurements of each side.
const PASSES: usize = 20;
const MEASUREMENTS: usize = 400;

fn main() {
    let hellos = hellos::from_captures(&captures::with_extension(&["pcap"]));
    // Excludes DTLS hellos, whose grammar differs, and hellos longer than a record.
    let records: Vec<_> =
        hellos.iter().filter(|hello| hello.transport() != Transport::Dtls).filter_map(record).collect();
    println!("{} of {} hellos", records.len(), hellos.len());
    compare_results(&records);

    let (mut own, mut other) = (Vec::new(), Vec::new());
    for _ in 0..MEASUREMENTS {
        own.push(nanos(&records, ours));
        other.push(nanos(&records, published));
    }
    let ratio = median(own.iter().zip(&other).map(|(own, other)| other / own).collect());
    println!("ns a hello, median of {MEASUREMENTS} measurements in turn (least):");
    for (name, times) in [("this project", own), ("huginn-net-tls 2.2.1", other)] {
        let least = times.iter().copied().fold(f64::INFINITY, f64::min);
        println!("{name:20} {:8.0} ({least:.0})", median(times));
    }
    println!("ratio {ratio:.1} (median of the pairs)");
}

/// Wraps a hello in a TLS record.
fn record(hello: &ClientHello<'_>) -> Option<Vec<u8>> {
    let len = u16::try_from(hello.message().len()).ok().filter(|len| *len <= 1 << 14)?;
    let [high, low] = len.to_be_bytes();
    Some([&[22, 3, 1, high, low][..], hello.message()].concat())
}

/// Renders JA4 and JA4_r. Returns false if there is no hello.
fn ours(record: &[u8], text: &mut String) -> bool {
    let Ok(Some(parsed)) = ClientHello::from_records(record) else { return false };
    let raw = parsed.value.ja4_r();
    write!(text, "{} {raw}", raw.ja4()).is_ok()
}

fn published(record: &[u8], text: &mut String) -> bool {
    let Ok(signature) = published_tls::parse_tls_client_hello(record) else { return false };
    let ja4 = signature.generate_ja4();
    write!(text, "{} {}", ja4.full, ja4.raw).is_ok()
}

fn compare_results(records: &[Vec<u8>]) {
    let (mut equal, mut other, mut none) = (0, 0, 0);
    for record in records {
        let (mut own, mut theirs) = (String::new(), String::new());
        assert!(ours(record, &mut own));
        if !published(record, &mut theirs) {
            none += 1;
        } else if own == theirs {
            equal += 1;
        } else {
            other += 1;
            println!("this project         {own}\nhuginn-net-tls 2.2.1 {theirs}");
        }
    }
    println!("JA4 and JA4_r from 2.2.1: {equal} equal, {other} different, {none} missing");
}

/// Returns the time per hello.
fn nanos(records: &[Vec<u8>], fingerprint: fn(&[u8], &mut String) -> bool) -> f64 {
    let mut text = String::with_capacity(8 << 10);
    let start = Instant::now();
    for record in (0..PASSES).flat_map(|_| records) {
        text.clear();
        black_box(fingerprint(black_box(record), &mut text));
        black_box(&text);
    }
    start.elapsed().as_nanos() as f64 / (PASSES * records.len()) as f64
}
