"""Python's TLS clients, each without certificate checks: client.py PACKAGE URL [PROFILE]. HTTP clients send the variable
USER_AGENT, if it is set."""

import asyncio
import os
import ssl
import sys
import urllib.parse
import warnings

warnings.simplefilter("ignore")
package, url = sys.argv[1:3]
address = urllib.parse.urlsplit(url)
headers = {"User-Agent": os.environ["USER_AGENT"]} if "USER_AGENT" in os.environ else {}

if package == "urllib":
    import urllib.request

    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    urllib.request.urlopen(urllib.request.Request(url, headers=headers), context=context).read()
elif package == "ssl":
    import socket

    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    for highest in (None, ssl.TLSVersion.TLSv1_2):
        if highest:
            context.maximum_version = highest
        connection = socket.create_connection((address.hostname, address.port))
        context.wrap_socket(connection, server_hostname=address.hostname).close()
elif package == "requests":
    import requests

    requests.get(url, verify=False, headers=headers)
elif package == "urllib3":
    import urllib3

    urllib3.PoolManager(cert_reqs="CERT_NONE").request("GET", url, headers=headers or None)
elif package == "httpx":
    import httpx

    httpx.Client(verify=False).get(url, headers=headers)
    httpx.Client(verify=False, http2=True).get(url, headers=headers)
elif package == "aiohttp":
    import aiohttp

    async def get():
        async with aiohttp.ClientSession() as session, session.get(url, ssl=False, headers=headers) as response:
            await response.read()

    asyncio.run(get())
elif package == "tornado":
    from tornado.httpclient import AsyncHTTPClient

    async def fetch():
        await AsyncHTTPClient().fetch(url, validate_cert=False)

    asyncio.run(fetch())
elif package == "pycurl":
    import pycurl

    curl = pycurl.Curl()
    curl.setopt(curl.URL, url)
    curl.setopt(curl.SSL_VERIFYPEER, 0)
    curl.setopt(curl.WRITEFUNCTION, lambda _: None)
    curl.perform()
elif package == "tlslite-ng":
    import socket

    from tlslite.api import TLSConnection

    connection = TLSConnection(socket.create_connection((address.hostname, address.port)))
    connection.handshakeClientCert(serverName=address.hostname)
elif package == "awscrt":
    from awscrt import http, io

    group = io.EventLoopGroup(1)
    bootstrap = io.ClientBootstrap(group, io.DefaultHostResolver(group))
    for protocols in (None, ["h2", "http/1.1"]):
        options = io.TlsContextOptions()
        options.override_default_trust_store_from_path(None, sys.argv[3])
        options.alpn_list = protocols
        tls = io.ClientTlsContext(options).new_connection_options()
        tls.set_server_name(address.hostname)
        try:
            http.HttpClientConnection.new(address.hostname, address.port, bootstrap, tls_connection_options=tls).result(10)
        except Exception as error:
            print(error, file=sys.stderr)
elif package == "curl_cffi":
    from curl_cffi import requests

    requests.get(url, verify=False, impersonate=sys.argv[3], headers=headers)
elif package == "paho-mqtt":
    import paho.mqtt.client as mqtt

    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
    client.tls_set(cert_reqs=ssl.CERT_NONE)
    client.tls_insecure_set(True)
    client.connect(address.hostname, address.port)
    client.loop(timeout=2)
elif package == "confluent-kafka":
    from confluent_kafka.admin import AdminClient

    options = {"security.protocol": "ssl", "enable.ssl.certificate.verification": False}
    AdminClient({"bootstrap.servers": address.netloc, **options}).list_topics(timeout=3)
elif package in ("psycopg-binary", "psycopg2-binary"):
    driver = __import__("psycopg2" if package == "psycopg2-binary" else "psycopg")
    driver.connect(f"host={address.hostname} port={address.port} user=user dbname=test sslmode=require connect_timeout=3")
elif package == "redis":
    import redis

    redis.Redis(address.hostname, address.port, ssl=True, ssl_cert_reqs=None, socket_timeout=2).ping()
elif package == "pymongo":
    import pymongo

    url = f"mongodb://{address.netloc}/?tls=true&tlsInsecure=true&serverSelectionTimeoutMS=2000"
    pymongo.MongoClient(url).admin.command("ping")
elif package == "cycronet":
    import cycronet

    cycronet.CronetClient(verify=False).get(url)
elif package == "tls-client":
    import tls_client

    session = tls_client.Session(client_identifier=sys.argv[3], random_tls_extension_order=True)
    session.get(url, insecure_skip_verify=True, headers=headers)
elif package == "aioquic":
    from aioquic.asyncio.client import connect
    from aioquic.quic.configuration import QuicConfiguration

    async def open_connection():
        configuration = QuicConfiguration(alpn_protocols=["h3"], verify_mode=ssl.CERT_NONE)
        async with connect(address.hostname, address.port, configuration=configuration):
            pass

    asyncio.run(open_connection())
else:
    sys.exit(f"unknown package: {package}")
