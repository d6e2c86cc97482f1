//! Fingerprints of columns of bytes.

use std::fmt::Write as _;

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::ffi_stream::ArrayStreamReader;
use arrow_array::{Array, ArrayRef, StringArray};
use arrow_schema::{ArrowError, DataType};
use huginn_net::ssh::{Hassh, Identification, KexInit, message};
use huginn_net::tls::{ClientHello, ServerHello, Transport};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// First byte of a ClientHello without a record.
const CLIENT_HELLO: u8 = 1;
/// First byte of a ServerHello without a record.
const SERVER_HELLO: u8 = 2;

/// Texts, one for each value of a column of bytes.
#[pyclass(frozen)]
pub(crate) struct Column(StringArray);

#[pymethods]
impl Column {
    /// The texts as an Arrow array: the Arrow PyCapsule interface.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        // The interface lets a producer ignore the request.
        let _ = requested_schema;
        let schema = FFI_ArrowSchema::try_from(self.0.data_type()).map_err(invalid)?;
        let array = FFI_ArrowArray::new(&self.0.to_data());
        Ok((
            PyCapsule::new_with_value(py, schema, c"arrow_schema")?,
            PyCapsule::new_with_value(py, array, c"arrow_array")?,
        ))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __repr__(&self) -> String {
        format!("<huginn_net.Column: {} values, {} null>", self.0.len(), self.0.null_count())
    }
}

/// Computes a fingerprint of each value of a stream of arrays; null where there is none.
#[pyfunction]
pub(crate) fn fingerprint_column(
    py: Python<'_>,
    kind: &str,
    transport: &str,
    stream: &Bound<'_, PyCapsule>,
) -> PyResult<Column> {
    let fingerprint = Fingerprint::new(kind, transport)
        .ok_or_else(|| PyValueError::new_err("transport must be 'tcp', 'quic' or 'dtls'"))?;
    let mut arrays = import(stream)?;
    py.detach(|| {
        let mut texts = StringBuilder::new();
        arrays.try_for_each(|array| fingerprint.append(&array?, &mut texts)).map(|()| texts.finish())
    })
    .map(Column)
    .map_err(|error| match error {
        ArrowError::InvalidArgumentError(message) => PyTypeError::new_err(message),
        error => invalid(error),
    })
}

fn invalid(error: ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Takes the stream of a capsule.
#[expect(unsafe_code, reason = "a capsule is a pointer to what its name says")]
fn import(capsule: &Bound<'_, PyCapsule>) -> PyResult<ArrayStreamReader> {
    let pointer = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
    // SAFETY: by the Arrow PyCapsule interface, a capsule of this name points to a valid stream, which the consumer moves
    // out. A stream that was moved out before is released, which `from_raw` reports.
    unsafe { ArrayStreamReader::from_raw(pointer.as_ptr().cast()) }.map_err(invalid)
}

/// What is computed of bytes.
#[derive(Clone, Copy)]
enum Fingerprint {
    Ja4(Transport),
    Ja4Stable(Transport),
    Ja3(Transport),
    Ja3s(Transport),
    Hassh,
    HasshServer,
}

impl Fingerprint {
    fn new(kind: &str, transport: &str) -> Option<Self> {
        let transport = match transport {
            "tcp" => Transport::Tls,
            "quic" => Transport::Quic,
            "dtls" => Transport::Dtls,
            _ => return None,
        };
        Some(match kind {
            "ja4" => Self::Ja4(transport),
            "ja4_stable" => Self::Ja4Stable(transport),
            "ja3_hash" => Self::Ja3(transport),
            "ja3s_hash" => Self::Ja3s(transport),
            "hassh" => Self::Hassh,
            "hassh_server" => Self::HasshServer,
            _ => return None,
        })
    }

    /// Appends the fingerprints of an array.
    fn append(self, array: &ArrayRef, texts: &mut StringBuilder) -> Result<(), ArrowError> {
        match array.data_type() {
            DataType::Binary => self.append_all(array.as_binary::<i32>().iter(), texts),
            DataType::LargeBinary => self.append_all(array.as_binary::<i64>().iter(), texts),
            DataType::BinaryView => self.append_all(array.as_binary_view().iter(), texts),
            DataType::FixedSizeBinary(_) => self.append_all(array.as_fixed_size_binary().iter(), texts),
            DataType::Null => self.append_all(std::iter::repeat_n(None, array.len()), texts),
            other => {
                Err(ArrowError::InvalidArgumentError(format!("a column of bytes is needed, not of {other}")))
            }
        }
    }

    fn append_all<'a>(
        self,
        values: impl Iterator<Item = Option<&'a [u8]>>,
        texts: &mut StringBuilder,
    ) -> Result<(), ArrowError> {
        for value in values {
            // Fingerprints have less than 64 bytes.
            if texts.values_slice().len() > (i32::MAX as usize).saturating_sub(64) {
                return Err(ArrowError::MemoryError("too many values for one column: pass fewer".to_owned()));
            }
            match value.and_then(|bytes| self.compute(bytes, texts)) {
                Some(()) => texts.append_value(""),
                None => texts.append_null(),
            }
        }
        Ok(())
    }

    /// Writes the fingerprint of these bytes; `None`, and nothing is written, if they have none.
    fn compute(self, bytes: &[u8], text: &mut StringBuilder) -> Option<()> {
        match self {
            Self::Ja4(transport) => write!(text, "{}", client_hello(bytes, transport)?.ja4()),
            Self::Ja4Stable(transport) => write!(text, "{}", client_hello(bytes, transport)?.ja4_stable()),
            Self::Ja3(transport) => write!(text, "{}", client_hello(bytes, transport)?.ja3_hash()),
            Self::Ja3s(transport) => write!(text, "{}", server_hello(bytes, transport)?.ja3s_hash()),
            Self::Hassh => write!(text, "{}", Hassh::from_client(&kex_init(bytes)?)),
            Self::HasshServer => write!(text, "{}", Hassh::from_server(&kex_init(bytes)?)),
        }
        .ok()
    }
}

/// The ClientHello of TLS records, or of a handshake message.
fn client_hello(bytes: &[u8], transport: Transport) -> Option<ClientHello<'_>> {
    let parsed = match bytes.first()? {
        &CLIENT_HELLO => ClientHello::from_message(bytes, transport),
        _ if transport == Transport::Tls => ClientHello::from_records(bytes),
        _ => return None,
    };
    Some(parsed.ok()??.value)
}

/// The ServerHello of TLS records, or of a handshake message.
fn server_hello(bytes: &[u8], transport: Transport) -> Option<ServerHello<'_>> {
    let parsed = match bytes.first()? {
        &SERVER_HELLO => ServerHello::from_message(bytes, transport),
        _ if transport == Transport::Tls => ServerHello::from_records(bytes),
        _ => return None,
    };
    Some(parsed.ok()??.value)
}

/// The SSH_MSG_KEXINIT of what a side sends first, of binary packets, or of the payload of one.
fn kex_init(bytes: &[u8]) -> Option<KexInit<'_>> {
    let packets = match bytes.first()? {
        &message::KEXINIT => return KexInit::from_payload(bytes).ok(),
        // The length of a packet.
        0 => bytes,
        _ => bytes.get(Identification::parse(bytes).ok()??.consumed..)?,
    };
    Some(KexInit::parse(packets).ok()??.value)
}
