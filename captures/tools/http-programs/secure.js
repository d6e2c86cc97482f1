// Exchanges of Node over TLS: node --tls-keylog=FILE secure.js HOST VERSION. HTTP/1.1, HTTP/2 and fetch with this version of TLS;
// HTTP/1.1 in sessions that are new and resumed.
const [site, version] = process.argv.slice(2);
process.env.NODE_TLS_REJECT_UNAUTHORIZED = 0;
require("tls").DEFAULT_MIN_VERSION = require("tls").DEFAULT_MAX_VERSION = version;
const https = require("https");
const http2 = require("http2");

const http1 = (name) => new Promise((done) => {
  const agent = https.globalAgent;
  https.get(`https://${site}/node?${version},${name}`, { agent, headers: { "X-Name": "value", accept: "*/*" } }, (response) => {
    response.resume().on("close", () => setTimeout(done, 50));
  });
});

const second = () => new Promise((done) => {
  const session = http2.connect(`https://${site}`);
  const stream = session.request({ ":path": `/node-http2?${version}`, ":method": "POST", "x-name": "value" });
  stream.on("close", () => session.close(done));
  stream.resume();
  stream.end("text");
});

(async () => {
  await http1("new");
  await http1("resumed");
  await second();
  await fetch(`https://${site}/node-fetch?${version}`).then((response) => response.text());
})();
