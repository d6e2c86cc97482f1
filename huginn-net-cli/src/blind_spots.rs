//! Blind spots of an analysis of several files.

use std::collections::BTreeMap;
use std::fmt;

use huginn_net::HuginnNet;
use huginn_net::blind_spots::{BlindSpot, ProtocolList};
use huginn_net::core::{Addresses, Amount, Example, ProtocolCount};
use serde::Serialize;

/// The examples of blind spots, each with the file that it is in.
#[derive(Debug, Default)]
pub(crate) struct ExampleFiles(BTreeMap<&'static str, LocatedExample>);

/// A blind spot whose example is in a file.
#[derive(Debug, Serialize)]
pub(crate) struct LocatedSpot {
    name: &'static str,
    count: u64,
    meaning: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    protocols: Vec<ProtocolCount>,
    #[serde(flatten)]
    example: Option<LocatedExample>,
}

#[derive(Clone, Debug, Serialize)]
struct LocatedExample {
    /// The name, if several files are analysed.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// The example, with the number of the frame in the file.
    example: Example,
}

impl ExampleFiles {
    /// Keeps the examples of blind spots that the last file showed first. `frames_before`: frames in the files before it.
    pub(crate) fn assign(&mut self, analyzer: &HuginnNet, file: Option<&str>) {
        for BlindSpot { name, example, .. } in BlindSpot::of_analyzer(analyzer) {
            if let (Some(example), false) = (example, self.0.contains_key(name)) {
                self.0.insert(name, LocatedExample { file: file.map(Into::into), example });
            }
        }
    }

    /// Returns the blind spots with their examples.
    pub(crate) fn locate(&self, analyzer: &HuginnNet) -> Vec<LocatedSpot> {
        let spots = BlindSpot::of_analyzer(analyzer).into_iter();
        let spots = spots.map(|BlindSpot { name, count, meaning, protocols, .. }| {
            let example = self.0.get(name).cloned();
            LocatedSpot { name, count, meaning: Amount(count, meaning).noun(), protocols, example }
        });
        spots.collect()
    }
}

/// Writes number, meaning and example: `7 packets whose payload the snap length cut (first: frame 196 of a.pcap)`.
impl fmt::Display for LocatedSpot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}{}", self.count, self.meaning, ProtocolList(&self.protocols))?;
        let Some(LocatedExample { file, example }) = &self.example else { return Ok(()) };
        match (example.frame, &example.flow) {
            (Some(frame), _) => write!(f, " (first: frame {frame}")?,
            (None, Some(flow)) => write!(f, " (first: {} > {} at {}", flow.client, flow.server, example.ts)?,
            (None, None) => write!(f, " (first: {}", example.ts)?,
        }
        if let Some((source, destination)) = example.addresses.map(Addresses::ends) {
            write!(f, ", {source} > {destination}")?;
        }
        match file {
            Some(file) => write!(f, " in {file})"),
            None => f.write_str(")"),
        }
    }
}
