// Node's own clients: client.js https|http2|fetch URL. They send the variable USER_AGENT, if it is set.
"use strict";
var mode = process.argv[2];
var url = process.argv[3];
var headers = process.env.USER_AGENT ? { "user-agent": process.env.USER_AGENT } : {};

if (mode === "fetch") {
  fetch(url, { headers: headers }).then(function (response) { return response.text(); }).catch(function (error) { console.error(error.message); });
} else if (mode === "http2") {
  var session = require("http2").connect(url, { rejectUnauthorized: false });
  session.on("error", function () {});
  var request = session.request(Object.assign({ ":path": "/" }, headers));
  request.on("error", function () {});
  request.on("close", function () { session.close(); });
  request.resume();
  request.end();
} else {
  var options = require("url").parse(url);
  options.rejectUnauthorized = false;
  options.headers = headers;
  require("https").get(options, function (response) { response.resume(); });
}
