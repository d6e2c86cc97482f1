//! The plans of `follow` and `diff`.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use huginn_net::core::{Escaped, IpNet};
use huginn_net::explain::Fingerprint;
use huginn_net::hosts::{FindingSettings, HostLimits};
use huginn_net::record::EVENT_NAMES;
use huginn_net::{Configure, HuginnNet};

use super::events::{Scope, Written};
use super::{AnalysisPlan, DocumentPlan, Inputs, refusals, select};
use crate::args::{DiffArguments, FollowArguments, NetworkArguments};
use crate::failure::Failure;
use crate::output::Selected;
use crate::paths::name_of;
use crate::views::diff::COMPARED_EVENTS;
use crate::views::follow::Subject;

/// Limits of the hosts: the plans cover the complete captures.
pub(crate) fn host_limits() -> HostLimits {
    HostLimits::default().idle_timeout(Duration::MAX)
}

/// The plan of `follow`.
pub(crate) struct FollowPlan {
    pub(crate) inputs: Inputs,
    pub(crate) analyzer: HuginnNet,
    pub(crate) networks: NetworkArguments,
    pub(crate) subject: Subject,
    pub(crate) selected: Selected,
    pub(crate) output: DocumentPlan,
}

impl FollowPlan {
    pub(crate) fn new(args: FollowArguments) -> Result<Self, Failure> {
        // Connections and findings are shown, but there are no watch lists.
        let kinds: Vec<&'static str> =
            EVENT_NAMES.iter().copied().filter(|event| *event != "match").collect();
        let written = Written { kinds: &kinds, by: "follow does not show" };
        let scope = Scope::of_view(&args.analysis.protocols.protocols, written);
        select::check_kinds(&args.select, &scope)?;
        let output = DocumentPlan::of_list(&args.output)?;
        let selected = select::selected(&args.select, Vec::new())?;
        let FollowArguments { mut values, server, fingerprint, limits, analysis, networks, .. } = args;
        let subject = match (server, fingerprint) {
            (Some(server), _) => of_server(&server)?,
            (None, Some(value)) => Subject::Fingerprint(value),
            (None, None) => {
                check_order(&values)?;
                first_value(&values.remove(0))?
            }
        };
        let inputs = Inputs::find_files(&values, limits, &analysis.protocols.keylog)?;
        inputs.report_key_logs(output.is_quiet, false);
        inputs.refuse_as_output(&output.target)?;
        let plan = AnalysisPlan::new(&analysis)?.configure(|builder| {
            let findings = Some(FindingSettings::default());
            builder.hosts(host_limits()).profiles(true).connections(true).handshakes(true).findings(findings)
        });
        let analyzer = plan.build_for(&inputs)?;
        Ok(Self { inputs, analyzer, networks, subject, selected, output })
    }
}

/// An address is a host, and everything else the name of a server.
fn first_value(value: &Path) -> Result<Subject, Failure> {
    let text = value.to_str().ok_or_else(|| Failure::Usage("the name is not UTF-8".into()))?;
    Ok(match text.parse::<IpAddr>() {
        Ok(ip) => Subject::Host(ip.to_canonical()),
        Err(_) => of_server(text)?,
    })
}

/// Checks that captures follow what is followed.
fn check_order(values: &[PathBuf]) -> Result<(), Failure> {
    let is_address = |path: &Path| path.to_str().is_some_and(|text| text.parse::<IpAddr>().is_ok());
    let is_capture = |path: &Path| {
        path.exists() || path.as_os_str().as_encoded_bytes().starts_with(b"@") || path.as_os_str() == "-"
    };
    let advice = match values {
        [only] if !is_address(only) && is_capture(only) => {
            format!(
                "name a host or a server before the capture: 'huginn-net follow ADDRESS {}'",
                name_of(only)
            )
        }
        [only] => format!("name a capture, too: 'huginn-net follow {} FILE'", name_of(only)),
        [first, others @ ..]
            if !is_address(first) && is_capture(first) && others.iter().any(|path| !is_capture(path)) =>
        {
            "name the host or server before the captures: 'huginn-net follow ADDRESS FILE'".to_owned()
        }
        _ => return Ok(()),
    };
    Err(Failure::Usage(advice.into()))
}

fn of_server(text: &str) -> Result<Subject, Failure> {
    if let Ok(ip) = text.parse::<IpAddr>() {
        return Ok(Subject::ServerAddress(ip.to_canonical()));
    }
    match other_form(text) {
        Some(advice) => Err(Failure::Usage(advice.into())),
        None => Ok(Subject::ServerName(without_port(text).to_ascii_lowercase())),
    }
}

/// What to write instead of a text that is neither an address nor a name.
fn other_form(text: &str) -> Option<String> {
    let shown = Escaped(text.as_bytes());
    if text.parse::<IpNet>().is_ok() {
        return Some(format!(
            "'{shown}' is a network: follow takes one address, and 'huginn-net pcap --net {shown} FILE' shows a network"
        ));
    }
    if let Ok(end) = text.parse::<SocketAddr>() {
        return Some(format!("'{shown}' has a port: write '{}'", end.ip()));
    }
    if !text.contains('.') && text.parse::<Fingerprint>().is_ok() {
        return Some(format!("'{shown}' is a fingerprint: write --fingerprint {shown}"));
    }
    if text.contains("[.]") && !text.contains("://") {
        return Some(format!(
            "'{shown}' is not a name: write '{}'",
            Escaped(text.replace("[.]", ".").as_bytes())
        ));
    }
    if let Some((_, rest)) = text.split_once("://") {
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let host = host.replace("[.]", ".");
        return Some(format!("'{shown}' is a URL: write '{}'", Escaped(host.as_bytes())));
    }
    if text.starts_with('.') || text.contains('*') {
        let pattern = if text.contains('*') { text.to_owned() } else { format!("*{text}") };
        return Some(format!(
            "'{shown}' is several names, and follow takes one: huginn-net pcap --where \"sni ~ '{}'\" FILE shows all",
            Escaped(pattern.as_bytes())
        ));
    }
    let is_name = !text.is_empty() && !text.contains(['/', '\\']) && !text.contains(char::is_whitespace);
    (!is_name).then(|| format!("'{shown}' is neither an address nor the name of a server"))
}

/// A name without a port, which may follow it in a Host header. Addresses stay as they are.
fn without_port(text: &str) -> &str {
    match text.rsplit_once(':') {
        Some((name, port)) if is_port_of_name(name, port) => name,
        _ => text,
    }
}

fn is_port_of_name(name: &str, port: &str) -> bool {
    let is_name = !name.is_empty() && !name.contains([':', '[']) && name.parse::<IpAddr>().is_err();
    is_name && port.bytes().all(|byte| byte.is_ascii_digit())
}

/// The plan of `diff`.
pub(crate) struct DiffPlan {
    /// Captures and analyzers of before and after.
    pub(crate) sides: [(Inputs, HuginnNet); 2],
    pub(crate) selected: Selected,
    pub(crate) output: DocumentPlan,
}

impl DiffPlan {
    pub(crate) fn new(args: DiffArguments) -> Result<Self, Failure> {
        let written = Written { kinds: &COMPARED_EVENTS, by: "diff does not compare" };
        let scope = Scope::of_view(&args.analysis.protocols.protocols, written);
        select::check_kinds(&args.select, &scope)?;
        let output = DocumentPlan::of_list(&args.output)?;
        let DiffArguments { before, after, limits, analysis, .. } = args;
        let is_stdin = |path: &&PathBuf| path.as_os_str() == "-" || path.as_os_str() == "@-";
        refusals::STDIN_TWICE.check([&before, &after].iter().all(is_stdin))?;
        let side = |path: PathBuf| -> Result<(Inputs, HuginnNet), Failure> {
            let inputs = Inputs::find_files(&[path], limits, &analysis.protocols.keylog)?;
            inputs.refuse_as_output(&output.target)?;
            let plan = AnalysisPlan::new(&analysis)?;
            let plan = plan.configure(|builder| builder.hosts(host_limits()).profiles(true).handshakes(true));
            let analyzer = plan.build_for(&inputs)?;
            Ok((inputs, analyzer))
        };
        let sides = [side(before)?, side(after)?];
        // Both sides read the same key logs.
        sides[0].0.report_key_logs(output.is_quiet, false);
        let selected = select::selected(&args.select, Vec::new())?;
        Ok(Self { sides, selected, output })
    }
}
