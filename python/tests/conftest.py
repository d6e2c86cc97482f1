"""A store like S3 on this machine."""

import os

import pytest


@pytest.fixture(scope="module")
def s3_server():
    """The server runs before a session of Spark, whose workers inherit its address."""
    server = pytest.importorskip("moto.server").ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    pytest.importorskip("obstore")
    server.start()
    host, port = server.get_host_and_port()
    variables = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    yield variables
    server.stop()
    for name, value in before.items():
        os.environ.pop(name) if value is None else os.environ.update({name: value})


@pytest.fixture
def s3(s3_server):
    """A client of the server, which has the empty bucket ``captures``."""
    boto3 = pytest.importorskip("boto3")
    client = boto3.client("s3", endpoint_url=s3_server["AWS_ENDPOINT_URL"])
    client.create_bucket(Bucket="captures")
    yield client
    for one in client.list_objects_v2(Bucket="captures").get("Contents", []):
        client.delete_object(Bucket="captures", Key=one["Key"])
