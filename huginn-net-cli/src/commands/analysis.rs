//! Builds analyzers from the command line.

use std::sync::Arc;
use std::time::Duration;

use huginn_net::core::{DecodeConfig, FlowLimits};
use huginn_net::hosts::HostLimits;
use huginn_net::{Builder, Filter, HuginnNet, Observers, Scope};

use crate::args::{AnalysisArguments, Format, ProtocolArgument};
use crate::commands::{clients, database, fingerprint_list};
use crate::failure::Failure;

/// Builds an analyzer from the arguments, except the filter expression. `input_len` is in bytes, `None` if unknown.
pub(crate) fn builder(
    args: &AnalysisArguments,
    input_len: Option<u64>,
    format: Format,
    hosts: HostLimits,
    profiles: bool,
) -> Result<Builder<Observers>, Failure> {
    let filter = args.port.iter().fold(Filter::new(), |filter, port| filter.port(*port));
    let filter = args.net.iter().fold(filter, |filter, net| filter.net(*net));
    let p0f = format.is_p0f();
    // p0f forgets a flow 30 s after its SYN, and reports a SYN repeated after that again.
    let syn_lifetime = if p0f { Duration::from_secs(30) } else { FlowLimits::default().syn_lifetime };
    let observers = Observers::new(database(args.db.as_deref())?)
        .hosts(hosts)
        .profiles(profiles)
        .connections(args.connections && !p0f)
        .tcp(args.protocols.contains(&ProtocolArgument::Tcp))
        .http(args.protocols.contains(&ProtocolArgument::Http))
        .tls(args.protocols.contains(&ProtocolArgument::Tls) && !p0f)
        .ssh(args.protocols.contains(&ProtocolArgument::Ssh) && !p0f)
        .scope(if p0f { Scope::P0f } else { Scope::Full });
    let observers = match &*args.clients {
        [] => observers,
        paths => observers.clients(Arc::new(clients(paths)?)),
    };
    let observers = if args.ja4_lists.is_empty() {
        observers
    } else {
        observers.fingerprint_list(Arc::new(fingerprint_list(&args.ja4_lists)?))
    };
    Ok(HuginnNet::builder_with(observers)
        .decode(DecodeConfig { verify_checksums: args.checksums, ..DecodeConfig::default() })
        .flow_limits(FlowLimits { syn_lifetime, ..FlowLimits::default() })
        .filter(filter)
        .workers(args.workers.for_input(input_len)))
}

/// An analyzer of the frames that the expression selects, if there is one.
#[cfg(feature = "libpcap")]
pub(crate) fn filtered(
    builder: Builder<Observers>,
    expression: Option<&str>,
) -> Result<Builder<Observers>, Failure> {
    Ok(match expression {
        Some(expression) => builder.bpf(huginn_net::core::Bpf::new(expression)?),
        None => builder,
    })
}

/// Fails if there is a filter expression: this build has no libpcap.
#[cfg(not(feature = "libpcap"))]
pub(crate) fn filtered(
    builder: Builder<Observers>,
    expression: Option<&str>,
) -> Result<Builder<Observers>, Failure> {
    if expression.is_some() { Err(Failure::NoBpf) } else { Ok(builder) }
}
