"use strict";
// Fills the table of hosts and adds buttons. All texts are set as text, never as markup.
(() => {
  const PAGE = 250;
  const STEP_SIZE = 7;
  const NAMES_SHOWN = 3;
  const JA4 = /\b[tqd][0-9s][0-9][di][0-9]{4}[0-9a-z]{2}_[0-9a-f]{12}_[0-9a-f]{12}\b/g;
  const byId = (id) => document.getElementById(id);
  const { texts, hosts, base, zone, folder, files } = JSON.parse(byId("host-data").textContent);
  const lower = texts.map((text) => text.toLowerCase());
  const table = byId("host-table");
  const headings = [...table.querySelectorAll("th")];
  const titles = headings.map((heading) => heading.textContent);
  const body = table.querySelector("tbody");
  const filter = byId("host-filter");
  const collator = new Intl.Collator("en", { numeric: true });
  const NAMES = headings.length - 1;
  let found = hosts;
  let shown = 0;
  let sorted = { column: -1, down: false };

  const element = (name, text, parent) => {
    const made = document.createElement(name);
    if (text !== null) made.textContent = text;
    if (parent) parent.append(made);
    return made;
  };

  const button = (text, parent, action) => {
    const made = element("button", text, parent);
    made.type = "button";
    made.addEventListener("click", () => action(made));
    return made;
  };

  const address = (host) => texts[host[0][0]].split("\n")[0];
  const plural = (count, what) => `${count} ${what}${count === 1 ? "" : "s"}`;

  // Pairs of a text and a count.
  const pairs = (numbers) => {
    const list = [];
    for (let i = 0; i < numbers.length; i += 2) list.push([texts[numbers[i]], numbers[i + 1]]);
    return list;
  };

  // The events of a host, in the order of their time.
  const steps = ([, , , details]) => {
    if (!details) return [];
    const list = [];
    const numbers = details[4];
    for (let i = 0; i < numbers.length; i += STEP_SIZE) {
      const [after, packet, file, event, value, peer, port] = numbers.slice(i, i + STEP_SIZE);
      const time = new Date(base + after);
      list.push({
        time: Number.isNaN(time.valueOf()) ? "" : time.toISOString().replace("T", " ").replace("Z", ""),
        packet,
        file: texts[file],
        event: texts[event],
        value: texts[value],
        peer: texts[peer],
        port: Math.floor(port / 2),
        transport: port % 2 ? "udp" : "tcp",
      });
    }
    return list;
  };

  // Display filters of Wireshark for a packet and for its connection.
  const displayFilters = (ip, step) => {
    const [, peer, peerPort] = /^\[?(.*?)\]?:([0-9]+)$/.exec(step.peer);
    const field = ip.includes(":") ? "ipv6.addr" : "ip.addr";
    const addresses = `${field} == ${ip} && ${field} == ${peer}`;
    const ports = `${step.transport}.port == ${step.port} && ${step.transport}.port == ${peerPort}`;
    return [`frame.number == ${step.packet}`, `${addresses} && ${ports}`];
  };

  // Copies a text, or selects it where the browser does not allow that.
  const copy = async (code, made) => {
    const before = made.textContent;
    try {
      await navigator.clipboard.writeText(code.textContent);
      made.textContent = "copied";
    } catch {
      getSelection().selectAllChildren(code);
      made.textContent = "selected";
    }
    setTimeout(() => (made.textContent = before), 1500);
  };

  // A text whose JA4 fingerprints lead to their hosts.
  const linked = (text, parent) => {
    let end = 0;
    for (const match of text.matchAll(JA4)) {
      parent.append(text.slice(end, match.index));
      element("a", match[0], parent).href = `#q=${match[0]}`;
      end = match.index + match[0].length;
    }
    parent.append(text.slice(end));
  };

  const list = (title, items, parent, className) => {
    if (!items.length) return;
    element("h4", title, parent);
    const made = element("ul", null, parent);
    for (const item of items) {
      const line = element("li", null, made);
      if (className) line.className = className;
      linked(item, line);
    }
  };

  const named = (numbers, more, what) => {
    const lines = pairs(numbers).map(([name, count]) => (count === 1 ? name : `${name} (${plural(count, what)})`));
    if (more) lines.push(`and ${more} more`);
    return lines;
  };

  const timeline = (host, cell) => {
    const all = steps(host);
    if (!all.length) return;
    element("h4", `Timeline: first event of each kind, value and peer (${zone})`, cell);
    const made = element("table", null, cell);
    made.className = "timeline";
    const row = element("tr", null, element("thead", null, made));
    for (const title of ["time", "event", "value", "peer", "packet"]) element("th", title, row).scope = "col";
    const rows = element("tbody", null, made);
    const ip = address(host);
    for (const step of all) {
      const line = element("tr", null, rows);
      element("td", step.time, line).className = "when";
      element("td", step.event, line);
      linked(step.value, element("td", null, line));
      const peer = element("td", null, line);
      const [, peerAddress] = /^\[?(.*?)\]?:[0-9]+$/.exec(step.peer);
      element("a", step.peer, peer).href = `#host=${peerAddress}`;
      const place = element("td", null, line);
      element("strong", String(step.packet), place).className = "packet";
      if (step.file) place.append(` of ${step.file}`);
      const [frame, connection] = displayFilters(ip, step);
      for (const [title, text] of [["packet", frame], ["connection", connection]]) {
        const block = element("div", null, place);
        const code = element("code", text, block);
        block.append(" ");
        button("copy", block, (made) => copy(code, made)).setAttribute("aria-label", `Copy the Wireshark filter of the ${title}: ${text}`);
      }
    }
    [...made.querySelectorAll("tbody tr")].forEach((line) =>
      [...line.children].forEach((cell, index) => (cell.dataset.label = row.children[index].textContent)));
    if (host[3][2][2]) element("p", `and ${plural(host[3][2][2], "event")} that this page has no room for`, cell).className = "dim";
    addExport(made, () => [
      ["time", "event", "value", "peer", "packet", "file", "display filter"],
      ...all.map((step) => [step.time, step.event, step.value, step.peer, step.packet, step.file, displayFilters(ip, step)[1]]),
    ], `timeline-${ip}`, cell);
  };

  // Commands that go on with a host where the captures are.
  const commands = (ip, cell) => {
    if (!files) return;
    element("h4", folder ? `Commands, to run in ${folder}` : "Commands, to run where the captures are", cell);
    const selected = `"client.ip == '${ip}' or server.ip == '${ip}'"`;
    const output = `${ip.replaceAll(":", "-")}.pcapng`;
    for (const text of [`huginn-net follow ${ip} ${files}`, `huginn-net extract --where ${selected} -o ${output} ${files}`]) {
      const block = element("div", null, cell);
      block.className = "command";
      const code = element("code", text, block);
      block.append(" ");
      button("copy", block, (made) => copy(code, made)).setAttribute("aria-label", `Copy the command: ${text}`);
    }
  };

  const evidence = (host) => {
    const [, contradictions, lines, details] = host;
    const row = element("tr", null);
    row.className = "evidence";
    const cell = element("td", null, row);
    cell.colSpan = headings.length;
    list("Contradictions", contradictions.map((index) => texts[index]), cell, "warning");
    if (details) {
      const [asked, served, more] = details;
      list("Names that it asked for", named(asked, more[0], "event"), cell);
      list("Names that clients asked it for", named(served, more[1], "event"), cell);
    }
    timeline(host, cell);
    list("Evidence", lines.map((index) => texts[index]), cell);
    if (!cell.hasChildNodes()) element("p", "no evidence", cell);
    commands(address(host), cell);
    return row;
  };

  const toggle = (made, row, host) => {
    const open = made.getAttribute("aria-expanded") === "true";
    made.setAttribute("aria-expanded", String(!open));
    if (open) row.nextElementSibling.remove();
    else row.after(evidence(host));
  };

  // Activity as bars, from a digit for each interval.
  const spark = (digits, parent) => {
    if (!digits) return;
    const svg = byId("spark").content.firstElementChild.cloneNode(true);
    svg.setAttribute("viewBox", `0 0 ${digits.length * 4} 18`);
    const active = [...digits].filter((digit) => digit !== "0").length;
    svg.setAttribute("aria-label", `active in ${active} of ${digits.length} intervals`);
    const bars = [...digits].map((digit, index) => (digit === "0" ? "" : `M${index * 4} 18v-${2 * digit}h3v${2 * digit}z`));
    svg.firstElementChild.setAttribute("d", `M0 17.5h${digits.length * 4}v.5h-${digits.length * 4}z${bars.join("")}`);
    parent.append(svg);
  };

  const namesOf = ([, , , details]) => {
    if (!details) return { names: "", more: 0 };
    const [asked, served, more] = details;
    const all = pairs(asked.length ? asked : served);
    const others = all.length - NAMES_SHOWN + (asked.length ? more[0] : more[1]);
    const names = all.slice(0, NAMES_SHOWN).map(([name]) => name);
    return { names: (asked.length || !served.length ? "" : "asked for as\n") + names.join("\n"), more: Math.max(others, 0) };
  };

  const add = (host) => {
    const row = element("tr", null, body);
    row.className = "host";
    const [columns, contradictions, , details] = host;
    columns.forEach((text, column) => {
      const cell = element("td", column ? texts[text] : null, row);
      cell.dataset.label = titles[column];
      if (column) return;
      button(texts[text], cell, (made) => toggle(made, row, host)).setAttribute("aria-expanded", "false");
      if (details) spark(details[3], cell);
    });
    if (contradictions.length) {
      const last = row.lastElementChild;
      if (last.textContent) last.append("\n");
      element("span", plural(contradictions.length, "contradiction"), last).className = "warning";
    }
    const { names, more } = namesOf(host);
    const cell = element("td", names, row);
    cell.dataset.label = titles[NAMES];
    if (more) element("span", `\nand ${more} more`, cell).className = "dim";
  };

  const showMore = () => {
    for (const host of found.slice(shown, shown + PAGE)) add(host);
    shown = Math.min(shown + PAGE, found.length);
    byId("host-more").hidden = shown === found.length;
    byId("host-count").textContent =
      found.length === hosts.length ? `${hosts.length} hosts` : `${found.length} of ${hosts.length} hosts`;
  };

  const show = () => {
    body.replaceChildren();
    shown = 0;
    showMore();
  };

  // Whether a text of a host satisfies a test, by the index of the text.
  const hasText = ([columns, contradictions, lines, details], match) => {
    const is = (index) => match[index];
    if (columns.some(is) || contradictions.some(is) || lines.some(is)) return true;
    if (!details) return false;
    const [asked, served, , , numbers] = details;
    for (const names of [asked, served]) {
      for (let i = 0; i < names.length; i += 2) if (match[names[i]]) return true;
    }
    for (let i = 0; i < numbers.length; i += STEP_SIZE) {
      for (let text = i + 2; text < i + 6; text += 1) if (match[numbers[text]]) return true;
    }
    return false;
  };

  const key = (host, column) => (column === NAMES ? namesOf(host).names : texts[host[0][column]]);

  const update = () => {
    // A word is looked for in each text once, not in each host.
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const matches = words.map((word) => lower.map((text) => text.includes(word)));
    found = hosts.filter((host) => matches.every((match) => hasText(host, match)));
    const { column, down } = sorted;
    if (column >= 0) {
      const keys = new Map(found.map((host) => [host, key(host, column)]));
      found.sort((one, other) => collator.compare(keys.get(one), keys.get(other)) * (down ? -1 : 1));
    }
    headings.forEach((heading, index) => {
      if (index === column) heading.setAttribute("aria-sort", down ? "descending" : "ascending");
      else heading.removeAttribute("aria-sort");
    });
    show();
  };

  // "#host=192.0.2.1" opens the rows of an address, "#q=curl" filters.
  const follow = () => {
    const fragment = /^#(host|q)=(.*)$/.exec(location.hash);
    if (!fragment) return;
    let text = fragment[2];
    try {
      text = decodeURIComponent(text);
    } catch {
      // Not encoded: it is looked for as it is.
    }
    filter.value = text;
    update();
    if (fragment[1] === "host") {
      found = hosts.filter((host) => address(host) === text);
      show();
      for (const made of body.querySelectorAll("tr.host > td:first-child > button")) made.click();
    }
    byId("hosts").scrollIntoView();
    (body.querySelector("button") ?? filter).focus({ preventScroll: true });
  };

  // A cell of CSV. A leading quotation mark keeps spreadsheets from reading a text as a formula.
  const quoted = (value) => {
    const text = String(value);
    const guarded = typeof value === "string" && /^[=+\-@\t\r\n]/.test(text) ? `'${text}` : text;
    return `"${guarded.replaceAll('"', '""')}"`;
  };

  const addExport = (of, rows, name, parent) => {
    const made = button("Save as CSV", parent, () => {
      const csv = rows().map((row) => row.map(quoted).join(",") + "\r\n").join("");
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([csv], { type: "text/csv" }));
      link.download = `${name.replaceAll(/[^0-9A-Za-z.-]/g, "_")}.csv`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    });
    made.className = "export";
    return made;
  };

  const cells = (of) => [...of.rows].map((row) => [...row.cells].map((cell) => cell.textContent));
  for (const of of document.querySelectorAll("main table")) {
    if (of === table) continue;
    const labels = [...of.querySelectorAll("thead th")].map((heading) => heading.textContent);
    for (const row of of.querySelectorAll("tbody tr")) {
      [...row.cells].forEach((cell, index) => (cell.dataset.label = labels[index]));
    }
    const made = addExport(of, () => cells(of), of.id, null);
    of.parentElement.after(made);
  }
  const allHosts = () => [
    [...titles.slice(0, NAMES), "contradictions", "names asked for", "names served"],
    ...found.map((host) => [
      ...host[0].map((index) => texts[index]),
      host[1].map((index) => texts[index]).join("\n"),
      ...(host[3] ? host[3].slice(0, 2).map((names) => pairs(names).map(([name]) => name).join("\n")) : ["", ""]),
    ]),
  ];
  addExport(table, allHosts, "hosts", byId("host-tools"));

  headings.forEach((heading, column) => {
    heading.firstElementChild.addEventListener("click", () => {
      sorted = { column, down: sorted.column === column && !sorted.down };
      update();
    });
  });
  for (const code of document.querySelectorAll("#items code")) {
    const made = button("copy", null, (made) => copy(code, made));
    made.setAttribute("aria-label", `Copy the Wireshark filter: ${code.textContent}`);
    code.after(" ", made);
  }
  // Printing shows what is folded.
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    folded.forEach((details) => (details.open = true));
  });
  addEventListener("afterprint", () => folded.forEach((details) => (details.open = false)));
  filter.addEventListener("input", update);
  byId("host-more").addEventListener("click", showMore);
  byId("host-tools").hidden = false;
  addEventListener("hashchange", follow);
  update();
  follow();
  table.dataset.readyMs = String(Math.round(performance.now()));
})();
