//! The table as a plan for each kind of event: where the values of its fields go.

use std::borrow::Cow;
use std::sync::LazyLock;

use super::EventFormat;
use super::table::{EventValue, FlowValue, Form, Place, ROWS};
use crate::record::{EventKind, fields_of_event, is_alert};

/// Fields of EVE's object `quic`, which has what `tls` has over TCP.
const QUIC_FIELDS: [&str; 5] = ["sni", "ja4", "ja3.hash", "ja3.string", "ja3s.hash"];

/// The objects of a format, and the plans of its kinds of events.
pub(super) struct FormatPlan {
    /// The objects: the first is the outermost one, and the others follow the one that has them.
    pub(super) objects: Vec<ObjectPlan>,
    /// Values of flows.
    pub(super) flow: Vec<Target<FlowValue>>,
    /// Values of flows where alerts have them.
    pub(super) alert_flow: Vec<Target<FlowValue>>,
    /// By the number of the kind; events of TLS over QUIC after all others.
    pub(super) kinds: Vec<KindPlan>,
    /// The name of the sensor.
    pub(super) sensor: Target<()>,
    /// A field of the user: the name is what replaces `NAME` in this one.
    pub(super) own_field: Target<()>,
    /// The number of a record of an output.
    pub(super) sequence: Target<()>,
}

/// An object within another.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ObjectPlan {
    pub(super) name: &'static str,
    pub(super) parent: usize,
    pub(super) is_list: bool,
}

/// What is written of a kind of event.
#[derive(Default)]
pub(super) struct KindPlan {
    /// Whether events of the kind are alerts.
    pub(super) is_alert: bool,
    /// Constants, with a comma before each.
    pub(super) constants: Vec<(usize, Vec<u8>)>,
    /// Constants of objects that have another field.
    pub(super) companions: Vec<(usize, Vec<u8>)>,
    /// Values of the event that are not fields.
    pub(super) extras: Vec<Target<EventValue>>,
    /// The fields in their order, without those of the flow.
    pub(super) fields: Vec<Option<Target<Form>>>,
}

/// Where a value goes.
pub(super) struct Target<T> {
    pub(super) object: usize,
    pub(super) name: String,
    pub(super) form: T,
}

/// The path of a value in an event. Alerts of OCSF have their connection in their evidence.
fn path_of(path: &'static str, format: EventFormat, is_alert: bool) -> Cow<'static, str> {
    let is_of_connection =
        ["src_endpoint.", "dst_endpoint.", "connection_info."].iter().any(|object| path.starts_with(object));
    match format {
        EventFormat::Ocsf if is_alert && is_of_connection => format!("evidences[].{path}").into(),
        _ => path.into(),
    }
}

impl FormatPlan {
    /// The plan of a format.
    pub(super) fn get(format: EventFormat) -> &'static Self {
        const FORMATS: [EventFormat; 4] =
            [EventFormat::Eve, EventFormat::Zeek, EventFormat::Ecs, EventFormat::Ocsf];
        static PLANS: LazyLock<[FormatPlan; 4]> = LazyLock::new(|| FORMATS.map(FormatPlan::new));
        let [eve, zeek, ecs, ocsf] = &*PLANS;
        match format {
            EventFormat::Eve => eve,
            EventFormat::Zeek => zeek,
            EventFormat::Ecs => ecs,
            EventFormat::Ocsf => ocsf,
        }
    }

    /// The plan of an event.
    pub(super) fn kind(&self, number: usize, is_quic: bool) -> Option<&KindPlan> {
        let number = if is_quic { number.saturating_add(EventKind::ALL.len()) } else { number };
        self.kinds.get(number)
    }

    /// Whether events have a field where a field of the user with this name would be.
    pub(super) fn has_own_field(&self, name: &str) -> bool {
        let name = self.own_field.name.replace("NAME", name);
        let is_same = |object: usize, other: &str| object == self.own_field.object && other == name;
        is_same(self.sequence.object, &self.sequence.name)
            || self.kinds.iter().any(|kind| {
                kind.fields.iter().flatten().any(|target| is_same(target.object, &target.name))
                    || kind.extras.iter().any(|target| is_same(target.object, &target.name))
            })
    }

    fn new(format: EventFormat) -> Self {
        let root = ObjectPlan { name: "", parent: 0, is_list: false };
        let nowhere = || Target { object: 0, name: String::new(), form: () };
        let mut plan = Self {
            objects: vec![root],
            flow: Vec::new(),
            alert_flow: Vec::new(),
            kinds: Vec::new(),
            sensor: nowhere(),
            own_field: nowhere(),
            sequence: nowhere(),
        };
        plan.kinds = [false, true]
            .into_iter()
            .flat_map(|is_quic| EventKind::ALL.iter().map(move |kind| (kind.name(), is_quic)))
            .map(|(name, is_quic)| plan.plan_kind(format, name, is_quic))
            .collect();
        for row in ROWS {
            match row.places.get(format.number()) {
                Some(Place::At(path, Form::Flow(value))) => {
                    let target = plan.target(format, path, *value);
                    plan.flow.push(target);
                    let target = plan.target(format, &path_of(path, format, true), *value);
                    plan.alert_flow.push(target);
                }
                Some(Place::At(path, Form::Sensor)) => plan.sensor = plan.target(format, path, ()),
                Some(Place::At(path, Form::OwnField)) => plan.own_field = plan.target(format, path, ()),
                Some(Place::At(path, Form::Sequence)) => plan.sequence = plan.target(format, path, ()),
                _ => {}
            }
        }
        plan
    }

    fn plan_kind(&mut self, format: EventFormat, event: &'static str, is_quic: bool) -> KindPlan {
        let mut kind = KindPlan { is_alert: is_alert(event), ..KindPlan::default() };
        let rows = || ROWS.iter().filter(|row| row.events.contains(event));
        for row in rows() {
            let Some(Place::At(path, form)) = row.places.get(format.number()).copied() else { continue };
            let is_eve_quic = is_quic && format == EventFormat::Eve;
            let form = match (path, is_eve_quic) {
                ("tls.version", true) => continue,
                ("event_type", true) => Form::Constant("\"quic\""),
                _ => form,
            };
            match form {
                Form::Constant(json) | Form::Companion(json) => {
                    let path = path_of(path, format, kind.is_alert);
                    let Target { object, name, form } = self.target(format, &path, json);
                    let list = match row.places.get(format.number()) {
                        Some(Place::At(_, Form::Companion(_))) => &mut kind.companions,
                        _ => &mut kind.constants,
                    };
                    list.push((object, format!(",\"{name}\":{form}").into_bytes()));
                }
                Form::Event(value) if !row.is_field => kind.extras.push(self.target(format, path, value)),
                _ => {}
            }
        }
        let fields = fields_of_event(event).unwrap_or_default();
        for field in fields {
            if Self::is_of_flow(field.name) {
                continue;
            }
            let place = rows().find(|row| row.is_field && row.field == field.name);
            let place = place.and_then(|row| row.places.get(format.number())).copied();
            let own = match format.has_objects() {
                true => format!("{}.{}", format.own_object(), field.name),
                false => format!("huginn.{}", field.name),
            };
            kind.fields.push(match place.unwrap_or(Place::Own) {
                Place::Nowhere => None,
                Place::Own => Some(self.target(format, &own, Form::Same)),
                Place::At(path, form) => match path.strip_prefix("tls.") {
                    Some(rest) if is_quic && format == EventFormat::Eve => {
                        let is_known = QUIC_FIELDS.contains(&rest) || rest == "ja3s.string";
                        let path = if is_known { format!("quic.{rest}") } else { own };
                        let form = if is_known { form } else { Form::Same };
                        Some(self.target(format, &path, form))
                    }
                    _ => Some(self.target(format, path, form)),
                },
            });
        }
        kind
    }

    /// Whether the plan of the flow has a field. Kinds have a field `server_header`, never one of these names.
    pub(super) fn is_of_flow(field: &str) -> bool {
        matches!(field, "transport" | "client" | "server" | "tunnel" | "community_id")
    }

    /// The object and the name of a path whose object some kind of event has.
    pub(super) fn find<'p>(&self, format: EventFormat, path: &'p str) -> Option<(usize, &'p str)> {
        match path.rsplit_once('.').filter(|_| format.has_objects()) {
            None => Some((0, path)),
            Some((object, name)) => {
                let is_found =
                    |known: &ObjectPlan| known.parent == 0 && known.name == object && !known.is_list;
                let number = self.objects.iter().skip(1).position(is_found)?;
                Some((number.saturating_add(1), name))
            }
        }
    }

    /// Finds the object of a path, or adds it.
    fn target<T>(&mut self, format: EventFormat, path: &str, form: T) -> Target<T> {
        if !format.has_objects() {
            return Target { object: 0, name: path.to_owned(), form };
        }
        let (objects, name) = path.rsplit_once('.').unwrap_or(("", path));
        let object = objects.split('.').filter(|name| !name.is_empty()).fold(0, |parent, name| {
            let (name, is_list) = name.strip_suffix("[]").map_or((name, false), |name| (name, true));
            let found = self.objects.iter().position(|object| {
                object.parent == parent && object.name == name && object.is_list == is_list
            });
            found.unwrap_or_else(|| {
                let name: &'static str = Box::leak(name.to_owned().into_boxed_str());
                self.objects.push(ObjectPlan { name, parent, is_list });
                self.objects.len().saturating_sub(1)
            })
        });
        Target { object, name: name.to_owned(), form }
    }
}
