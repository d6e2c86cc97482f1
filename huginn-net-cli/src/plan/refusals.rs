//! The combinations of options that the program refuses, beside those that the definition of the command line excludes.
//!
//! A rule speaks of what an option asks for: `--no-pager` with JSON is accepted, because no pager starts; `--color always` with JSON is
//! refused, because JSON has no colours.

use crate::failure::Failure;

/// A combination of options without effect.
pub(super) struct Refusal {
    /// A command line that has it.
    #[cfg_attr(not(test), expect(dead_code, reason = "the page and its test show examples"))]
    example: &'static str,
    /// What to do, with `{}` in place of names.
    advice: &'static str,
}

impl Refusal {
    /// Fails if a command line has the combination.
    pub(super) fn check(&self, has: bool) -> Result<(), Failure> {
        if has { Err(self.failure(&[])) } else { Ok(()) }
    }

    /// The error, with these names.
    pub(super) fn failure(&self, names: &[&str]) -> Failure {
        Failure::Usage(self.advice(names).into())
    }

    /// What to do, with these names.
    pub(super) fn advice(&self, names: &[&str]) -> String {
        names.iter().fold(self.advice.to_owned(), |advice, name| advice.replacen("{}", name, 1))
    }
}

macro_rules! refusals {
    ($($name:ident: $example:literal => $advice:literal;)*) => {
        $(pub(super) const $name: Refusal = Refusal { example: $example, advice: $advice };)*

        #[cfg(test)]
        const ALL: &[Refusal] = &[$($name),*];
    };
}

refusals! {
    STDIN_TWICE: "pcap - -" => "standard input can be read only once: name it once";
    KEY_LOG_WITHOUT_HTTP: "pcap --protocols tcp,tls --keylog LIST FILE"
        => "--keylog reports the HTTP inside TLS: add http to --protocols, or leave --keylog out";
    OF_HUMAN_FORMAT: "pcap --format json --local-time FILE" => "{} is for --format human";
    COLOUR: "pcap --format json --color always FILE"
        => "--color is for events of --format human: others have no colours";
    P0F_OPTION: "pcap --format p0f --findings FILE"
        => "--format p0f has what p0f logs: leave {} out, or choose another format";
    P0F_PROTOCOLS: "pcap --format p0f --protocols tls FILE"
        => "--format p0f has TCP and HTTP only: add one of them to --protocols, or choose another format";
    P0F_EVENT: "pcap --format p0f --events tls_client FILE"
        => "--format p0f has no event '{}': choose another format";
    EVENT_NEEDS: "pcap --events tls_client --protocols tcp FILE" => "the event '{}' needs {}";
    FIELD_NEEDS: "pcap --where finding=='new_fingerprint' FILE" => "the {} '{}' needs {}";
    FINDINGS_LEFT_OUT: "pcap --events tcp_syn --findings FILE"
        => "{} reports the event 'finding': add it to --events, or leave {} out";
    FIELDS_FORMAT: "pcap --fields ts FILE" => "--fields selects fields of --format json, csv, tsv, parquet or arrow";
    FIELD_NOT_WRITTEN: "pcap --format csv --fields ja4_stable --events uptime FILE"
        => "--fields: no event that is written has the field '{}': {} it";
    OWN_FIELDS_FORMAT: "pcap --add-field site=berlin FILE"
        => "--sensor-name and --add-field are for formats of programs, as is --site: human and p0f have no fields";
    CONNECTION_IDS: "pcap --connection-ids --format eve FILE"
        => "--connection-ids is for --format json with all fields, parquet and arrow: --fields connection_id writes them too, and other formats \
            have numbers of connections of their own";
    CERTIFICATES_FORMAT: "pcap --certificates once FILE"
        => "--certificates once is for --format json with all fields";
    CERTIFICATES_SOCKET: "live -i IFACE -o tcp:localhost:9000 --format json --certificates once"
        => "--certificates once is for files and standard output: a socket has no beginning for its readers";
    TIMES: "pcap --from 2022-01-02 --to 2022-01-02 FILE"
        => "--to is not after --from: no time is between them";
    ZEEK_FORMAT: "pcap --format json --zeek-dir target FILE"
        => "--zeek-dir is for logs of Zeek: add --format zeek or zeek-tsv, or leave it out";
    SOCKET_OF_CAPTURES: "pcap -o tcp:localhost:9000 FILE"
        => "only 'live' writes to sockets; ./{} names a file";
    TLS_OPTIONS: "live -i IFACE -o tcp:localhost:9000 --tls-ca FILE"
        => "--tls-ca, --tls-cert, --tls-key and --tls-server-name are for -o tls:HOST:PORT and syslog:tls:HOST:PORT";
    SYSLOG_BLOCKS: "live -i IFACE -o syslog:udp:localhost:514 -v"
        => "messages of syslog are lines: leave --verbose out";
    TERMINAL_VIEW: "live -i IFACE --tui --format json"
        => "--tui shows all events: --format, --events, --where and --color are for events in a file, which -o FILE names";
    PARQUET_ROTATION: "live -i IFACE --format parquet"
        => "--format parquet of 'live' needs -o FILE, and --rotate-interval, --rotate-size or --hour-folders: a file can be read once it is complete";
    ROTATION_WITHOUT_FILE: "live -i IFACE -o - --rotate-size 1M"
        => "only a file can be rotated: name one with -o, or leave --rotate-size and --rotate-interval out";
    PARQUET_OPTION: "pcap --format json --tables -o target/tables FILE"
        => "{} is for --format parquet";
    ANONYMOUS_PACKETS: "extract --anonymize FILE -o OUT.pcapng FILE"
        => "packets that are written keep their addresses: leave --anonymize out";
    INTERFACE_TRACKING: "live -i any --interface-tracking"
        => "--interface-tracking is for interfaces that -i names: those that a pattern matches may share a connection";
    STATISTICS_FORMAT: "live -i IFACE --format csv --statistics 60s"
        => "--statistics is for --format json, eve, zeek, ecs and ocsf: other formats and --zeek-dir have no place for numbers and counters";
    PINNED_WORKERS: "live -i IFACE --pin 0-1 -w 3" => "--pin names {} for {} workers: leave -w out";
    PINNED_QUEUES: "live -i IFACE --pin 0-1 -c 5"
        => "--pin with several workers needs a queue for each: leave -c, --backend libpcap, streams and UDP ports without queues out";
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;
    use std::path::Path;
    use std::{env, fs};

    use clap::{Arg, Command, CommandFactory};

    use super::*;
    use crate::args::{Arguments, Category};

    const HEAD: &str = "\
# Options

`huginn-net help COMMAND` explains each option. This page lists the options that several commands have, and the combinations that the
program refuses.

## Commands and categories

The headings are those of the help pages. A configuration file of `live` may have each of these options that `live` has.
*Output*: each table `[[output]]` of the file may have the option. *Reload*: SIGHUP may change it.

";

    const REFUSED: &str = "
## Refused

The program ends with status 2, and says what to do. `…` stands for names. A test runs each line: `FILE` is a capture, `IFACE` an
interface, and `LIST` a watch list.

| `huginn-net` | what to do |
|---|---|
";

    /// All commands but `help`.
    fn commands(program: &Command) -> impl Iterator<Item = &Command> {
        program.get_subcommands().filter(|command| command.get_name() != "help")
    }

    /// The options with a category.
    fn options(command: &Command) -> impl Iterator<Item = (&Arg, &'static Category)> {
        command.get_arguments().filter_map(|argument| Some((argument, Category::of(argument)?)))
    }

    fn page() -> String {
        let program = Arguments::command();
        let mut page = HEAD.to_owned();
        for category in &Category::ALL {
            let mut rows: Vec<(&str, Vec<&str>)> = Vec::new();
            for command in commands(&program) {
                for (option, _) in options(command).filter(|(_, of_option)| *of_option == category) {
                    let long = option.get_long().unwrap();
                    match rows.iter_mut().find(|(name, _)| *name == long) {
                        Some((_, commands)) => commands.push(command.get_name()),
                        None => rows.push((long, vec![command.get_name()])),
                    }
                }
            }
            let mut notes = Vec::new();
            notes.extend(category.is_of_output.then_some("*output*"));
            notes.extend((category.is_of_output || category.is_reloadable).then_some("*reload*"));
            let notes = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join(", ")) };
            let _ = writeln!(page, "### {}{notes}\n\n| options | commands |\n|---|---|", category.heading);
            // Options of the same commands share a row.
            while let Some((_, commands)) = rows.first().cloned() {
                let of_row: Vec<String> = rows
                    .extract_if(.., |(_, other)| *other == commands)
                    .map(|(long, _)| format!("`--{long}`"))
                    .collect();
                let _ = writeln!(page, "| {} | {} |", of_row.join(", "), commands.join(", "));
            }
            page.push('\n');
        }
        page.truncate(page.trim_end().len());
        page.push('\n');
        page.push_str(REFUSED);
        for Refusal { example, advice } in ALL {
            let _ = writeln!(page, "| `{example}` | {} |", advice.replace("{}", "…"));
        }
        page
    }

    /// `WRITE_PAGES=1 cargo test -p huginn-net-cli options_page` writes the page.
    #[test]
    fn options_page_is_current() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/options.md");
        if env::var_os("WRITE_PAGES").is_some() {
            fs::write(&path, page()).unwrap();
        }
        assert!(page() == fs::read_to_string(path).unwrap(), "docs/options.md is not current");
        assert!(ALL.len() <= 30);
    }

    #[test]
    fn every_option_has_a_category_and_every_category_an_option() {
        let program = Arguments::command();
        let mut used = Vec::new();
        for command in commands(&program) {
            for argument in command.get_arguments().filter(|argument| !argument.is_positional()) {
                let category = Category::of(argument);
                assert_eq!(category.is_some(), argument.get_help_heading().is_some(), "{argument}");
                used.extend(category);
            }
        }
        assert!(Category::ALL.iter().all(|category| used.contains(&category)));
        let live = commands(&program).find(|command| command.get_name() == "live");
        let without = live
            .into_iter()
            .flat_map(Command::get_arguments)
            .filter(|argument| argument.get_long().is_some() && Category::of(argument).is_none());
        let without: Vec<&str> = without.filter_map(Arg::get_long).collect();
        assert_eq!(without, ["config", "check"], "all others may stand in a configuration file");
    }

    #[test]
    fn texts_of_help_pages_fit_a_terminal() {
        fn check(command: &Command) {
            if let Some(text) = command.get_after_help().map(ToString::to_string) {
                let longest = text.lines().max_by_key(|line| line.len()).unwrap_or_default();
                assert!(longest.len() <= 80, "{}: {longest}", command.get_name());
            }
            command.get_subcommands().for_each(check);
        }
        check(&Arguments::command());
        for command in Arguments::command().get_subcommands() {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            assert!(about.len() <= 64, "a line in the list of commands: {about}");
        }
    }
}
