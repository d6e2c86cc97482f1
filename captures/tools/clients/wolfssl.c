// A wolfSSL client with default settings: HOST PORT [1.2]
#include <netdb.h>
#include <sys/socket.h>
#include <wolfssl/options.h>
#include <wolfssl/ssl.h>

int main(int count, char **arguments) {
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *address;
    if (count < 3 || getaddrinfo(arguments[1], arguments[2], &hints, &address)) return 2;
    int connection = socket(address->ai_family, address->ai_socktype, 0);
    if (connect(connection, address->ai_addr, address->ai_addrlen)) return 3;
    wolfSSL_Init();
    WOLFSSL_CTX *context = wolfSSL_CTX_new(count > 3 ? wolfTLSv1_2_client_method() : wolfTLS_client_method());
    wolfSSL_CTX_set_verify(context, WOLFSSL_VERIFY_NONE, 0);
    WOLFSSL *tls = wolfSSL_new(context);
    wolfSSL_UseSNI(tls, WOLFSSL_SNI_HOST_NAME, arguments[1], XSTRLEN(arguments[1]));
    wolfSSL_set_fd(tls, connection);
    return wolfSSL_connect(tls) != WOLFSSL_SUCCESS;
}
