//! The events and the hosts of captures, folded into what a view shows.

use huginn_net::hosts::{HostLimits, JoinedHosts};
use huginn_net::{Event, HuginnNet};

use crate::failure::Failure;
use crate::output::Selected;
use crate::run::{CaptureOutcome, Networks, OpenCapture, Visitor};
use crate::views::store::{Part, Store};

/// Folds the selected events and the hosts of captures.
pub(super) struct Fold {
    pub(super) store: Store,
    pub(super) hosts: JoinedHosts,
    pub(super) selected: Selected,
    pub(super) networks: Networks,
}

impl Fold {
    /// Fills these parts of a store with all events, as if the captures were of one network.
    pub(super) fn new(parts: &[Part], limits: &HostLimits) -> Self {
        Self {
            store: Store::new(parts),
            hosts: JoinedHosts::new(limits),
            selected: Selected::default(),
            networks: Networks::default(),
        }
    }
}

impl Visitor for Fold {
    fn analyze(&mut self, analyzer: &mut HuginnNet, capture: &mut OpenCapture<'_>) -> CaptureOutcome {
        let Self { store, selected, networks, .. } = self;
        store.begin_file(capture.index, networks.of(capture.index));
        let outcome = analyzer.analyze_ref(&mut capture.source, |event: &Event| {
            if selected.contains(event, capture.name.as_deref(), None) {
                store.add(event);
            }
        });
        store.end_file();
        outcome.map(drop)
    }

    fn end_capture(&mut self, analyzer: &HuginnNet, capture: &OpenCapture<'_>) -> Result<(), Failure> {
        self.hosts.add(analyzer.shared_state(), self.networks.of(capture.index).as_ref());
        Ok(())
    }
}
