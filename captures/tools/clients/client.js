// Node's own clients: client.js https|http2|fetch URL
"use strict";
var mode = process.argv[2];
var url = process.argv[3];

if (mode === "fetch") {
  fetch(url).then(function (response) { return response.text(); }).catch(function (error) { console.error(error.message); });
} else if (mode === "http2") {
  var session = require("http2").connect(url, { rejectUnauthorized: false });
  session.on("error", function () {});
  var request = session.request({ ":path": "/" });
  request.on("error", function () {});
  request.on("close", function () { session.close(); });
  request.resume();
  request.end();
} else {
  var options = require("url").parse(url);
  options.rejectUnauthorized = false;
  require("https").get(options, function (response) { response.resume(); });
}
