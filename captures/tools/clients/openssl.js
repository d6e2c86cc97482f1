// Connects with the OpenSSL of any Node.js: openssl.js HOST PORT OPTIONS, the options of tls.connect as JSON.
"use strict";
var options = JSON.parse(process.argv[4]);
options.rejectUnauthorized = false;
var connection = require("tls").connect(Number(process.argv[3]), process.argv[2], options, function () { process.exit(0); });
connection.on("error", function () { process.exit(1); });
