//! The states that `hosts join` joins.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use huginn_net::Database;
use huginn_net::hosts::HostLimits;

use super::databases::signatures;
use super::{DocumentPlan, InputFile, Inputs};
use crate::args::HostsJoinArguments;
use crate::failure::Failure;
use crate::paths::name_of;

/// Maximum number of hosts that are joined: eight full states.
const MAX_JOINED_HOSTS: usize = 1 << 20;

/// Maximum heap memory of joined hosts, in bytes.
const MAX_JOINED_BYTES: usize = 2 << 30;

/// The plan of `hosts join`.
pub(crate) struct HostsJoinPlan {
    pub(crate) files: Vec<PathBuf>,
    pub(crate) limits: HostLimits,
    pub(crate) database: Arc<Database>,
    pub(crate) output: DocumentPlan,
    pub(crate) pages: bool,
}

impl HostsJoinPlan {
    pub(crate) fn new(args: HostsJoinArguments) -> Result<Self, Failure> {
        let HostsJoinArguments { files, output, no_pager, db } = args;
        let mut seen = BTreeSet::new();
        for path in &files {
            // One that cannot be found is reported when it is read.
            if path.canonicalize().is_ok_and(|path| !seen.insert(path)) {
                let message = format!("{} is named twice: its hosts would count twice", name_of(path));
                return Err(Failure::Usage(message.into()));
            }
        }
        let output = DocumentPlan::of_list(&output)?;
        let as_inputs = files.iter().cloned().map(InputFile::found).collect();
        Inputs { files: as_inputs, ..Inputs::default() }.refuse_as_output(&output.target)?;
        let limits = HostLimits::default().max_hosts(MAX_JOINED_HOSTS).max_buffered_bytes(MAX_JOINED_BYTES);
        Ok(Self { files, limits, database: signatures(db.as_deref())?, output, pages: !no_pager })
    }
}
