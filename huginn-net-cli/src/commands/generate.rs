//! `huginn-net generate`: man pages, shell completions and an example of a configuration file, from the definition of the command
//! line.

use std::io::{self, Write};

use clap::{Command, CommandFactory};
use clap_complete::Shell;

use crate::args::{Arguments, GenerateCommand};
#[cfg(unix)]
use crate::config;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::paths::name_of;

pub(super) fn run(command: GenerateCommand) -> Result<Outcome, Failure> {
    let program = Arguments::command();
    match command {
        GenerateCommand::Man { folder } => clap_mangen::generate_to(program, &folder)
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", name_of(&folder))))?,
        #[cfg(unix)]
        GenerateCommand::Config => io::stdout().lock().write_all(config::example().as_bytes())?,
        GenerateCommand::Completions { shell } => {
            io::stdout().lock().write_all(completions(program, shell)?.as_bytes())?;
        }
    }
    Ok(Outcome::Complete)
}

fn completions(mut program: Command, shell: Shell) -> io::Result<String> {
    let name = program.get_name().to_owned();
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut program, &*name, &mut text);
    let text = String::from_utf8(text).map_err(io::Error::other)?;
    Ok(match shell {
        // clap_complete writes the hyphen of the program's name in two ways, so that no subcommand would match:
        // https://github.com/clap-rs/clap/issues/6421
        Shell::Bash => text.replace(&name.replace('-', "__subcmd__"), &name.replace('-', "__")),
        _ => text,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    /// Checks the page of a command and those of its subcommands; returns their number.
    fn check_pages(command: &Command, folder: &Path) -> usize {
        let name = command.get_display_name().unwrap_or_else(|| command.get_name());
        let page = fs::read_to_string(folder.join(format!("{name}.1"))).unwrap();
        // roff(7) prints a hyphen for a plain '-'; the escaped one is a minus sign, which users can copy.
        let text = page.replace(r"\-", "-");
        assert!(text.starts_with(".ie") && text.contains(&format!(".TH {name} 1")), "{page}");
        for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
            if let Some(long) = argument.get_long() {
                assert!(text.contains(&format!("--{long}\\fR")), "{name} --{long}");
            }
        }
        let subcommands = command.get_subcommands().filter(|command| command.get_name() != "help");
        subcommands.fold(1, |pages, command| pages.saturating_add(check_pages(command, folder)))
    }

    #[test]
    fn each_command_has_a_page_with_its_options() {
        let folder = tempfile::tempdir().unwrap();
        run(GenerateCommand::Man { folder: folder.path().to_owned() }).unwrap();
        let mut program = Arguments::command();
        program.build();
        let pages = check_pages(&program, folder.path());
        assert!(pages > 10, "{pages}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), pages, "no page without a command");
    }
}
