"""Loads a page in QtWebEngine: qt.py PyQt5|PyQt6 URL. Without a URL, prints the version of Chromium."""

import importlib
import re
import sys

binding, *urls = sys.argv[1:]
core, widgets = (importlib.import_module(f"{binding}.{module}") for module in ("QtCore", "QtWidgets"))
engine = importlib.import_module(f"{binding}.{'QtWebEngineWidgets' if binding == 'PyQt5' else 'QtWebEngineCore'}")
application = widgets.QApplication([sys.argv[0], "--no-sandbox", "--ignore-certificate-errors"])
if not urls:
    sys.exit(print(re.search(r"Chrome/([0-9.]+)", engine.QWebEngineProfile.defaultProfile().httpUserAgent())[1]))


class Page(engine.QWebEnginePage):
    """A page that accepts any certificate. Qt 5 calls this method; Qt 6 has a signal of this name."""

    if binding == "PyQt5":
        def certificateError(self, error):
            return True


page = Page()
if binding == "PyQt6":
    page.certificateError.connect(lambda error: error.acceptCertificate())
page.loadFinished.connect(lambda _: application.quit())
page.load(core.QUrl(urls[0]))
core.QTimer.singleShot(10_000, application.quit)
getattr(application, "exec", getattr(application, "exec_", None))()
