//! Categories of options: the headings of help pages, and what holds for the options below each.

use clap::Arg;

/// A heading of help pages. A configuration file may have the options of all categories; options without one, such as `--config`, belong
/// on the command line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Category {
    pub(crate) heading: &'static str,
    /// Whether each output of `live` has these options for itself. SIGHUP may change them.
    pub(crate) is_of_output: bool,
    /// Whether SIGHUP may change these options of the whole program.
    pub(crate) is_reloadable: bool,
    /// Whether `live --extract` selects packets by these options, from its start on.
    pub(crate) selects_packets: bool,
}

impl Category {
    pub(crate) const CAPTURE: Self = Self::new("Capture");
    pub(crate) const INPUT: Self = Self::new("Input");
    pub(crate) const PACKETS: Self =
        Self { is_reloadable: true, selects_packets: true, ..Self::new("Packets") };
    pub(crate) const NAMES: Self = Self { is_reloadable: true, ..Self::new("Names and watch lists") };
    pub(crate) const ANALYSIS: Self = Self::new("Analysis");
    pub(crate) const FINDINGS: Self = Self::new("Connections and findings");
    pub(crate) const SELECTION: Self =
        Self { is_of_output: true, selects_packets: true, ..Self::new("Selection of events") };
    pub(crate) const OUTPUT: Self = Self { is_of_output: true, ..Self::new("Output") };
    pub(crate) const ROTATION: Self =
        Self { is_of_output: true, ..Self::new("Rotation of --output (SIGHUP reopens it)") };
    pub(crate) const MESSAGES: Self = Self::new("Messages and counters");
    pub(crate) const EXTRACT: Self = Self::new("Packets of selected connections");
    pub(crate) const SERVICE: Self = Self::new("Service");
    pub(crate) const LIMITS: Self = Self::new("Output limits ('none': no limit; seconds of packet time)");

    /// All categories, in the order of the example of a configuration file.
    pub(crate) const ALL: [Self; 13] = [
        Self::CAPTURE,
        Self::INPUT,
        Self::PACKETS,
        Self::NAMES,
        Self::ANALYSIS,
        Self::FINDINGS,
        Self::SELECTION,
        Self::OUTPUT,
        Self::ROTATION,
        Self::MESSAGES,
        Self::EXTRACT,
        Self::SERVICE,
        Self::LIMITS,
    ];

    const fn new(heading: &'static str) -> Self {
        Self { heading, is_of_output: false, is_reloadable: false, selects_packets: false }
    }

    /// The category of an option; `None` for those of one command.
    pub(crate) fn of(argument: &Arg) -> Option<&'static Self> {
        const ALL: &[Category] = &Category::ALL;
        ALL.iter().find(|category| argument.get_help_heading() == Some(category.heading))
    }
}
