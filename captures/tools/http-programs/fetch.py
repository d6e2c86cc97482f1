"""Fetches a page with the HTTP clients of Python, one after another: fetch.py URL."""

import asyncio
import http.client
import sys
import urllib.parse
import urllib.request
from io import BytesIO

import aiohttp
import httpx
import pycurl
import requests
import urllib3

url = sys.argv[1]


async def with_aiohttp():
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        await response.read()


def with_pycurl():
    handle = pycurl.Curl()
    handle.setopt(pycurl.URL, url)
    handle.setopt(pycurl.WRITEDATA, BytesIO())
    handle.perform()


urllib.request.urlopen(url).read()
requests.get(url)
requests.post(url, data={"a": "b"})
httpx.get(url)
asyncio.run(with_aiohttp())
urllib3.PoolManager().request("GET", url)
with_pycurl()
connection = http.client.HTTPConnection(urllib.parse.urlsplit(url).hostname)
connection.request("GET", "/")
connection.getresponse().read()
