// The side panel of a list: a click on the peek control of a row, or p or Space on the
// row's link, opens the head of its record beside the list. Without this script the
// control leads to the record's page.
"use strict";
(() => {
  const panel = document.getElementById("peek");
  const body = document.getElementById("peek-body");
  if (!panel || !body) return;
  // Without this script the controls open no dialog.
  const announce = () => {
    for (const e of document.querySelectorAll("a[data-peek]")) e.setAttribute("aria-haspopup", "dialog");
  };
  announce();
  // part is the address of the record that was chosen, shown that of the one in the panel.
  let part = "", shown = "", asked = 0, refreshed = 0;
  const controlOf = (e) => e.closest("tr")?.querySelector("a[data-peek]");
  const opened = () => document.querySelector(`a[data-peek][href="${CSS.escape(part)}"]`);
  const mark = () => {
    for (const e of document.querySelectorAll("tr.peeked")) e.classList.remove("peeked");
    if (part) opened()?.closest("tr").classList.add("peeked");
  };
  const close = () => {
    asked++; // what still loads is dropped
    panel.removeAttribute("aria-busy");
    const row = opened()?.closest("tr");
    part = shown = "";
    body.inert = false;
    panel.hidden = true;
    body.replaceChildren();
    mark();
    row?.querySelector("a.row-link")?.focus();
  };
  // failed says that a record could not be read.
  const failed = () => {
    const text = document.createElement("p");
    text.textContent = "The record could not be read.";
    text.setAttribute("role", "status");
    shown = "";
    body.inert = false;
    return text;
  };
  // Shows the head of a record; the focus moves to the panel unless it stays with the list.
  const show = async (control, stay) => {
    part = control.getAttribute("href");
    mark();
    const turn = ++asked, address = part;
    if (shown !== address) body.inert = true; // its actions are of another record
    panel.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(address + "?part=peek", { headers: { "HX-Request": "true" }, signal: AbortSignal.timeout(15000) });
      if (!answer.ok || answer.redirected) throw new Error("status " + answer.status);
      const page = new DOMParser().parseFromString(await answer.text(), "text/html").body;
      if (turn !== asked || part !== address) return; // another row was chosen meanwhile
      if (!page.firstElementChild) throw new Error("no part");
      body.replaceChildren(...page.childNodes);
      shown = address;
      body.inert = false;
      panel.setAttribute("aria-label", "Peek at " + (body.querySelector("h2")?.textContent || "a record"));
      panel.hidden = false;
      document.dispatchEvent(new CustomEvent("detail:loaded"));
      if (!stay) panel.focus();
    } catch {
      if (turn !== asked) return; // closed, or another row was chosen
      if (!stay) location.assign(address);
      else if (shown !== address) body.replaceChildren(failed());
    } finally {
      if (turn === asked) panel.removeAttribute("aria-busy");
    }
  };
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-peek-close]")) return close();
    const control = event.target.closest("a[data-peek]");
    if (!control || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    if (part === control.getAttribute("href")) close();
    else show(control, false);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && part && !document.querySelector("dialog[open], details.confirm[open], details.menu[open]")) return close();
    if (document.getElementById("keys-off")?.checked || document.querySelector("dialog[open]")) return;
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || (event.key !== "p" && event.key !== " ")) return;
    if (event.shiftKey && event.key === " ") return; // scrolls back
    const control = event.target.matches("a.row-link") ? controlOf(event.target) : null;
    const first = event.key === "p" && event.target === document.body ? document.querySelector("a[data-peek]") : null;
    if (!control && !first) return;
    event.preventDefault();
    if (part && control?.getAttribute("href") === part) close();
    else show(control || first, false);
  }, true);
  // While the panel is open, it follows the row with the focus: j and k move through the list.
  document.addEventListener("focusin", (event) => {
    if (!part || !event.target.matches("a.row-link")) return;
    const control = controlOf(event.target);
    if (control && control.getAttribute("href") !== part) show(control, true);
  });
  // The list has changed: so may the record. A form that is open is left alone.
  document.addEventListener("live:updated", () => {
    announce();
    if (!part) return;
    mark();
    const control = opened();
    if (!control || Date.now() - refreshed < 5000 || body.querySelector("details[open]") || body.contains(document.activeElement)) return;
    refreshed = Date.now();
    show(control, true);
  });
})();
