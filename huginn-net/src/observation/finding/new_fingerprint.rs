//! What a baseline lacks as a finding.

use std::fmt::{self, Display};
use std::sync::Arc;

use huginn_net_core::Timestamp;

use super::BaselineType;

/// A fingerprint, server, issuer or client that a baseline lacks, at its first event; or that was not compared, because the baseline has no
/// room for more.
///
/// [`Display`] is a sentence: `stable JA4 t13d1516h2_8daaf6152771_02713d6af862 is not in base.jsonl: 12 known since
/// 2024-01-01T00:00:00.000000Z`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NewFingerprintFinding {
    /// The type of the value.
    pub kind: BaselineType,
    /// The value.
    pub value: Box<str>,
    /// Number of values of this type in the baseline.
    pub known: u64,
    /// Time of the first packet of the baseline; `None` if it is empty.
    pub since: Option<Timestamp>,
    /// Names of the files of the baseline.
    pub baseline: Arc<str>,
    /// Whether the value was left out: there are as many new ones as a run compares. It is the first one of its type.
    pub is_left_out: bool,
}

impl Display for NewFingerprintFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, value, known, since, baseline, is_left_out } = self;
        match value.split_once(' ') {
            Some((ip, hash)) if *kind == BaselineType::Client => {
                write!(f, "{} of {ip} with the cipher suites {hash}", kind.title())?;
            }
            _ => write!(f, "{} {value}", kind.title())?,
        }
        if *is_left_out {
            return write!(
                f,
                " is not in {baseline}, and there is no room: later new ones of its type are not reported"
            );
        }
        write!(f, " is not in {baseline}: {known} known")?;
        since.iter().try_for_each(|since| write!(f, " since {since}"))
    }
}
