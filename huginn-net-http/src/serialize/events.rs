//! `Serialize` for events.

use serde::{Serialize, Serializer};

use crate::http2::{Akamai, AkamaiHash};
use crate::{HttpEvent, HttpRequest, HttpResponse, Request, Response};

/// The fields of the [head](Request), `exchange`, and with HTTP/2 `akamai` and `akamai_hash`.
impl Serialize for HttpRequest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            #[serde(flatten)]
            request: &'a Request,
            exchange: u32,
            #[serde(skip_serializing_if = "Option::is_none")]
            akamai: Option<&'a Akamai>,
            #[serde(skip_serializing_if = "Option::is_none")]
            akamai_hash: Option<AkamaiHash>,
        }
        let Self { request, exchange, akamai } = self;
        let akamai = akamai.as_deref();
        Shape { request, exchange: *exchange, akamai, akamai_hash: akamai.map(Akamai::hash) }
            .serialize(serializer)
    }
}

/// The fields of the [head](Response), and `exchange`.
impl Serialize for HttpResponse {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            #[serde(flatten)]
            response: &'a Response,
            exchange: u32,
        }
        Shape { response: &self.response, exchange: self.exchange }.serialize(serializer)
    }
}

/// `event` (`http_request` or `http_response`), and the fields of the request or response.
impl Serialize for HttpEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(tag = "event", rename_all = "snake_case")]
        enum Shape<'a> {
            HttpRequest(&'a HttpRequest),
            HttpResponse(&'a HttpResponse),
        }
        match self {
            Self::Request(request) => Shape::HttpRequest(request),
            Self::Response(response) => Shape::HttpResponse(response),
        }
        .serialize(serializer)
    }
}
