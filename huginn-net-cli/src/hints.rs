//! Hints for options of p0f, tcpdump and tshark that this program spells differently.

use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Options of other programs, and what does the same here.
const HINTS: [(&str, &str); 15] = [
    ("-r", "capture files need no option: 'huginn-net pcap FILE'; 'huginn-net p0f' takes the options of p0f"),
    ("-R", "directories need no option: 'huginn-net pcap DIR'"),
    ("-i", "'huginn-net live -i IFACE' captures from an interface"),
    ("-f", "'--db FILE' replaces the signature database; 'huginn-net p0f' takes the options of p0f"),
    (
        "-s",
        "'huginn-net live --p0f-socket PATH' answers queries of p0f's API; packets are captured completely",
    ),
    ("-u", "'huginn-net live --user NAME' drops privileges"),
    ("-d", "a service manager or 'huginn-net p0f -d' runs the program in the background"),
    ("-L", "'huginn-net interfaces' lists the interfaces"),
    ("-D", "'huginn-net interfaces' lists the interfaces"),
    ("-n", "addresses are never resolved: leave it out"),
    ("-nn", "addresses are never resolved: leave it out"),
    ("-T", "'--format json' writes JSON Lines"),
    ("-e", "'--format json' writes all fields as JSON Lines"),
    ("-Y", "'--port', '--net' and '--filter' select packets"),
    ("-t", "times are those of the capture, in UTC; 'huginn-net p0f -t' sets timeouts"),
];

/// Returns a hint for a usage error.
pub(crate) fn hint(error: &clap::Error) -> Option<&'static str> {
    if let Some(ContextValue::String(command)) = error.get(ContextKind::InvalidSubcommand) {
        let is_path = Path::new(command).exists() || command.contains(['/', '.']);
        return is_path.then_some("capture files need a command: 'huginn-net pcap FILE'");
    }
    let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg) else { return None };
    match error.kind() {
        ErrorKind::UnknownArgument => {
            HINTS.iter().find(|(option, _)| option == argument).map(|(_, hint)| *hint)
        }
        ErrorKind::ValueValidation if argument.starts_with("--workers") => {
            Some("-w is the number of worker threads; packets are not written to files")
        }
        _ => None,
    }
}
