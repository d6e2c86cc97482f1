//! The functions that C programs call.
//!
//! References of Rust are pointers of C here: `&T` may be shared among threads, `&mut T` may not, and a `Box` goes to its
//! owner. All may be NULL, where a status says so.
#![expect(unsafe_code, reason = "names that the linker sees, and memory of the caller")]
#![allow(clippy::missing_safety_doc, reason = "the header documents what C programs must guarantee")]

use std::ffi::{CStr, c_char};
use std::mem::MaybeUninit;

use crate::pointers::{buffer, bytes, write_text};
use crate::status::{guard, guard_new};
use crate::{HuginnClient, HuginnField, HuginnFingerprinter, HuginnStatus};

const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(version) => version,
    Err(_) => c"",
};

/// The version of the library, such as "0.1.0". It lives as long as the program.
#[unsafe(no_mangle)]
pub extern "C" fn huginn_version() -> *const c_char {
    VERSION.as_ptr()
}

/// Creates a fingerprinter with the built-in databases. Threads may use it at the same time. NULL after an error of this
/// library. The owner frees it with huginn_fingerprinter_free.
#[unsafe(no_mangle)]
pub extern "C" fn huginn_fingerprinter_new() -> Option<Box<HuginnFingerprinter>> {
    guard_new(HuginnFingerprinter::default)
}

/// Names operating systems and HTTP/1 software with the signatures of a text in the format of p0f.fp, instead of the
/// built-in ones. No other thread may use the fingerprinter meanwhile.
///
/// If the text has an error (HUGINN_STATUS_UNRECOGNIZED), nothing changes, and the message is written to `message`, of
/// `message_size` bytes, if it fits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn huginn_fingerprinter_set_signatures(
    fingerprinter: Option<&mut HuginnFingerprinter>,
    text: *const u8,
    len: usize,
    message: *mut c_char,
    message_size: usize,
) -> HuginnStatus {
    guard(|| {
        let fingerprinter = fingerprinter.ok_or(HuginnStatus::InvalidArgument)?;
        // SAFETY: the caller says that `len` bytes are at `text`, and `message_size` at `message`.
        let (text, message) = unsafe { (bytes(text, len)?, buffer(message, message_size)?) };
        fingerprinter.set_signatures(text).map_err(|error| {
            // A message that does not fit is left out.
            let _ = write_text(&error.to_string(), message);
            HuginnStatus::Unrecognized
        })
    })
}

/// Frees a fingerprinter. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn huginn_fingerprinter_free(fingerprinter: Option<Box<HuginnFingerprinter>>) {
    guard(|| {
        drop(fingerprinter);
        Ok(())
    });
}

/// Creates an empty client for a new connection. NULL after an error of this library. The owner frees it with
/// huginn_client_free.
#[unsafe(no_mangle)]
pub extern "C" fn huginn_client_new() -> Option<Box<HuginnClient>> {
    guard_new(HuginnClient::new)
}

/// Frees a client. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn huginn_client_free(client: Option<Box<HuginnClient>>) {
    guard(|| {
        drop(client);
        Ok(())
    });
}

/// Sets the SYN of the connection: an IP packet from its first byte up to the end of the TCP header or longer, as the
/// socket option TCP_SAVED_SYN of Linux returns it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn huginn_client_set_syn(
    client: Option<&mut HuginnClient>,
    packet: *const u8,
    len: usize,
) -> HuginnStatus {
    // SAFETY: the caller says that `len` bytes are at `packet`.
    unsafe {
        with_bytes(client, packet, len, |client, packet| {
            client.set_syn(packet);
            Ok(())
        })
    }
}

/// Adds the next bytes that the client sent, as they came from the socket, in pieces of any size: TLS records up to the end
/// of the ClientHello.
///
/// HUGINN_STATUS_OK: the ClientHello is complete. HUGINN_STATUS_INCOMPLETE: more bytes are needed.
/// HUGINN_STATUS_UNRECOGNIZED: the client does not speak TLS. HUGINN_STATUS_TOO_LONG: the ClientHello is longer than 64 KiB.
/// `taken`, if not NULL, becomes the number of bytes that belong to the ClientHello; all others follow it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn huginn_client_push_tls(
    client: Option<&mut HuginnClient>,
    data: *const u8,
    len: usize,
    taken: Option<&mut MaybeUninit<usize>>,
) -> HuginnStatus {
    // SAFETY: the caller says that `len` bytes are at `data`.
    unsafe { with_bytes(client, data, len, |client, bytes| write_taken(client.push_tls(bytes), taken)) }
}

/// Adds the next bytes of HTTP, decrypted, in pieces of any size: HTTP/1 up to the end of the head of the first request,
/// HTTP/2 up to the end of its first field block. Results are those of huginn_client_push_tls.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn huginn_client_push_http(
    client: Option<&mut HuginnClient>,
    data: *const u8,
    len: usize,
    taken: Option<&mut MaybeUninit<usize>>,
) -> HuginnStatus {
    // SAFETY: the caller says that `len` bytes are at `data`.
    unsafe { with_bytes(client, data, len, |client, bytes| write_taken(client.push_http(bytes), taken)) }
}

/// Calls a method of a client with bytes of the caller.
///
/// # Safety
/// `len` bytes are at `start`.
unsafe fn with_bytes(
    client: Option<&mut HuginnClient>,
    start: *const u8,
    len: usize,
    call: impl FnOnce(&mut HuginnClient, &[u8]) -> Result<(), HuginnStatus>,
) -> HuginnStatus {
    guard(|| {
        let client = client.ok_or(HuginnStatus::InvalidArgument)?;
        // SAFETY: the caller guarantees it.
        call(client, unsafe { bytes(start, len)? })
    })
}

/// Writes how many bytes were taken, if the caller asks for it.
fn write_taken(
    (number, outcome): (usize, Result<(), HuginnStatus>),
    taken: Option<&mut MaybeUninit<usize>>,
) -> Result<(), HuginnStatus> {
    if let Some(taken) = taken {
        taken.write(number);
    }
    outcome
}

/// Adds the next datagram (the UDP payload) that the client of a QUIC connection sent, from the one that opened the
/// connection on. After a Retry, use a new client. What a server must discard is ignored: datagrams with an Initial packet
/// and less than 1,200 bytes, and packets that the keys of the connection do not decrypt.
///
/// HUGINN_STATUS_OK: the ClientHello is complete. HUGINN_STATUS_INCOMPLETE: more datagrams are needed.
/// HUGINN_STATUS_UNRECOGNIZED: 256 Initial packets had no ClientHello, or the first 16 could not be decrypted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn huginn_client_push_quic(
    client: Option<&mut HuginnClient>,
    datagram: *const u8,
    len: usize,
) -> HuginnStatus {
    // SAFETY: the caller says that `len` bytes are at `datagram`.
    unsafe { with_bytes(client, datagram, len, HuginnClient::push_quic) }
}

/// Sets the ClientHello as a TLS library shows it: the handshake message with its four-byte header and without records,
/// such as OpenSSL's message callback gets it. It is ignored if huginn_client_push_tls completed one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn huginn_client_set_hello(
    client: Option<&mut HuginnClient>,
    message: *const u8,
    len: usize,
) -> HuginnStatus {
    // SAFETY: the caller says that `len` bytes are at `message`.
    unsafe { with_bytes(client, message, len, HuginnClient::set_hello) }
}

/// Computes the fingerprint of what is known of a client. Layers that are incomplete or damaged are absent. Call it again
/// after more bytes were added.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn huginn_client_fingerprint(
    client: Option<&mut HuginnClient>,
    fingerprinter: Option<&HuginnFingerprinter>,
) -> HuginnStatus {
    guard(|| {
        let client = client.ok_or(HuginnStatus::InvalidArgument)?;
        client.fingerprint(fingerprinter.ok_or(HuginnStatus::InvalidArgument)?);
        Ok(())
    })
}

/// Writes a value of the fingerprint to a buffer of `size` bytes, as UTF-8 with a NUL. `field` is a huginn_field. `length`, if
/// not NULL, becomes the length of the value in bytes without the NUL, also if the buffer is too small; a size of 0 asks
/// for the length alone.
///
/// HUGINN_STATUS_ABSENT: the client has no such value, or huginn_client_fingerprint was not called since its bytes changed.
/// HUGINN_STATUS_BUFFER_TOO_SMALL: the buffer has fewer than length + 1 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn huginn_client_value(
    client: Option<&HuginnClient>,
    field: u32,
    text: *mut c_char,
    size: usize,
    length: Option<&mut MaybeUninit<usize>>,
) -> HuginnStatus {
    guard(|| {
        let client = client.ok_or(HuginnStatus::InvalidArgument)?;
        let field = HuginnField::from_number(field).ok_or(HuginnStatus::InvalidArgument)?;
        // SAFETY: the caller says that `size` bytes are at `text`.
        unsafe { write(client.value(field).as_deref(), text, size, length) }
    })
}

/// Writes the fingerprint as JSON, as huginn_client_value writes one value. docs/proxy.md describes its keys.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn huginn_client_json(
    client: Option<&HuginnClient>,
    text: *mut c_char,
    size: usize,
    length: Option<&mut MaybeUninit<usize>>,
) -> HuginnStatus {
    guard(|| {
        let client = client.ok_or(HuginnStatus::InvalidArgument)?;
        // SAFETY: the caller says that `size` bytes are at `text`.
        unsafe { write(client.json().as_deref(), text, size, length) }
    })
}

/// # Safety
/// `size` bytes are at `text`.
unsafe fn write(
    value: Option<&str>,
    text: *mut c_char,
    size: usize,
    length: Option<&mut MaybeUninit<usize>>,
) -> Result<(), HuginnStatus> {
    // SAFETY: the caller guarantees it.
    let buffer = unsafe { buffer(text, size)? };
    if let Some(length) = length {
        length.write(value.map_or(0, str::len));
    }
    let outcome = write_text(value.unwrap_or_default(), buffer);
    if value.is_none() {
        return Err(HuginnStatus::Absent);
    }
    outcome
}
