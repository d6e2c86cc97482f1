//! Writes an event by its plan.

use std::cell::Cell;
use std::convert::Infallible;
use std::mem;
use std::str;

use huginn_net_core::FlowId;

use super::plan::{FormatPlan, KindPlan, Target};
use super::table::Form;
use super::values::HashedFlow;
use super::{EventFormat, FormattedEvent, OwnFields};
use crate::record::EventKind;
use crate::record::describe::{self, FieldName, Object, Omit, Value};
use crate::record::event::{EventNames, add_event};
use crate::{Event, Observation, json};

thread_local! {
    /// The buffers of this thread, and the flow of the last event that it wrote.
    static BUFFERS: Cell<Option<Box<Buffers>>> = const { Cell::new(None) };
}

/// Appends an object that is not an event, of values as JSON. Their paths are in objects that events have; others are left out.
pub(super) fn write_values(
    format: EventFormat,
    values: &[(&str, String)],
    own_fields: Option<&OwnFields>,
    out: &mut Vec<u8>,
) {
    let plan = FormatPlan::get(format);
    let mut buffers = Buffers::default();
    buffers.objects.resize_with(plan.objects.len(), Vec::new);
    for (path, value) in values {
        if let Some((object, name)) = plan.find(format, path)
            && let Some(buffer) = buffers.objects.get_mut(object)
        {
            buffer.extend_from_slice(format!(",\"{name}\":{value}").as_bytes());
        }
    }
    for (object, fields) in own_fields.map_or(&[][..], |own| &own.fields) {
        if let Some(buffer) = buffers.objects.get_mut(*object) {
            buffer.extend_from_slice(fields);
        }
    }
    buffers.assemble(plan, out);
}

/// The fields of each object, with a comma before each.
#[derive(Default)]
struct Buffers {
    objects: Vec<Vec<u8>>,
    flow: Option<(EventFormat, bool, u64, FlowId)>,
    /// The fields of the flow.
    flow_fields: Vec<Vec<u8>>,
    /// A value in the form of our JSON.
    value: Vec<u8>,
}

/// Appends an event.
pub(super) fn write(event: &FormattedEvent<'_>, out: &mut Vec<u8>) {
    let mut buffers = BUFFERS.try_with(Cell::take).ok().flatten().unwrap_or_default();
    let plan = FormatPlan::get(event.format);
    buffers.write(plan, event, out);
    // The thread-local buffers are gone while the thread ends.
    let _ = BUFFERS.try_with(|last| last.set(Some(buffers)));
}

impl Buffers {
    fn write(&mut self, plan: &FormatPlan, formatted: &FormattedEvent<'_>, out: &mut Vec<u8>) {
        let FormattedEvent { format, event, file, interface, own_fields } = *formatted;
        let Some(kind) = plan.kind(EventKind::of(&event.kind).number(), is_quic(event)) else { return };
        self.objects.resize_with(plan.objects.len(), Vec::new);
        self.objects.iter_mut().for_each(Vec::clear);
        self.add_flow(plan, format, kind.is_alert, event);
        let own_fields = own_fields.map_or(&[][..], |own| &own.fields);
        for (object, fields) in kind.constants.iter().chain(own_fields) {
            if let Some(buffer) = self.objects.get_mut(*object) {
                buffer.extend_from_slice(fields);
            }
        }
        for extra in &kind.extras {
            self.add_if(extra.object, &extra.name, |out| (extra.form)(event, out));
        }
        add_fields(event, kind, file, interface, self);
        for (object, fields) in &kind.companions {
            if let Some(buffer) = self.objects.get_mut(*object).filter(|buffer| !buffer.is_empty()) {
                buffer.extend_from_slice(fields);
            }
        }
        self.assemble(plan, out);
    }

    /// Adds the fields of the flow, which consecutive events often share.
    fn add_flow(&mut self, plan: &FormatPlan, format: EventFormat, is_alert: bool, event: &Event) {
        let Event { flow, first_packet, .. } = event;
        let is_last = |(last, was_alert, first, of): &(EventFormat, bool, u64, FlowId)| {
            *last == format && *was_alert == is_alert && first == first_packet && of == flow
        };
        if !self.flow.as_ref().is_some_and(is_last) {
            let hashed = HashedFlow::new(event);
            for target in if is_alert { &plan.alert_flow } else { &plan.flow } {
                self.add_if(target.object, &target.name, |out| {
                    (target.form)(&hashed, out);
                    true
                });
            }
            self.flow_fields.clone_from(&self.objects);
            self.flow = Some((format, is_alert, *first_packet, flow.clone()));
        } else {
            for (buffer, fields) in self.objects.iter_mut().zip(&self.flow_fields) {
                buffer.extend_from_slice(fields);
            }
        }
    }

    /// Adds a field, or removes it again if it is absent.
    fn add_if(&mut self, object: usize, name: &str, add: impl FnOnce(&mut Vec<u8>) -> bool) {
        let Some(buffer) = self.objects.get_mut(object) else { return };
        let before = buffer.len();
        buffer.extend_from_slice(b",\"");
        buffer.extend_from_slice(name.as_bytes());
        buffer.extend_from_slice(b"\":");
        let start = buffer.len();
        if !add_value(buffer, start, add) {
            buffer.truncate(before);
        }
    }

    /// Writes the objects, each in the one that has it.
    fn assemble(&mut self, plan: &FormatPlan, out: &mut Vec<u8>) {
        // An object follows the one that has it: from the last to the first, each is complete when it is added.
        for (number, object) in plan.objects.iter().enumerate().skip(1).rev() {
            let Some(fields) = self.objects.get_mut(number).filter(|fields| !fields.is_empty()) else {
                continue;
            };
            let fields = mem::take(fields);
            if let Some(parent) = self.objects.get_mut(object.parent) {
                parent.extend_from_slice(b",\"");
                parent.extend_from_slice(object.name.as_bytes());
                parent.extend_from_slice(if object.is_list { b"\":[" } else { b"\":" });
                push_object(parent, &fields);
                if object.is_list {
                    parent.push(b']');
                }
            }
            if let Some(buffer) = self.objects.get_mut(number) {
                *buffer = fields;
            }
        }
        push_object(out, self.objects.first().map_or(&[], Vec::as_slice));
    }
}

/// Appends an object of fields with a comma before each.
fn push_object(out: &mut Vec<u8>, fields: &[u8]) {
    out.push(b'{');
    out.extend_from_slice(fields.get(1..).unwrap_or_default());
    out.push(b'}');
}

/// Appends a value after `start`. Returns whether it is present.
pub(super) fn add_value(out: &mut Vec<u8>, start: usize, add: impl FnOnce(&mut Vec<u8>) -> bool) -> bool {
    add(out) && !json::is_absent(out.get(start..))
}

/// Takes the fields of an event.
pub(super) trait FieldOutput {
    /// Takes the value of a field with this number; `add` returns whether it is present.
    fn add_field<T>(&mut self, number: usize, target: &Target<T>, add: impl FnOnce(&mut Vec<u8>) -> bool);

    /// A buffer for a value in the form of our JSON.
    fn value_buffer(&mut self) -> &mut Vec<u8>;
}

impl FieldOutput for Buffers {
    fn add_field<T>(&mut self, _: usize, target: &Target<T>, add: impl FnOnce(&mut Vec<u8>) -> bool) {
        self.add_if(target.object, &target.name, add);
    }

    fn value_buffer(&mut self) -> &mut Vec<u8> {
        &mut self.value
    }
}

/// Passes the fields of an event, without those of its flow, by the plan of its kind.
pub(super) fn add_fields(
    event: &Event,
    kind: &KindPlan,
    file: Option<&str>,
    interface: Option<&str>,
    output: &mut impl FieldOutput,
) {
    let mut fields = EventFields { output, event, kind, next: 0 };
    let names = EventNames { file, interface, connection_id: false };
    let Ok(()) = add_event(event, names, &mut fields, |_| Ok(()));
}

/// Whether a hello came over QUIC.
fn is_quic(event: &Event) -> bool {
    match &event.kind {
        Observation::TlsClient(observation) => observation.client.quic.is_some(),
        Observation::TlsServer(observation) => observation.server.quic.is_some(),
        _ => false,
    }
}

/// Takes the fields of an event in their order.
struct EventFields<'b, 'e, O> {
    output: &'b mut O,
    event: &'e Event,
    kind: &'b KindPlan,
    next: usize,
}

impl<O: FieldOutput> Object for EventFields<'_, '_, O> {
    type Error = Infallible;

    fn add<T: Value>(&mut self, _: FieldName, value: &T) -> Result<(), Infallible> {
        let (kind, number) = (self.kind, self.next);
        self.next = number.saturating_add(1);
        let Some(target) = kind.fields.get(number).and_then(Option::as_ref) else { return Ok(()) };
        match target.form {
            Form::Event(value) => {
                let event = self.event;
                self.output.add_field(number, target, |out| value(event, out));
            }
            Form::Text(_) | Form::TextOf(_) => {
                let buffer = self.output.value_buffer();
                buffer.clear();
                describe::append(buffer, value);
                let changed = str::from_utf8(buffer).ok().and_then(|value| match target.form {
                    Form::Text(change) => change(value),
                    Form::TextOf(change) => change(value, self.event),
                    _ => None,
                });
                if let Some(changed) = changed {
                    self.output.add_field(number, target, |out| {
                        out.extend_from_slice(changed.as_bytes());
                        true
                    });
                }
            }
            _ => self.output.add_field(number, target, |out| {
                describe::append_present(out, value);
                true
            }),
        }
        Ok(())
    }

    fn add_unless_omitted<T: Value + Omit>(&mut self, name: FieldName, value: &T) -> Result<(), Infallible> {
        if value.is_omitted() {
            self.next = self.next.saturating_add(1);
            return Ok(());
        }
        self.add(name, value)
    }
}
