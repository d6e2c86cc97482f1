"""Fetches a page with urllib and then with requests: fetch.py URL."""

import ssl
import sys
import urllib.request

import requests
import urllib3

context = ssl._create_unverified_context()
urllib.request.urlopen(sys.argv[1], context=context).read()
urllib3.disable_warnings()
requests.get(sys.argv[1], verify=False)
