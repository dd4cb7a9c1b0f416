// Conveniences of the dashboard. Pages work without this script. Data attributes
// select the elements that use it.
"use strict";
(() => {
  const say = (text) => {
    const line = document.getElementById("say");
    if (line) line.textContent = text;
  };

  // Copying: data-copy is the text, data-copy-from the id of an element with it, and
  // data-copy-url the address of the complete text if the page shows only its
  // beginning. Over plain http, browsers have only the older way to copy.
  const reveal = () => document.querySelectorAll("button[data-copy], button[data-copy-from]").forEach((b) => { b.hidden = false; });
  const copy = async (text) => {
    if (navigator.clipboard) {
      try {
        await navigator.clipboard.writeText(text);
        return true;
      } catch { /* not permitted; the older way may be */ }
    }
    const focused = document.activeElement;
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "hidden";
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    focused?.focus();
    return done;
  };
  const copied = async (button) => {
    const { copy: text, copyFrom, copyUrl } = button.dataset;
    if (copyUrl) {
      const answer = await fetch(copyUrl);
      if (!answer.ok) throw new Error("status " + answer.status);
      return answer.text();
    }
    return copyFrom ? document.getElementById(copyFrom).textContent : text;
  };
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button[data-copy], button[data-copy-from]");
    if (!button) return;
    let done = false;
    try {
      done = await copy(await copied(button));
    } catch { /* said below */ }
    say(done ? "Copied" : "The text can't be copied here");
    const label = button.querySelector("span");
    if (!label) return;
    label.textContent = done ? "Copied" : "Not copied";
    setTimeout(() => { label.textContent = "Copy"; }, 1500);
  });

  // Relative times: updates the result of ui.Relative, with the server's clock at
  // the time the page was loaded.
  const skew = Date.parse(document.documentElement.dataset.now || "") - Date.now() || 0;
  const two = (large, unit, small, smallUnit) => large + " " + unit + (large < 3 && small > 0 ? " " + small + " " + smallUnit : "");
  const span = (s) => {
    const m = Math.floor(s / 60), h = Math.floor(s / 3600), d = Math.floor(s / 86400);
    if (s < 60) return Math.floor(s) + " s";
    if (m < 60) return m + " min";
    if (h < 24) return two(h, "h", m % 60, "min");
    if (d < 60) return two(d, "d", h % 24, "h");
    return d < 730 ? Math.floor(d / 30) + " months" : Math.floor(d / 365) + " years";
  };
  const tick = () => {
    const now = Number(document.documentElement.dataset.staleAt || Date.now()) + skew; // see live.js
    for (const e of document.querySelectorAll("[data-relative]")) {
      const s = (Date.parse(e.dataset.relative || e.getAttribute("datetime")) - now) / 1000;
      const words = Math.abs(s) < 1 ? "now" : s > 0 ? "in " + span(s) : span(-s) + " ago";
      if (e.textContent !== words) e.textContent = words;
    }
  };
  setInterval(tick, 1000);

  const updated = () => { reveal(); tick(); zones(document); count(); };
  document.addEventListener("live:updated", updated);
  document.addEventListener("htmx:afterSettle", updated);
  document.addEventListener("detail:loaded", updated);

  // Selecting rows: the checkbox data-pick-all selects all rows of a form,
  // data-picked shows how many are selected, and elements with data-when-picked
  // are shown while any is.
  const count = () => {
    for (const form of document.querySelectorAll("form[data-picks]")) {
      const boxes = [...form.elements].filter((e) => e.name === form.dataset.picks);
      const n = boxes.filter((e) => e.checked).length;
      const all = form.querySelector("[data-pick-all]");
      if (all) { all.disabled = boxes.length === 0; all.checked = n > 0 && n === boxes.length; all.indeterminate = n > 0 && n < boxes.length; }
      form.querySelectorAll("[data-picked]").forEach((e) => { e.textContent = n; });
      form.querySelectorAll("[data-when-picked]").forEach((e) => { e.hidden = n === 0; });
    }
  };
  document.addEventListener("change", (event) => {
    const all = event.target.closest("[data-pick-all]");
    if (all) for (const e of all.form.elements) if (e.name === all.form.dataset.picks) e.checked = all.checked;
    count();
  });

  // A form is sent once, and shows that it is being sent.
  const sending = new Map(); // the timer of each form
  const release = (form) => {
    clearTimeout(sending.get(form));
    sending.delete(form);
    form.removeAttribute("aria-busy");
    form.querySelectorAll(".sending").forEach((e) => e.classList.remove("sending"));
  };
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (sending.has(form)) {
      event.preventDefault();
      return;
    }
    if (event.defaultPrevented) return;
    sending.set(form, setTimeout(() => release(form), 15000)); // the reader may have stopped it
    form.setAttribute("aria-busy", "true");
    event.submitter?.classList.add("sending");
    say("Sending");
  });
  window.addEventListener("pageshow", () => { for (const form of [...sending.keys()]) release(form); });

  // The preview of a form is marked from the first change until it is current again.
  const preview = document.getElementById("preview");
  let edits = 0, previewed = 0;
  const stale = (event) => {
    if (!preview || event.target.form?.id !== "new-job") return;
    edits++;
    preview.setAttribute("aria-busy", "true");
  };
  document.addEventListener("input", stale);
  document.addEventListener("change", stale);
  preview?.addEventListener("htmx:beforeRequest", () => { previewed = edits; });
  preview?.addEventListener("htmx:afterRequest", (event) => {
    if (!event.detail.successful) say("The preview could not be loaded");
    else if (previewed === edits) preview.removeAttribute("aria-busy");
  });

  // Checks JSON while it is typed. The server checks it again.
  document.addEventListener("input", (event) => {
    const area = event.target.closest("textarea[data-json]");
    if (!area) return;
    const line = document.getElementById(area.dataset.json);
    let text = "";
    if (area.value.trim() !== "") {
      try { JSON.parse(area.value); } catch (problem) { text = "Not JSON yet: " + problem.message; }
    }
    if (line) line.textContent = text;
  });

  // Escape and a click elsewhere close menus and confirmations.
  const folds = "details.menu[open], details.confirm[open]";
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const e of document.querySelectorAll(folds)) { e.open = false; e.querySelector("summary").focus(); }
  });
  document.addEventListener("click", (event) => {
    for (const e of document.querySelectorAll(folds)) if (!e.contains(event.target)) e.open = false;
  });

  // Fields for a time zone are set to the browser's.
  const zones = (root) => {
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    if (zone) for (const e of root.querySelectorAll("input[data-zone]")) if (e.value === "UTC") e.value = zone;
    // The button that shows times in the browser's zone.
    const local = document.querySelector("[data-local-zone]");
    if (local && zone && zone !== "UTC") { local.value = zone; local.hidden = false; }
  };

  // Removes ?done= so that reloading the page does not repeat the notice.
  const here = new URL(location.href);
  if (here.searchParams.has("done")) {
    here.searchParams.delete("done");
    here.searchParams.delete("count");
    history.replaceState(history.state, "", here);
  }
  // On narrow screens the current tab may be out of view.
  for (const e of document.querySelectorAll(".tabs [aria-current]")) e.parentElement.scrollLeft = e.offsetLeft + e.offsetWidth - e.parentElement.clientWidth;
  document.querySelector("[data-focus]")?.focus();
  reveal();
  zones(document);
  count();
})();
