// The C interface of Huginn-Net: fingerprints of clients from their first bytes. docs/c.md explains it.
//
// cbindgen writes this file; change huginn-net-ffi/src instead.

#pragma once

#include <stddef.h>
#include <stdint.h>

// The result of a call.
typedef enum {
    // Done.
    HUGINN_STATUS_OK = 0,
    // More bytes are needed.
    HUGINN_STATUS_INCOMPLETE = 1,
    // The bytes are of another protocol, or damaged.
    HUGINN_STATUS_UNRECOGNIZED = 2,
    // The ClientHello or the head of the request is longer than 64 KiB.
    HUGINN_STATUS_TOO_LONG = 3,
    // The client has no such value.
    HUGINN_STATUS_ABSENT = 4,
    // The buffer is too small. Only a NUL was written, and the length is that of the value.
    HUGINN_STATUS_BUFFER_TOO_SMALL = 5,
    // A pointer is NULL that must not be, or a number has no meaning.
    HUGINN_STATUS_INVALID_ARGUMENT = 6,
    // An error of this library. The client must not be used again, except to free it.
    HUGINN_STATUS_INTERNAL = 7,
} huginn_status;

// A value of a fingerprint.
typedef enum {
    // JA4.
    HUGINN_FIELD_JA4 = 0,
    // JA4_r: the sorted lists.
    HUGINN_FIELD_JA4_R = 1,
    // JA4_o: in the order of the wire.
    HUGINN_FIELD_JA4_O = 2,
    // JA4_ro: the lists in the order of the wire.
    HUGINN_FIELD_JA4_RO = 3,
    // JA4 that session resumption does not change.
    HUGINN_FIELD_JA4_STABLE = 4,
    // The stable JA4 with its lists.
    HUGINN_FIELD_JA4_STABLE_R = 5,
    // JA3.
    HUGINN_FIELD_JA3 = 6,
    // The MD5 of JA3.
    HUGINN_FIELD_JA3_HASH = 7,
    // The server name.
    HUGINN_FIELD_SNI = 8,
    // The offered protocols, joined by commas.
    HUGINN_FIELD_ALPN = 9,
    // The Akamai fingerprint of HTTP/2.
    HUGINN_FIELD_AKAMAI = 10,
    // The MD5 of the Akamai fingerprint.
    HUGINN_FIELD_AKAMAI_HASH = 11,
    // The names of the headers of the first request, joined by commas.
    HUGINN_FIELD_HEADER_ORDER = 12,
    // p0f's signature of the first request.
    HUGINN_FIELD_HTTP_SIG = 13,
    // p0f's signature of the SYN.
    HUGINN_FIELD_TCP_SIG = 14,
    // The operating system that the SYN matches.
    HUGINN_FIELD_TCP_SYSTEM = 15,
    // The software that HTTP/2, the headers or TLS name.
    HUGINN_FIELD_CLIENT_NAME = 16,
    // Whether the client is the browser that it claims to be: consistent, imitation, proxy, unexplained or unknown.
    HUGINN_FIELD_VERDICT = 17,
    // The claim and what contradicts it.
    HUGINN_FIELD_VERDICT_REASONS = 18,
    // The groups of the key shares and the lengths of their keys in bytes, joined by commas: X25519MLKEM768:1216,x25519:32.
    HUGINN_FIELD_KEY_SHARES = 19,
    // The kind of the extension encrypted_client_hello: outer, inner or other.
    HUGINN_FIELD_ECH = 20,
    // The QUIC fingerprint in its sorted form.
    HUGINN_FIELD_QUIC = 21,
} huginn_field;

// The first bytes of one connection, by layer, and the fingerprint that was computed of them.
typedef struct huginn_client huginn_client;

// The databases of signatures and of clients.
typedef struct huginn_fingerprinter huginn_fingerprinter;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The version of the library, such as "0.1.0". It lives as long as the program.
const char *huginn_version(void);

// Creates a fingerprinter with the built-in databases. Threads may use it at the same time. NULL after an error of this
// library. The owner frees it with huginn_fingerprinter_free.
huginn_fingerprinter *huginn_fingerprinter_new(void);

// Names operating systems and HTTP/1 software with the signatures of a text in the format of p0f.fp, instead of the
// built-in ones. No other thread may use the fingerprinter meanwhile.
//
// If the text has an error (HUGINN_STATUS_UNRECOGNIZED), nothing changes, and the message is written to `message`, of
// `message_size` bytes, if it fits.
huginn_status huginn_fingerprinter_set_signatures(huginn_fingerprinter *fingerprinter,
                                                  const uint8_t *text,
                                                  size_t len,
                                                  char *message,
                                                  size_t message_size);

// Frees a fingerprinter. NULL is allowed.
void huginn_fingerprinter_free(huginn_fingerprinter *fingerprinter);

// Creates an empty client for a new connection. NULL after an error of this library. The owner frees it with
// huginn_client_free.
huginn_client *huginn_client_new(void);

// Frees a client. NULL is allowed.
void huginn_client_free(huginn_client *client);

// Sets the SYN of the connection: an IP packet from its first byte up to the end of the TCP header or longer, as the
// socket option TCP_SAVED_SYN of Linux returns it.
huginn_status huginn_client_set_syn(huginn_client *client, const uint8_t *packet, size_t len);

// Adds the next bytes that the client sent, as they came from the socket, in pieces of any size: TLS records up to the end
// of the ClientHello.
//
// HUGINN_STATUS_OK: the ClientHello is complete. HUGINN_STATUS_INCOMPLETE: more bytes are needed.
// HUGINN_STATUS_UNRECOGNIZED: the client does not speak TLS. HUGINN_STATUS_TOO_LONG: the ClientHello is longer than 64 KiB.
// `taken`, if not NULL, becomes the number of bytes that belong to the ClientHello; all others follow it.
huginn_status huginn_client_push_tls(huginn_client *client,
                                     const uint8_t *data,
                                     size_t len,
                                     size_t *taken);

// Adds the next bytes of HTTP, decrypted, in pieces of any size: HTTP/1 up to the end of the head of the first request,
// HTTP/2 up to the end of its first field block. Results are those of huginn_client_push_tls.
huginn_status huginn_client_push_http(huginn_client *client, const uint8_t *data, size_t len, size_t *taken);

// Adds the next datagram (the UDP payload) that the client of a QUIC connection sent, from the one that opened the
// connection on. After a Retry, use a new client. What a server must discard is ignored: datagrams with an Initial packet
// and less than 1,200 bytes, and packets that the keys of the connection do not decrypt.
//
// HUGINN_STATUS_OK: the ClientHello is complete. HUGINN_STATUS_INCOMPLETE: more datagrams are needed.
// HUGINN_STATUS_UNRECOGNIZED: 256 Initial packets had no ClientHello, or the first 16 could not be decrypted.
huginn_status huginn_client_push_quic(huginn_client *client,
                                      const uint8_t *datagram,
                                      size_t len);

// Sets the ClientHello as a TLS library shows it: the handshake message with its four-byte header and without records,
// such as OpenSSL's message callback gets it. It is ignored if huginn_client_push_tls completed one.
huginn_status huginn_client_set_hello(huginn_client *client, const uint8_t *message, size_t len);

// Computes the fingerprint of what is known of a client. Layers that are incomplete or damaged are absent. Call it again
// after more bytes were added.
huginn_status huginn_client_fingerprint(huginn_client *client,
                                        const huginn_fingerprinter *fingerprinter);

// Writes a value of the fingerprint to a buffer of `size` bytes, as UTF-8 with a NUL. `field` is a huginn_field. `length`, if
// not NULL, becomes the length of the value in bytes without the NUL, also if the buffer is too small; a size of 0 asks
// for the length alone.
//
// HUGINN_STATUS_ABSENT: the client has no such value, or huginn_client_fingerprint was not called since its bytes changed.
// HUGINN_STATUS_BUFFER_TOO_SMALL: the buffer has fewer than length + 1 bytes.
huginn_status huginn_client_value(const huginn_client *client,
                                  uint32_t field,
                                  char *text,
                                  size_t size,
                                  size_t *length);

// Writes the fingerprint as JSON, as huginn_client_value writes one value. docs/proxy.md describes its keys.
huginn_status huginn_client_json(const huginn_client *client, char *text, size_t size, size_t *length);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus
