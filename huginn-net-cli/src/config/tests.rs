use std::collections::BTreeSet;
use std::fs;

use huginn_net_live::is_pattern;

use super::*;
use crate::args::{Format, LiveArguments};

/// Parses a command line with a file of this text.
fn parse_with(text: &str, typed: &[&str]) -> Result<Box<LiveArguments>, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("huginn-net.toml");
    fs::write(&path, text).unwrap();
    let typed = ["huginn-net", "live"].iter().chain(typed).map(OsString::from);
    let config = [OsString::from("--config"), path.clone().into()];
    match parse(typed.chain(config).collect()) {
        Ok(Ok(Arguments { command: Typed::Live(live) })) => Ok(live),
        Ok(Ok(_)) => panic!("another command"),
        Ok(Err(failure)) => Err(failure.to_string().replace(&name_of(&path), "FILE")),
        Err(error) => Err(reason(&error)),
    }
}

#[test]
fn file_gives_options_and_the_command_line_wins() {
    let text = "interface = ['eth0', 'eth1']\nsnaplen = 2_048\nbuffer = 0x40\nimmediate-mode = true\nquiet = false\n\
                stats-interval = '60s'\nprotocols = ['tls', 'ssh']\nport = 443\n";
    let live = parse_with(text, &[]).unwrap();
    assert_eq!(live.interfaces, ["eth0", "eth1"]);
    assert_eq!((live.capture.snaplen, live.capture.buffer), (2048, 64));
    assert!(live.capture.immediate_mode && !live.run.output.quiet);
    assert_eq!(live.service.stats_interval.unwrap().as_secs(), 60);
    assert_eq!(live.run.analysis.flows.packets.port.len(), 1);

    let live = parse_with(text, &["-i", "lo", "--snaplen", "96", "--tui"]).unwrap();
    assert_eq!(live.interfaces, ["lo"], "a list is replaced, not extended");
    assert_eq!((live.capture.snaplen, live.capture.buffer), (96, 64));
    // --tui excludes --stats-interval.
    assert!(live.tui && live.service.stats_interval.is_none());
    let live = parse_with("interface = 'lo'\nfilter = 'udp'\n", &["tcp", "port", "80"]).unwrap();
    assert_eq!(live.expression, ["tcp", "port", "80"]);
}

#[test]
fn errors_name_line_and_key() {
    for (text, wanted) in [
        ("\ninterfac = 'lo'", "FILE: line 2: no option \"interfac\": did you mean 'interface'?"),
        (
            "interface = 'lo'\nrotate_size = 1",
            "FILE: line 2: no option \"rotate_size\": did you mean 'rotate-size'?",
        ),
        ("config = 'other.toml'", "FILE: line 1: 'config' belongs on the command line"),
        ("check = true", "FILE: line 1: 'check' belongs on the command line"),
        ("interface = 'lo'\nsnaplen = 1", "FILE: line 2: invalid value '1' for '--snaplen <BYTES>'"),
        ("interface = 'lo'\nsnaplen = [64]", "FILE: line 2: 'snaplen' is a text or a number"),
        ("interface = 'lo'\nquiet = 1", "FILE: line 2: 'quiet' is true or false"),
        ("interface = [['lo']]", "FILE: line 1: 'interface' is a text, a number or a list of them"),
        ("[interface]\nname = 'lo'", "FILE: line 1: 'interface' is a text, a number or a list of them"),
        ("interface = 'lo'\ninterface = 'eth0'", "FILE: line 2: duplicate key"),
        ("interface = 'lo'\n\nformat = ", "FILE: line 3: "),
        ("interface = 'lo'\nformat = 'xml'", "FILE: line 2: invalid value 'xml' for '--format <FORMAT>'"),
        ("i = 'lo'", "FILE: line 1: no option \"i\": did you mean 'interface'?"),
        ("\"a\\nb\" = 1", "FILE: line 1: no option \"a\\nb\""),
        (
            "snaplen = 64",
            "the following required arguments were not provided: --interface <IFACE>; neither the command line nor FILE has it",
        ),
        (
            "interface = 'lo'\nrotate-interval = '1h'",
            "the following required arguments were not provided: <--output <FILE>|--zeek-dir <DIR>>; neither",
        ),
    ] {
        let error = parse_with(text, &[]).unwrap_err();
        assert!(error.starts_with(wanted), "{text:?}: {error}");
    }
    for (table, wanted) in [
        ("[[output]]\nformt = 'json'", "FILE: line 3: no option \"formt\": did you mean 'format'?"),
        (
            "[[output]]\nsnaplen = 64",
            "FILE: line 3: 'snaplen' is for the whole program: write it before the first [[output]]",
        ),
        (
            "[[output]]\noutput = 'a'\n\n[[output]]\noutput = 'b'\nrotate-keep = 2",
            "FILE: [[output]] at line 5: the following required arguments were not provided: <--rotate-size <SIZE>|",
        ),
        ("[[output]]\nconfig = 'x'", "FILE: line 3: 'config' belongs on the command line"),
        (
            "[[output]]\n[[output]]\nformat = 'xml'",
            "FILE: line 4: invalid value 'xml' for '--format <FORMAT>'",
        ),
        (
            "output = ['a', 'b']",
            "FILE: line 2: 'output' is a text, or there is a table [[output]] for each output",
        ),
        ("[output]\nformat = 'json'", "FILE: line 2: 'output' is a text, or there is a table [[output]]"),
        ("output = 'a'\n[[output]]", "FILE: line 3: "),
        (&*"[[output]]\n".repeat(MAX_OUTPUTS + 1), "FILE: more than 16 outputs"),
    ] {
        let error = parse_with(&format!("interface = 'lo'\n{table}"), &[]).unwrap_err();
        assert!(error.starts_with(wanted), "{table:?}: {error}");
        // Another output does not hide the errors of tables.
        if table.starts_with("[[output]]\n") {
            let error = parse_with(&format!("interface = 'lo'\n{table}"), &["-o", "x"]).unwrap_err();
            assert!(error.starts_with(wanted), "{table:?}: {error}");
        }
    }
    let many: String = (0..60_000).map(|number| format!("key-{number} = 1\n")).collect();
    assert!(parse_with(&many, &[]).unwrap_err().starts_with("FILE: line 1: no option \"key-0\""));
    let typed = parse_with("interface = 'lo'", &["--snaplen", "1"]).unwrap_err();
    assert!(typed.starts_with("invalid value '1' for '--snaplen <BYTES>'"), "{typed}");
}

/// The values of an option in each output.
fn of_outputs<T>(live: &LiveArguments, value: impl Fn(&LiveArguments) -> T) -> Vec<T> {
    live.outputs.iter().map(value).collect()
}

#[test]
fn outputs_have_their_own_options_and_those_of_the_program() {
    let text = "interface = 'lo'\nformat = 'json'\nevents = ['tls_client']\nrotate-size = '1M'\n\
                [[output]]\noutput = 'a'\n[[output]]\noutput = 'b'\nformat = 'eve'\nonly-matches = true\nrotate-keep = 2\n";
    let with_lists = text.replacen('\n', "\nfingerprints = 'list'\n", 1);
    let live = parse_with(&with_lists, &[]).unwrap();
    let output = |live: &LiveArguments| live.run.output.output.clone().unwrap().to_str().unwrap().to_owned();
    assert_eq!(of_outputs(&live, output), ["a", "b"]);
    assert_eq!(of_outputs(&live, |live| live.run.output.format), [Format::Json, Format::Eve]);
    // --only-matches excludes --events.
    assert_eq!(of_outputs(&live, |live| live.run.output.events.len()), [1, 0]);
    let rotation = |live: &LiveArguments| (live.rotation.rotate_size, live.rotation.rotate_keep);
    assert_eq!(of_outputs(&live, rotation), [(Some(1_000_000), None), (Some(1_000_000), Some(2))]);

    // The command line wins: an option in each output, and -o for all of them.
    let live = parse_with(&with_lists, &["--format", "csv"]).unwrap();
    assert_eq!(of_outputs(&live, |live| live.run.output.format), [Format::Csv; 2]);
    let live = parse_with(&with_lists, &["-o", "c"]).unwrap();
    assert_eq!(of_outputs(&live, output), ["c"]);
    let text = "interface = 'lo'\nrotate-keep = 3\n[[output]]\noutput = 'x'\nrotate-interval = '1h'\n";
    assert_eq!(of_outputs(&parse_with(text, &[]).unwrap(), |live| live.rotation.rotate_keep), [Some(3)]);
    let text = "interface = 'lo'\nrotate-interval = '1h'\n[[output]]\nformat = 'zeek-tsv'\nzeek-dir = 'x'\n";
    let zeek_dir = |live: &LiveArguments| live.zeek_dir.clone();
    assert_eq!(of_outputs(&parse_with(text, &[]).unwrap(), zeek_dir), [Some("x".into())]);
    let live = parse_with(text, &["--format", "zeek", "--zeek-dir", "y"]).unwrap();
    assert_eq!(of_outputs(&live, zeek_dir), [Some("y".into())]);
    let live = parse_with("interface = 'lo'\n[[output]]\n[[output]]\noutput = 'x'\n", &[]).unwrap();
    assert_eq!(of_outputs(&live, |live| live.run.output.output.is_some()), [false, true]);
}

#[test]
fn every_option_of_an_output_is_one_of_the_program() {
    let program = Arguments::command();
    let of_output = live(&program).unwrap().get_arguments().filter(|argument| is_of_output(argument));
    let here: BTreeSet<&str> = of_output.filter_map(Arg::get_long).collect();
    assert!(here.contains("where") && here.contains("rotate-size") && here.len() > 15, "{here:?}");
    let text = example();
    let (_, table) = text.split_once("#[[output]]\n").unwrap();
    let keys = table.lines().map(|line| line.strip_prefix('#').unwrap().split_once(" = ").unwrap().0);
    assert_eq!(keys.collect::<BTreeSet<_>>(), here);
}

#[test]
fn example_has_every_option_and_its_defaults_are_valid() {
    let text = example();
    let (text, _) = text.split_once("#[[output]]").unwrap();
    let program = Arguments::command();
    let keys: BTreeSet<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix('#')?.split_once(" = "))
        .map(|(key, _)| key)
        .filter(|key| !key.contains(' '))
        .collect();
    let wanted: BTreeSet<&str> = live(&program)
        .unwrap()
        .get_arguments()
        .filter(|argument| is_key(argument))
        .filter_map(Arg::get_long)
        .collect();
    assert_eq!(keys, wanted);
    assert!(wanted.len() > 40, "{wanted:?}");

    // The keys whose value is a default, not a form.
    let has_default = |argument: &&Arg| is_key(argument) && !argument.get_default_values().is_empty();
    let with_default: Vec<&str> =
        live(&program).unwrap().get_arguments().filter(has_default).filter_map(Arg::get_long).collect();
    // Options that others need.
    let mut on =
        String::from("interface = 'lo'\np0f-socket = 'socket'\nextract = 'packets'\nfindings = true\n");
    for line in text.lines().filter_map(|line| line.strip_prefix('#')) {
        let key = line.split_once(" = ").map_or("", |(key, _)| key);
        if with_default.contains(&key) {
            on.push_str(line);
            on.push('\n');
        }
    }
    let live = parse_with(&on, &[]).unwrap();
    assert_eq!(live.capture.snaplen, 1 << 18);
}

#[test]
fn files_of_the_project_are_valid() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dist");
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let live = parse_with(&read("huginn-net.toml"), &[]).unwrap();
    assert!(live.service.p0f_socket.is_some());
    let page = read("../docs/operating.md");
    let blocks = page.split("```toml\n").skip(1).map(|block| block.split_once("```").unwrap().0);
    // Others are configurations of collectors.
    let outputs = blocks
        .filter(|text| text.starts_with("interface = "))
        .map(|text| parse_with(text, &[]).unwrap().outputs.len());
    assert_eq!(outputs.collect::<Vec<_>>(), [1, 4]);
    let manifest = read("kubernetes.yaml");
    let (_, text) = manifest.split_once("huginn-net.toml: |\n").unwrap();
    let lines: Vec<&str> = text.lines().map_while(|line| line.strip_prefix("    ")).collect();
    let live = parse_with(&lines.join("\n"), &[]).unwrap();
    assert!(live.service.metrics.is_some() && live.interfaces.iter().all(|name| is_pattern(name)));
}
