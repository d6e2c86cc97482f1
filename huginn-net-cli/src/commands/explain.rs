//! `huginn-net explain`: descriptions of fingerprints.

use std::io;

use huginn_net::ClientDatabase;
use huginn_net::clients::NamingDatabases;

use crate::args::ExplainArguments;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::plan::ExplainPlan;

pub(super) fn run(args: ExplainArguments) -> Result<Outcome, Failure> {
    let mut out = io::stdout().lock();
    match ExplainPlan::new(args)? {
        ExplainPlan::Describe(fingerprint, NamingDatabases { signatures, clients, .. }) => {
            let clients = clients.as_deref().unwrap_or(ClientDatabase::builtin());
            fingerprint.describe(&mut out, clients, &signatures)?;
        }
        ExplainPlan::Compare(one, other) => {
            let compared = one.compare(&mut out, &other);
            compared.ok_or(Failure::Usage("only two JA4 fingerprints can be compared".into()))??;
        }
    }
    Ok(Outcome::Complete)
}
