// deno run fetch.js URL
await (await fetch(Deno.args[0])).text();
