//! What the program shows of events beside the events themselves: hosts, fingerprints, totals, the page of `report` and the
//! terminal view.

pub(crate) mod columns;
pub(crate) mod diff;
mod encoding;
pub(crate) mod fingerprints;
pub(crate) mod follow;
pub(crate) mod hosts;
pub(crate) mod inventory;
pub(crate) mod report;
pub(crate) mod store;
pub(crate) mod terminal;
#[cfg(test)]
mod tests;
pub(crate) mod totals;
