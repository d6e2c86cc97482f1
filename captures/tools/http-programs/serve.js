// Serves a page with Node's http: serve.js PORT.
const http = require("node:http");

const server = http.createServer((request, response) => {
  response.writeHead(request.url === "/index.html" ? 200 : 404, { "Content-Type": "text/html" });
  response.end("<!doctype html><title>Huginn</title><p>A page.\n");
});
server.listen(Number(process.argv[2]), "0.0.0.0");
