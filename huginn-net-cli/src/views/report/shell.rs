//! Captures as arguments of a command line.

use std::path::Path;

/// Maximum length of the names of captures in the commands of a report, in bytes: a command fits a screen.
const MAX_REPORT_COMMAND_BYTES: usize = 1000;

/// The captures as arguments of a shell (POSIX) in the folder whose name, with the separator after it, has this length; many
/// captures of that folder are `.`. `None` if a capture cannot be named so: standard input, or a name with control characters.
///
/// Each capture has its path and the name in messages.
pub(crate) fn file_arguments<'a>(
    captures: impl IntoIterator<Item = (&'a Path, String)>,
    folder: usize,
) -> Option<String> {
    let mut arguments = String::new();
    let (mut is_long, mut is_inside) = (false, true);
    for (path, name) in captures {
        // A name in messages differs from the path if something is escaped.
        if path.to_str() != Some(&*name) || name == "-" {
            return None;
        }
        let name = name.get(folder..).filter(|name| !name.is_empty())?;
        is_inside &= !Path::new(name).is_absolute() && !name.split('/').any(|part| part == "..");
        is_long |= arguments.len().saturating_add(name.len()) > MAX_REPORT_COMMAND_BYTES;
        if is_long {
            continue;
        }
        if !arguments.is_empty() {
            arguments.push(' ');
        }
        // These characters begin an option and a list of files.
        let prefix = if name.starts_with(['-', '@']) { "./" } else { "" };
        arguments.push_str(&quoted(&format!("{prefix}{name}")));
    }
    if is_long {
        return is_inside.then(|| ".".to_owned());
    }
    (!arguments.is_empty()).then_some(arguments)
}

/// A word of a shell (POSIX), in quotation marks if it needs them.
fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._/+,:@%".contains(&byte);
    if word.bytes().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(names: &[&str], folder: usize) -> Option<String> {
        file_arguments(names.iter().map(|name| (Path::new(*name), (*name).to_owned())), folder)
    }

    #[test]
    fn names_are_words_of_a_shell() {
        for (name, word) in [
            ("a/b-1.pcap", "a/b-1.pcap"),
            ("a b.pcap", "'a b.pcap'"),
            ("a'; rm -r $HOME; `x`.pcap", "'a'\\''; rm -r $HOME; `x`.pcap'"),
            ("-o.pcap", "./-o.pcap"),
            ("@list", "./@list"),
            ("~x", "'~x'"),
        ] {
            assert_eq!(arguments(&[name], 0).as_deref(), Some(word), "{name}");
        }
        assert_eq!(arguments(&["in/a.pcap", "in/b.pcap"], 3).as_deref(), Some("a.pcap b.pcap"));
    }

    #[test]
    fn captures_that_cannot_be_named_have_no_arguments() {
        assert_eq!(arguments(&["-"], 0), None);
        assert_eq!(file_arguments([(Path::new("a\x1b.pcap"), "a\\x1b.pcap".to_owned())], 0), None);
    }

    #[test]
    fn many_captures_are_their_folder() {
        let names: Vec<String> = (0..1000).map(|n| format!("in/{n}.pcap")).collect();
        let names: Vec<&str> = names.iter().map(|name| &**name).collect();
        assert_eq!(arguments(&names, 3).as_deref(), Some("."));
        assert_eq!(arguments(&[&names[..], &["../a.pcap"]].concat(), 0), None);
        assert_eq!(arguments(&[&["/a.pcap"][..], &names].concat(), 0), None);
    }
}
