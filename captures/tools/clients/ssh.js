// The SSH client of the package ssh2, whose login fails: ssh.js PACKAGE-FOLDER HOST PORT
"use strict";
const { Client } = require(process.argv[2]);
const client = new Client();
client.on("error", (error) => console.log(error.message));
client.connect({ host: process.argv[3], port: Number(process.argv[4]), username: "user", password: "word" });
