//! `Serialize` for events.

use serde::{Serialize, Serializer};

use crate::{ClientHello, TlsClient, TlsEvent, TlsServer};

/// Serializes the fields of the [hello](ClientHello), and `retry`: whether it is the second one, requested by the server.
impl Serialize for TlsClient {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            #[serde(flatten)]
            hello: &'a ClientHello<'static>,
            retry: bool,
        }
        Shape { hello: &self.hello, retry: self.retry }.serialize(serializer)
    }
}

/// Serializes the fields of the [hello](crate::ServerHello).
impl Serialize for TlsServer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.hello.serialize(serializer)
    }
}

/// Serializes `event` (`tls_client` or `tls_server`), and the fields of the hello.
impl Serialize for TlsEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(tag = "event", rename_all = "snake_case")]
        enum Shape<'a> {
            TlsClient(&'a TlsClient),
            TlsServer(&'a TlsServer),
        }
        match self {
            Self::Client(client) => Shape::TlsClient(client),
            Self::Server(server) => Shape::TlsServer(server),
        }
        .serialize(serializer)
    }
}
