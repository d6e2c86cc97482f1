// Fetches a page with the HTTP clients of Node, one after another: fetch.mjs URL.
import http from "node:http";
import axios from "axios";
import got from "got";
import nodeFetch from "node-fetch";
import superagent from "superagent";
import { request } from "undici";

const url = process.argv[2];

await new Promise((resolve) => http.get(url, (response) => response.resume().on("end", resolve)));
await new Promise((resolve) => http.get(url, { agent: false }, (response) => response.resume().on("end", resolve)));
await (await fetch(url)).text();
await (await request(url)).body.text();
await axios.get(url);
await got(url);
await (await nodeFetch(url)).text();
await superagent.get(url);
process.exit(0);
