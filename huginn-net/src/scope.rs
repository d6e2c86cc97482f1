//! The scope of the reports: all findings, or those of p0f.

/// The amount of detail that the analyzer reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// Reports all findings.
    #[default]
    Full,
    /// Reports of a flow only what p0f 3.09b reports: the first packet of a user-space tool ends the flow.
    P0f,
}
