# /// script
# dependencies = ["huginn-net[sail]"]
#
# [tool.uv.sources]
# huginn-net = { path = ".." }
# ///
"""The most frequent JA4 of captures, with Sail in this process: uv run sail_top_ja4.py CAPTURES"""

import sys

from pysail.spark import SparkConnectServer
from pyspark.sql import SparkSession

from huginn_net.spark import HuginnNetDataSource

server = SparkConnectServer()
server.start(background=True)
_, port = server.listening_address
spark = SparkSession.builder.remote(f"sc://localhost:{port}").getOrCreate()
spark.dataSource.register(HuginnNetDataSource)
clients = spark.read.format("huginn_net").options(onError="skip", events="tls_client").load(sys.argv[1])
clients.groupBy("ja4").count().orderBy("count", "ja4", ascending=[False, True]).show(20, truncate=False)
