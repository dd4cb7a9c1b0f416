// The command palette: Ctrl-K or Cmd-K opens a dialog with a text field, whose results
// come from the server. Without this script the link that opens it leads to a page that
// does the same. The field is a combobox: it keeps the focus, and the arrows move
// between the options.
"use strict";
(() => {
  const dialog = document.getElementById("palette");
  if (!dialog) return;
  const text = document.getElementById("palette-text");
  const status = document.getElementById("palette-status");
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || "";
  let results = document.getElementById("palette-results");
  let asked = null; // the request under way
  let timer = 0, current = null, wanted = false;

  const options = () => [...results.querySelectorAll("[role=option]")];
  const select = (option) => {
    current?.setAttribute("aria-selected", "false");
    current = option || null;
    if (!current) {
      text.removeAttribute("aria-activedescendant");
      return;
    }
    current.setAttribute("aria-selected", "true");
    text.setAttribute("aria-activedescendant", current.id);
    current.scrollIntoView({ block: "nearest" });
  };
  const go = (option) => {
    if (!option) return;
    if (!option.hasAttribute("data-post")) {
      dialog.close();
      location.assign(option.dataset.href);
      return;
    }
    const form = document.createElement("form");
    form.method = "post";
    form.action = option.dataset.href;
    form.hidden = true;
    for (const field of option.querySelectorAll("input")) form.append(field.cloneNode());
    document.body.append(form);
    form.requestSubmit();
  };
  const find = async () => {
    asked?.abort();
    const mine = asked = new AbortController();
    dialog.setAttribute("aria-busy", "true");
    const at = new URL(dialog.dataset.find, location.href);
    at.search = new URLSearchParams({ part: "list", q: text.value, zone }).toString();
    try {
      const answer = await fetch(at, { headers: { "HX-Request": "true" }, signal: AbortSignal.any([mine.signal, AbortSignal.timeout(15000)]) });
      const to = answer.headers.get("HX-Redirect");
      if (to) {
        location.assign(to);
        return;
      }
      if (!answer.ok) throw new Error("status " + answer.status);
      const now = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("palette-results");
      if (mine !== asked || !now) return;
      results.replaceWith(now);
      results = now;
      select(options()[0]);
      status.textContent = now.dataset.status;
      asked = null;
      dialog.removeAttribute("aria-busy");
      if (wanted) { wanted = false; go(current); }
    } catch {
      if (mine !== asked) return; // a newer text is searched
      asked = null;
      wanted = false;
      dialog.removeAttribute("aria-busy");
      status.textContent = "The search failed. Try again.";
    }
  };
  const soon = () => {
    clearTimeout(timer);
    asked?.abort(); // its results are of an earlier text
    asked = null;
    wanted = false;
    timer = setTimeout(() => { timer = 0; find(); }, 120);
  };
  const open = () => {
    if (dialog.open) return;
    text.value = "";
    wanted = false;
    dialog.showModal();
    text.focus();
    find();
  };

  text.addEventListener("input", soon);
  text.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    const all = options();
    const at = all.indexOf(current);
    if (event.key === "ArrowDown") select(all[(at + 1) % all.length]);
    else if (event.key === "ArrowUp") select(all.at(at <= 0 ? -1 : at - 1));
    else if (event.key === "Enter") {
      // Enter before the results of what was typed are there applies to them.
      if (timer || asked) wanted = true;
      else go(current);
    } else return;
    event.preventDefault();
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
    else go(event.target.closest("[role=option]"));
  });
  dialog.addEventListener("close", () => { clearTimeout(timer); timer = 0; asked?.abort(); asked = null; });
  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return;
    event.preventDefault();
    if (dialog.open) dialog.close();
    else if (!document.querySelector("dialog[open]")) open();
  });
  const opener = document.getElementById("palette-open");
  opener.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return; // opens the page elsewhere
    event.preventDefault();
    open();
  });
  const shortcut = opener.querySelector("[data-shortcut]");
  if (/Mac|iPhone|iPad/.test(navigator.platform)) shortcut.textContent = "⌘ K";
  shortcut.hidden = false;
})();
