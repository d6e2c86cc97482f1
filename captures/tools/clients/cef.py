"""CEF by cefpython3, which contains Chromium: cef.py [URL]. Without a URL it prints the version of Chromium."""

import sys
import time

from cefpython3 import cefpython

if len(sys.argv) < 2:
    print(cefpython.GetVersion()["chrome_version"])
    sys.exit()
switches = ["no-sandbox", "disable-gpu", "ignore-certificate-errors", *sys.argv[2:]]
cefpython.Initialize({"ignore_certificate_errors": True}, {switch: "" for switch in switches})
cefpython.CreateBrowserSync(url=sys.argv[1])
end = time.time() + 8
while time.time() < end:
    cefpython.MessageLoopWork()
    time.sleep(0.01)
cefpython.Shutdown()
