//! The files of `--baseline` and `--write-baseline`.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use huginn_net::hosts::state::MAX_BASELINE_BYTES;
use huginn_net::hosts::{Baseline, Hosts, ObservationPoint};
use huginn_net::observation::BaselineType;

use crate::args::BaselineArguments;
use crate::failure::Failure;
use crate::paths::{check_directory_writable, name_of, replace_file, resolved};
use crate::read::read_file;

/// The baseline to begin with, of all files; `None` if nothing is compared or written. Of another site than that of the sensor, what is
/// said of local addresses is left out: they are those of other hosts here.
pub(super) fn read(args: &BaselineArguments, point: ObservationPoint) -> Result<Option<Baseline>, Failure> {
    let mut joined = args.write_baseline.as_ref().map(|_| Baseline::new());
    for path in &args.baseline {
        let name = name_of(path);
        let text = read_file(path, MAX_BASELINE_BYTES)?;
        let mut baseline =
            Baseline::parse(&name, &text).map_err(|source| Failure::Baseline { path: name, source })?;
        if let (Some(here), Some(there)) = (point.site.as_deref(), baseline.site())
            && here != there
        {
            baseline.remove_local_hosts();
        }
        match &mut joined {
            Some(joined) => joined.join(&baseline),
            None => joined = Some(baseline),
        }
    }
    Ok(joined.map(|joined| joined.observed_at(point)))
}

/// The file that a baseline is written to at the end.
#[derive(Clone, Debug)]
pub(crate) struct BaselineFile(PathBuf);

impl BaselineFile {
    /// The file of `--write-baseline`, if there is one.
    pub(super) fn new(args: &BaselineArguments) -> Option<Self> {
        args.write_baseline.as_deref().map(|path| Self(resolved(path)))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Checks that the file can be written. Call it after privileges are dropped.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let path = || format!("--write-baseline {}", name_of(&self.0));
        let failed = |source| Failure::Create { path: path(), source };
        if fs::metadata(&self.0).is_ok_and(|found| !found.is_file()) {
            return Err(failed(io::Error::other(
                "not a regular file, which a complete baseline could replace",
            )));
        }
        check_directory_writable(&self.0).map_err(failed)
    }

    /// Replaces the file by the baseline of an analysis.
    pub(crate) fn write(&self, hosts: &Hosts) -> Result<(), Failure> {
        let Some(baseline) = hosts.baseline() else { return Ok(()) };
        let written = replace_file(&self.0, |out| baseline.write_to(out));
        written.map_err(|source| Failure::Create { path: name_of(&self.0), source })
    }
}

/// Numbers of values for which the baseline has no room, by type.
#[derive(Clone, Debug)]
pub(crate) struct BeyondBaseline(Vec<(BaselineType, u64)>);

impl BeyondBaseline {
    /// What an analysis left out; `None` if nothing.
    pub(crate) fn of(hosts: &Hosts) -> Option<Self> {
        let baseline = hosts.baseline()?;
        let left_out = BaselineType::ALL.iter().copied().map(|kind| (kind, baseline.left_out_of(kind)));
        let left_out: Vec<_> = left_out.filter(|(_, count)| *count > 0).collect();
        (!left_out.is_empty()).then_some(Self(left_out))
    }
}

impl fmt::Display for BeyondBaseline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the baseline is full; values not written:")?;
        for (place, (kind, count)) in self.0.iter().enumerate() {
            let separator = if place == 0 { "" } else { "," };
            write!(f, "{separator} {count} of the type '{}'", kind.name())?;
        }
        Ok(())
    }
}
