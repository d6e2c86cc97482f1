"use strict";
// Fills the table of hosts. All texts are set as text, never as markup.
(() => {
  const PAGE = 500;
  const byId = (id) => document.getElementById(id);
  const { texts, hosts } = JSON.parse(byId("host-data").textContent);
  const lower = texts.map((text) => text.toLowerCase());
  const headings = [...document.querySelectorAll("#host-table th")];
  const body = document.querySelector("#host-table tbody");
  const filter = byId("host-filter");
  const collator = new Intl.Collator("en", { numeric: true });
  let found = hosts;
  let shown = 0;
  let sorted = { column: -1, down: false };

  const element = (name, text, parent) => {
    const made = document.createElement(name);
    if (text !== null) made.textContent = text;
    if (parent) parent.append(made);
    return made;
  };

  const evidence = ([, contradictions, lines]) => {
    const row = element("tr", null);
    row.className = "evidence";
    const cell = element("td", null, row);
    cell.colSpan = headings.length;
    const list = element("ul", null, cell);
    for (const index of contradictions) element("li", texts[index], list).className = "warning";
    for (const index of lines) element("li", texts[index], list);
    if (!list.hasChildNodes()) element("li", "no evidence", list);
    return row;
  };

  const toggle = (button, row, host) => {
    const open = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!open));
    if (open) row.nextElementSibling.remove();
    else row.after(evidence(host));
  };

  const add = (host) => {
    const row = element("tr", null, body);
    row.className = "host";
    const [columns, contradictions] = host;
    columns.forEach((text, column) => {
      const cell = element("td", column ? texts[text] : null, row);
      if (column) return;
      const button = element("button", texts[text], cell);
      button.type = "button";
      button.setAttribute("aria-expanded", "false");
      button.addEventListener("click", () => toggle(button, row, host));
    });
    if (contradictions.length) {
      const count = contradictions.length === 1 ? "1 contradiction" : `${contradictions.length} contradictions`;
      const last = row.lastElementChild;
      if (last.textContent) last.append("\n");
      element("span", count, last).className = "warning";
    }
  };

  const showMore = () => {
    for (const host of found.slice(shown, shown + PAGE)) add(host);
    shown = Math.min(shown + PAGE, found.length);
    byId("host-more").hidden = shown === found.length;
    byId("host-count").textContent =
      found.length === hosts.length ? `${hosts.length} hosts` : `${found.length} of ${hosts.length} hosts`;
  };

  const update = () => {
    // A word is looked for in each text once, not in each host.
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const matches = words.map((word) => lower.map((text) => text.includes(word)));
    found = hosts.filter((lists) => matches.every((match) => lists.some((list) => list.some((text) => match[text]))));
    const { column, down } = sorted;
    if (column >= 0) {
      found.sort(([one], [other]) => collator.compare(texts[one[column]], texts[other[column]]) * (down ? -1 : 1));
    }
    headings.forEach((heading, index) => {
      if (index === column) heading.setAttribute("aria-sort", down ? "descending" : "ascending");
      else heading.removeAttribute("aria-sort");
    });
    body.replaceChildren();
    shown = 0;
    showMore();
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
    if (fragment[1] !== "host") return;
    found = found.filter(([columns]) => texts[columns[0]].split("\n")[0] === text);
    body.replaceChildren();
    shown = 0;
    showMore();
    for (const button of body.querySelectorAll("tr.host button")) button.click();
    byId("hosts").scrollIntoView();
  };

  headings.forEach((heading, column) => {
    heading.firstElementChild.addEventListener("click", () => {
      sorted = { column, down: sorted.column === column && !sorted.down };
      update();
    });
  });
  filter.addEventListener("input", update);
  byId("host-more").addEventListener("click", showMore);
  byId("host-tools").hidden = false;
  addEventListener("hashchange", follow);
  update();
  follow();
})();
