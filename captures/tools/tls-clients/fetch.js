// Fetches a page with Node's https and then with fetch (undici): node fetch.js URL
const https = require("https");

https.get(process.argv[2], { rejectUnauthorized: false }, (response) => {
  response.resume().on("end", () => {
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0";
    fetch(process.argv[2]);
  });
});
