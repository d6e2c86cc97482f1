//! The fields of a flow; keeps their text, because consecutive events often share a flow.

use std::cell::Cell;
use std::convert::Infallible;

use huginn_net_core::FlowId;

use crate::record::FlowRecord;
use crate::record::describe::{Fields, JsonFields};

thread_local! {
    /// The flow of the last event that this thread wrote.
    static LAST: Cell<Option<Box<FlowText>>> = const { Cell::new(None) };
}

/// The JSON fields of a flow.
#[derive(Default)]
struct FlowText {
    flow: Option<FlowId>,
    fields: Vec<u8>,
}

/// Adds the fields of a flow.
pub(super) fn add(object: &mut JsonFields<'_>, flow: &FlowId) -> Result<(), Infallible> {
    let mut text = LAST.try_with(Cell::take).ok().flatten().unwrap_or_default();
    if text.flow.as_ref() != Some(flow) {
        text.fields.clear();
        FlowRecord::from(flow).add_to(&mut JsonFields::new(&mut text.fields))?;
        text.flow = Some(flow.clone());
    }
    object.add_written(&text.fields);
    // The thread-local cache is gone while the thread ends.
    let _ = LAST.try_with(|last| last.set(Some(text)));
    Ok(())
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
        HuginnNet::builder()
            .build()
            .analyze(CaptureReader::open(path).unwrap(), |event| events.push(event))
            .unwrap();
        events.into_iter().map(|event| event.flow).collect()
    }

    fn text(flow: &FlowId) -> String {
        let mut out = Vec::new();
        let Ok(()) = add(&mut JsonFields::new(&mut out), flow);
        String::from_utf8(out).unwrap()
    }

    /// Covers flows with and without a tunnel between the same ends, consecutively and alternately.
    #[test]
    fn kept_text_does_not_change_output() {
        let tagged = flows("made-qinq.pcap");
        let mut plain = tagged.clone();
        plain.iter_mut().for_each(|flow| flow.tunnel = None);
        let by_turns = iter::zip(&plain, &tagged).flat_map(|(one, other)| [one, other]);
        for flow in plain.iter().chain(&tagged).chain(by_turns) {
            let unkept = thread::scope(|scope| scope.spawn(|| text(flow)).join().unwrap());
            assert_eq!(text(flow), unkept);
        }
    }
}
