// What the dashboard adds where scripts run. Everything here is a convenience:
// pages work without it. Elements ask for it by data attributes.
"use strict";
(() => {
  const say = (text) => {
    const line = document.getElementById("say");
    if (line) line.textContent = text;
  };

  // Copying: data-copy has the text, data-copy-from names an element that has it.
  const reveal = (root) => root.querySelectorAll("button[data-copy], button[data-copy-from]").forEach((b) => { b.hidden = !navigator.clipboard; });
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button[data-copy], button[data-copy-from]");
    if (!button) return;
    const source = button.dataset.copyFrom;
    const text = source ? document.getElementById(source).textContent : button.dataset.copy;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      say("Copying is not permitted here");
      return;
    }
    say("Copied");
    const label = button.querySelector("span");
    if (!label) return;
    label.textContent = "Copied";
    setTimeout(() => { label.textContent = "Copy"; }, 1500);
  });

  // Relative times: the words of ui.Relative, kept up to date. The clock is the
  // server's, as far as the page can know it.
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
    const now = Date.now() + skew;
    for (const e of document.querySelectorAll("[data-relative]")) {
      const s = (Date.parse(e.dataset.relative || e.getAttribute("datetime")) - now) / 1000;
      const words = Math.abs(s) < 1 ? "now" : s > 0 ? "in " + span(s) : span(-s) + " ago";
      if (e.textContent !== words) e.textContent = words;
    }
  };
  setInterval(tick, 1000);

  // Live parts: an element with data-live has the address of an event stream,
  // and hx-get with hx-trigger="refresh". After an event it fetches itself anew,
  // at most once a second, and only while the page is looked at.
  const every = 1000;
  const streams = new Map();
  let last = 0, timer = 0;
  const refresh = () => {
    timer = 0;
    last = Date.now();
    for (const e of document.querySelectorAll("[data-live]")) {
      if (!e.contains(document.activeElement) || !document.activeElement.matches("input:not([type=checkbox]), textarea, select")) htmx.trigger(e, "refresh");
    }
  };
  const soon = () => {
    if (!timer && !document.hidden) timer = setTimeout(refresh, Math.max(50, last + every - Date.now()));
  };
  const listen = () => {
    const wanted = new Set(document.hidden ? [] : [...document.querySelectorAll("[data-live]")].map((e) => e.dataset.live));
    for (const [at, stream] of streams) {
      if (!wanted.has(at)) { stream.close(); streams.delete(at); }
    }
    for (const at of wanted) {
      if (streams.has(at)) continue;
      const stream = new EventSource(at);
      // What happened between the page and its stream is told by neither.
      for (const name of ["open", "log", "job", "message"]) stream.addEventListener(name, soon);
      streams.set(at, stream);
    }
  };
  document.addEventListener("visibilitychange", () => { listen(); soon(); });
  window.addEventListener("pagehide", () => { for (const s of streams.values()) s.close(); streams.clear(); });
  window.addEventListener("pageshow", (event) => { if (event.persisted) { listen(); soon(); } });

  // What a person ticked or opened stays so when a live part is replaced.
  let kept = null;
  document.addEventListener("htmx:beforeSwap", (event) => {
    const target = event.detail.target;
    if (!target) return;
    kept = {
      ticked: new Set([...target.querySelectorAll("input[type=checkbox][id]:checked")].map((e) => e.id)),
      open: new Set([...target.querySelectorAll("details[id][open]")].map((e) => e.id)),
    };
  });
  document.addEventListener("htmx:afterSwap", () => {
    if (!kept) return;
    for (const id of kept.ticked) { const e = document.getElementById(id); if (e) e.checked = true; }
    for (const id of kept.open) { const e = document.getElementById(id); if (e) e.open = true; }
    kept = null;
    count();
  });
  document.addEventListener("htmx:afterSettle", () => { reveal(document); tick(); listen(); zones(document); });

  // Picking rows: the box data-pick-all ticks all of a form, data-picked shows
  // how many, and elements with data-when-picked are there while there are any.
  const count = () => {
    for (const form of document.querySelectorAll("form[data-picks]")) {
      const boxes = [...form.elements].filter((e) => e.name === form.dataset.picks);
      const n = boxes.filter((e) => e.checked).length;
      const all = form.querySelector("[data-pick-all]");
      if (all) { all.checked = n > 0 && n === boxes.length; all.indeterminate = n > 0 && n < boxes.length; }
      form.querySelectorAll("[data-picked]").forEach((e) => { e.textContent = n; });
      form.querySelectorAll("[data-when-picked]").forEach((e) => { e.hidden = n === 0; });
    }
  };
  document.addEventListener("change", (event) => {
    const all = event.target.closest("[data-pick-all]");
    if (all) for (const e of all.form.elements) if (e.name === all.form.dataset.picks) e.checked = all.checked;
    count();
  });

  // A form that is sent twice by a nervous finger is sent once.
  const sent = new WeakMap();
  document.addEventListener("submit", (event) => {
    if (Date.now() - (sent.get(event.target) || 0) < 1500) event.preventDefault();
    else sent.set(event.target, Date.now());
  });

  // A first check of JSON while it is written; the server has the last word.
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

  // Menus and questions close by Escape and by a click elsewhere.
  const folds = "details.menu[open], details.confirm[open]";
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const e of document.querySelectorAll(folds)) { e.open = false; e.querySelector("summary").focus(); }
  });
  document.addEventListener("click", (event) => {
    for (const e of document.querySelectorAll(folds)) if (!e.contains(event.target)) e.open = false;
  });

  // Fields that say in which zone times are read take the browser's.
  const zones = (root) => {
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    if (zone) for (const e of root.querySelectorAll("input[data-zone]")) if (e.value === "UTC") e.value = zone;
  };

  // The word of what was done is not to be said again when the page is reloaded.
  const here = new URL(location.href);
  if (here.searchParams.has("done")) {
    here.searchParams.delete("done");
    history.replaceState(history.state, "", here);
  }
  document.querySelector("[data-focus]")?.focus();
  reveal(document);
  zones(document);
  count();
  listen();
})();
