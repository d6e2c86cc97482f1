//! The columns: names, types, meaning, and the fields of the JSON events that they equal. All follow from the
//! [records](huginn_net::record), but for those that are [derived](crate::derived).

use std::collections::HashMap;
use std::error::Error;
use std::fmt;
use std::sync::{Arc, LazyLock};

use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use huginn_net::record::{EVENT_NAMES, EventKind, FieldInfo, ValueType, fields_of_event};

use crate::column::UTC;
use crate::derived::DERIVED;
use crate::row::Target;

/// Version of the schema. A new column follows the others and increments the second number. No column changes or goes.
pub const SCHEMA_VERSION: &str = "2.0";

/// The columns of version 2.0, in their order. Later ones follow them: the order does not change for readers of older
/// files.
const ORDER: &str = "\
    ts ts_nanos event subject transport client_ip client_port server_ip server_port host_ip tunnel \
    community_id connection_id file interface packet conflict cut sig label_class label_name \
    label_flavor label_generic params tcp_fuzzy tcp_distance tcp_fuzzy_reason mtu mtu_link http_version \
    http_exchange http_head_cut http_method http_host http_path http_user_agent http_language \
    http_status http_server http_claimed_os http_os_agrees http_akamai http_akamai_hash http_decrypted \
    http3 software software_library software_application software_versions software_candidates \
    software_match software_variant software_nearest_ja4_stable software_nearest_name \
    software_nearest_difference software_recorded_to software_library_age software_imitates \
    software_differs listed tls_protocol tls_version tls_version_name tls_sni tls_alpn tls_retry \
    tls_decrypted ja4 ja4_r ja4_o ja4_ro ja4_stable ja4_stable_r ja3 ja3_hash tls_ech_type tls_cipher \
    tls_cipher_name ja3s ja3s_hash tls_supported_versions tls_groups tls_key_share_groups \
    tls_key_share_lengths tls_signature_algorithms tls_signature_algorithms_cert tls_session_id_length \
    tls_session_ticket_length tls_psk_identity_lengths tls_early_data tls_compress_certificate \
    tls_record_size_limit tls_alps tls_trust_anchors tls_unknown_extensions tls_grease tls_ech_config_id \
    tls_ech_kdf tls_ech_aead tls_ech_enc_length tls_ech_payload_length tls_group tls_post_quantum \
    tls_key_share_length tls_selected_psk tls_extensions tls_completed tls_resumed tls_dh_bits \
    tls_certificate_requested tls_certificate_authorities tls_has_more_authorities tls_alerts \
    tls_quic_error quic_version quic_source_connection_id_length quic_destination_connection_id_length \
    quic_token_length quic_packet_number quic_datagram_sizes quic_after_retry \
    quic_after_version_negotiation quic_fingerprint quic_fingerprint_original quic_parameters \
    quic_has_more_parameters quic_server_version quic_server_source_connection_id_length \
    quic_server_destination_connection_id_length quic_server_retry_token_length \
    quic_server_datagram_sizes certificates tls_has_more_certificates certificate_name_matches \
    certificate_valid ssh_protocol_version ssh_banner hassh hassh_algorithms ssh_kex ssh_host_key \
    ssh_client_cipher ssh_server_cipher ssh_client_mac ssh_server_mac ssh_client_compression \
    ssh_server_compression ssh_post_quantum ssh_strict_kex ssh_guess uptime_minutes uptime_modulo_days \
    uptime_frequency_hz uptime_raw_frequency_hz change_from change_to mismatch_outcome mismatch_reasons \
    tool_name tool_resembles tool_syns tool_ports tool_hosts tool_has_more_hosts tool_duration tool_text \
    alert_severity alert_proven alert_id alert_update finding finding_reason finding_scanned \
    finding_target finding_targets finding_answered finding_syns finding_duration finding_tool \
    finding_attempts finding_login finding_contacts finding_period finding_jitter finding_application \
    finding_user_agent finding_service finding_program finding_marks finding_certificate_subject \
    finding_certificate_issuer finding_type finding_value finding_known finding_since \
    finding_since_nanos finding_baseline finding_packets finding_page match_list match_line match_type \
    match_value match_label match_event connection_start connection_start_nanos connection_duration \
    connection_client_packets connection_server_packets connection_client_bytes connection_server_bytes \
    connection_host connection_client_system connection_server_system connection_client_software \
    connection_server_software connection_tls_client connection_hassh_server \
    connection_certificate_sha256 connection_certificate_subject connection_blind_spots own";

/// The field that has no column: the schema has a version of its own.
const VERSION_FIELD: &str = "v";

/// Name of the elements of a list, as Parquet has it.
const ELEMENT: &str = "element";

/// A column of the schema.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ColumnInfo {
    /// The name.
    pub name: String,
    /// The type.
    pub data_type: DataType,
    /// What the values mean, in Markdown.
    pub meaning: String,
    /// Events with this column, and the path of the equal field in their JSON; the path is empty if there is none.
    pub sources: Vec<(Vec<&'static str>, String)>,
}

/// Returns the columns in the order of the schema.
pub fn columns() -> &'static [ColumnInfo] {
    static COLUMNS: LazyLock<Vec<ColumnInfo>> = LazyLock::new(describe_columns);
    &COLUMNS
}

/// The schema of all batches. Its metadata has the version of the schema, and of this crate.
pub fn schema() -> SchemaRef {
    schema_of(|_| true)
}

/// A name that no column has, and no field in JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownColumn {
    /// The name.
    pub name: String,
}

impl fmt::Display for UnknownColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no column and no field of events is named {:?}", self.name)
    }
}

impl Error for UnknownColumn {}

/// The columns that names select: names of columns, or of fields in JSON.
pub(crate) fn select_columns(names: &[&str]) -> Result<Vec<&'static str>, UnknownColumn> {
    let mut selected = Vec::new();
    for name in names {
        let is_field =
            |path: &str| path.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        let before = selected.len();
        match columns().iter().find(|column| column.name == *name) {
            Some(column) => selected.push(&*column.name),
            None => {
                let of_field =
                    columns().iter().filter(|column| column.sources.iter().any(|(_, path)| is_field(path)));
                selected.extend(of_field.map(|column| &*column.name));
            }
        }
        if selected.len() == before {
            return Err(UnknownColumn { name: (*name).to_owned() });
        }
    }
    Ok(selected)
}

/// The schema of the columns that `is_selected` selects by their names.
pub(crate) fn schema_of(is_selected: impl Fn(&str) -> bool) -> SchemaRef {
    let selected = columns().iter().filter(|column| is_selected(&column.name));
    let fields = selected.map(|column| Field::new(&column.name, column.data_type.clone(), true));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()).with_metadata(metadata()))
}

/// The versions of the schema and of this crate.
pub(crate) fn metadata() -> HashMap<String, String> {
    let versions = [("huginn_net.schema", SCHEMA_VERSION), ("huginn_net.version", env!("CARGO_PKG_VERSION"))];
    HashMap::from(versions.map(|(name, value)| (name.to_owned(), value.to_owned())))
}

/// For each event the columns in a schema of its values, in the order in which its record has them, and of those that are
/// derived.
pub(crate) fn targets(schema: &Schema) -> Vec<(&'static str, Vec<Target>)> {
    static NAMES: LazyLock<Vec<Vec<ValueColumns>>> = LazyLock::new(|| {
        let names = |event| {
            let values = values(event).into_iter().flat_map(|value| {
                let fields = (0..value.fields.len()).map(Some);
                let places = if value.fields.is_empty() { vec![None] } else { fields.collect() };
                places.into_iter().map(move |field| (value.column.clone(), field))
            });
            let values = values.chain(DERIVED.iter().map(|derived| (derived.name.to_owned(), None)));
            values.map(|(column, field)| ValueColumns { nanos: nanos_of(&column), column, field }).collect()
        };
        EventKind::ALL.iter().map(|kind| names(kind.name())).collect()
    });
    let fields = schema.fields().iter().enumerate();
    let places: HashMap<&str, usize> = fields.map(|(place, field)| (&**field.name(), place)).collect();
    let place = |name: &str| places.get(name).copied();
    let target = |names: &ValueColumns| Target {
        column: place(&names.column),
        nanos: place(&names.nanos),
        field: names.field,
    };
    let targets = NAMES.iter().map(|names| names.iter().map(target).collect());
    EventKind::ALL.iter().map(|kind| kind.name()).zip(targets).collect()
}

/// The names of the column of a value, and of that with the nanoseconds of a time, and the place in the objects of a list.
struct ValueColumns {
    column: String,
    nanos: String,
    field: Option<usize>,
}

/// The type of times: microseconds.
pub(crate) fn time_type() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some(UTC.into()))
}

/// The type of a column.
fn data_type(value_type: ValueType, column: &str) -> DataType {
    match value_type {
        ValueType::Text => DataType::Utf8,
        ValueType::Bool => DataType::Boolean,
        // An MTU is at most 65,595.
        ValueType::Integer { bits } if bits < i32::BITS || column == "mtu" => DataType::Int32,
        ValueType::Integer { .. } => DataType::Int64,
        ValueType::Float => DataType::Float64,
        ValueType::Time => time_type(),
        ValueType::List(element) => list_of(data_type(*element, column)),
        // The fields of an object have the columns.
        _ => DataType::Null,
    }
}

fn list_of(element: DataType) -> DataType {
    DataType::List(Arc::new(Field::new(ELEMENT, element, true)))
}

/// The name of the column with the nanoseconds of times.
fn nanos_of(column: &str) -> String {
    format!("{column}_nanos")
}

/// A value of an event.
struct Value {
    /// The path in JSON.
    path: String,
    column: String,
    data_type: DataType,
    meaning: String,
    /// The values of each object of a list.
    fields: Vec<Self>,
}

/// The values of an event, in the order of its record.
fn values(event: &str) -> Vec<Value> {
    let mut values = Vec::new();
    add_values(&fields_of_event(event).unwrap_or_default(), None, &mut values);
    values
}

/// Adds the values of fields; those of an object are those of its fields.
fn add_values(fields: &[FieldInfo], object: Option<(&FieldInfo, &Value)>, values: &mut Vec<Value>) {
    for field in fields {
        let mut value = Value::new(field, object);
        let fields = field.value_type.fields();
        if let ValueType::Object(_) = field.value_type {
            add_values(fields, Some((field, &value)), values);
            continue;
        }
        if !fields.is_empty() {
            add_values(fields, None, &mut value.fields);
            let columns =
                value.fields.iter().map(|field| Field::new(&field.path, field.data_type.clone(), true));
            value.data_type = list_of(DataType::Struct(columns.collect()));
            let texts = value.fields.iter().map(|field| format!("`{}`: {}", field.path, field.meaning));
            value.meaning = format!("{}. {}", value.meaning, texts.collect::<Vec<_>>().join("; "));
        }
        values.push(value);
    }
}

impl Value {
    /// The value of a field, or of a field of an object.
    fn new(field: &FieldInfo, object: Option<(&FieldInfo, &Self)>) -> Self {
        let join = |before: Option<&str>, mark: &str, name: &str| match before {
            Some(before) => format!("{before}{mark}{name}"),
            None => name.to_owned(),
        };
        let mark = if field.column.is_empty() { "" } else { "_" };
        let column = join(object.map(|(_, value)| &*value.column), mark, field.column);
        let about = object.and_then(|(object, _)| object.meaning.split(';').next());
        Self {
            path: join(object.map(|(_, value)| &*value.path), ".", field.name),
            data_type: data_type(field.value_type, &column),
            meaning: join(about, ": ", field.meaning),
            column,
            fields: Vec::new(),
        }
    }
}

/// Describes all columns: those of the events, and those that are derived.
fn describe_columns() -> Vec<ColumnInfo> {
    let mut columns = Columns::default();
    for derived in &DERIVED {
        for event in derived.events {
            columns.add(event, "", derived.name, &DataType::Utf8, derived.meaning);
        }
    }
    for event in EventKind::ALL.iter().map(|kind| kind.name()) {
        for Value { path, column, data_type, meaning, .. } in values(event) {
            if path == VERSION_FIELD {
                continue;
            }
            let is_time = data_type == time_type();
            let unit = if is_time { ", in microseconds" } else { "" };
            columns.add(event, &path, &column, &data_type, &format!("{meaning}{unit}"));
            if is_time {
                let meaning = "Nanoseconds within the microsecond: 0 to 999";
                columns.add(event, "", &nanos_of(&column), &DataType::Int32, meaning);
            }
        }
    }
    columns.finish()
}

/// Texts, each with its events.
type Texts = Vec<(Vec<&'static str>, String)>;

/// Columns and their meanings.
#[derive(Default)]
struct Columns(Vec<(ColumnInfo, Texts)>);

impl Columns {
    /// Adds a value of an event to the column with this name.
    fn add(&mut self, event: &'static str, path: &str, name: &str, data_type: &DataType, meaning: &str) {
        let place = self.0.iter().position(|(column, _)| column.name == name).unwrap_or(self.0.len());
        if place == self.0.len() {
            let (name, data_type) = (name.to_owned(), data_type.clone());
            let column = ColumnInfo { name, data_type, meaning: String::new(), sources: Vec::new() };
            self.0.push((column, Vec::new()));
        }
        let Some((column, meanings)) = self.0.get_mut(place) else { return };
        add_event(&mut column.sources, event, path);
        add_event(meanings, event, meaning);
    }

    /// Writes the meanings, and sorts the columns. Several meanings name their events, unless most events have the meaning.
    fn finish(self) -> Vec<ColumnInfo> {
        let mut columns: Vec<ColumnInfo> = self
            .0
            .into_iter()
            .map(|(column, meanings)| {
                let is_single = meanings.len() == 1;
                let text = |(events, meaning): (Vec<&str>, String)| {
                    let is_general = is_single || events.len() > EVENT_NAMES.len() / 2;
                    if is_general { meaning } else { format!("{meaning} ({})", names(&events)) }
                };
                let meanings: Vec<String> = meanings.into_iter().map(text).collect();
                ColumnInfo { meaning: meanings.join("; "), ..column }
            })
            .collect();
        let place = |name: &str| ORDER.split(' ').position(|known| known == name).unwrap_or(usize::MAX);
        columns.sort_by_cached_key(|column| place(&column.name));
        columns
    }
}

/// Adds an event to those of a text.
fn add_event(texts: &mut Texts, event: &'static str, text: &str) {
    match texts.iter_mut().find(|(_, known)| known == text) {
        Some((events, _)) => events.push(event),
        None => texts.push((vec![event], text.to_owned())),
    }
}

/// The names of events, in Markdown.
pub(crate) fn names(events: &[&str]) -> String {
    events.iter().map(|event| format!("`{event}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use arrow_array::Array;
    use arrow_array::builder::ArrayBuilder;

    use super::*;
    use crate::column::Column;

    #[test]
    fn each_value_has_a_column_of_its_type() {
        for &event in EVENT_NAMES {
            let mut names = BTreeSet::new();
            for Value { path, column, data_type, .. } in values(event) {
                assert!(names.insert(column.clone()), "{event}: two values in {column}");
                if path != VERSION_FIELD {
                    let info = columns().iter().find(|info| info.name == column).unwrap();
                    assert_eq!(data_type, info.data_type, "{event}: {path}");
                    assert_eq!(Column::new(&info.data_type).finish().data_type(), &info.data_type);
                }
            }
        }
    }

    #[test]
    fn name_of_column_or_field_selects_columns() {
        for (name, columns) in [
            ("software", &["software"][..]),
            (
                "software.nearest",
                &["software_nearest_ja4_stable", "software_nearest_name", "software_nearest_difference"],
            ),
            ("transport", &["transport"]),
            ("certificates", &["certificates"]),
            ("alerts", &["tls_alerts"]),
            ("quic.parameters", &["quic_parameters"]),
            ("client", &["client_ip", "client_port"]),
        ] {
            assert_eq!(select_columns(&[name]).unwrap(), columns);
        }
        assert_eq!(select_columns(&["certificates.x"]), Err(UnknownColumn { name: "certificates.x".into() }));
    }

    #[test]
    fn columns_of_first_version_keep_their_places() {
        let names: Vec<&str> = columns().iter().map(|column| &*column.name).collect();
        let first: Vec<&str> = ORDER.split(' ').collect();
        assert_eq!(names[..first.len()], first);
        assert!(first.iter().collect::<BTreeSet<_>>().len() == first.len());
    }
}
