/* An SSH client with libssh: client HOST PORT. It exits after the key exchange. */
#include <libssh/libssh.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    int port = atoi(argv[2]);
    ssh_session session = ssh_new();
    ssh_options_set(session, SSH_OPTIONS_HOST, argv[1]);
    ssh_options_set(session, SSH_OPTIONS_PORT, &port);
    if (ssh_connect(session) != SSH_OK) {
        fprintf(stderr, "%s\n", ssh_get_error(session));
        return 1;
    }
    ssh_disconnect(session);
    ssh_free(session);
    return 0;
}
