//! Writes the flow of an event as JSON; caches the text, because consecutive events often share a flow.

use std::cell::Cell;

use huginn_net_core::FlowId;

use super::object::Object;
use crate::CommunityId;

thread_local! {
    /// Flow text of the last event that this thread wrote.
    static LAST: Cell<Option<Box<FlowText>>> = const { Cell::new(None) };
}

/// Cached JSON fields of a flow.
#[derive(Default)]
struct FlowText {
    flow: Option<FlowId>,
    /// Fields before the subject of the event.
    ends: Vec<u8>,
    /// Fields after the subject.
    identity: Vec<u8>,
}

/// Writes `client`, `server`, `subject`, `tunnel` and `community_id`. The object must have a field already.
pub(super) fn write(object: &mut Object<'_>, flow: &FlowId, subject: &str) {
    let mut text = LAST.try_with(Cell::take).ok().flatten().unwrap_or_default();
    if text.flow.as_ref() != Some(flow) {
        text.become_that_of(flow);
    }
    object.fields(&text.ends);
    object.plain("subject", subject);
    object.fields(&text.identity);
    // The thread-local cache is gone while the thread ends.
    let _ = LAST.try_with(|last| last.set(Some(text)));
}

impl FlowText {
    fn become_that_of(&mut self, flow: &FlowId) {
        self.ends.clear();
        let mut ends = Object::resume(&mut self.ends);
        ends.endpoint("client", flow.client);
        ends.endpoint("server", flow.server);
        self.identity.clear();
        let mut identity = Object::resume(&mut self.identity);
        if let Some(tunnel) = &flow.tunnel {
            identity.texts("tunnel", tunnel.layers());
        }
        identity.plain("community_id", CommunityId::from_flow(flow).text());
        self.flow = Some(flow.clone());
    }
}

#[cfg(test)]
mod tests {
    use std::iter;
    use std::thread;

    use super::*;
    use crate::{CaptureReader, Event, HuginnNet};

    fn flows(capture: &str) -> Vec<FlowId> {
        let path = crate::captures::path(capture);
        let mut events: Vec<Event> = Vec::new();
        HuginnNet::builder().build().analyze(CaptureReader::open(path).unwrap(), &mut events).unwrap();
        events.into_iter().map(|event| event.flow).collect()
    }

    fn text(flow: &FlowId) -> String {
        let mut out = Vec::new();
        write(&mut Object::resume(&mut out), flow, "client");
        String::from_utf8(out).unwrap()
    }

    /// Covers flows with and without a tunnel between the same ends, consecutively and alternately.
    #[test]
    fn cached_text_does_not_change_output() {
        let tagged = flows("made-qinq.pcap");
        let mut plain = tagged.clone();
        plain.iter_mut().for_each(|flow| flow.tunnel = None);
        let by_turns = iter::zip(&plain, &tagged).flat_map(|(one, other)| [one, other]);
        for flow in plain.iter().chain(&tagged).chain(by_turns) {
            let alone = thread::scope(|scope| scope.spawn(|| text(flow)).join().unwrap());
            assert_eq!(text(flow), alone);
        }
    }
}
