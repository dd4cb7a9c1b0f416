// Completes the words of the query above the list of jobs. Without this script the field
// is a plain one. It becomes a combobox: it keeps the focus, and the arrows move between
// the words that begin as the one at the caret does.
"use strict";
(() => {
  const field = document.getElementById("q");
  const list = document.getElementById("q-words");
  if (!field || !list) return;
  const part = (name, text) => {
    const e = document.createElement("span");
    e.className = name;
    e.textContent = text;
    return e;
  };
  const all = [];
  // Adds lines of a word and its hint to the list.
  const add = (text) => {
    for (const line of text.trim().split("\n")) {
      const [word, hint] = line.split("\t");
      if (!word || all.some((e) => e.dataset.word === word)) continue;
      const e = document.createElement("div");
      e.className = "palette-option";
      e.id = "q-word-" + all.length;
      e.hidden = true;
      e.setAttribute("role", "option");
      e.setAttribute("aria-selected", "false");
      e.dataset.word = word;
      e.append(part("palette-label", word), part("palette-detail", hint || ""));
      all.push(e);
      list.append(e);
    }
  };
  add(list.dataset.words);
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Words");
  let current = null, accepted = false;
  for (const [name, value] of [["role", "combobox"], ["aria-expanded", "false"], ["aria-controls", list.id], ["aria-autocomplete", "list"]]) field.setAttribute(name, value);

  const select = (option) => {
    current?.setAttribute("aria-selected", "false");
    current = option || null;
    if (!current) return field.removeAttribute("aria-activedescendant");
    current.setAttribute("aria-selected", "true");
    field.setAttribute("aria-activedescendant", current.id);
    current.scrollIntoView({ block: "nearest" });
  };
  const shown = () => all.filter((e) => !e.hidden);
  // The word at the caret; null within quotes.
  const word = () => {
    const before = field.value.slice(0, field.selectionStart);
    return (before.match(/"/g) || []).length % 2 ? null : before.match(/\S*$/)[0];
  };
  const show = (empty) => {
    const begun = word();
    const matches = (e) => begun !== null && (begun !== "" || empty) && e.dataset.word !== begun && e.dataset.word.startsWith(begun.toLowerCase()) &&
      (begun.includes(":") || !/:./.test(e.dataset.word));
    for (const e of all) e.hidden = !matches(e);
    list.hidden = shown().length === 0;
    field.setAttribute("aria-expanded", String(!list.hidden));
    select(null);
  };
  const hide = () => {
    list.hidden = true;
    field.setAttribute("aria-expanded", "false");
    select(null);
  };
  const accept = (option) => {
    const begun = word() ?? "";
    const caret = field.selectionStart;
    const text = option.dataset.word + (option.dataset.word.endsWith(":") ? "" : " ");
    field.setRangeText(text, caret - begun.length, caret, "end");
    field.focus();
    show(false);
  };
  // The hosts and tags that the account uses, read once somebody types. Without an answer
  // only these are not offered.
  const more = async () => {
    try {
      const answer = await fetch(list.dataset.more, { signal: AbortSignal.timeout(15000) });
      if (!answer.ok || answer.redirected) return;
      add(await answer.text());
      if (document.activeElement === field && !current) show(false);
    } catch { /* as without an answer */ }
  };
  field.addEventListener("input", () => show(false));
  field.addEventListener("input", more, { once: true });
  field.addEventListener("blur", hide);
  field.addEventListener("keydown", (event) => {
    accepted = false;
    if (event.isComposing) return;
    const options = list.hidden ? [] : shown();
    const at = options.indexOf(current);
    if (event.key === "ArrowDown" && list.hidden) show(true);
    else if (event.key === "ArrowDown") select(options[(at + 1) % options.length]);
    else if (event.key === "ArrowUp" && !list.hidden) select(options.at(at <= 0 ? -1 : at - 1));
    else if (event.key === "Escape" && !list.hidden) hide();
    else if ((event.key === "Enter" || event.key === "Tab") && current) {
      accept(current);
      accepted = true;
    } else return;
    event.preventDefault();
  });
  // Programs that type send the character of Enter by itself; it must not send the form.
  field.addEventListener("keypress", (event) => { if (accepted && event.key === "Enter") event.preventDefault(); });
  list.addEventListener("mousedown", (event) => {
    event.preventDefault(); // the field keeps the focus
    const option = event.target.closest("[role=option]");
    if (option) accept(option);
  });
})();

// Keeps searches in this browser, for one account each, and offers them below the query.
(() => {
  const most = 20, longest = 1000; // searches, and characters of each
  const field = document.getElementById("q");
  const box = document.getElementById("q-saved");
  if (!field || !box) return;
  const name = "punctual-searches:" + box.dataset.account;
  const current = field.hasAttribute("aria-invalid") ? "" : field.defaultValue;
  const read = () => {
    try {
      const all = JSON.parse(localStorage.getItem(name) || "[]");
      return Array.isArray(all) ? all.filter((q) => typeof q === "string" && q && q.length <= longest).slice(0, most) : [];
    } catch { return []; }
  };
  const write = (all) => {
    try { localStorage.setItem(name, JSON.stringify(all)); } catch { return; }
    show();
    box.querySelector("button")?.focus();
  };
  const button = (label, act) => {
    const e = document.createElement("button");
    e.type = "button";
    e.className = "button small";
    e.textContent = label;
    e.addEventListener("click", act);
    return e;
  };
  const note = (text) => {
    const e = document.createElement("span");
    e.className = "quiet";
    e.textContent = text;
    box.append(e);
  };
  const show = () => {
    const all = read();
    box.replaceChildren(...all.map((q) => {
      const e = document.createElement("a");
      e.className = "chip";
      e.href = box.dataset.jobs + "?" + new URLSearchParams({ query: q });
      e.textContent = q;
      if (q === current) e.setAttribute("aria-current", "true");
      return e;
    }));
    if (all.includes(current)) box.append(button("Forget this search", () => write(read().filter((q) => q !== current))));
    else if (current.length > longest) note("A search of more than 1,000 characters can't be saved.");
    else if (current && all.length < most) box.append(button("Save this search", () => write([...read(), current])));
    else if (current) note("20 searches are saved, the most there can be. Forget one to save this one.");
    box.hidden = !box.hasChildNodes();
  };
  show();
})();
