"""Connects with a libssl of any version: openssl.py LIBSSL HOST PORT OPTION... Without HOST, prints the version. The options are
METHOD=TLSv1_client_method, CIPHERS=HIGH, SET=number of SSL_OP_* flags, NAME=server name, ALPN=h2,http/1.1 and NPN=1."""

import ctypes
import pathlib
import socket
import sys

path = pathlib.Path(sys.argv[1])
crypto_name = next(path.parent.glob("libcrypto*"), None)
crypto = ctypes.CDLL(str(crypto_name), mode=ctypes.RTLD_GLOBAL)
ssl = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
pointer, text = ctypes.c_void_p, ctypes.c_char_p

if len(sys.argv) < 4:
    version = getattr(crypto, "SSLeay_version", None) or crypto.OpenSSL_version
    version.restype = text
    sys.exit(print(version(0).decode().split()[1].split("-")[0]))

host, port = sys.argv[2], int(sys.argv[3])
options = dict(option.split("=", 1) for option in sys.argv[4:])


def call(name, result, *arguments):
    function = getattr(ssl, name)
    function.restype = result
    function.argtypes = [kind for kind, _ in arguments]
    return function(*(value for _, value in arguments))


if hasattr(ssl, "SSL_library_init"):
    ssl.SSL_library_init()
default = "SSLv23_client_method" if hasattr(ssl, "SSLv23_client_method") else "TLS_client_method"
context = call("SSL_CTX_new", pointer, (pointer, call(options.get("METHOD", default), pointer)))
SSL_CTRL_OPTIONS, SSL_CTRL_SET_TLSEXT_HOSTNAME = 32, 55
OP_NO_SSLV2 = 0x01000000
# Since 1.1.0 the bit is another option.
flags = (0 if hasattr(ssl, "SSL_CTX_set_options") else OP_NO_SSLV2) | int(options.get("SET", "0"), 0)
if hasattr(ssl, "SSL_CTX_set_options"):
    call("SSL_CTX_set_options", ctypes.c_ulong, (pointer, context), (ctypes.c_ulong, flags))
else:
    call("SSL_CTX_ctrl", ctypes.c_long, (pointer, context), (ctypes.c_int, SSL_CTRL_OPTIONS), (ctypes.c_long, flags), (pointer, None))
if "CIPHERS" in options:
    call("SSL_CTX_set_cipher_list", ctypes.c_int, (pointer, context), (text, options["CIPHERS"].encode()))
if "NPN" in options:
    select = ctypes.CFUNCTYPE(ctypes.c_int, pointer, pointer, pointer, pointer, ctypes.c_uint, pointer)(lambda *_: 0)
    call("SSL_CTX_set_next_proto_select_cb", None, (pointer, context), (type(select), select), (pointer, None))
connection = call("SSL_new", pointer, (pointer, context))
if "NAME" in options:
    call("SSL_ctrl", ctypes.c_long, (pointer, connection), (ctypes.c_int, SSL_CTRL_SET_TLSEXT_HOSTNAME), (ctypes.c_long, 0), (text, options["NAME"].encode()))
if "ALPN" in options:
    names = b"".join(bytes([len(name)]) + name.encode() for name in options["ALPN"].split(","))
    call("SSL_set_alpn_protos", ctypes.c_int, (pointer, connection), (text, names), (ctypes.c_uint, len(names)))
tcp = socket.create_connection((host, port))
call("SSL_set_fd", ctypes.c_int, (pointer, connection), (ctypes.c_int, tcp.fileno()))
call("SSL_connect", ctypes.c_int, (pointer, connection))
