//! `huginn-net generate`.

use std::path::PathBuf;

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum GenerateCommand {
    /// Write a man page for the program and one for each command
    Man {
        /// Existing directory for the pages
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
    /// Print an example of a configuration file for 'live --config'
    #[cfg(unix)]
    Config,
    /// Print completions for a shell
    Completions {
        /// Shell that reads them
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
}
