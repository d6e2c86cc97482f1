//! The columns of each log, from the table of formats.

use std::sync::LazyLock;

use super::ZeekLog;
use super::software;
use crate::record::formats::EventFormat;
use crate::record::formats::plan::FormatPlan;
use crate::record::{EVENT_NAMES, FlowRecord, ValueType, fields_of_event};

/// The column with Zeek's names of the protocols of a connection.
pub(super) const SERVICE: &str = "service";

/// The first columns of every log.
const FIRST: [&str; 6] = ["ts", "uid", "id.orig_h", "id.orig_p", "id.resp_h", "id.resp_p"];

/// Columns of ours that every event of a connection has with the same value.
const SHARED: [&str; 2] = ["huginn.file", "huginn.exchange"];

/// Columns of ours that a row of several events does not have.
const OF_ONE_EVENT: [&str; 3] = ["huginn.v", "huginn.event", "huginn.subject"];

huginn_net_core::named! {
    /// Zeek's types of values.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) enum ZeekType {
        Time = "time",
        Interval = "interval",
        String = "string",
        Enum = "enum",
        Addr = "addr",
        Port = "port",
        Count = "count",
        Double = "double",
        Bool = "bool",
        Strings = "vector[string]",
        Counts = "vector[count]",
        Doubles = "vector[double]",
        Enums = "set[enum]",
    }
}

impl ZeekType {
    /// The type of a column of a log; `of`: that of the field, unless it is a text in Zeek.
    fn of(log: ZeekLog, name: &str, of: Option<ValueType>) -> Self {
        match (log, name) {
            (_, "ts") => Self::Time,
            (_, "id.orig_h" | "id.resp_h") => Self::Addr,
            (_, "id.orig_p" | "id.resp_p") => Self::Port,
            (ZeekLog::Conn | ZeekLog::Notice, "proto") | (ZeekLog::Notice, "note") => Self::Enum,
            (ZeekLog::Conn, "duration") | (ZeekLog::Notice, "suppress_for") => Self::Interval,
            (ZeekLog::Notice, "src" | "dst") => Self::Addr,
            (ZeekLog::Notice, "p") => Self::Port,
            (ZeekLog::Notice, "n") => Self::Count,
            (ZeekLog::Notice, "actions") => Self::Enums,
            (ZeekLog::Ssh, "version") => Self::Count,
            (ZeekLog::Ssl, "resumed") => Self::Bool,
            (ZeekLog::Ssl, "cert_chain_fps" | "client_cert_chain_fps") => Self::Strings,
            _ => match of {
                Some(ValueType::Bool) => Self::Bool,
                Some(ValueType::Integer { .. }) => Self::Count,
                Some(ValueType::Float) => Self::Double,
                Some(ValueType::List(ValueType::Text)) => Self::Strings,
                Some(ValueType::List(ValueType::Integer { .. })) => Self::Counts,
                Some(ValueType::List(ValueType::Float)) => Self::Doubles,
                _ => Self::String,
            },
        }
    }
}

/// A column.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) zeek_type: ZeekType,
}

/// The columns of a log.
#[derive(Debug, Default)]
pub(super) struct LogColumns {
    pub(super) all: Vec<Column>,
    /// By the number of the kind of event; those of other logs have none.
    kinds: Vec<Option<KindColumns>>,
}

/// The columns of the values of a kind of event, by their numbers in its plan.
#[derive(Debug)]
pub(super) struct KindColumns {
    pub(super) flow: Vec<usize>,
    pub(super) extras: Vec<usize>,
    pub(super) fields: Vec<Option<usize>>,
}

/// The log of a kind of event.
pub(super) fn log_of(number: usize) -> Option<ZeekLog> {
    EVENT_NAMES.get(number).map(|name| ZeekLog::of(name))
}

impl LogColumns {
    pub(super) fn get(log: ZeekLog) -> &'static Self {
        const LOGS: [ZeekLog; 7] = [
            ZeekLog::Conn,
            ZeekLog::Ssl,
            ZeekLog::Http,
            ZeekLog::Ssh,
            ZeekLog::Software,
            ZeekLog::Notice,
            ZeekLog::Huginn,
        ];
        static COLUMNS: LazyLock<[LogColumns; 7]> = LazyLock::new(|| LOGS.map(LogColumns::new));
        let [conn, ssl, http, ssh, software, notice, huginn] = &*COLUMNS;
        match log {
            ZeekLog::Conn => conn,
            ZeekLog::Ssl => ssl,
            ZeekLog::Http => http,
            ZeekLog::Ssh => ssh,
            ZeekLog::Software => software,
            ZeekLog::Notice => notice,
            ZeekLog::Huginn => huginn,
        }
    }

    pub(super) fn kind(&self, number: usize) -> Option<&KindColumns> {
        self.kinds.get(number)?.as_ref()
    }

    /// The number of a column.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.all.iter().position(|column| column.name == name)
    }

    fn new(log: ZeekLog) -> Self {
        let mut columns = Self::default();
        if log == ZeekLog::Software {
            software::COLUMNS.iter().for_each(|(name, zeek_type)| _ = columns.add(name, *zeek_type));
            return columns;
        }
        FIRST.iter().for_each(|name| _ = columns.add(name, ZeekType::of(log, name, None)));
        // Zeek's columns before ours.
        for is_own in [false, true] {
            for (number, event) in
                EVENT_NAMES.iter().enumerate().filter(|(_, event)| ZeekLog::of(event) == log)
            {
                let taken = columns.all.len();
                columns.add_kind(log, number, event, is_own, taken);
            }
            if log == ZeekLog::Conn && !is_own {
                columns.add(SERVICE, ZeekType::String);
            }
        }
        columns
    }

    /// Adds the columns of a kind. `taken`: columns of the kinds before it.
    fn add_kind(&mut self, log: ZeekLog, number: usize, event: &str, is_own: bool, taken: usize) {
        let plan = FormatPlan::get(EventFormat::Zeek);
        let Some(kind) = plan.kinds.get(number) else { return };
        let infos = fields_of_event(event).unwrap_or_default();
        let infos = infos.iter().filter(|field| !FormatPlan::is_of_flow(field.name));
        let flow = plan.flow.iter().map(|target| {
            let own = target.name.strip_prefix("huginn.");
            let info = own.and_then(|own| FlowRecord::FIELDS.iter().find(|field| field.name == own));
            self.add(&target.name, ZeekType::of(log, &target.name, info.map(|info| info.value_type)))
        });
        let flow = flow.collect();
        let extras =
            kind.extras.iter().map(|target| self.add(&target.name, ZeekType::of(log, &target.name, None)));
        let extras = extras.collect();
        let fields = kind.fields.iter().zip(infos).map(|(target, info)| {
            let name = &*target.as_ref()?.name;
            let zeek_type = ZeekType::of(log, name, Some(info.value_type));
            let Some(own) = name.strip_prefix("huginn.") else { return Some(self.add(name, zeek_type)) };
            if !is_own || log.joins_events() && OF_ONE_EVENT.contains(&name) {
                return None;
            }
            // Columns of several kinds in one row have different names.
            let is_taken = log.joins_events() && self.find(name).is_some_and(|column| column < taken);
            match event.split_once('_').filter(|_| is_taken && !SHARED.contains(&name)) {
                Some((_, part)) => Some(self.add(&format!("huginn.{part}_{own}"), zeek_type)),
                None => Some(self.add(name, zeek_type)),
            }
        });
        let fields = fields.collect();
        if is_own {
            self.kinds.resize_with(number.saturating_add(1).max(self.kinds.len()), || None);
            if let Some(columns) = self.kinds.get_mut(number) {
                *columns = Some(KindColumns { flow, extras, fields });
            }
        }
    }

    /// Adds a column, or finds it. A column with values of several types has texts.
    fn add(&mut self, name: &str, zeek_type: ZeekType) -> usize {
        let number = self.find(name).unwrap_or(self.all.len());
        match self.all.get_mut(number) {
            Some(column) if column.zeek_type != zeek_type => column.zeek_type = ZeekType::String,
            Some(_) => {}
            None => self.all.push(Column { name: name.to_owned(), zeek_type }),
        }
        number
    }
}
