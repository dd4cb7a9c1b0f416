// Search and buttons that copy. The pages are complete without this script.
"use strict";
(() => {
  const shown = 12;

  // The commands of the reference name the service that the page comes from.
  for (const code of document.querySelectorAll("#begin pre code")) {
    code.textContent = code.textContent.replace("http://127.0.0.1:8080", location.origin);
  }

  // The list of calls has the ids that the reference had as one page: addresses into it
  // lead on to the call's page.
  const listed = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
  if (listed && listed.matches(".calls li")) location.replace(listed.querySelector("a").href);

  let index; // a promise, once somebody searches

  function load(url) {
    index ??= fetch(url).then((response) => {
      if (!response.ok) throw new Error("status " + response.status);
      return response.json();
    }).then((entries) => entries.map((e) => ({ ...e, title: (e.p + " " + e.t).toLowerCase(), text: e.x.toLowerCase() })));
    index.catch(() => { index = undefined; });
    return index;
  }

  // Each word must be in the title or the text; words in titles count more.
  function find(entries, query) {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean).slice(0, 8);
    if (words.length === 0) return [];
    const hits = [];
    for (const entry of entries) {
      let score = 0;
      for (const word of words) {
        const own = entry.t.toLowerCase().includes(word), title = entry.title.includes(word), text = entry.text.includes(word);
        if (!title && !text) { score = 0; break; }
        score += (own ? 10 : 0) + (title ? 4 : 0) + (text ? 1 : 0);
      }
      if (score > 0) hits.push([score, entry]);
    }
    return hits.sort((a, b) => b[0] - a[0]).map(([, entry]) => entry);
  }

  function excerpt(entry, query) {
    const word = query.toLowerCase().split(/\s+/).find((w) => w && entry.text.includes(w));
    const from = word ? Math.max(0, entry.text.indexOf(word) - 40) : 0;
    return (from > 0 ? "…" : "") + entry.x.slice(from, from + 120);
  }

  function element(name, text, attributes = {}) {
    const e = document.createElement(name);
    if (text) e.textContent = text;
    for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
    return e;
  }

  function finder(at, number) {
    const input = element("input", "", { type: "search", placeholder: "Search", "aria-label": "Search the documentation", autocomplete: "off", spellcheck: "false", maxlength: "100", id: "search-" + number });
    const found = element("div", "", { class: "found" });
    const status = element("p", "", { role: "status" });
    at.append(input, found);
    let latest = 0;

    async function search() {
      const turn = ++latest, query = input.value.trim();
      if (query === "") { found.replaceChildren(); return; }
      found.replaceChildren(status);
      let hits;
      try {
        hits = find(await load(at.dataset.search), query);
      } catch {
        status.textContent = "The search is not available now.";
        return;
      }
      if (turn !== latest) return;
      status.textContent = hits.length === 0 ? "Nothing found." : hits.length > shown ? "The first " + shown + " of " + hits.length : hits.length + " found";
      const list = element("ul");
      for (const entry of hits.slice(0, shown)) {
        const link = element("a", "", { href: entry.u });
        link.append(element("small", entry.p), element("b", entry.t), element("span", excerpt(entry, query)));
        link.addEventListener("click", () => { input.value = ""; found.replaceChildren(); });
        const item = element("li");
        item.append(link);
        list.append(item);
      }
      if (hits.length > 0) found.append(list);
    }

    input.addEventListener("input", search);
    at.addEventListener("keydown", (event) => {
      const links = [...found.querySelectorAll("a")], here = links.indexOf(document.activeElement);
      if (event.key === "ArrowDown" && here + 1 < links.length) {
        links[here + 1].focus();
      } else if (event.key === "ArrowUp" && here >= 0) {
        (here === 0 ? input : links[here - 1]).focus();
      } else if (event.key === "Enter" && document.activeElement === input && links.length > 0) {
        links[0].click();
      } else if (event.key === "Escape") {
        input.value = "";
        found.replaceChildren();
        input.focus();
      } else {
        return;
      }
      event.preventDefault();
    });
    return input;
  }

  // Over plain http, browsers have only the older way to copy; where it fails too, the
  // text is selected, so that one key copies it.
  async function copy(pre) {
    const text = pre.textContent.trimEnd();
    if (navigator.clipboard) {
      try {
        await navigator.clipboard.writeText(text);
        return "Copied";
      } catch { /* not permitted; the older way may be */ }
    }
    const focused = document.activeElement;
    const area = element("textarea", text, { class: "unseen", readonly: "" });
    document.body.append(area);
    area.select();
    let done = false;
    try { done = document.execCommand("copy"); } catch { /* not permitted either */ }
    area.remove();
    focused?.focus();
    if (done) return "Copied";
    getSelection().selectAllChildren(pre);
    return "Selected";
  }

  function copier(pre) {
    const button = element("button", "Copy", { type: "button", class: "copy" });
    const box = element("div", "", { class: "copied" });
    pre.replaceWith(box);
    box.append(pre, button);
    button.addEventListener("click", async () => {
      button.textContent = await copy(pre);
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
  }

  const inputs = [...document.querySelectorAll("[data-search]")].map(finder);
  document.querySelectorAll("pre").forEach(copier);
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, [contenteditable]")) return;
    const input = inputs.find((i) => i.offsetParent !== null);
    if (input) { event.preventDefault(); input.focus(); }
  });
})();
