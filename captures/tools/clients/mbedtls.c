// An mbed TLS client with default settings: HOST PORT [psk]
#include <mbedtls/ctr_drbg.h>
#include <mbedtls/entropy.h>
#include <mbedtls/net_sockets.h>
#include <mbedtls/ssl.h>

int main(int count, char **arguments) {
    mbedtls_net_context connection;
    mbedtls_ssl_context tls;
    mbedtls_ssl_config settings;
    mbedtls_ctr_drbg_context random;
    mbedtls_entropy_context entropy;
    mbedtls_net_init(&connection);
    mbedtls_ssl_init(&tls);
    mbedtls_ssl_config_init(&settings);
    mbedtls_ctr_drbg_init(&random);
    mbedtls_entropy_init(&entropy);
    if (count < 3 || mbedtls_net_connect(&connection, arguments[1], arguments[2], MBEDTLS_NET_PROTO_TCP)) return 2;
    mbedtls_ctr_drbg_seed(&random, mbedtls_entropy_func, &entropy, 0, 0);
    mbedtls_ssl_config_defaults(&settings, MBEDTLS_SSL_IS_CLIENT, MBEDTLS_SSL_TRANSPORT_STREAM, MBEDTLS_SSL_PRESET_DEFAULT);
    mbedtls_ssl_conf_authmode(&settings, MBEDTLS_SSL_VERIFY_NONE);
    mbedtls_ssl_conf_rng(&settings, mbedtls_ctr_drbg_random, &random);
    // Suites with a pre-shared key are sent if there is one.
    if (count > 3) mbedtls_ssl_conf_psk(&settings, (const unsigned char *) "key", 3, (const unsigned char *) "name", 4);
    mbedtls_ssl_setup(&tls, &settings);
    mbedtls_ssl_set_hostname(&tls, arguments[1]);
    mbedtls_ssl_set_bio(&tls, &connection, mbedtls_net_send, mbedtls_net_recv, 0);
    return mbedtls_ssl_handshake(&tls) != 0;
}
