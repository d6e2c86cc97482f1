"""Serves a page as a WSGI or ASGI application, or with an HTTP library of Python: app.py SERVER PORT."""

import asyncio
import sys
from wsgiref.simple_server import make_server

PAGE = b"<!doctype html><title>Huginn</title><p>A page.\n"


def wsgi(environ, start_response):
    found = environ["PATH_INFO"] == "/index.html"
    headers = [("Content-Type", "text/html"), ("Content-Length", str(len(PAGE)))]
    start_response("200 OK" if found else "404 Not Found", headers)
    return [b"" if environ["REQUEST_METHOD"] == "HEAD" else PAGE]


async def asgi(scope, receive, send):
    if scope["type"] != "http":
        return
    headers = [(b"content-type", b"text/html"), (b"content-length", str(len(PAGE)).encode())]
    status = 200 if scope["path"] == "/index.html" else 404
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": PAGE})


def with_tornado(port):
    import tornado.web

    class Page(tornado.web.RequestHandler):
        def get(self):
            self.write(PAGE)

        def head(self):
            self.write(PAGE)

    async def serve():
        tornado.web.Application([("/index.html", Page)]).listen(port)
        await asyncio.Event().wait()

    asyncio.run(serve())


def with_aiohttp(port):
    from aiohttp import web

    async def page(_):
        return web.Response(body=PAGE, content_type="text/html")

    application = web.Application()
    application.add_routes([web.get("/index.html", page)])
    web.run_app(application, port=port)


def with_wsgiref(port):
    make_server("", port, wsgi).serve_forever()


if __name__ == "__main__":
    globals()["with_" + sys.argv[1]](int(sys.argv[2]))
