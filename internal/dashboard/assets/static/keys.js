// Shortcuts of one key, listed in the dialog #keys. They can be switched off there.
"use strict";
(() => {
  const dialog = document.getElementById("keys");
  if (!dialog) return;
  const off = document.getElementById("keys-off");
  const stored = "punctual-keys";
  const remembers = (change) => { try { return change(localStorage); } catch { return null; } };
  off.checked = remembers((s) => s.getItem(stored)) === "off";
  off.addEventListener("change", () => remembers((s) => s.setItem(stored, off.checked ? "off" : "on")));

  const places = {};
  for (const link of dialog.querySelectorAll("a[data-key]")) places[link.dataset.key] = link;
  const typing = (e) => e.closest("input, textarea, select, [contenteditable]");
  let began = 0; // when g was pressed
  document.addEventListener("keydown", (event) => {
    if (off.checked || event.ctrlKey || event.metaKey || event.altKey || event.isComposing || typing(event.target) || dialog.open) return;
    const after = Date.now() - began < 1500 ? "g " : "";
    began = 0;
    const key = after + event.key;
    if (places[key]) {
      event.preventDefault();
      places[key].click();
    } else if (key === "g") {
      began = Date.now();
    } else if (key === "/") {
      event.preventDefault();
      const field = document.querySelector("main input[type=search], main input[data-search]");
      if (field) field.focus();
      else places["g j"].click();
    } else if (key === "j" || key === "k") {
      const rows = [...document.querySelectorAll("main a.row-link")].filter((row) => row.checkVisibility());
      const focused = rows.indexOf(document.activeElement);
      const at = focused < 0 ? rows.indexOf(document.querySelector("tr.peeked a.row-link")) : focused;
      const next = rows[key === "j" ? at + 1 : at < 0 ? rows.length - 1 : at - 1];
      if (next) {
        event.preventDefault();
        next.focus();
      }
    } else if (key === "?") {
      event.preventDefault();
      dialog.showModal();
    }
  });
  const opener = document.getElementById("keys-open");
  opener.hidden = false;
  opener.addEventListener("click", () => dialog.showModal());
})();
