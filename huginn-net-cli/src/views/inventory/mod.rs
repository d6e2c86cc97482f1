//! Which cryptography clients offered and servers chose, and what of it needs attention.

mod certificate;
mod cyclonedx;
mod json;
mod problem;
mod summary;
mod text;

pub(crate) use self::cyclonedx::write as write_cyclonedx;
pub(crate) use self::json::write as write_json;
pub(crate) use self::summary::{JudgedServer, KeyExchangeName, Summary, Usage};
pub(crate) use self::text::{key_exchange_cells, name_cell, sentences, write as write_text};
