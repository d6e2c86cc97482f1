//! Events of protocols of the caller's own.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use huginn_net_core::Either;
use serde::Serialize;
use serde_json::{Map, Value};

use super::TextLimit;

/// An event of a protocol of the caller's own, for [`Configure::with`](crate::Configure::with).
///
/// Its fields, as serde serializes them, are those of its JSON, after those that all events have. Of these, an own field that has the same
/// name gets `own_` before it.
///
/// ```
/// use huginn_net::own_event;
///
/// #[derive(Debug, serde::Serialize)]
/// struct Greeting {
///     greeting: String,
/// }
///
/// own_event!(Greeting = "ftp_greeting");
/// ```
///
/// A protocol with several kinds of events emits [`OwnObservation`]s of several types.
pub trait OwnEvent: Serialize + fmt::Debug + Send + Sync + 'static {
    /// The name of the kind of event: the value of the field `event`. A program with one of
    /// [`EVENT_NAMES`](crate::record::EVENT_NAMES) does not compile.
    ///
    /// ```compile_fail
    /// use huginn_net::observation::{OwnEvent, OwnObservation};
    ///
    /// #[derive(Debug, serde::Serialize)]
    /// struct Syn;
    ///
    /// impl OwnEvent for Syn {
    ///     const NAME: &'static str = "tcp_syn";
    /// }
    ///
    /// let _ = OwnObservation::new(Syn);
    /// ```
    const NAME: &'static str;
}

/// Implements [`OwnEvent`](crate::observation::OwnEvent) for types, each with its name.
///
/// ```
/// #[derive(Debug, serde::Serialize)]
/// struct Login {
///     user: String,
/// }
///
/// #[derive(Debug, serde::Serialize)]
/// struct Logout;
///
/// huginn_net::own_event!(Login = "login", Logout = "logout");
/// ```
#[macro_export]
macro_rules! own_event {
    ($($event:ty = $name:literal),+ $(,)?) => {$(
        impl $crate::observation::OwnEvent for $event {
            const NAME: &'static str = $name;
        }
    )+};
}

/// An event of a protocol of the caller's own.
#[derive(Clone)]
pub struct OwnObservation {
    pub(crate) name: &'static str,
    pub(crate) event: Arc<dyn AnyEvent>,
    pub(crate) fields: Map<String, Value>,
    pub(crate) cut: Vec<Box<str>>,
}

pub(crate) trait AnyEvent: Any + fmt::Debug + Send + Sync {
    fn as_any(&self) -> &dyn Any;
}

impl<T: OwnEvent> AnyEvent for T {
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl OwnObservation {
    /// The name of the kind of event.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The event, if it has this type.
    pub fn get<T: OwnEvent>(&self) -> Option<&T> {
        self.event.as_any().downcast_ref()
    }

    /// The fields as they are written, with texts up to the [limit](crate::observers::EventLimits).
    pub fn fields(&self) -> &Map<String, Value> {
        &self.fields
    }

    /// The names of the fields whose texts were cut.
    pub fn cut(&self) -> impl Iterator<Item = &str> {
        self.cut.iter().map(|name| &**name)
    }

    /// Cuts the texts of the fields.
    pub(crate) fn limit_texts(&mut self, limit: TextLimit) {
        for (name, value) in &mut self.fields {
            if cut(value, limit) {
                self.cut.push(name.as_str().into());
            }
        }
    }

    /// Bytes of the fields as JSON.
    pub(crate) fn json_len(&self) -> usize {
        let mut len = Count(0);
        // Counting does not fail.
        let _ = serde_json::to_writer(&mut len, &self.fields);
        len.0
    }
}

/// Cuts the texts in a value, and returns whether one was longer.
fn cut(value: &mut Value, limit: TextLimit) -> bool {
    match value {
        Value::String(text) => {
            let (start, is_cut) = limit.cut_str(text);
            let len = start.len();
            text.truncate(len);
            is_cut
        }
        Value::Array(values) => values.iter_mut().fold(false, |is_cut, value| cut(value, limit) | is_cut),
        Value::Object(fields) => fields.values_mut().fold(false, |is_cut, value| cut(value, limit) | is_cut),
        _ => false,
    }
}

/// Counts the bytes that are written.
struct Count(usize);

impl std::io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 = self.0.saturating_add(bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<T: OwnEvent> From<T> for OwnObservation {
    fn from(event: T) -> Self {
        Self::new(event)
    }
}

/// Two events are equal if they are written alike.
impl PartialEq for OwnObservation {
    fn eq(&self, other: &Self) -> bool {
        (self.name, &self.fields) == (other.name, &other.fields)
    }
}

impl Eq for OwnObservation {}

impl fmt::Debug for OwnObservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.event.fmt(f)
    }
}

/// The end of a connection, or of a flow over UDP, after its last event; only with
/// [`Configure::connection_ends`](crate::Configure::connection_ends). Its packet is the latest one with an event.
///
/// ```
/// use std::collections::HashMap;
///
/// use huginn_net::observation::ConnectionEnd;
/// use huginn_net::{CaptureReader, Configure, HuginnNet, Observation};
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../captures/tcp/curl-nginx/curl-nginx.pcap");
/// let mut events = HashMap::new();
/// HuginnNet::builder().connection_ends(true).build().analyze(CaptureReader::open(path)?, |event| {
///     match &event.kind {
///         Observation::Own(own) if own.get::<ConnectionEnd>().is_some() => _ = events.remove(&event.connection()),
///         _ => *events.entry(event.connection()).or_insert(0) += 1,
///     }
/// })?;
/// assert!(events.is_empty());
/// # Ok::<_, huginn_net::AnalysisError<huginn_net::CaptureError>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ConnectionEnd {}

own_event!(ConnectionEnd = "connection_end");

/// What own protocols emit: one event, or that of one of several protocols.
pub trait IntoOwn: Send {
    /// The event.
    fn into_own(self) -> OwnObservation;
}

impl IntoOwn for OwnObservation {
    fn into_own(self) -> OwnObservation {
        self
    }
}

impl<A: IntoOwn, B: IntoOwn> IntoOwn for Either<A, B> {
    fn into_own(self) -> OwnObservation {
        match self {
            Self::First(event) => event.into_own(),
            Self::Second(event) => event.into_own(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Serialize)]
    struct Login {
        server: String,
        words: Vec<String>,
        count: u8,
    }

    own_event!(Login = "login");

    #[test]
    fn own_fields_give_way_to_those_of_all_events_and_are_cut() {
        let words = vec!["ä".repeat(4), "short".to_owned()];
        let mut own = OwnObservation::new(Login { server: "name".to_owned(), words, count: 7 });
        own.limit_texts(TextLimit::new(Some(5)));
        let written = serde_json::to_string(own.fields()).unwrap();
        assert_eq!(written, r#"{"count":7,"own_server":"name","words":["ää","short"]}"#);
        assert_eq!(own.json_len(), written.len());
        assert_eq!(own.cut().collect::<Vec<_>>(), ["words"]);
        assert_eq!(own.get::<Login>().map(|login| login.words[0].len()), Some(8));
        assert_eq!((own.name(), format!("{own:?}").starts_with("Login {")), ("login", true));
    }
}
