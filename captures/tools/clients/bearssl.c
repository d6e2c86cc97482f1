// A BearSSL client with its full profile: HOST PORT
#include <bearssl.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

static unsigned char buffer[BR_SSL_BUFSIZE_BIDI];

int main(int count, char **arguments) {
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *address;
    if (count < 3 || getaddrinfo(arguments[1], arguments[2], &hints, &address)) return 2;
    int connection = socket(address->ai_family, address->ai_socktype, 0);
    if (connect(connection, address->ai_addr, address->ai_addrlen)) return 3;
    br_ssl_client_context client;
    br_x509_minimal_context certificates;
    br_ssl_client_init_full(&client, &certificates, 0, 0);
    br_ssl_engine_set_buffer(&client.eng, buffer, sizeof buffer, 1);
    br_ssl_client_reset(&client, arguments[1], 0);
    // The hello is the first record.
    size_t length;
    unsigned char *record = br_ssl_engine_sendrec_buf(&client.eng, &length);
    return write(connection, record, length) != (ssize_t) length || read(connection, buffer, 1) != 1;
}
