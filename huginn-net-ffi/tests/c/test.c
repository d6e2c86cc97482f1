/* Tests the C interface: test REPOSITORY. Also compiles as C++. */
#include <huginn_net.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                            \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

#define CHECK_VALUE(client, field, expected)                                                                           \
    do {                                                                                                               \
        char text[4097];                                                                                               \
        size_t length;                                                                                                 \
        CHECK(huginn_client_value(client, field, text, sizeof text, &length) == HUGINN_STATUS_OK);                     \
        if (strcmp(text, expected) != 0 || length != strlen(expected)) {                                               \
            fprintf(stderr, "%s:%d: %s is %s\n", __FILE__, __LINE__, #field, text);                                    \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

struct bytes {
    uint8_t *start;
    size_t length;
};

/* The SYN of Linux 5.10 from 192.0.2.1 to 192.0.2.2. */
static const uint8_t SYN[] = {
    0x45, 0x00, 0x00, 0x3c, 0x1c, 0x46, 0x40, 0x00, 0x40, 0x06, 0x00, 0x00, 0xc0, 0x00, 0x02,
    0x01, 0xc0, 0x00, 0x02, 0x02, 0xc3, 0x50, 0x01, 0xbb, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00,
    0x00, 0x00, 0xa0, 0x02, 0xfa, 0xf0, 0x00, 0x00, 0x00, 0x00, 0x02, 0x04, 0x05, 0xb4, 0x04,
    0x02, 0x08, 0x0a, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x01, 0x03, 0x03, 0x07,
};

static const char REQUEST[] = "GET / HTTP/1.1\r\nHost: example.org\r\nUser-Agent: curl/8.5.0\r\nAccept: */*\r\n\r\n";

static struct bytes read_file(const char *repository, const char *name) {
    char path[4096];
    struct bytes found;
    long length;
    FILE *file;
    CHECK(snprintf(path, sizeof path, "%s/%s", repository, name) < (int)sizeof path);
    file = fopen(path, "rb");
    CHECK(file != NULL);
    CHECK(fseek(file, 0, SEEK_END) == 0);
    length = ftell(file);
    CHECK(length > 0);
    rewind(file);
    found.length = (size_t)length;
    /* Exactly as long as the file, so that a read beyond it is found. */
    found.start = (uint8_t *)malloc(found.length);
    CHECK(found.start != NULL);
    CHECK(fread(found.start, 1, found.length, file) == found.length);
    fclose(file);
    return found;
}

static void all_layers_of_a_connection(const huginn_fingerprinter *fingerprinter, struct bytes hello, struct bytes http2) {
    huginn_client *client = huginn_client_new();
    size_t at, taken = 99;
    CHECK(client != NULL);
    CHECK(huginn_client_set_syn(client, SYN, sizeof SYN) == HUGINN_STATUS_OK);
    /* Byte by byte, as a slow client sends them. */
    for (at = 0; at < hello.length; at++) {
        huginn_status expected = at + 1 < hello.length ? HUGINN_STATUS_INCOMPLETE : HUGINN_STATUS_OK;
        CHECK(huginn_client_push_tls(client, hello.start + at, 1, &taken) == expected);
        CHECK(taken == 1);
    }
    CHECK(huginn_client_push_tls(client, hello.start, 5, &taken) == HUGINN_STATUS_OK);
    CHECK(taken == 0);
    CHECK(huginn_client_push_http(client, http2.start, http2.length, NULL) == HUGINN_STATUS_OK);
    CHECK(huginn_client_value(client, HUGINN_FIELD_JA4, NULL, 0, NULL) == HUGINN_STATUS_ABSENT);
    CHECK(huginn_client_fingerprint(client, fingerprinter) == HUGINN_STATUS_OK);
    CHECK_VALUE(client, HUGINN_FIELD_JA4, "t13d3112h2_e8f1e7e78f70_b26ce05bbdd6");
    CHECK_VALUE(client, HUGINN_FIELD_JA3_HASH, "0149f47eabf9a20d0893e2a44e5a6323");
    CHECK_VALUE(client, HUGINN_FIELD_ALPN, "h2,http/1.1");
    CHECK_VALUE(client, HUGINN_FIELD_AKAMAI, "3:100;4:33554432;2:0|33488897|0|m,p,s,a");
    CHECK_VALUE(client, HUGINN_FIELD_HEADER_ORDER, "user-agent,accept");
    CHECK_VALUE(client, HUGINN_FIELD_TCP_SIG, "4:64+0:0:1460:mss*44,7:mss,sok,ts,nop,ws:df,id+:0");
    CHECK_VALUE(client, HUGINN_FIELD_CLIENT_NAME, "libcurl 7.88 and older");
    huginn_client_free(client);
}

static void buffers_of_every_size(const huginn_fingerprinter *fingerprinter, struct bytes hello) {
    const char *expected = "t13d3112h2_e8f1e7e78f70_b26ce05bbdd6";
    size_t size, length, needed;
    huginn_client *client = huginn_client_new();
    char *text;
    CHECK(huginn_client_push_tls(client, hello.start, hello.length, NULL) == HUGINN_STATUS_OK);
    CHECK(huginn_client_fingerprint(client, fingerprinter) == HUGINN_STATUS_OK);
    for (size = 0; size < strlen(expected) + 3; size++) {
        /* Allocated, so that a write beyond it is found. */
        text = (char *)malloc(size + (size == 0));
        CHECK(text != NULL);
        if (size > strlen(expected)) {
            CHECK(huginn_client_value(client, HUGINN_FIELD_JA4, text, size, &length) == HUGINN_STATUS_OK);
            CHECK(strcmp(text, expected) == 0);
        } else {
            CHECK(huginn_client_value(client, HUGINN_FIELD_JA4, text, size, &length) == HUGINN_STATUS_BUFFER_TOO_SMALL);
            CHECK(size == 0 || text[0] == '\0');
        }
        CHECK(length == strlen(expected));
        free(text);
    }
    CHECK(huginn_client_json(client, NULL, 0, &needed) == HUGINN_STATUS_BUFFER_TOO_SMALL);
    text = (char *)malloc(needed + 1);
    CHECK(text != NULL);
    CHECK(huginn_client_json(client, text, needed + 1, NULL) == HUGINN_STATUS_OK);
    CHECK(strlen(text) == needed && text[0] == '{' && strstr(text, expected) != NULL);
    free(text);
    huginn_client_free(client);
}

static void hello_of_a_tls_library(const huginn_fingerprinter *fingerprinter, struct bytes hello) {
    huginn_client *client = huginn_client_new();
    CHECK(huginn_client_set_hello(client, hello.start + 5, hello.length - 6) == HUGINN_STATUS_INCOMPLETE);
    CHECK(huginn_client_set_hello(client, hello.start, hello.length) == HUGINN_STATUS_UNRECOGNIZED);
    CHECK(huginn_client_set_hello(client, hello.start + 5, hello.length - 5) == HUGINN_STATUS_OK);
    CHECK(huginn_client_fingerprint(client, fingerprinter) == HUGINN_STATUS_OK);
    CHECK_VALUE(client, HUGINN_FIELD_JA4, "t13d3112h2_e8f1e7e78f70_b26ce05bbdd6");
    huginn_client_free(client);
}

static void hello_of_quic(const huginn_fingerprinter *fingerprinter, struct bytes initial) {
    huginn_client *client = huginn_client_new();
    CHECK(huginn_client_push_quic(client, (const uint8_t *)"@short", 6) == HUGINN_STATUS_INCOMPLETE);
    CHECK(huginn_client_push_quic(client, initial.start, initial.length) == HUGINN_STATUS_OK);
    CHECK(huginn_client_push_quic(client, initial.start, initial.length) == HUGINN_STATUS_OK);
    CHECK(huginn_client_fingerprint(client, fingerprinter) == HUGINN_STATUS_OK);
    CHECK_VALUE(client, HUGINN_FIELD_SNI, "example.com");
    CHECK_VALUE(client, HUGINN_FIELD_QUIC, "1|1:30000;4:4611686018427387903;5:65535;6:65535;7:65535;8:16;9:16;f*8");
    CHECK_VALUE(client, HUGINN_FIELD_KEY_SHARES, "x25519:32");
    CHECK(huginn_client_value(client, HUGINN_FIELD_ECH, NULL, 0, NULL) == HUGINN_STATUS_ABSENT);
    huginn_client_free(client);
}

static void what_clients_can_do_wrong(const huginn_fingerprinter *fingerprinter, struct bytes hello) {
    huginn_client *client = huginn_client_new();
    size_t taken, pushed = 0;
    huginn_status status;
    uint8_t record[5 + 16384] = {22, 3, 1, 0x40, 0, 1, 0xff, 0xff, 0xff};
    CHECK(huginn_client_push_tls(client, (const uint8_t *)REQUEST, sizeof REQUEST - 1, &taken) ==
          HUGINN_STATUS_UNRECOGNIZED);
    CHECK(huginn_client_push_http(client, hello.start, hello.length, NULL) == HUGINN_STATUS_UNRECOGNIZED);
    CHECK(huginn_client_set_syn(client, hello.start, hello.length) == HUGINN_STATUS_OK);
    CHECK(huginn_client_fingerprint(client, fingerprinter) == HUGINN_STATUS_OK);
    CHECK(huginn_client_value(client, HUGINN_FIELD_JA4, NULL, 0, NULL) == HUGINN_STATUS_ABSENT);
    CHECK(huginn_client_value(client, HUGINN_FIELD_TCP_SIG, NULL, 0, NULL) == HUGINN_STATUS_ABSENT);
    huginn_client_free(client);

    client = huginn_client_new();
    do {
        status = huginn_client_push_tls(client, record, sizeof record, &taken);
        pushed += taken;
        record[5] = 0;
    } while (status == HUGINN_STATUS_INCOMPLETE && pushed < 1 << 20);
    CHECK(status == HUGINN_STATUS_TOO_LONG && pushed <= 65536);
    huginn_client_free(client);
}

static void what_callers_can_do_wrong(huginn_fingerprinter *fingerprinter) {
    huginn_client *client = huginn_client_new();
    char message[200] = "unchanged";
    size_t length = 99;
    CHECK(huginn_client_push_tls(NULL, SYN, sizeof SYN, NULL) == HUGINN_STATUS_INVALID_ARGUMENT);
    CHECK(huginn_client_push_tls(client, NULL, 1, NULL) == HUGINN_STATUS_INVALID_ARGUMENT);
    CHECK(huginn_client_push_tls(client, NULL, 0, NULL) == HUGINN_STATUS_INCOMPLETE);
    CHECK(huginn_client_push_http(client, SYN, (size_t)-1, NULL) == HUGINN_STATUS_INVALID_ARGUMENT);
    CHECK(huginn_client_push_quic(NULL, SYN, sizeof SYN) == HUGINN_STATUS_INVALID_ARGUMENT);
    CHECK(huginn_client_set_syn(client, NULL, 20) == HUGINN_STATUS_INVALID_ARGUMENT);
    CHECK(huginn_client_set_hello(client, NULL, 20) == HUGINN_STATUS_INVALID_ARGUMENT);
    CHECK(huginn_client_fingerprint(client, NULL) == HUGINN_STATUS_INVALID_ARGUMENT);
    CHECK(huginn_client_fingerprint(NULL, fingerprinter) == HUGINN_STATUS_INVALID_ARGUMENT);
    CHECK(huginn_client_fingerprint(client, fingerprinter) == HUGINN_STATUS_OK);
    CHECK(huginn_client_value(client, 22, message, sizeof message, NULL) == HUGINN_STATUS_INVALID_ARGUMENT);
    CHECK(huginn_client_value(client, HUGINN_FIELD_JA4, NULL, 10, NULL) == HUGINN_STATUS_INVALID_ARGUMENT);
    CHECK(huginn_client_value(client, HUGINN_FIELD_JA4, message, sizeof message, &length) == HUGINN_STATUS_ABSENT);
    CHECK(length == 0 && message[0] == '\0');
    CHECK(huginn_client_json(NULL, message, sizeof message, NULL) == HUGINN_STATUS_INVALID_ARGUMENT);
    huginn_client_free(client);
    huginn_client_free(NULL);

    CHECK(huginn_fingerprinter_set_signatures(NULL, NULL, 0, NULL, 0) == HUGINN_STATUS_INVALID_ARGUMENT);
    CHECK(huginn_fingerprinter_set_signatures(fingerprinter, (const uint8_t *)"[tcp", 4, message, sizeof message) ==
          HUGINN_STATUS_UNRECOGNIZED);
    CHECK(strlen(message) > 0);
    huginn_fingerprinter_free(NULL);
}

static void own_signatures(void) {
    static const char text[] = "classes = unix\n"
                               "[tcp:request]\n"
                               "label = s:unix:Example:1\n"
                               "sig = *:64:0:*:mss*44,7:mss,sok,ts,nop,ws:df,id+:0\n";
    huginn_fingerprinter *fingerprinter = huginn_fingerprinter_new();
    huginn_client *client = huginn_client_new();
    CHECK(huginn_fingerprinter_set_signatures(fingerprinter, (const uint8_t *)text, sizeof text - 1, NULL, 0) ==
          HUGINN_STATUS_OK);
    CHECK(huginn_client_set_syn(client, SYN, sizeof SYN) == HUGINN_STATUS_OK);
    CHECK(huginn_client_fingerprint(client, fingerprinter) == HUGINN_STATUS_OK);
    huginn_fingerprinter_free(fingerprinter);
    CHECK_VALUE(client, HUGINN_FIELD_TCP_SYSTEM, "Example 1");
    huginn_client_free(client);
}

int main(int argc, char **argv) {
    huginn_fingerprinter *fingerprinter = huginn_fingerprinter_new();
    struct bytes hello, http2, initial;
    CHECK(argc == 2);
    CHECK(fingerprinter != NULL);
    CHECK(strchr(huginn_version(), '.') != NULL);
    hello = read_file(argv[1], "huginn-net-tls/hellos/curl-openssl.bin");
    http2 = read_file(argv[1], "huginn-net-http/http2/curl.bin");
    initial = read_file(argv[1], "huginn-net-tls/hellos/rfc9001-a2-client-initial.bin");
    all_layers_of_a_connection(fingerprinter, hello, http2);
    buffers_of_every_size(fingerprinter, hello);
    hello_of_a_tls_library(fingerprinter, hello);
    hello_of_quic(fingerprinter, initial);
    what_clients_can_do_wrong(fingerprinter, hello);
    what_callers_can_do_wrong(fingerprinter);
    own_signatures();
    free(hello.start);
    free(http2.start);
    free(initial.start);
    huginn_fingerprinter_free(fingerprinter);
    puts("the C interface works");
    return 0;
}
