/*
 * The variables $huginn_ja4, $huginn_ja3_hash, $huginn_key_shares, $huginn_ech, $huginn_client_name, $huginn_tcp_sig and
 * $huginn_tcp_system of nginx: fingerprints of the client of a request, by the C interface of Huginn-Net.
 *
 * OpenSSL's message callback shows the ClientHello of each connection, and Linux saves the SYN of connections to listening
 * sockets that ask for it.
 */
#include <huginn_net.h>

#include <netinet/tcp.h>

#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#define MAX_SYN_LENGTH 1024

static ngx_int_t add_variables(ngx_conf_t *cf);
static ngx_int_t watch_handshakes(ngx_conf_t *cf);
static ngx_int_t save_syns(ngx_cycle_t *cycle);
static ngx_int_t get_value(ngx_http_request_t *r, ngx_http_variable_value_t *v, uintptr_t field);

static ngx_http_module_t module_context = {
    add_variables, watch_handshakes, NULL, NULL, NULL, NULL, NULL, NULL,
};

ngx_module_t ngx_http_huginn_module = {
    NGX_MODULE_V1, &module_context, NULL, NGX_HTTP_MODULE, NULL, save_syns, NULL, NULL, NULL, NULL, NULL,
    NGX_MODULE_V1_PADDING,
};

static const struct {
    ngx_str_t name;
    huginn_field field;
} variables[] = {
    {ngx_string("huginn_ja4"), HUGINN_FIELD_JA4},
    {ngx_string("huginn_ja3_hash"), HUGINN_FIELD_JA3_HASH},
    {ngx_string("huginn_key_shares"), HUGINN_FIELD_KEY_SHARES},
    {ngx_string("huginn_ech"), HUGINN_FIELD_ECH},
    {ngx_string("huginn_client_name"), HUGINN_FIELD_CLIENT_NAME},
    {ngx_string("huginn_tcp_sig"), HUGINN_FIELD_TCP_SIG},
    {ngx_string("huginn_tcp_system"), HUGINN_FIELD_TCP_SYSTEM},
};

static huginn_fingerprinter *fingerprinter;
/* The place of the huginn_client in an SSL. */
static int client_index = -1;

static ngx_int_t add_variables(ngx_conf_t *cf) {
    ngx_uint_t i;
    for (i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        ngx_str_t name = variables[i].name;
        ngx_http_variable_t *variable = ngx_http_add_variable(cf, &name, 0);
        if (variable == NULL) {
            return NGX_ERROR;
        }
        variable->get_handler = get_value;
        variable->data = variables[i].field;
    }
    return NGX_OK;
}

static void free_client(void *parent, void *client, CRYPTO_EX_DATA *data, int index, long argl, void *argp) {
    huginn_client_free(client);
}

/* Called for each message of a handshake. The first ClientHello counts, not one after a HelloRetryRequest. */
static void on_message(int written, int version, int type, const void *message, size_t length, SSL *ssl, void *arg) {
    huginn_client *client;
    if (written || type != SSL3_RT_HANDSHAKE || length == 0 || *(const u_char *)message != SSL3_MT_CLIENT_HELLO ||
        SSL_get_ex_data(ssl, client_index) != NULL) {
        return;
    }
    client = huginn_client_new();
    if (client == NULL || huginn_client_set_hello(client, message, length) != HUGINN_STATUS_OK ||
        !SSL_set_ex_data(ssl, client_index, client)) {
        huginn_client_free(client);
    }
}

static ngx_int_t watch_handshakes(ngx_conf_t *cf) {
    ngx_uint_t i;
    ngx_http_core_main_conf_t *main = ngx_http_conf_get_module_main_conf(cf, ngx_http_core_module);
    ngx_http_core_srv_conf_t **servers = main->servers.elts;
    /* Both outlive a reload of the configuration. */
    if (fingerprinter == NULL && (fingerprinter = huginn_fingerprinter_new()) == NULL) {
        return NGX_ERROR;
    }
    if (client_index == -1 && (client_index = SSL_get_ex_new_index(0, NULL, NULL, NULL, free_client)) == -1) {
        return NGX_ERROR;
    }
    for (i = 0; i < main->servers.nelts; i++) {
        ngx_http_ssl_srv_conf_t *tls = servers[i]->ctx->srv_conf[ngx_http_ssl_module.ctx_index];
        if (tls->ssl.ctx != NULL) {
            SSL_CTX_set_msg_callback(tls->ssl.ctx, on_message);
        }
    }
    return NGX_OK;
}

static ngx_int_t save_syns(ngx_cycle_t *cycle) {
    ngx_uint_t i;
    int on = 1;
    ngx_listening_t *listening = cycle->listening.elts;
    for (i = 0; i < cycle->listening.nelts; i++) {
        if (listening[i].type == SOCK_STREAM && listening[i].sockaddr->sa_family != AF_UNIX &&
            setsockopt(listening[i].fd, IPPROTO_TCP, TCP_SAVE_SYN, &on, sizeof on) != 0) {
            ngx_log_error(NGX_LOG_WARN, cycle->log, ngx_socket_errno, "huginn: no SYNs of %V", &listening[i].addr_text);
        }
    }
    return NGX_OK;
}

/* Adds the SYN, which the kernel hands out once. Several requests may follow on one connection. */
static void add_syn(ngx_connection_t *connection, huginn_client *client) {
    u_char syn[MAX_SYN_LENGTH];
    socklen_t length = sizeof syn;
    if (getsockopt(connection->fd, IPPROTO_TCP, TCP_SAVED_SYN, syn, &length) == 0 && length > 0) {
        huginn_client_set_syn(client, syn, length);
    }
    huginn_client_fingerprint(client, fingerprinter);
}

static ngx_int_t get_value(ngx_http_request_t *r, ngx_http_variable_value_t *v, uintptr_t field) {
    size_t length;
    huginn_client *client = NULL;
    if (r->connection->ssl != NULL) {
        client = SSL_get_ex_data(r->connection->ssl->connection, client_index);
    }
#if (NGX_HTTP_V3)
    /* The ClientHello of QUIC has another JA4. */
    if (r->connection->quic != NULL) {
        client = NULL;
    }
#endif
    v->not_found = 1;
    if (client == NULL) {
        return NGX_OK;
    }
    /* Every ClientHello has a JA4 once the fingerprint is computed. */
    if (huginn_client_value(client, HUGINN_FIELD_JA4, NULL, 0, NULL) == HUGINN_STATUS_ABSENT) {
        add_syn(r->connection, client);
    }
    if (huginn_client_value(client, field, NULL, 0, &length) != HUGINN_STATUS_BUFFER_TOO_SMALL) {
        return NGX_OK;
    }
    v->data = ngx_pnalloc(r->pool, length + 1);
    if (v->data == NULL) {
        return NGX_ERROR;
    }
    if (huginn_client_value(client, field, (char *)v->data, length + 1, NULL) == HUGINN_STATUS_OK) {
        v->len = length;
        v->valid = 1;
        v->no_cacheable = 0;
        v->not_found = 0;
    }
    return NGX_OK;
}
